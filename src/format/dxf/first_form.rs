//! The first form of DXF, from AutoCAD 1.x: commands and their values instead of pairs, sections and tables.
//!
//! A line `LINE,3` names a command and a layer by its number; the lines behind it hold numbers between commas, and
//! names. [`tell_over`] writes the same drawing as pairs, which the reader then reads like any other. Arrays
//! (`REPEAT … ENDREP`) become blocks and references with a grid. Commands that are not known are passed over up to the
//! next one; kinds that DXF has no entity for keep their name and are counted by the reader.

use std::fmt::Write as _;

/// Commands that set up the drawing or draw, with how many lines of values follow.
const COMMANDS: &[(&str, usize)] = &[
    ("EXTENTS", 1),
    ("LIMITS", 1),
    ("BASE", 1),
    ("DWGVIEW", 1),
    ("MODERES", 1),
    ("MODEGRID", 1),
    ("MODEORTHO", 1),
    ("MODEFILL", 1),
    ("TXTSIZE", 1),
    ("TRACEWID", 1),
    ("LAYER", 1),
    ("LOAD", 1),
    ("POINT", 1),
    ("LINE", 1),
    ("ARC", 1),
    ("CIRCLE", 1),
    ("SHAPE", 1),
    ("TEXT", 2),
    ("TRACE", 2),
    ("SOLID", 2),
    ("BLOCK", 2),
    ("INSERT", 2),
    ("ENDBLK", 0),
    ("REPEAT", 0),
    ("ENDREP", 1),
];

/// Whether these bytes begin a drawing in that form: a known command, then a line of numbers.
pub(in crate::format) fn is_first_form(data: &[u8]) -> bool {
    let mut lines = Lines(data);
    let Some((_, _, num_values)) = lines.next().and_then(command) else { return false };
    num_values == 0 || lines.next().is_some_and(|line| !numbers(line).is_empty() && !line.is_empty())
}

/// The drawing as pairs, or `None` if it is not in that form.
pub(super) fn tell_over(data: &[u8]) -> Option<Vec<u8>> {
    if !is_first_form(data) {
        return None;
    }
    let mut teller = Teller::default();
    let mut lines = Lines(data);
    let mut line = lines.next();
    while let Some(text) = line {
        if text.first() == Some(&0x1A) {
            break;
        }
        if let Some((name, layer, num_values)) = command(text) {
            let mut values: [&[u8]; 2] = [b"", b""];
            for value in values.iter_mut().take(num_values) {
                *value = lines.next().unwrap_or(b"");
            }
            teller.command(name, layer, values);
        }
        line = lines.next();
    }
    Some(teller.finish())
}

/// Name, layer and number of value lines of a command line, or `None` if it is none of the known ones.
fn command(line: &[u8]) -> Option<(&'static str, &str, usize)> {
    let line = std::str::from_utf8(line).ok()?;
    let (name, layer) = line.split_once(',')?;
    let layer = layer.trim();
    let is_number = (1..=4).contains(&layer.len()) && layer.bytes().all(|byte| byte.is_ascii_digit());
    let (name, num_values) = COMMANDS.iter().find(|(known, _)| *known == name.trim())?;
    is_number.then_some((*name, layer, *num_values))
}

/// Numbers between commas; empty if one of them is none.
fn numbers(line: &[u8]) -> Vec<&str> {
    let Ok(line) = std::str::from_utf8(line.get(..line.len().min(512)).unwrap_or(line)) else { return Vec::new() };
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    if parts.len() <= 16 && parts.iter().all(|part| part.parse::<f64>().is_ok()) { parts } else { Vec::new() }
}

/// A block or an array that is open.
struct Open {
    name: String,
    base: [String; 2],
    content: Vec<u8>,
    is_array: bool,
}

/// Pairs written so far.
#[derive(Default)]
struct Teller {
    model: Vec<u8>,
    blocks: Vec<u8>,
    open: Vec<Open>,
    num_arrays: u32,
}

