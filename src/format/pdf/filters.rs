//! How large a stream gets, before the library decodes it.
//!
//! The library decodes a stream whole, whatever it grows to, and streams may be packed several times over. Here the same
//! filters run with a stop: a stage ends as soon as it is greater than the limit, and the last one keeps nothing.
//! Data that damage or encryption hides is weighed by the greatest ratio of its filters. Decoding itself is left to
//! the library, except for damaged deflate data, of which [`inflate_to_fault`] saves what stands before the fault.

use flate2::{Decompress, FlushDecompress, Status};

/// What a stage does to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Flate,
    Lzw,
    RunLength,
    Ascii85,
    AsciiHex,
    /// An image codec; the library refuses to decode these as data.
    Image,
    /// A filter that is not known from here: deflate if that can be.
    Unknown,
    /// Decryption, or a name that means nothing: no change.
    Nothing,
}

impl Stage {
    /// A filter by its name, whole or abbreviated.
    pub(super) fn by_name(name: &[u8]) -> Self {
        match name {
            b"FlateDecode" | b"Fl" => Self::Flate,
            b"LZWDecode" | b"LZW" => Self::Lzw,
            b"RunLengthDecode" | b"RL" => Self::RunLength,
            b"ASCII85Decode" | b"A85" => Self::Ascii85,
            b"ASCIIHexDecode" | b"AHx" => Self::AsciiHex,
            b"DCTDecode" | b"DCT" | b"CCITTFaxDecode" | b"CCF" | b"JBIG2Decode" | b"JPXDecode" => Self::Image,
            _ => Self::Nothing,
        }
    }

    /// Greatest number of bytes that one byte becomes.
    fn ratio(self) -> u64 {
        match self {
            Self::Flate | Self::Unknown => 1_032, // 258 bytes from 2 bits
            Self::Lzw => 2_731,                   // an entry of 4,096 bytes from 12 bits
            Self::RunLength => 64,                // 128 bytes from 2
            Self::Ascii85 => 4,                   // `z`
            Self::AsciiHex | Self::Image | Self::Nothing => 1,
        }
    }
}

/// The size a stream of `size` bytes cannot exceed at any stage.
pub(super) fn bound(stages: &[Stage], size: u64) -> u64 {
    stages.iter().fold(size, |size, stage| size.saturating_mul(stage.ratio()))
}

/// The size of the greatest stage, exact up to `enough`; more than `enough` means: more.
///
/// `early_change` is the LZW parameter of that name (1 by default).
pub(super) fn measure(stages: &[Stage], data: &[u8], early_change: bool, enough: u64) -> u64 {
    if stages.contains(&Stage::Image) {
        return 0;
    }
    let mut greatest = data.len() as u64;
    let mut current: Option<Vec<u8>> = None;
    for (index, stage) in stages.iter().enumerate() {
        let rest = stages.get(index + 1..).unwrap_or(&[]);
        let input = current.as_deref().unwrap_or(data);
        let mut output = Output { bytes: (!rest.is_empty()).then(Vec::new), size: 0, enough };
        let hidden = match stage {
            Stage::Flate | Stage::Unknown => inflate(input, &mut output),
            Stage::Lzw => lzw(input, early_change, &mut output),
            Stage::RunLength => run_length(input, &mut output),
            Stage::Ascii85 => ascii_85(input, &mut output),
            Stage::AsciiHex => ascii_hex(input, &mut output),
            Stage::Image | Stage::Nothing => continue,
        };
        greatest = greatest.max(output.size);
        if hidden > 0 && *stage == Stage::Unknown {
            return greatest;
        }
        if hidden > 0 {
            return greatest.max(bound(rest, output.size.saturating_add(bound(&[*stage], hidden))));
        }
        if greatest > enough {
            return greatest;
        }
        current = output.bytes;
    }
    greatest
}

/// What stands before the fault in damaged deflate data, up to `most` bytes.
pub(super) fn inflate_to_fault(data: &[u8], most: u64) -> Vec<u8> {
    let mut output = Output { bytes: Some(Vec::new()), size: 0, enough: most };
    inflate(data, &mut output);
    output.bytes.unwrap_or_default()
}

/// Takes what a stage makes, keeps it or not, and says when it is enough.
struct Output {
    bytes: Option<Vec<u8>>,
    size: u64,
    enough: u64,
}

