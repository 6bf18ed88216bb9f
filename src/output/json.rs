//! The little JSON that features need: strings, and members in a given order.

/// Appends `text` as a JSON string with its quotes.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut clean = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let escape: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..=0x1f | 0x7f => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[clean..at]);
        if escape.is_empty() {
            let hex = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(hex[usize::from(byte >> 4)]);
            out.push(hex[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(escape);
        }
        clean = at + 1;
    }
    out.extend_from_slice(&bytes[clean..]);
    out.push(b'"');
}

/// Appends `,"name":` for a name that needs no escapes.
pub fn write_name(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Appends `,"name":"text"`.
pub fn write_text_member(out: &mut Vec<u8>, name: &str, text: &str) {
    write_name(out, name);
    write_string(out, text);
}

/// Appends `,"name":number` with at most `decimals` decimals.
pub fn write_number_member(out: &mut Vec<u8>, name: &str, value: f64, decimals: u8) {
    write_name(out, name);
    super::fixed::write_float(out, value, decimals);
}

/// Appends names and texts as an object. A name that occurs again gets a number: `TAG`, `TAG_2`.
pub fn write_object<'a>(out: &mut Vec<u8>, pairs: impl Iterator<Item = (&'a str, &'a str)> + Clone) {
    out.push(b'{');
    for (index, (name, text)) in pairs.clone().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let earlier = pairs.clone().take(index).filter(|(other, _)| *other == name).count();
        if earlier == 0 {
            write_string(out, name);
        } else {
            write_string(out, &format!("{name}_{}", earlier + 1));
        }
        out.push(b':');
        write_string(out, text);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_string_reads_back(text in any::<String>()) {
            let mut out = Vec::new();
            write_string(&mut out, &text);
            prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn repeated_names_stay_apart() {
        let mut out = Vec::new();
        write_object(&mut out, [("A", "1"), ("B", "2"), ("A", "3")].into_iter());
        assert_eq!(out, br#"{"A":"1","B":"2","A_2":"3"}"#);
    }
}
