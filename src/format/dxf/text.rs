//! Codes inside texts → plain characters: `\U+00E9`, `\M+1xxxx`, `%%d`, `^J`, and the formatting of MTEXT.
//!
//! Everything here is a function of strings. Lines come out separated by `\n`; fonts, heights, colours and
//! alignments are dropped, stacked fractions become `1/2`. Unknown codes stay as they are.

use std::borrow::Cow;

use super::encoding::CodePage;

/// A name or a one-line value with its Unicode and multi-byte escapes resolved.
pub(super) fn unescape(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("\\U+") && !text.contains("\\u+") && !text.contains("\\M+") && !text.contains("\\m+") {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match escape(rest) {
            Some((decoded, length)) => {
                out.push_str(&decoded);
                rest = &rest[length..];
            }
            None => {
                out.push('\\');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The `\U+XXXX` or `\M+nXXXX` at the start of `text`, and its length in bytes.
fn escape(text: &str) -> Option<(String, usize)> {
    match text.as_bytes() {
        [b'\\', b'U' | b'u', b'+', ..] => unicode_escape(text),
        [b'\\', b'M' | b'm', b'+', ..] => multi_byte_escape(text),
        _ => None,
    }
}

fn hexadecimal(text: &str, at: usize, digits: usize) -> Option<u32> {
    let field = text.get(at..at + digits)?;
    field.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(field, 16).ok()).flatten()
}

fn unicode_escape(text: &str) -> Option<(String, usize)> {
    let unit = hexadecimal(text, 3, 4)?;
    if let Some(character) = char::from_u32(unit) {
        return Some((character.to_string(), 7));
    }
    // Characters beyond the first plane come as two escapes, one a surrogate.
    let second = text.get(7..).filter(|rest| rest.starts_with("\\U+") || rest.starts_with("\\u+"));
    let low = second.and_then(|rest| hexadecimal(rest, 3, 4)).filter(|low| (0xDC00..0xE000).contains(low));
    match low {
        Some(low) if unit < 0xDC00 => {
            let character = char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00))?;
            Some((character.to_string(), 14))
        }
        _ => Some((char::REPLACEMENT_CHARACTER.to_string(), 7)),
    }
}

fn multi_byte_escape(text: &str) -> Option<(String, usize)> {
    let page = CodePage::by_number(match text.as_bytes().get(3)? {
        b'1' => 932,
        b'2' => 950,
        b'3' => 949,
        b'4' => 1361,
        b'5' => 936,
        _ => return None,
    })?;
    let [_, _, high, low] = hexadecimal(text, 4, 4)?.to_be_bytes();
    let bytes: &[u8] = if high == 0 { &[low] } else { &[high, low] };
    Some((page.decode(bytes).into_owned(), 8))
}

/// The caret code at the start of `text` as a character, if any: `^J` is a line feed, `^ ` a caret.
fn caret(text: &str) -> Option<Option<char>> {
    match text.as_bytes() {
        [b'^', b' ', ..] => Some(Some('^')),
        [b'^', b'I', ..] => Some(Some('\t')),
        [b'^', b'J', ..] => Some(Some('\n')),
        // A carriage return before a line feed is the same line break; other control characters are nothing.
        [b'^', b'?'..=b'_', ..] => Some(None),
        _ => None,
    }
}

/// The `%%` code at the start of `text`: what it stands for (nothing for underline and the like) and its length.
fn percent(text: &str, page: CodePage) -> Option<(Option<Cow<'static, str>>, usize)> {
    let [b'%', b'%', code, ..] = text.as_bytes() else { return None };
    Some(match code.to_ascii_lowercase() {
        b'd' => (Some(Cow::Borrowed("°")), 3),
        b'p' => (Some(Cow::Borrowed("±")), 3),
        b'c' => (Some(Cow::Borrowed("Ø")), 3),
        b'%' => (Some(Cow::Borrowed("%")), 3),
        b'u' | b'o' | b'k' => (None, 3),
        b'0'..=b'9' => {
            let digits = text.get(2..).map_or(0, |rest| rest.bytes().take(3).take_while(u8::is_ascii_digit).count());
            let number = text.get(2..2 + digits)?.parse::<u32>().ok()?;
            let decoded = match u8::try_from(number) {
                // Drawing fonts have the three signs here, whatever the code page says.
                Ok(127) => "°".to_owned(),
                Ok(128) => "±".to_owned(),
                Ok(129) => "Ø".to_owned(),
                Ok(byte) if byte >= b' ' => page.decode(&[byte]).into_owned(),
                Ok(_) => String::new(),
                Err(_) => char::from_u32(number)?.to_string(),
            };
            (Some(Cow::Owned(decoded)), 2 + digits)
        }
        _ => return None,
    })
}

/// A TEXT, ATTRIB or the like in plain characters.
pub(super) fn plain_text(text: &str, page: CodePage) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '%', '^']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = inline_code(rest, page, &mut out).unwrap_or_else(|| {
            out.push_str(&rest[..1]);
            1
        });
        rest = &rest[length..];
    }
    out.push_str(rest);
    out_of_private_use(out)
}

