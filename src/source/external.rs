//! Finds the drawings that a drawing refers to (XREFs), and nothing else.
//!
//! Drawings state paths of the machine they were made on: `C:\Projects\Haus 3\xref\base.dwg`, `..\xref\base.dwg`. What
//! they say is tried below each folder of a search path, then the file name alone, without regard to case. Only what lies inside
//! the source, or inside a folder that the user named, is ever opened: a drawing must not read the machine.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

use super::name;
use crate::kernel::ExternalResolver;

/// Entries of one folder that are compared without regard to case; beyond that only the exact name is found.
const MAX_ENTRIES: usize = 10_000;

/// Resolves references of the documents below `root`. `folders` are the search path: relative ones are taken from the folder of
/// the drawing, then from the root; absolute ones as they are. `None` if there are no folders.
pub(crate) fn resolver(root: PathBuf, folders: &[String], limit: u64) -> Option<ExternalResolver> {
    if folders.is_empty() {
        return None;
    }
    let search = Search { root, folders: folders.iter().map(PathBuf::from).collect(), limit };
    Some(Arc::new(move |document: &str, stated: &str| search.find(document, stated)))
}

struct Search {
    root: PathBuf,
    folders: Vec<PathBuf>,
    limit: u64,
}

impl Search {
    fn find(&self, document: &str, stated: &str) -> Option<Bytes> {
        let allowed = self.allowed();
        let own_folder = self.own_folder(document);
        let stated = stated.replace('\\', "/");
        let base = stated.rsplit('/').next().filter(|base| !base.is_empty() && *base != "." && *base != "..")?;
        // A path of another machine says nothing here beyond its last part.
        let relative = (!stated.starts_with('/') && !stated.contains(':')).then_some(stated.as_str());
        let itself = fs::canonicalize(own_folder.join(document.rsplit('/').next().unwrap_or(document))).ok();
        for folder in &self.folders {
            let places = if folder.is_absolute() {
                vec![folder.clone()]
            } else {
                vec![own_folder.join(folder), self.root.join(folder)]
            };
            for place in places {
                let candidates = [relative.map(|relative| place.join(relative)), in_folder(&place, base)];
                for candidate in candidates.into_iter().flatten() {
                    let Ok(real) = fs::canonicalize(&candidate) else { continue };
                    if Some(&real) != itself.as_ref()
                        && allowed.iter().any(|folder| real.starts_with(folder))
                        && let Some(bytes) = self.read(&real)
                    {
                        return Some(bytes);
                    }
                }
            }
        }
        None
    }

    /// The real folders that may be read from.
    fn allowed(&self) -> Vec<PathBuf> {
        let named = self.folders.iter().filter(|folder| folder.is_absolute());
        std::iter::once(&self.root).chain(named).filter_map(|folder| fs::canonicalize(folder).ok()).collect()
    }

    fn own_folder(&self, document: &str) -> PathBuf {
        // A member of a package is looked for beside its package.
        let document = document.split("!/").next().unwrap_or(document);
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder
            .split('/')
            .filter(|part| !part.is_empty())
            .fold(self.root.clone(), |path, part| path.join(name::from_text(part)))
    }

    fn read(&self, path: &Path) -> Option<Bytes> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > self.limit {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        file.take(self.limit).read_to_end(&mut bytes).ok()?;
        Some(Bytes::from(bytes))
    }
}

/// The file of that name in a folder, exactly or without regard to case.
fn in_folder(folder: &Path, base: &str) -> Option<PathBuf> {
    let exact = folder.join(base);
    if exact.is_file() {
        return Some(exact);
    }
    let lower = base.to_lowercase();
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .take(MAX_ENTRIES)
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.to_lowercase() == lower))
        .map(|entry| entry.path())
        .collect();
    // The order of a listing is that of the file system.
    found.sort();
    found.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut File::create(&path).unwrap(), path.to_str().unwrap().as_bytes()).unwrap();
    }

    #[test]
    fn references_are_found_as_drawings_state_them_and_never_outside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("plans");
        for name in ["A/L02.dxf", "A/base.dwg", "xref/Grid.DWG", "A/sub/detail.dxf"] {
            write(root.join(name));
        }
        write(dir.path().join("secret.dxf"));
        write(dir.path().join("shared/title.dxf"));
        let shared = dir.path().join("shared").to_str().unwrap().to_owned();
        let find = |folders: &[&str], stated: &str| {
            let folders: Vec<String> = folders.iter().map(|folder| (*folder).to_owned()).collect();
            let found = resolver(root.clone(), &folders, 1 << 20)?("A/L02.dxf", stated)?;
            let path = String::from_utf8(found.to_vec()).unwrap();
            Some(Path::new(&path).strip_prefix(dir.path()).unwrap().display().to_string())
        };
        for (folders, stated, expected) in [
            (&["."][..], "base.dwg", Some("plans/A/base.dwg")),
            (&["."], r"C:\Projekte\Haus 3\BASE.DWG", Some("plans/A/base.dwg")),
            (&["."], r"sub\detail.dxf", Some("plans/A/sub/detail.dxf")),
            (&["."], "./base.dwg", Some("plans/A/base.dwg")),
            (&["xref"], r"..\anywhere\grid.dwg", Some("plans/xref/Grid.DWG")),
            (&["."], r"..\xref\Grid.DWG", Some("plans/xref/Grid.DWG")),
            (&["."], "../../secret.dxf", None),
            (&["."], "L02.dxf", None),
            (&["."], "none.dxf", None),
            (&["."], "..", None),
            (&["."], "", None),
            (&[], "base.dwg", None),
            (&[&shared], "title.dxf", Some("shared/title.dxf")),
            (&["../../shared"], "title.dxf", None),
        ] {
            assert_eq!(find(folders, stated).as_deref(), expected, "{folders:?} {stated}");
        }
        assert!(
            resolver(root, &[".".to_owned()], 3).unwrap()("A/L02.dxf", "base.dwg").is_none(),
            "larger than allowed"
        );
    }
}