impl Teller {
    fn command(&mut self, name: &'static str, layer: &str, [first, second]: [&[u8]; 2]) {
        let values = numbers(first);
        match name {
            "POINT" => self.entity(name, layer, &[10, 20], &values),
            "LINE" => self.entity(name, layer, &[10, 20, 11, 21], &values),
            "ARC" => self.entity(name, layer, &[10, 20, 40, 50, 51], &values),
            "CIRCLE" => self.entity(name, layer, &[10, 20, 40], &values),
            "SHAPE" => self.entity(name, layer, &[10, 20, 40, 50], &values),
            "TRACE" | "SOLID" => {
                let corners: Vec<&str> = values.iter().copied().chain(numbers(second)).collect();
                self.entity(name, layer, &[10, 20, 11, 21, 12, 22, 13, 23], &corners);
            }
            "TEXT" => {
                self.entity(name, layer, &[10, 20, 40, 50], &values);
                self.pair(1, second);
            }
            "INSERT" => {
                self.entity(name, layer, &[10, 20, 41, 42, 50], &values);
                self.pair(2, second);
            }
            "BLOCK" => {
                let base = [0, 1].map(|axis| values.get(axis).map_or("0", |value| value).to_owned());
                let name = String::from_utf8_lossy(second).into_owned();
                self.open.push(Open { name, base, content: Vec::new(), is_array: false });
            }
            "REPEAT" => {
                self.num_arrays += 1;
                let name = format!("*REPEAT{}", self.num_arrays);
                let base = ["0".to_owned(), "0".to_owned()];
                self.open.push(Open { name, base, content: Vec::new(), is_array: true });
            }
            "ENDBLK" => self.close(false, layer, &[]),
            "ENDREP" => self.close(true, layer, &values),
            _ => {}
        }
    }

    fn sink(&mut self) -> &mut Vec<u8> {
        self.open.last_mut().map_or(&mut self.model, |open| &mut open.content)
    }

    fn entity(&mut self, name: &str, layer: &str, codes: &[i32], values: &[&str]) {
        self.pair(0, name.as_bytes());
        self.pair(8, layer.as_bytes());
        for (code, value) in codes.iter().zip(values) {
            self.pair(*code, value.as_bytes());
        }
    }

    fn pair(&mut self, code: i32, value: &[u8]) {
        write_pair(self.sink(), code, value);
    }

    /// Ends the innermost block, or the innermost array; one that was never opened ends nothing.
    fn close(&mut self, is_array: bool, layer: &str, grid: &[&str]) {
        if self.open.last().is_none_or(|open| open.is_array != is_array) {
            return;
        }
        let Some(open) = self.open.pop() else { return };
        write_pair(&mut self.blocks, 0, b"BLOCK");
        write_pair(&mut self.blocks, 2, open.name.as_bytes());
        for (code, value) in [10, 20].into_iter().zip(&open.base) {
            write_pair(&mut self.blocks, code, value.as_bytes());
        }
        self.blocks.extend_from_slice(&open.content);
        write_pair(&mut self.blocks, 0, b"ENDBLK");
        if open.is_array {
            self.entity("INSERT", layer, &[70, 71, 44, 45], grid);
            self.pair(2, open.name.as_bytes());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        while let Some(open) = self.open.last() {
            let is_array = open.is_array;
            self.close(is_array, "0", &[]);
        }
        let mut out = Vec::with_capacity(self.model.len() + self.blocks.len() + 256);
        for (section, content) in [
            (&b"HEADER"[..], &b"9\n$ACADVER\n1\nAC1.40\n"[..]),
            (b"BLOCKS", self.blocks.as_slice()),
            (b"ENTITIES", self.model.as_slice()),
        ] {
            write_pair(&mut out, 0, b"SECTION");
            write_pair(&mut out, 2, section);
            out.extend_from_slice(content);
            write_pair(&mut out, 0, b"ENDSEC");
        }
        write_pair(&mut out, 0, b"EOF");
        out
    }
}

fn write_pair(out: &mut Vec<u8>, code: i32, value: &[u8]) {
    let mut digits = String::new();
    let _infallible = writeln!(digits, "{code}");
    out.extend_from_slice(digits.as_bytes());
    out.extend_from_slice(value);
    out.push(b'\n');
}

/// Lines without their ends and the blanks around them; empty ones are passed over.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.0.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', self.0).unwrap_or(self.0.len());
            let (line, rest) = self.0.split_at(end);
            self.0 = rest.get(1..).unwrap_or(&[]);
            if !line.trim_ascii().is_empty() {
                return Some(line.trim_ascii());
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_become_pairs() {
        let text = b"LIMITS,1\r\n0.0,12.0,0.0,9.0\r\nLINE,3\r\n1.0,2.0,3.0,4.0\r\nTEXT,1\r\n1,4,0.75,0\r\nLINE,1\r\n\x1a,255\r\n";
        let told = String::from_utf8(tell_over(text).unwrap()).unwrap();
        assert!(told.contains("0\nLINE\n8\n3\n10\n1.0\n20\n2.0\n11\n3.0\n21\n4.0\n"), "{told}");
        // The value of a text may look like a command.
        assert!(told.contains("0\nTEXT\n8\n1\n10\n1\n20\n4\n40\n0.75\n50\n0\n1\nLINE,1\n"), "{told}");
    }

    #[test]
    fn what_has_another_form_is_left_alone() {
        for text in [&b""[..], b"0\nSECTION\n", b"LINE,x\n1,2", b"LINE,1\nwords\n", b"LINE,1", b"EXTENTS\n1,2\n"] {
            assert!(tell_over(text).is_none(), "{}", String::from_utf8_lossy(text));
        }
    }
}
