//! Drawing packages: the members of a ZIP file, read from its central directory one at a time.
//!
//! Stored and deflated members are read, with and without ZIP64; encryption, other methods and split archives are
//! named and refused. Declared sizes are distrusted: inflating stops at a limit, and length and CRC-32 are compared
//! afterwards. Nothing is unpacked to disk, so a member's name can lead nowhere.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write as _};

use bytes::Bytes;
use flate2::{Crc, read::DeflateDecoder};
use plan2geo_actors::{DocumentSettings, DocumentWriter};

use super::hold::of_temporary_file;

/// A member as the central directory lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// Path inside the package, with `/`.
    pub(super) name: String,
    /// Bytes when inflated, as declared.
    pub(super) size: u64,
    /// CRC-32 as declared.
    pub(super) crc: u32,
    compressed: u64,
    method: u16,
    encrypted: bool,
    header_at: u64,
}

/// Why a package or a member cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum PackageError {
    /// The operating system says so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not what a ZIP file is.
    #[error("damaged ZIP file: {0}")]
    Malformed(&'static str),
    /// Sound and not read here.
    #[error("unsupported ZIP file: {0}")]
    Unsupported(String),
    /// A password is needed.
    #[error("member is encrypted")]
    Encrypted,
    /// More bytes than allowed.
    #[error("member exceeds `limits.document_bytes` = {0}")]
    TooLarge(u64),
}

/// Entries of one package at most; each costs memory while the package is listed.
const MAX_MEMBERS: u64 = 200_000;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

