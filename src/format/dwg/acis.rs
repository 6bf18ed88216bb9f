//! The geometry of solids, bodies and regions, as the text that a DXF has of it.
//!
//! A database has it as that text, its characters turned round as in a DXF, or (from R2007 on) in binary: values with a
//! mark before each, records with a mark behind. Both become the lines of groups 1 and 3; what they mean is known to
//! the DXF reader alone. From 2013 on the binary may lie elsewhere in the file, where it is not looked for.

use std::fmt::Write as _;

use cadkit_dwg::DwgVersion;
use cadkit_dwg::native::{BitReader, DwgObject};

use super::raw;

/// Most bytes of one geometry.
const LONGEST: usize = 64 << 20;
/// How the binary form begins.
const MAGIC: &[u8] = b"ACIS BinaryFile";
/// Behind the magic: version, number of records and of entities, flags.
const HEAD: usize = 16;

/// The lines of a 3DSOLID, REGION or BODY (20.4.41), turned round. `None` if there are none.
pub(super) fn lines(version: DwgVersion, object: &DwgObject) -> Option<Vec<u8>> {
    let mut bits = raw::data(version, object)?;
    let is_empty = bits.b().ok()?;
    bits.b().ok()?; // unknown
    if is_empty {
        return None;
    }
    match bits.bs().ok()? {
        1 => text_blocks(&mut bits),
        2 => {
            let size = usize::try_from(bits.remaining_bits() / 8).ok()?.min(LONGEST);
            let text = text_of_binary(&bits.bytes(size).ok()?)?;
            Some(text.bytes().map(|byte| if (0x21..=0x7E).contains(&byte) { 159 - byte } else { byte }).collect())
        }
        _ => None,
    }
}

fn text_blocks(bits: &mut BitReader<'_>) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    loop {
        let size = usize::try_from(bits.bl().ok()?).ok()?;
        if size == 0 {
            return Some(text);
        }
        if size as u64 > bits.remaining_bits() / 8 || text.len() + size > LONGEST {
            return None;
        }
        text.extend(bits.bytes(size).ok()?);
    }
}

/// The text form of the binary form, as far as the geometry goes. `None` if a mark is not known.
fn text_of_binary(data: &[u8]) -> Option<String> {
    let mut rest = data.strip_prefix(MAGIC)?.get(HEAD..)?;
    // Three lines: numbers, the program, the tolerances.
    let mut text = String::from("0 0 0 0\n");
    for _ in 0..3 {
        string(&mut rest)?; // product, version, date
    }
    text.push_str("binary\n");
    for _ in 0..3 {
        take::<1>(&mut rest)?;
        take::<8>(&mut rest)?;
    }
    text.push_str("0 0 0\n");
    let mut name = String::new();
    let mut senses = 0;
    loop {
        let [mark] = take::<1>(&mut rest)?;
        match mark {
            2 => drop(take::<1>(&mut rest)?),
            3 => write!(text, "{} ", i16::from_le_bytes(take(&mut rest)?)).ok()?,
            4 | 21 => write!(text, "{} ", i32::from_le_bytes(take(&mut rest)?)).ok()?,
            5 => write!(text, "{} ", f32::from_le_bytes(take(&mut rest)?)).ok()?,
            6 => real(&mut rest, &mut text)?,
            7..=9 | 18 => {
                skip_string(mark, &mut rest)?;
                text.push_str("@1 x ");
            }
            // The first truth of a record is its sense.
            10 | 11 => {
                let word = match (mark, senses) {
                    (10, 0) => "reversed ",
                    (11, 0) => "forward ",
                    (10, _) => "T ",
                    _ => "F ",
                };
                text.push_str(word);
                senses += 1;
            }
            12 => write!(text, "${} ", i32::from_le_bytes(take(&mut rest)?)).ok()?,
            13 | 14 => {
                let [length] = take::<1>(&mut rest)?;
                name.push_str(&String::from_utf8_lossy(bytes(usize::from(length), &mut rest)?));
                if mark == 14 {
                    name.push('-');
                    continue;
                }
                write!(text, "{name} ").ok()?;
                if name.starts_with("End-of-A") {
                    return Some(text);
                }
                name.clear();
            }
            15 => text.push_str("{ "),
            16 => text.push_str("} "),
            17 => {
                text.push_str("#\n");
                senses = 0;
            }
            19 | 20 => (0..3).try_for_each(|_| real(&mut rest, &mut text))?,
            22 => (0..2).try_for_each(|_| real(&mut rest, &mut text))?,
            _ => return None,
        }
    }
}

fn real(rest: &mut &[u8], text: &mut String) -> Option<()> {
    write!(text, "{} ", f64::from_le_bytes(take(rest)?)).ok()
}

fn string(rest: &mut &[u8]) -> Option<()> {
    let [mark] = take::<1>(rest)?;
    skip_string(mark, rest)
}

fn skip_string(mark: u8, rest: &mut &[u8]) -> Option<()> {
    let length = match mark {
        7 => usize::from(take::<1>(rest)?[0]),
        8 => usize::from(u16::from_le_bytes(take(rest)?)),
        9 | 18 => usize::try_from(u32::from_le_bytes(take(rest)?)).ok()?,
        _ => return None,
    };
    bytes(length, rest).map(drop)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

fn bytes<'d>(length: usize, rest: &mut &'d [u8]) -> Option<&'d [u8]> {
    let (first, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_become_words() {
        let mut data = [MAGIC, &[0; HEAD]].concat();
        for word in ["Program", "1", "today"] {
            data.extend([7, word.len() as u8]);
            data.extend(word.bytes());
        }
        for value in [1.0f64, 1e-6, 1e-10] {
            data.push(6);
            data.extend(value.to_le_bytes());
        }
        let name = |mark: u8, name: &str| [&[mark, name.len() as u8], name.as_bytes()].concat();
        data.extend([name(14, "plane"), name(13, "surface")].concat());
        data.extend([12, 255, 255, 255, 255, 4, 7, 0, 0, 0, 19]);
        for value in [0.5f64, -2.0, 0.0] {
            data.extend(value.to_le_bytes());
        }
        data.extend([10, 10, 11, 7, 2, b'a', b'#', 17]);
        data.extend(name(13, "End-of-ACIS-data"));
        let text = text_of_binary(&data).unwrap();
        let expected = "0 0 0 0\nbinary\n0 0 0\nplane-surface $-1 7 0.5 -2 0 reversed T F @1 x #\nEnd-of-ACIS-data ";
        assert_eq!(text, expected);
        assert_eq!(text_of_binary(&data[..data.len() - 4]), None, "cut off");
        data[MAGIC.len() + HEAD] = 99;
        assert_eq!(text_of_binary(&data), None);
    }
}
