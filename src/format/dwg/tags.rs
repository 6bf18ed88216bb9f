//! Writes binary DXF: group codes of two bytes, numbers as they are in memory, so that nothing is rounded.
//!
//! The width of an integer follows from its group code (DXF reference, "Group Code Value Types").

/// A DXF document in memory.
#[derive(Debug)]
pub(super) struct Tags {
    bytes: Vec<u8>,
}

impl Tags {
    pub(super) fn new() -> Self {
        Self { bytes: b"AutoCAD Binary DXF\r\n\x1a\0".to_vec() }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.record("EOF");
        self.bytes
    }

    fn code(&mut self, code: i16) {
        self.bytes.extend_from_slice(&code.to_le_bytes());
    }

    /// Begins a record.
    pub(super) fn record(&mut self, name: &str) {
        self.text(0, name);
    }

    pub(super) fn text(&mut self, code: i16, text: &str) {
        self.code(code);
        // A zero byte would end the string; CAD programs take it for the end as well.
        let text = text.split('\0').next().unwrap_or("");
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    pub(super) fn handle(&mut self, code: i16, handle: u64) {
        self.text(code, &format!("{handle:X}"));
    }

    pub(super) fn real(&mut self, code: i16, value: f64) {
        self.code(code);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// An angle in radians, written in degrees.
    pub(super) fn angle(&mut self, code: i16, radians: f64) {
        self.real(code, radians.to_degrees());
    }

    pub(super) fn integer(&mut self, code: i16, value: i64) {
        self.code(code);
        match code {
            90..=99 | 420..=429 | 440..=459 | 1071 => {
                let value = value.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
            160..=169 => self.bytes.extend_from_slice(&value.to_le_bytes()),
            290..=299 => self.bytes.push(u8::from(value != 0)),
            _ => {
                let value = value.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16;
                self.bytes.extend_from_slice(&value.to_le_bytes());
            }
        }
    }

    pub(super) fn count(&mut self, code: i16, count: usize) {
        self.integer(code, i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(super) fn point2(&mut self, code: i16, point: [f64; 2]) {
        self.real(code, point[0]);
        self.real(code + 10, point[1]);
    }

    pub(super) fn point3(&mut self, code: i16, point: [f64; 3]) {
        self.point2(code, [point[0], point[1]]);
        self.real(code + 20, point[2]);
    }

    /// An extrusion, left out if it is that of the world.
    pub(super) fn extrusion(&mut self, normal: [f64; 3]) {
        if normal != [0.0, 0.0, 1.0] && normal != [0.0; 3] {
            self.point3(210, normal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_group_code() {
        let mut tags = Tags::new();
        let start = tags.len();
        let written = |tags: &mut Tags, code: i16| {
            let before = tags.len();
            tags.integer(code, 1);
            tags.len() - before - 2
        };
        assert_eq!([70, 90, 160, 290, 370, 420].map(|code| written(&mut tags, code)), [2, 4, 8, 1, 2, 4]);
        tags.text(1, "a\0b");
        assert!(tags.finish()[start..].ends_with(b"\x01\0a\0\0\0EOF\0"));
    }
}
