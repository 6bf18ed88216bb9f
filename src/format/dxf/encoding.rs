//! Bytes of a string → characters: the code page a drawing declares, and what it really uses.
//!
//! From AC1021 (2007) on, text is UTF-8 whatever `$DWGCODEPAGE` says. Older files use the code page, except that
//! many writers put UTF-8 into them all the same: if all bytes of such a file are valid UTF-8 and some are not
//! ASCII, UTF-8 it is. A user may overrule both. Escapes inside a string (`\U+00E9`) are left to [`super::text`].

use std::borrow::Cow;

use super::{number, oem};

/// One way to turn bytes into characters.
#[derive(Debug, Clone, Copy)]
pub(super) enum CodePage {
    /// One of the encodings of the web.
    Web(&'static encoding_rs::Encoding),
    /// A DOS code page by its upper 128 characters.
    Dos(&'static str),
    /// Hangul by jamo, Windows code page 1361.
    Johab,
}

impl CodePage {
    /// The code page of that name: as `$DWGCODEPAGE` writes it (`ANSI_1252`, `DOS850`, `BIG5`) or a WHATWG label.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        let upper = name.trim().to_ascii_uppercase();
        let plain = upper.replace(['_', '-', ' '], "");
        let number = plain
            .strip_prefix("ANSI")
            .or_else(|| plain.strip_prefix("DOS"))
            .or_else(|| plain.strip_prefix("WINDOWS"))
            .or_else(|| plain.strip_prefix("CP"))
            .unwrap_or(&plain);
        let iso = plain.strip_prefix("ISO").unwrap_or(&plain);
        if let Some(part) = iso.strip_prefix("8859") {
            return encoding_rs::Encoding::for_label(format!("iso-8859-{part}").as_bytes()).map(Self::Web);
        }
        if let Ok(number) = number.parse::<u32>() {
            return Self::by_number(number);
        }
        match plain.as_str() {
            "JOHAB" => Some(Self::Johab),
            "MACROMAN" | "MACINTOSH" => Some(Self::Web(encoding_rs::MACINTOSH)),
            "KSC5601" | "KSC56011987" | "WANSUNG" => Some(Self::Web(encoding_rs::EUC_KR)),
            "GB2312" | "GBK" => Some(Self::Web(encoding_rs::GBK)),
            "USASCII" | "ASCII" => Some(Self::Web(encoding_rs::WINDOWS_1252)),
            _ => encoding_rs::Encoding::for_label(name.trim().as_bytes()).map(Self::Web),
        }
    }

    /// The code page of that Windows or DOS number.
    pub(super) fn by_number(number: u32) -> Option<Self> {
        use encoding_rs as web;
        Some(Self::Web(match number {
            866 => web::IBM866,
            874 => web::WINDOWS_874,
            932 => web::SHIFT_JIS,
            936 => web::GBK,
            949 => web::EUC_KR,
            950 => web::BIG5,
            1250 => web::WINDOWS_1250,
            1251 => web::WINDOWS_1251,
            1252 => web::WINDOWS_1252,
            1253 => web::WINDOWS_1253,
            1254 => web::WINDOWS_1254,
            1255 => web::WINDOWS_1255,
            1256 => web::WINDOWS_1256,
            1257 => web::WINDOWS_1257,
            1258 => web::WINDOWS_1258,
            10000 => web::MACINTOSH,
            20866 => web::KOI8_R,
            21866 => web::KOI8_U,
            54936 => web::GB18030,
            65001 => web::UTF_8,
            1361 => return Some(Self::Johab),
            other => return oem::upper_half(other).map(Self::Dos),
        }))
    }

    /// Decodes; bytes without a character become U+FFFD.
    pub(super) fn decode<'a>(&self, raw: &'a [u8]) -> Cow<'a, str> {
        match self {
            Self::Web(encoding) => encoding.decode_without_bom_handling(raw).0,
            Self::Dos(table) => Cow::Owned(
                raw.iter()
                    .map(|byte| match byte.checked_sub(0x80) {
                        None => char::from(*byte),
                        Some(upper) => table.chars().nth(usize::from(upper)).unwrap_or(char::REPLACEMENT_CHARACTER),
                    })
                    .collect(),
            ),
            Self::Johab => Cow::Owned(johab(raw)),
        }
    }
}

