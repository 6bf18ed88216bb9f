//! Where drawings come from and results go: a directory, or a prefix of an object store.
//!
//! A location is an identity that stands in ledgers for years, so it holds no credentials and nothing that
//! expires: user names, passwords, queries and signatures are refused, without being repeated in the message.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place that can hold many files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A prefix of an object store.
    Store(StoreLocation),
}

/// A prefix of an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreLocation {
    /// `s3`, `gs`, `az`, `http` or `https`.
    pub scheme: String,
    /// Bucket, container or host.
    pub bucket: String,
    /// Prefix without leading and trailing `/`; may be empty.
    pub prefix: String,
}

/// Why a text is no location. Never repeats the text, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LocationError {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// The text holds, or may hold, a secret and must not be shown.
    pub secret: bool,
}

impl LocationError {
    fn new(message: &str, remedy: &str) -> Self {
        Self { message: message.to_owned(), remedy: remedy.to_owned(), secret: false }
    }

    fn secret(message: &str, remedy: &str) -> Self {
        Self { secret: true, ..Self::new(message, remedy) }
    }
}

const SCHEMES: [&str; 5] = ["s3", "gs", "az", "http", "https"];

impl Location {
    /// Reads a location; relative paths are taken below `folder`.
    ///
    /// # Errors
    /// An empty text, an unknown scheme, credentials or a query in a URL.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, LocationError> {
        if text.trim().is_empty() {
            return Err(LocationError::new("must not be empty", "name a directory, such as \"plans\""));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Self::Directory(below(folder, text)));
        };
        if rest.contains(['?', '#']) {
            return Err(LocationError::secret(
                "must not have a query: a pre-signed URL expires and is no lasting name",
                "name the bucket and prefix only; credentials are taken from the environment",
            ));
        }
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(LocationError::secret(
                "must not hold credentials",
                "take user and password out of the URL; credentials are taken from the environment",
            ));
        }
        match scheme {
            "file" => Ok(Self::Directory(below(folder, rest))),
            scheme if SCHEMES.contains(&scheme) => {
                if authority.is_empty() {
                    return Err(LocationError::new("names no bucket", "write it as s3://bucket/prefix"));
                }
                Ok(Self::Store(StoreLocation {
                    scheme: scheme.to_owned(),
                    bucket: authority.to_owned(),
                    prefix: prefix.trim_matches('/').to_owned(),
                }))
            }
            _ => Err(LocationError::new(
                "has an unknown scheme",
                "use a directory, or one of s3://, gs://, az://, http://, https://",
            )),
        }
    }

    /// The directory, if it is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::Store(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Store(store) => store.fmt(f),
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

/// `path` below `folder`, with `.` and `..` resolved by name where that is possible.
fn below(folder: &Path, path: &str) -> PathBuf {
    let joined = folder.join(path);
    let mut clean = PathBuf::new();
    for part in joined.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if clean.file_name().is_some() && !clean.is_symlink() => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    if clean.as_os_str().is_empty() { PathBuf::from(".") } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_and_stores_are_told_apart() {
        let parse = |text: &str| Location::parse(text, Path::new("/etc/p")).unwrap();
        assert_eq!(parse("plans"), Location::Directory("/etc/p/plans".into()));
        assert_eq!(parse("../plans/./a"), Location::Directory("/etc/plans/a".into()));
        assert_eq!(parse("/data"), Location::Directory("/data".into()));
        assert_eq!(parse("file:///data/x"), Location::Directory("/data/x".into()));
        assert_eq!(parse("s3://bucket/a/b/").to_string(), "s3://bucket/a/b");
        assert_eq!(parse("gs://bucket").to_string(), "gs://bucket");
        assert_eq!(Location::parse("x", Path::new("")).unwrap(), Location::Directory("x".into()));
    }

    /// R75: what expires or is secret is no identity, and is not repeated.
    #[test]
    fn credentials_and_signatures_are_refused_and_not_repeated() {
        for text in [
            "https://user:hunter2@host/plans",
            "s3://AKIA:hunter2@bucket/x",
            "https://host/plans?X-Amz-Signature=hunter2",
            "https://host/plans?sv=2020&sig=hunter2",
        ] {
            let error = Location::parse(text, Path::new("")).unwrap_err();
            assert!(error.secret, "{text}");
            assert!(!format!("{error:?}").contains("hunter2"), "{text}");
        }
        assert!(Location::parse("ftp://host/x", Path::new("")).is_err());
        assert!(Location::parse("s3:///x", Path::new("")).is_err());
        assert!(Location::parse("  ", Path::new("")).is_err());
    }
}