/// Symbol fonts have their letters at U+F020 to U+F0FF; a program that mapped a text to such a font says it in these.
fn out_of_private_use(text: String) -> String {
    if !text.contains(|c: char| ('\u{F020}'..='\u{F0FF}').contains(&c)) {
        return text;
    }
    let plain = |c: char| match c {
        '\u{F020}'..='\u{F0FF}' => char::from_u32(u32::from(c) - 0xF000).unwrap_or(c),
        other => other,
    };
    text.chars().map(plain).collect()
}

/// Resolves an escape, caret or percent code at the start of `text`; gives its length.
fn inline_code(text: &str, page: CodePage, out: &mut String) -> Option<usize> {
    if let Some((decoded, length)) = escape(text) {
        out.push_str(&decoded);
        return Some(length);
    }
    if let Some(control) = caret(text) {
        out.extend(control);
        return Some(2);
    }
    let (decoded, length) = percent(text, page)?;
    if let Some(decoded) = decoded {
        out.push_str(&decoded);
    }
    Some(length)
}

/// An MTEXT in plain characters, lines separated by `\n`.
pub(super) fn plain_mtext(text: &str, page: CodePage) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\\', '%', '^', '{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match rest.as_bytes() {
            [b'{' | b'}', ..] => 1,
            [b'\\', ..] => match escape(rest) {
                Some((decoded, length)) => {
                    out.push_str(&decoded);
                    length
                }
                None => format_code(rest, page, &mut out),
            },
            _ => inline_code(rest, page, &mut out).unwrap_or_else(|| {
                out.push_str(&rest[..1]);
                1
            }),
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    out_of_private_use(out)
}

/// A backslash code of MTEXT at the start of `text`; gives its length in bytes.
fn format_code(text: &str, page: CodePage, out: &mut String) -> usize {
    let Some(code) = text[1..].chars().next() else {
        out.push('\\');
        return 1;
    };
    let after = 1 + code.len_utf8();
    let arguments = &text[after..];
    match code {
        '\\' | '{' | '}' => out.push(code),
        // Paragraph, column break, and the line break of dimension texts.
        'P' | 'N' | 'X' => out.push('\n'),
        '~' => out.push(' '),
        'L' | 'l' | 'O' | 'o' | 'K' | 'k' => {}
        'A' | 'C' | 'c' | 'H' | 'Q' | 'T' | 'W' => {
            let number = arguments
                .bytes()
                .take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b',' | b'+' | b'-' | b'x' | b'X' | b'e' | b'E'))
                .count();
            let semicolon = usize::from(arguments.as_bytes().get(number) == Some(&b';'));
            return after + number + semicolon;
        }
        'F' | 'f' | 'p' => {
            // A missing semicolon must not make every further code look through the whole text.
            let end = arguments.bytes().take(512).position(|byte| byte == b';');
            return after + end.map_or(0, |end| end + 1);
        }
        'S' => return after + stacked(arguments, page, out),
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    after
}