/// Hangul syllables of code page 1361 are three fields of five bits each: initial, vowel, final consonant. The rest
/// of the page (hanja, symbols) has no rule and becomes U+FFFD.
fn johab(raw: &[u8]) -> String {
    const NONE: u8 = 0xFF;
    let vowel_index = |field: u16| match field {
        3..=7 => field as u8 - 3,
        10..=15 => field as u8 - 5,
        18..=23 => field as u8 - 7,
        26..=29 => field as u8 - 9,
        _ => NONE,
    };
    let final_index = |field: u16| match field {
        1..=17 => field as u8 - 1,
        19..=29 => field as u8 - 2,
        _ => NONE,
    };
    let mut out = String::with_capacity(raw.len());
    let mut bytes = raw.iter();
    while let Some(first) = bytes.next() {
        if *first < 0x80 {
            out.push(char::from(*first));
            continue;
        }
        let Some(second) = bytes.next() else {
            out.push(char::REPLACEMENT_CHARACTER);
            break;
        };
        let word = u16::from_be_bytes([*first, *second]);
        let initial = (word >> 10) & 31;
        let (vowel, last) = (vowel_index((word >> 5) & 31), final_index(word & 31));
        let syllable = if (2..=20).contains(&initial) && vowel != NONE && last != NONE {
            char::from_u32(0xAC00 + (u32::from(initial - 2) * 21 + u32::from(vowel)) * 28 + u32::from(last))
        } else {
            None
        };
        out.push(syllable.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    out
}

/// How the strings of one drawing are encoded, and what was found out on the way.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    data: &'a [u8],
    policy: Policy,
    /// Whether all of an older document is UTF-8; looked at when the first string needs it.
    all_utf8: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
enum Policy {
    /// The user said so.
    Stated(CodePage),
    /// The version says UTF-8; the code page is for strings that are not.
    Utf8 { fallback: CodePage },
    /// The drawing's code page, unless everything is UTF-8.
    CodePage { page: CodePage, declared: bool, binary: bool },
}

/// What decoding a string told beside its characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing worth a word.
    Plain,
    /// UTF-8 in a drawing that should not have it.
    UnexpectedUtf8,
    /// Not UTF-8 in a drawing that should have it.
    NotUtf8,
    /// Characters outside ASCII in a drawing that names no code page; Windows-1252 was assumed.
    AssumedCodePage,
}

impl<'a> Decoder<'a> {
    /// Decides how to decode by version and code page of the drawing. `declared` is `$DWGCODEPAGE`'s page.
    pub(super) fn new(
        data: &'a [u8],
        binary: bool,
        version: Option<&str>,
        declared: Option<CodePage>,
        stated: Option<CodePage>,
    ) -> Self {
        let page = declared.unwrap_or(CodePage::Web(encoding_rs::WINDOWS_1252));
        let policy = match stated {
            Some(page) => Policy::Stated(page),
            None if version.is_some_and(is_utf8_version) => Policy::Utf8 { fallback: page },
            None => Policy::CodePage { page, declared: declared.is_some(), binary },
        };
        Self { data, policy, all_utf8: None }
    }

    /// Decodes one string.
    #[inline]
    pub(super) fn decode<'s>(&mut self, raw: &'s [u8]) -> (Cow<'s, str>, Finding) {
        if raw.is_ascii() {
            return (Cow::Borrowed(std::str::from_utf8(raw).unwrap_or("")), Finding::Plain);
        }
        self.decode_wide(raw)
    }

    #[cold]
    fn decode_wide<'s>(&mut self, raw: &'s [u8]) -> (Cow<'s, str>, Finding) {
        match self.policy {
            Policy::Stated(page) => (page.decode(raw), Finding::Plain),
            Policy::Utf8 { fallback } => match std::str::from_utf8(raw) {
                Ok(text) => (Cow::Borrowed(text), Finding::Plain),
                Err(_) => (fallback.decode(raw), Finding::NotUtf8),
            },
            Policy::CodePage { page, declared, binary } => {
                let data = self.data;
                // A binary file is never valid as a whole, so each string speaks for itself.
                let all = !binary && *self.all_utf8.get_or_insert_with(|| std::str::from_utf8(data).is_ok());
                match std::str::from_utf8(raw) {
                    Ok(text) if all || binary => (Cow::Borrowed(text), Finding::UnexpectedUtf8),
                    _ if declared => (page.decode(raw), Finding::Plain),
                    _ => (page.decode(raw), Finding::AssumedCodePage),
                }
            }
        }
    }

    /// Decodes the bytes of a `\M+nXXXX` escape or of a `%%nnn` code.
    pub(super) fn code_page(&self) -> CodePage {
        match self.policy {
            Policy::Stated(page) | Policy::Utf8 { fallback: page } | Policy::CodePage { page, .. } => page,
        }
    }
}