/// Reads little-endian numbers; past the end is malformed.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], PackageError> {
        let (head, rest) = self.0.split_at_checked(count).ok_or(PackageError::Malformed("a record ends early"))?;
        self.0 = rest;
        Ok(head)
    }

    fn number(&mut self, bytes: usize) -> Result<u64, PackageError> {
        Ok(self.take(bytes)?.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn u16(&mut self) -> Result<u16, PackageError> {
        Ok(self.number(2)? as u16)
    }

    fn u32(&mut self) -> Result<u32, PackageError> {
        Ok(self.number(4)? as u32)
    }
}

/// Lists the members (not the folders) in the order of their names.
pub(super) fn members(file: &mut File) -> Result<Vec<Member>, PackageError> {
    let (count, start, length) = directory(file)?;
    if count > MAX_MEMBERS {
        return Err(PackageError::Unsupported(format!("{count} members, more than {MAX_MEMBERS}")));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    Read::take(&mut *file, length).read_to_end(&mut bytes)?;
    let mut fields = Fields(&bytes);
    let mut members = Vec::new();
    for _ in 0..count {
        let member = central_entry(&mut fields)?;
        if !member.name.ends_with('/') {
            members.push(member);
        }
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    // Of two members with one name the later one counts, as when unpacking.
    members.reverse();
    members.dedup_by(|a, b| a.name == b.name);
    members.reverse();
    Ok(members)
}

/// Count, place and length of the central directory.
fn directory(file: &mut File) -> Result<(u64, u64, u64), PackageError> {
    const END_BYTES: u64 = 22;
    let size = file.metadata()?.len();
    let tail = size.min(END_BYTES + 0xffff);
    file.seek(SeekFrom::Start(size - tail))?;
    let mut bytes = Vec::new();
    Read::take(&mut *file, tail).read_to_end(&mut bytes)?;
    let signature = END.to_le_bytes();
    let at = memchr::memmem::rfind(&bytes, &signature).ok_or(PackageError::Malformed("no central directory"))?;
    let mut fields = Fields(bytes.get(at + 4..).unwrap_or_default());
    let (disk, directory_disk) = (fields.u16()?, fields.u16()?);
    let (_, mut count) = (fields.u16()?, u64::from(fields.u16()?));
    let (mut length, mut start) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    let is_64 = count == 0xffff || length == 0xffff_ffff || start == 0xffff_ffff;
    if is_64 && let Some(locator) = at.checked_sub(20).and_then(|from| bytes.get(from..at)) {
        let mut fields = Fields(locator);
        if fields.u32()? == LOCATOR_64 {
            fields.take(4)?;
            let end_at = fields.number(8)?;
            let mut record = Vec::new();
            file.seek(SeekFrom::Start(end_at))?;
            Read::take(&mut *file, 56).read_to_end(&mut record)?;
            let mut fields = Fields(&record);
            if fields.u32()? != END_64 {
                return Err(PackageError::Malformed("no ZIP64 directory where it should be"));
            }
            fields.take(8 + 2 + 2 + 4 + 4 + 8)?;
            (count, length, start) = (fields.number(8)?, fields.number(8)?, fields.number(8)?);
        }
    } else if disk != 0 || directory_disk != 0 {
        return Err(PackageError::Unsupported("split over several files".to_owned()));
    }
    if start.checked_add(length).is_none_or(|end| end > size) {
        return Err(PackageError::Malformed("the central directory lies outside the file"));
    }
    Ok((count, start, length))
}

fn central_entry(fields: &mut Fields<'_>) -> Result<Member, PackageError> {
    if fields.u32()? != CENTRAL {
        return Err(PackageError::Malformed("a member has no entry in the central directory"));
    }
    fields.take(4)?;
    let (flags, method) = (fields.u16()?, fields.u16()?);
    fields.take(4)?;
    let crc = fields.u32()?;
    let (mut compressed, mut size) = (u64::from(fields.u32()?), u64::from(fields.u32()?));
    let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
    fields.take(8)?;
    let mut header_at = u64::from(fields.u32()?);
    let name = fields.take(name.into())?;
    let mut extra = Fields(fields.take(extra.into())?);
    fields.take(comment.into())?;
    while extra.0.len() >= 4 {
        let (id, length) = (extra.u16()?, extra.u16()?);
        let mut field = Fields(extra.take(length.into())?);
        if id == 1 {
            for value in [&mut size, &mut compressed, &mut header_at] {
                if *value == 0xffff_ffff {
                    *value = field.number(8)?;
                }
            }
        }
    }
    // Old archives say nothing about the encoding of names; those that are no UTF-8 are of code page 437.
    let name = match std::str::from_utf8(name) {
        Ok(name) => name.to_owned(),
        Err(_) => {
            name.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { code_page_437(*byte) }).collect()
        }
    };
    Ok(Member { name: name.replace('\\', "/"), size, crc, compressed, method, encrypted: flags & 1 != 0, header_at })
}

fn code_page_437(byte: u8) -> char {
    const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
    UPPER.chars().nth(usize::from(byte.saturating_sub(128))).unwrap_or('?')
}

/// The first `limit` bytes of a member, without a check.
pub(super) fn head(file: &mut File, member: &Member, limit: u64) -> Result<Vec<u8>, PackageError> {
    let mut bytes = Vec::new();
    inflated(file, member)?.take(limit).read_to_end(&mut bytes).map_err(broken(member))?;
    Ok(bytes)
}

/// The bytes of a member, if they are no more than `limit` and what the directory declares.
pub(super) fn read(
    file: &mut File,
    member: &Member,
    limit: u64,
    settings: &DocumentSettings,
) -> Result<Bytes, PackageError> {
    if member.size > limit {
        return Err(PackageError::TooLarge(limit));
    }
    let mut inflated = inflated(file, member)?;
    let mut document = DocumentWriter::new(settings, 0).map_err(of_temporary_file)?;
    let (mut crc, mut part) = (Crc::new(), vec![0; 64 << 10]);
    loop {
        let read = inflated.read(&mut part).map_err(broken(member))?;
        let part = part.get(..read).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        crc.update(part);
        document.write_all(part).map_err(of_temporary_file)?;
        if document.len() > limit {
            return Err(PackageError::TooLarge(limit));
        }
    }
    if document.len() != member.size || crc.sum() != member.crc {
        return Err(PackageError::Malformed("length or CRC-32 of a member is not what was declared"));
    }
    Ok(document.finish().map_err(of_temporary_file)?)
}

/// What an error while inflating means: a deflated member that cannot be inflated is damaged.
fn broken(member: &Member) -> impl Fn(io::Error) -> PackageError {
    let deflated = member.method == 8;
    move |error| if deflated { PackageError::Malformed("a member cannot be inflated") } else { error.into() }
}

fn inflated<'f>(file: &'f mut File, member: &Member) -> Result<Box<dyn Read + 'f>, PackageError> {
    if member.encrypted {
        return Err(PackageError::Encrypted);
    }
    let mut header = [0; 30];
    file.seek(SeekFrom::Start(member.header_at))?;
    file.read_exact(&mut header).map_err(|_| PackageError::Malformed("a member lies outside the file"))?;
    let mut fields = Fields(&header);
    if fields.u32()? != LOCAL {
        return Err(PackageError::Malformed("a member is not where the central directory says"));
    }
    fields.take(22)?;
    let skip = u64::from(fields.u16()?) + u64::from(fields.u16()?);
    file.seek(SeekFrom::Start(member.header_at + 30 + skip))?;
    let stored = file.take(member.compressed);
    match member.method {
        0 => Ok(Box::new(stored)),
        8 => Ok(Box::new(DeflateDecoder::new(stored))),
        method => Err(PackageError::Unsupported(format!("compression method {method}"))),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A ZIP file of the given members, deflated where the flag says so.
    pub(in super::super) fn zip(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
        let (mut body, mut directory) = (Vec::new(), Vec::new());
        for (name, bytes, deflated) in members {
            let mut crc = Crc::new();
            crc.update(bytes);
            let packed = if *deflated {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            } else {
                bytes.to_vec()
            };
            let at = body.len() as u32;
            let mut common = Vec::new();
            common.extend(20u16.to_le_bytes());
            common.extend(0u16.to_le_bytes());
            common.extend(if *deflated { 8u16 } else { 0 }.to_le_bytes());
            common.extend(0u32.to_le_bytes());
            common.extend(crc.sum().to_le_bytes());
            common.extend((packed.len() as u32).to_le_bytes());
            common.extend((bytes.len() as u32).to_le_bytes());
            common.extend((name.len() as u16).to_le_bytes());
            common.extend(0u16.to_le_bytes());
            body.extend(LOCAL.to_le_bytes());
            body.extend(&common);
            body.extend(name.as_bytes());
            body.extend(&packed);
            directory.extend(CENTRAL.to_le_bytes());
            directory.extend(20u16.to_le_bytes());
            directory.extend(&common);
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let (count, start) = (members.len() as u16, body.len() as u32);
        body.extend(&directory);
        body.extend(END.to_le_bytes());
        body.extend([0; 4]);
        body.extend(count.to_le_bytes());
        body.extend(count.to_le_bytes());
        body.extend((directory.len() as u32).to_le_bytes());
        body.extend(start.to_le_bytes());
        body.extend([0; 2]);
        body
    }

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn whole(file: &mut File, member: &Member, limit: u64) -> Result<Bytes, PackageError> {
        read(file, member, limit, &DocumentSettings { memory_bytes: 5000, directory: None })
    }

    #[test]
    fn members_are_listed_in_order_and_read_back() {
        let mut file =
            file(&zip(&[("top/b.svg", b"stored", false), ("top/", b"", false), ("top/a.dxf", &[b'x'; 9000], true)]));
        let members = members(&mut file).unwrap();
        assert_eq!(members.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(), ["top/a.dxf", "top/b.svg"]);
        assert_eq!(whole(&mut file, &members[0], 9000).unwrap()[..], [b'x'; 9000]);
        assert_eq!(whole(&mut file, &members[1], 9000).unwrap(), b"stored"[..]);
        assert_eq!(head(&mut file, &members[0], 100).unwrap().len(), 100);
        assert!(matches!(whole(&mut file, &members[0], 8999), Err(PackageError::TooLarge(8999))));
    }

    /// Any single damaged byte gives the right bytes or an error, never a panic.
    #[test]
    fn damaged_packages_are_errors() {
        let sound = zip(&[("a.dxf", b"some bytes of a drawing", true), ("b.svg", b"others", false)]);
        for at in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[at] ^= 0xa5;
            let mut file = file(&damaged);
            if let Ok(members) = members(&mut file) {
                for member in members {
                    let _ = whole(&mut file, &member, 1 << 20);
                }
            }
        }
        // The last two bytes are the length of a comment, which nobody reads.
        for length in 0..sound.len() - 2 {
            assert!(members(&mut file(&sound[..length])).is_err(), "{length}");
        }
    }

    #[test]
    fn a_declared_size_is_distrusted() {
        let mut bytes = zip(&[("a.dxf", &vec![0; 1 << 20], true)]);
        let at = memchr::memmem::rfind(&bytes, &CENTRAL.to_le_bytes()).unwrap();
        bytes[at + 24..at + 28].copy_from_slice(&10u32.to_le_bytes());
        let mut file = file(&bytes);
        let members = members(&mut file).unwrap();
        assert!(matches!(whole(&mut file, &members[0], 1000), Err(PackageError::TooLarge(1000))));
    }
}