/// A stacked fraction behind `\S`; gives its length with the semicolon.
fn stacked(arguments: &str, page: CodePage, out: &mut String) -> usize {
    let mut upper = String::new();
    let mut lower: Option<(char, String)> = None;
    let mut length = arguments.len();
    let mut rest = arguments;
    while let Some(next) = rest.chars().next() {
        let mut step = next.len_utf8();
        if lower.is_none() && matches!(next, '^' | '/' | '#') {
            lower = Some((next, String::new()));
            rest = &rest[step..];
            continue;
        }
        let part = match &mut lower {
            Some((_, part)) => part,
            None => &mut upper,
        };
        match next {
            ';' => {
                length = arguments.len() - rest.len() + 1;
                break;
            }
            '\\' => match escape(rest) {
                Some((decoded, escaped)) => {
                    part.push_str(&decoded);
                    step = escaped;
                }
                None => {
                    let literal = rest[1..].chars().next();
                    part.extend(literal);
                    step = 1 + literal.map_or(0, char::len_utf8);
                }
            },
            '%' => match percent(rest, page) {
                Some((decoded, escaped)) => {
                    part.push_str(decoded.as_deref().unwrap_or(""));
                    step = escaped;
                }
                None => part.push(next),
            },
            '{' | '}' => {}
            other => part.push(other),
        }
        rest = &rest[step..];
    }
    let (divider, lower) = lower.unwrap_or(('/', String::new()));
    let (upper, lower) = (upper.trim(), lower.trim());
    // `4'-0` and a quarter are no `01/4`.
    if divider != '^' && !upper.is_empty() && !lower.is_empty() && out.ends_with(|c: char| c.is_ascii_digit()) {
        out.push(' ');
    }
    out.push_str(upper);
    if !upper.is_empty() && !lower.is_empty() {
        // A caret stacks tolerances without a bar.
        out.push(if divider == '^' { ' ' } else { '/' });
    }
    out.push_str(lower);
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> CodePage {
        CodePage::by_number(1252).unwrap()
    }

    #[test]
    fn names_lose_their_escapes() {
        for (text, expected) in [
            ("layer_\\U+00E9\\U+00e7\\U+00E0", "layer_éçà"),
            ("B\\U+00FCro \\U+957f\\U+6C5F", "Büro 长江"),
            ("\\M+5B3A4\\M+5BDAD", "长江"),
            ("\\M+195948", "部8"),
            ("\\U+D83D\\U+DE00", "😀"),
            ("\\U+D83D alone", "\u{FFFD} alone"),
            ("C:\\Users\\plan", "C:\\Users\\plan"),
            ("\\U+12", "\\U+12"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescape(Cow::Borrowed(text)), expected, "{text}");
        }
    }

    #[test]
    fn percent_and_caret_codes() {
        for (text, expected) in [
            ("%%uHALL%%u 20%%d %%p5 %%c10", "HALL 20° ±5 Ø10"),
            ("50%%%", "50%"),
            ("%%176C %%D", "°C °"),
            ("90%%127 %%1280.5 %%12912", "90° ±0.5 Ø12"),
            ("100%", "100%"),
            ("%%x", "%%x"),
            ("a^Jb^Ic^ d", "a\nb\tc^d"),
            ("^", "^"),
            ("%%", "%%"),
        ] {
            assert_eq!(plain_text(text, page()), expected, "{text}");
        }
    }

    #[test]
    fn formatted_texts_become_plain() {
        for (text, expected) in [
            ("{\\fArial|b1|i0|c0|p34;Room \\C1;101}\\POffice 12.5 m\\H0.7x;\\S2^ ;", "Room 101\nOffice 12.5 m2"),
            ("A\\\\B \\{x\\}^JLine2", "A\\B {x}\nLine2"),
            ("\\A1;\\S1/2;\" and \\S+0.1^-0.2;", "1/2\" and +0.1 -0.2"),
            ("\\S1#4; \\S^2;", "1/4 2"),
            ("4'-0{\\H1x;\\S1#4;}\"", "4'-0 1/4\""),
            ("\u{F033}\u{F022} \u{F043}lear", "3\" Clear"),
            ("\\pxqc,i-1;centred\\Pnext", "centred\nnext"),
            ("\\Lunder\\l \\Oover\\o a\\~b", "under over a b"),
            ("20%%d {\\H3;x", "20° x"),
            ("\\U+00E9t\\U+00e9", "été"),
            ("\\\\U+00E9", "\\U+00E9"),
            ("\\fno end", "no end"),
            ("\\zunknown", "\\zunknown"),
            ("tail\\", "tail\\"),
            ("\\S1/2", "1/2"),
            ("Gänge {\\C2;ü}", "Gänge ü"),
        ] {
            assert_eq!(plain_mtext(text, page()), expected, "{text}");
        }
    }
}
