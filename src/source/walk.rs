//! The walk over a directory: lazy, sorted, one directory in memory at a time, one file open at a time.
//!
//! The order is that of the `doc_id` bytes, so a directory sorts as if its name ended with `/`. Links are followed
//! as configured; a directory that is its own ancestor is a dead letter and not entered. What cannot be listed,
//! opened or understood is a dead letter as well; what is no drawing is left out and counted.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plan2geo_actors::{Failure, FailureKind, Found, SourceError, Stage};

use super::entry::{ByHead, ByName, HEAD, Listed, Pages, dead};
use super::hold::hold;
use super::package::{self, Member, PackageError};
use super::{Directory, name, version_of};
use crate::config::Links;
use crate::format::sniff;

/// Folders in folders at most; only links can make a tree deeper.
const MAX_DEPTH: usize = 256;

/// The state of a walk.
pub(super) struct Walk {
    directory: Arc<Directory>,
    stack: Vec<Folder>,
    pages: Option<Pages>,
    begun: bool,
}

/// A directory or package that is being walked.
enum Folder {
    Directory {
        /// How to reach it.
        path: PathBuf,
        /// Where it really is.
        canonical: PathBuf,
        /// `doc_id` of its entries, up to and with the last `/`.
        prefix: String,
        entries: std::vec::IntoIter<Entry>,
    },
    Package {
        file: File,
        location: String,
        prefix: String,
        version: Option<String>,
        members: std::vec::IntoIter<Member>,
    },
}

/// An entry of a directory.
struct Entry {
    /// What it is sorted by and what its `doc_id` ends with; directories end with `/`, packages with `!/`.
    key: String,
    kind: Kind,
}

enum Kind {
    File,
    Directory {
        through_link: bool,
    },
    Package,
    /// Known to be unusable from the listing alone.
    Dead(Failure),
}

impl Walk {
    pub(super) fn new(directory: Arc<Directory>) -> Self {
        Self { directory, stack: Vec::new(), pages: None, begun: false }
    }

    /// The next finding; blocks.
    pub(super) fn next(&mut self) -> Option<Result<Found, SourceError>> {
        if !self.begun {
            self.begun = true;
            if let Err(error) = self.begin() {
                return Some(Err(error));
            }
        }
        loop {
            if let Some(found) = self.pages.as_mut().and_then(Iterator::next) {
                return Some(Ok(found));
            }
            self.pages = None;
            match self.stack.last_mut()? {
                Folder::Directory { path, prefix, entries, .. } => match entries.next() {
                    None => {
                        self.stack.pop();
                    }
                    Some(entry) => {
                        let doc_id = format!("{prefix}{}", entry.key);
                        let path = path.clone();
                        if let Some(found) = self.entry(&path, entry, doc_id) {
                            return Some(Ok(found));
                        }
                    }
                },
                Folder::Package { members, .. } => match members.next() {
                    None => {
                        self.stack.pop();
                    }
                    Some(member) => {
                        if let Some(found) = self.member(&member) {
                            return Some(Ok(found));
                        }
                    }
                },
            }
        }
    }

    fn begin(&mut self) -> Result<(), SourceError> {
        let directory = Arc::clone(&self.directory);
        directory.examiner.begin();
        let root = &directory.root;
        let fail =
            |error: &io::Error| SourceError::List { location: directory.location.clone(), message: error.to_string() };
        let canonical = fs::canonicalize(root).map_err(|error| fail(&error))?;
        let mut entries = self.list(root, "").map_err(|error| fail(&error))?;
        if let Some(only) = &directory.only {
            let is_it = |entry: &Entry| entry.key.strip_suffix("!/").unwrap_or(&entry.key) == only;
            entries = entries.filter(is_it).collect::<Vec<_>>().into_iter();
        }
        self.stack.push(Folder::Directory { path: root.clone(), canonical, prefix: String::new(), entries });
        Ok(())
    }