impl Output {
    /// Whether to go on.
    fn put(&mut self, bytes: &[u8]) -> bool {
        self.size += bytes.len() as u64;
        if let Some(kept) = &mut self.bytes {
            kept.extend_from_slice(bytes);
        }
        self.size <= self.enough
    }
}

/// Inflates as zlib, else as raw deflate; gives how many bytes behind a fault could not be judged.
fn inflate(data: &[u8], output: &mut Output) -> u64 {
    let hidden = inflate_as(true, data, output);
    if hidden == 0 || output.size > output.enough {
        return 0;
    }
    let mut raw = Output { bytes: output.bytes.is_some().then(Vec::new), size: 0, enough: output.enough };
    let hidden_raw = inflate_as(false, data, &mut raw);
    if raw.size <= output.size {
        return if hidden_raw == 0 { 0 } else { hidden };
    }
    *output = raw;
    if hidden_raw == 0 { 0 } else { hidden_raw.max(hidden) }
}

fn inflate_as(zlib: bool, data: &[u8], output: &mut Output) -> u64 {
    let mut state = Decompress::new(zlib);
    let mut buffer = vec![0u8; 1 << 15];
    loop {
        let (read, written) = (state.total_in(), state.total_out());
        let rest = usize::try_from(read).ok().and_then(|read| data.get(read..)).unwrap_or(&[]);
        let outcome = state.decompress(rest, &mut buffer, FlushDecompress::None);
        let made = usize::try_from(state.total_out() - written).unwrap_or(0);
        let go_on = output.put(buffer.get(..made).unwrap_or(&[]));
        match outcome {
            Ok(Status::StreamEnd) => return 0,
            _ if !go_on => return 0,
            Ok(_) if state.total_in() > read || made > 0 => {}
            Ok(_) => return 0, // cut off
            // Behind a wrong checksum nothing is hidden.
            Err(_) => return (rest.len() as u64).saturating_sub(state.total_in() - read).saturating_sub(4),
        }
    }
}

fn lzw(data: &[u8], early_change: bool, output: &mut Output) -> u64 {
    const CLEAR: usize = 256;
    const END: usize = 257;
    const MOST: usize = 4_096;
    // An entry is the one before it and a byte: (prefix, last byte, first byte, length).
    let mut table: Vec<(u16, u8, u8, u16)> = (0..258).map(|code| (0, code as u8, code as u8, 1)).collect();
    let (mut bits, mut count, mut at) = (0u32, 0u32, 0usize);
    let mut previous: Option<usize> = None;
    let mut word = Vec::new();
    loop {
        let width = match table.len() + usize::from(early_change) {
            2_048.. => 12,
            1_024.. => 11,
            512.. => 10,
            _ => 9,
        };
        while count < width {
            let Some(byte) = data.get(at) else { return 0 };
            bits = (bits << 8) | u32::from(*byte);
            count += 8;
            at += 1;
        }
        count -= width;
        let code = (bits >> count) as usize & ((1 << width) - 1);
        bits &= (1 << count) - 1;
        match code {
            CLEAR => {
                table.truncate(258);
                previous = None;
                continue;
            }
            END => return 0,
            _ => {}
        }
        // The entry that is made by the code that names it begins as the one before it.
        let first = match (table.get(code), previous.and_then(|previous| table.get(previous))) {
            (Some(entry), _) => entry.2,
            (None, Some(before)) if code == table.len() => before.2,
            _ => return 0,
        };
        if let Some(previous) = previous
            && table.len() < MOST
            && let Some(&(_, _, start, length)) = table.get(previous)
        {
            table.push((previous as u16, first, start, length + 1));
        }
        let Some(&entry) = table.get(code) else { return 0 };
        word.clear();
        let mut next = Some(entry);
        while let Some((prefix, last, _, length)) = next {
            word.push(last);
            next = (length > 1).then(|| table.get(usize::from(prefix)).copied()).flatten();
        }
        word.reverse();
        if !output.put(&word) {
            return 0;
        }
        previous = Some(code);
    }
}

fn run_length(data: &[u8], output: &mut Output) -> u64 {
    let mut rest = data;
    while let Some((&length, after)) = rest.split_first() {
        let go_on = match length {
            128 => return 0,
            0..128 => {
                let Some((run, after)) = after.split_at_checked(usize::from(length) + 1) else { return 0 };
                rest = after;
                output.put(run)
            }
            129.. => {
                let Some((&byte, after)) = after.split_first() else { return 0 };
                rest = after;
                output.put(&[byte; 128][..257 - usize::from(length)])
            }
        };
        if !go_on {
            return 0;
        }
    }
    0
}