/// Whether text of that `$ACADVER` is UTF-8: AC1021 and everything newer.
fn is_utf8_version(version: &str) -> bool {
    version.get(2..).is_some_and(|digits| number::integer(digits.as_bytes()).is_some_and(|number| number >= 1021))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(page: &str, raw: &[u8]) -> String {
        CodePage::by_name(page).unwrap().decode(raw).into_owned()
    }

    #[test]
    fn code_pages_by_every_name_in_use() {
        assert_eq!(decode("ANSI_1252", b"Rep\xe8re"), "Repère");
        assert_eq!(decode("ansi_1251", b"\xca\xf3\xf5\xed\xff"), "Кухня");
        assert_eq!(decode("ANSI_932", b"\x95\x94\x89\xae"), "部屋");
        assert_eq!(decode("ANSI_936", b"\xb3\xa4\xbd\xad"), "长江");
        assert_eq!(decode("BIG5", b"\xa9\xd0"), "房");
        assert_eq!(decode("KSC5601", b"\xb9\xe6"), "방");
        assert_eq!(decode("JOHAB", b"\xa4w"), decode("1361", b"\xa4w"));
        assert_eq!(decode("DOS850", b"B\x81ro"), "Büro");
        assert_eq!(decode("dos437", b"20\xf8"), "20°");
        assert_eq!(decode("DOS866", b"\x84\xae\xac"), "Дом");
        assert_eq!(decode("ISO8859-2", b"\xb9"), "š");
        assert_eq!(decode("8859_1", b"\xe9"), "é");
        assert_eq!(decode("MACINTOSH", b"\x8e"), "é");
        assert_eq!(decode("utf-8", "é".as_bytes()), "é");
        assert!(CodePage::by_name("ANSI_4711").is_none());
        assert!(CodePage::by_name("").is_none());
    }

    #[test]
    fn johab_syllables_follow_their_bits() {
        // 가 is initial 2, vowel 3, no final (1); 한 is initial 20, vowel 3, final 5.
        let word = |i: u16, v: u16, f: u16| (0x8000u16 | i << 10 | v << 5 | f).to_be_bytes();
        let mut raw = word(2, 3, 1).to_vec();
        raw.extend(word(20, 3, 5));
        assert_eq!(johab(&raw), "가한");
    }

    #[test]
    fn the_version_wins_over_the_code_page() {
        let page = CodePage::by_name("ANSI_1252");
        let mut decoder = Decoder::new(b"", false, Some("AC1021"), page, None);
        assert_eq!(decoder.decode("Кухня".as_bytes()), (Cow::Borrowed("Кухня"), Finding::Plain));
        assert_eq!(decoder.decode(b"caf\xe9"), (Cow::Borrowed("café"), Finding::NotUtf8));
    }

    #[test]
    fn older_files_may_be_utf8_as_a_whole() {
        let page = CodePage::by_name("ANSI_1251");
        let data = "Büro, Кухня".as_bytes();
        let mut decoder = Decoder::new(data, false, Some("AC1015"), page, None);
        assert_eq!(decoder.decode("Büro".as_bytes()).1, Finding::UnexpectedUtf8);
        let mixed = b"\xca\xf3 B\xc3\xbcro";
        let mut decoder = Decoder::new(mixed, false, Some("AC1015"), page, None);
        assert_eq!(decoder.decode(b"\xca\xf3"), (Cow::Borrowed("Ку"), Finding::Plain));
        let mut decoder = Decoder::new(b"\xe9", false, None, None, None);
        assert_eq!(decoder.decode(b"\xe9"), (Cow::Borrowed("é"), Finding::AssumedCodePage));
    }
}