    /// The sorted entries of a directory.
    fn list(&self, path: &Path, prefix: &str) -> io::Result<std::vec::IntoIter<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let text = name::to_text(&entry.file_name());
            let kind = entry.file_type().map_err(|error| Failure::from_io(Stage::Scan, &text, &error));
            entries.extend(self.kind(&entry.path(), text, kind, prefix));
        }
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(entries.into_iter())
    }

    fn kind(&self, path: &Path, text: String, kind: Result<fs::FileType, Failure>, prefix: &str) -> Option<Entry> {
        let examiner = &self.directory.examiner;
        let kind = match kind {
            Ok(kind) => kind,
            Err(failure) => return Some(Entry { key: text, kind: Kind::Dead(failure) }),
        };
        let (is_dir, is_file) = if kind.is_symlink() {
            if text.starts_with('.') && !examiner.hidden {
                examiner.leave_out("hidden files");
                return None;
            }
            if self.directory.links == Links::Skip {
                examiner.leave_out("symbolic links");
                return None;
            }
            match fs::metadata(path) {
                Ok(metadata) => (metadata.is_dir(), metadata.is_file()),
                Err(error) => {
                    let message = format!("{prefix}{text} is a link that leads nowhere: {error}");
                    return Some(Entry { key: text, kind: Kind::Dead(dead(FailureKind::Unreadable, message)) });
                }
            }
        } else {
            (kind.is_dir(), kind.is_file())
        };
        if is_dir {
            // A folder must not be taken for the inside of a package beside it.
            let looks_packed = examiner.packages && text.strip_suffix('!').is_some_and(super::entry::is_package_name);
            let text = if looks_packed { name::with_last_escaped(&text) } else { text };
            return Some(Entry { key: text + "/", kind: Kind::Directory { through_link: kind.is_symlink() } });
        }
        if !is_file {
            examiner.leave_out("devices, pipes and sockets");
            return None;
        }
        match examiner.by_name(&format!("{prefix}{text}")) {
            ByName::LeaveOut => None,
            ByName::Package => Some(Entry { key: text + "!/", kind: Kind::Package }),
            ByName::Look => Some(Entry { key: text, kind: Kind::File }),
        }
    }

    fn entry(&mut self, folder: &Path, entry: Entry, doc_id: String) -> Option<Found> {
        let directory = Arc::clone(&self.directory);
        let key = entry.key.trim_end_matches('/');
        match entry.kind {
            Kind::Dead(failure) => {
                let listed = directory.listed(doc_id, None);
                Some(directory.examiner.dead(&listed, failure))
            }
            Kind::File => self.file(&folder.join(name::from_text(key)), doc_id),
            Kind::Directory { through_link } => {
                self.directory(folder.join(name::from_text(key)), doc_id, key, through_link)
            }
            Kind::Package => {
                let key = key.strip_suffix('!').unwrap_or(key);
                self.package(&folder.join(name::from_text(key)), doc_id)
            }
        }
    }

    fn directory(&mut self, path: PathBuf, prefix: String, name: &str, through_link: bool) -> Option<Found> {
        let directory = Arc::clone(&self.directory);
        let doc_id = prefix.trim_end_matches('/');
        if !directory.examiner.enters(doc_id, name) {
            return None;
        }
        let unusable = |kind: FailureKind, message: String| {
            Some(directory.examiner.dead(&directory.listed(prefix.clone(), None), dead(kind, message)))
        };
        if self.stack.len() >= MAX_DEPTH {
            return unusable(FailureKind::Limit, format!("{doc_id} lies deeper than {MAX_DEPTH} folders"));
        }
        let canonical = match (through_link, self.stack.last()) {
            (false, Some(Folder::Directory { canonical, .. })) => canonical.join(path.file_name().unwrap_or_default()),
            _ => match fs::canonicalize(&path) {
                Ok(canonical) => canonical,
                Err(error) => return unusable(FailureKind::Unreadable, format!("{doc_id}: {error}")),
            },
        };
        if directory.left_out.iter().any(|left_out| fs::canonicalize(left_out).is_ok_and(|path| path == canonical)) {
            directory.examiner.leave_out("the output folder");
            return None;
        }
        let is_its_own_ancestor = self
            .stack
            .iter()
            .any(|folder| matches!(folder, Folder::Directory { canonical: above, .. } if *above == canonical));
        if is_its_own_ancestor {
            return unusable(
                FailureKind::Unreadable,
                format!("{doc_id} is a link loop: it leads to a folder above itself"),
            );
        }
        if through_link && self.leads_outside(&canonical) {
            return unusable(FailureKind::Unreadable, outside(doc_id));
        }
        match self.list(&path, &prefix) {
            Ok(entries) => {
                self.stack.push(Folder::Directory { path, canonical, prefix, entries });
                None
            }
            Err(error) => {
                let failure = Failure::from_io(Stage::Scan, doc_id, &error);
                Some(directory.examiner.dead(&directory.listed(prefix, None), failure))
            }
        }
    }

    fn leads_outside(&self, canonical: &Path) -> bool {
        let root = match self.stack.first() {
            Some(Folder::Directory { canonical, .. }) => canonical,
            _ => return false,
        };
        self.directory.links == Links::Inside && !canonical.starts_with(root)
    }

    fn file(&mut self, path: &Path, doc_id: String) -> Option<Found> {
        let directory = Arc::clone(&self.directory);
        let examiner = &directory.examiner;
        if self.directory.links == Links::Inside
            && path.is_symlink()
            && let Ok(canonical) = fs::canonicalize(path)
            && self.leads_outside(&canonical)
        {
            let failure = dead(FailureKind::Unreadable, outside(&doc_id));
            return Some(examiner.dead(&directory.listed(doc_id, None), failure));
        }
        let opened = File::open(path).and_then(|mut file| {
            let metadata = file.metadata()?;
            let mut head = Vec::with_capacity(HEAD);
            io::Read::take(&mut file, HEAD as u64).read_to_end(&mut head)?;
            Ok((file, metadata, head))
        });
        let (mut file, metadata, head) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // A file nobody would take for a drawing is not missed.
                let extension = doc_id.rsplit('/').next().is_some_and(|name| name.contains('.'));
                if extension && sniff::format_of_name(&doc_id).is_none() {
                    examiner.leave_out("unreadable files that are not named like drawings");
                    return None;
                }
                let failure = Failure::from_io(Stage::Scan, &doc_id, &error);
                return Some(examiner.dead(&directory.listed(doc_id, None), failure));
            }
        };
        let listed = directory.listed(doc_id, Some(&metadata));
        match examiner.by_head(&listed.doc_id, listed.size, &head) {
            ByHead::LeaveOut => None,
            ByHead::Dead(failure) => Some(examiner.dead(&listed, failure)),
            ByHead::Drawing(format) => Some(examiner.unit(&listed, format)),
            ByHead::Pages => {
                let read = file
                    .rewind()
                    .and_then(|()| hold(&mut file, listed.size, examiner.limits.document_bytes, &examiner.documents));
                match read {
                    Ok(bytes) => {
                        self.pages = Some(examiner.pages(&listed, &bytes));
                        None
                    }
                    Err(error) => {
                        let failure = Failure::from_io(Stage::Scan, &listed.doc_id, &error);
                        Some(examiner.dead(&listed, failure))
                    }
                }
            }
        }
    }

    fn package(&mut self, path: &Path, prefix: String) -> Option<Found> {
        let directory = Arc::clone(&self.directory);
        let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let (mut file, metadata) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let failure = Failure::from_io(Stage::Scan, &prefix, &error);
                return Some(directory.examiner.dead(&directory.listed(prefix, None), failure));
            }
        };
        let listed = directory.listed(prefix, Some(&metadata));
        match package::members(&mut file) {
            Ok(members) => {
                self.stack.push(Folder::Package {
                    file,
                    location: listed.location,
                    prefix: listed.doc_id,
                    version: listed.version,
                    members: members.into_iter(),
                });
                None
            }
            Err(error) => {
                let failure = package_failure(Stage::Scan, &listed.doc_id, &error);
                Some(directory.examiner.dead(&listed, failure))
            }
        }
    }

    fn member(&mut self, member: &Member) -> Option<Found> {
        let directory = Arc::clone(&self.directory);
        let examiner = &directory.examiner;
        let Some(Folder::Package { file, location, prefix, version, .. }) = self.stack.last_mut() else { return None };
        let listed = Listed {
            doc_id: format!("{prefix}{}", member.name),
            location: format!("{location}{}", member.name),
            size: member.size,
            version: version.as_deref().map(|version| format!("{version}-{:08x}", member.crc)),
        };
        let mut parts: Vec<&str> = member.name.split('/').collect();
        let name = parts.pop().unwrap_or_default();
        if parts.iter().chain([&name]).any(|part| matches!(*part, "" | "." | "..")) {
            let message = format!("{} has a name that leads out of its package", listed.doc_id);
            return Some(examiner.dead(&listed, dead(FailureKind::Unreadable, message)));
        }
        if parts.iter().any(|part| !examiner.enters(&listed.doc_id, part)) {
            return None;
        }
        match examiner.by_name(&listed.doc_id) {
            ByName::LeaveOut => return None,
            ByName::Package => {
                examiner.leave_out("packages in packages");
                return None;
            }
            ByName::Look => {}
        }
        let head = match package::head(file, member, HEAD as u64) {
            Ok(head) => head,
            Err(error) => {
                if sniff::format_of_name(&listed.doc_id).is_none() {
                    examiner.leave_out("unreadable files that are not named like drawings");
                    return None;
                }
                return Some(examiner.dead(&listed, package_failure(Stage::Scan, &listed.doc_id, &error)));
            }
        };
        match examiner.by_head(&listed.doc_id, member.size, &head) {
            ByHead::LeaveOut => None,
            ByHead::Dead(failure) => Some(examiner.dead(&listed, failure)),
            ByHead::Drawing(format) => Some(examiner.unit(&listed, format)),
            ByHead::Pages => match package::read(file, member, examiner.limits.document_bytes, &examiner.documents) {
                Ok(bytes) => {
                    self.pages = Some(examiner.pages(&listed, &bytes));
                    None
                }
                Err(error) => Some(examiner.dead(&listed, package_failure(Stage::Scan, &listed.doc_id, &error))),
            },
        }
    }
}

fn outside(doc_id: &str) -> String {
    format!("{doc_id} is a link that leads out of the source; `source.links = \"follow\"` would follow it")
}

/// The failure an unreadable package or member is.
pub(super) fn package_failure(stage: Stage, doc_id: &str, error: &PackageError) -> Failure {
    let kind = match error {
        PackageError::Io(error) => return Failure::from_io(stage, doc_id, error),
        PackageError::Malformed(_) => FailureKind::Malformed,
        PackageError::Unsupported(_) => FailureKind::Unsupported,
        PackageError::Encrypted => FailureKind::Encrypted,
        PackageError::TooLarge(_) => FailureKind::Limit,
    };
    Failure::new(kind, stage, format!("{doc_id}: {error}"))
}

impl Directory {
    fn listed(&self, doc_id: String, metadata: Option<&fs::Metadata>) -> Listed {
        Listed {
            location: format!("{}/{doc_id}", self.location),
            doc_id,
            size: metadata.map_or(0, fs::Metadata::len),
            version: metadata.map(version_of),
        }
    }
}