fn ascii_85(data: &[u8], output: &mut Output) -> u64 {
    let mut group = [84u32; 5];
    let mut filled = 0;
    let value = |group: &[u32; 5]| group.iter().fold(0u32, |value, digit| value.wrapping_mul(85).wrapping_add(*digit));
    for byte in data {
        match byte {
            b'!'..=b'u' => {
                group[filled] = u32::from(byte - b'!');
                filled += 1;
                if filled == group.len() {
                    if !output.put(&value(&group).to_be_bytes()) {
                        return 0;
                    }
                    (group, filled) = ([84; 5], 0);
                }
            }
            b'z' if !output.put(&[0; 4]) => return 0,
            b'~' => break,
            _ => {}
        }
    }
    if filled > 1 {
        output.put(&value(&group).to_be_bytes()[..filled - 1]);
    }
    0
}

fn ascii_hex(data: &[u8], output: &mut Output) -> u64 {
    let digits = data.iter().take_while(|byte| **byte != b'>').filter_map(|byte| char::from(*byte).to_digit(16));
    let mut high: Option<u32> = None;
    for digit in digits.chain(std::iter::once(0)) {
        match high.take() {
            Some(high) if !output.put(&[(high << 4 | digit) as u8]) => return 0,
            Some(_) => {}
            None => high = Some(digit),
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    pub(crate) fn deflate(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    fn size(stages: &[Stage], data: &[u8]) -> u64 {
        measure(stages, data, true, 1 << 24)
    }

    #[test]
    fn the_greatest_stage_counts() {
        let zeros = vec![0u8; 1 << 20];
        let once = deflate(&zeros);
        let twice = deflate(&once);
        assert_eq!(size(&[Stage::Flate], &once), 1 << 20);
        assert_eq!(size(&[Stage::Flate, Stage::Flate], &twice), 1 << 20);
        assert_eq!(size(&[Stage::Flate, Stage::Image], &once), 0);
        let hex: String = once.iter().map(|byte| format!("{byte:02x} ")).collect();
        assert_eq!(size(&[Stage::AsciiHex, Stage::Flate], hex.as_bytes()), 1 << 20);
        assert_eq!(size(&[Stage::RunLength], &[129, 7, 2, 1, 2, 3, 128]), 131);
        assert_eq!(size(&[Stage::Ascii85], b"zzzz~>"), 16);
        assert_eq!(size(&[Stage::Ascii85, Stage::RunLength], b"JHl~>"), 128, "bytes 129 7");
        assert_eq!(size(&[Stage::Nothing], b"abc"), 3);
    }

    #[test]
    fn lzw_of_the_specification() {
        // PDF 2.0, 7.4.4.2: 45 45 45 45 45 65 45 45 45 66.
        let packed = [0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01];
        let mut output = Output { bytes: Some(Vec::new()), size: 0, enough: 100 };
        assert_eq!(lzw(&packed, true, &mut output), 0);
        assert_eq!(output.bytes.unwrap(), [45, 45, 45, 45, 45, 65, 45, 45, 45, 66]);
    }

    #[test]
    fn a_stage_stops_when_it_is_enough() {
        let packed = deflate(&vec![0u8; 1 << 22]);
        let found = measure(&[Stage::Flate], &packed, true, 1 << 16);
        assert!(found > 1 << 16 && found < 1 << 18, "{found}");
    }

    #[test]
    fn what_cannot_be_looked_into_is_weighed_by_its_ratio() {
        let garbage: Vec<u8> = (0..10_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8 | 1).collect();
        assert!(measure(&[Stage::Flate], &garbage, true, 1 << 20) > 1 << 20);
        // A wrong checksum and a missing end hide nothing.
        let mut packed = deflate(&[7; 5_000]);
        *packed.last_mut().unwrap() ^= 1;
        assert_eq!(size(&[Stage::Flate], &packed), 5_000);
        packed.truncate(packed.len() - 6);
        assert!(size(&[Stage::Flate], &packed) <= 5_000);
        assert_eq!(inflate_to_fault(&deflate(b"10 10 m 20 20 l S"), 100), b"10 10 m 20 20 l S");
    }
}
