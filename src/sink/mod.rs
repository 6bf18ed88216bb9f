//! Outputs in a directory: whole or absent, durable before they are claimed, never outside the root.
//!
//! An output is written to a temporary file in its own folder, synced, renamed, and the folder is synced. The
//! temporary name belongs to the unit, so what a crash leaves behind is overwritten by the next attempt; the next run
//! removes the others.

pub(crate) mod naming;
mod sync;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use plan2geo_actors::{Extraction, Failure, FailureKind, Sink, Spooled, Stage, Stored, Unit};
use sha2::{Digest as _, Sha256};

use sync::DirectorySync;

/// A directory as a sink. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OutputDirectory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    sync: DirectorySync,
}

impl OutputDirectory {
    /// The directory `root`; [`Sink::prepare`] makes it if it is not there.
    pub fn new(root: PathBuf) -> Self {
        Self { inner: Arc::new(Inner { root, sync: DirectorySync::default() }) }
    }
}

#[async_trait]
impl Sink for OutputDirectory {
    async fn prepare(&self) -> Result<(), Failure> {
        let inner = Arc::clone(&self.inner);
        off_the_loop("output directory", move || inner.prepare()).await
    }

    fn place(&self, unit: &Unit) -> String {
        naming::output_name(unit)
    }

    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure> {
        let inner = Arc::clone(&self.inner);
        let output = naming::output_name(unit);
        let stored = Stored { output: output.clone(), sha256: extraction.output.sha256_hex() };
        let temporary = unit.trace_id.to_string();
        let extraction = extraction.clone();
        let what = output.clone();
        off_the_loop(&what, move || inner.store(&output, &temporary, &extraction)).await?;
        Ok(stored)
    }

    async fn digest(&self, output: &str) -> Result<Option<String>, Failure> {
        let inner = Arc::clone(&self.inner);
        let name = output.to_owned();
        off_the_loop(output, move || inner.digest(&name)).await
    }
}

/// Runs blocking work on a thread for such; an error becomes a failure at the writing stage.
async fn off_the_loop<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(|error| Failure::from_io(Stage::Write, what, &error)),
        Err(error) => {
            let message = format!("{what}: writing was broken off: {error}");
            Err(Failure::new(FailureKind::Io, Stage::Write, message))
        }
    }
}

impl Inner {
    fn prepare(&self) -> io::Result<()> {
        prepare_directory(&self.root).map_err(|error| {
            let message = format!(
                "cannot write to {}: {error}; make it writable, make room, or set output.location",
                self.root.display()
            );
            io::Error::new(error.kind(), message)
        })
    }

    fn store(&self, output: &str, temporary: &str, extraction: &Extraction) -> io::Result<()> {
        let path = self.path_of(output)?;
        let folder = path.parent().unwrap_or(&self.root);
        self.make_folder(folder)?;
        let base = output.strip_suffix(naming::SUFFIX).unwrap_or(output);
        for (index, (suffix, attachment)) in extraction.attachments.iter().enumerate() {
            let path = self.path_of(&format!("{base}{suffix}"))?;
            write_whole(&path, &folder.join(format!(".{temporary}.{index}.part")), attachment)?;
        }
        write_whole(&path, &folder.join(format!(".{temporary}.part")), &extraction.output)?;
        self.sync.sync(folder)
    }

    /// Makes a folder and those above it, durably, and refuses to be led out of the root by a link.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        let mut missing = Vec::new();
        let mut above = folder;
        while above.starts_with(&self.root) && !above.try_exists()? {
            missing.push(above);
            match above.parent() {
                Some(parent) => above = parent,
                None => break,
            }
        }
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Ok(()) => {
                    if let Some(parent) = folder.parent() {
                        self.sync.sync(parent)?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        if folder.canonicalize()?.starts_with(self.root.canonicalize()?) {
            Ok(())
        } else {
            Err(io::Error::other("a link inside the output leads out of it"))
        }
    }

    fn path_of(&self, output: &str) -> io::Result<PathBuf> {
        let mut path = self.root.clone();
        for part in output.split('/') {
            if matches!(part, "" | "." | "..") || part.contains('\\') || part.contains('\0') {
                return Err(io::Error::other("the place lies outside the output"));
            }
            path.push(part);
        }
        Ok(path)
    }

    fn digest(&self, output: &str) -> io::Result<Option<String>> {
        let mut file = match File::open(self.path_of(output)?) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut hasher = Sha256::new();
        io::copy(&mut file, &mut HashWriter(&mut hasher))?;
        Ok(Some(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
    }
}

/// Makes a directory and proves that a file can be written to it, by one without a name.
pub(crate) fn prepare_directory(root: &Path) -> io::Result<()> {
    fs::create_dir_all(root)?;
    let mut probe = tempfile::tempfile_in(root)?;
    probe.write_all(b"plan2geo")?;
    probe.sync_all()
}

/// Removes what a killed run left half written below `root`, and gives the number of files. Only for whoever holds the lock of
/// the output and knows that its last holder was killed: then nobody is at work on these files. Folders that are outputs of
/// their own are left alone, and so are links. What cannot be removed is logged and harms nobody.
pub(crate) fn remove_leftovers(root: &Path) -> usize {
    let is_foreign = |entry: &walkdir::DirEntry| {
        entry.file_type().is_dir()
            && entry.depth() > 0
            && !matches!(entry.path().join(naming::STATE_FOLDER).try_exists(), Ok(false))
    };
    let is_state =
        |entry: &walkdir::DirEntry| entry.depth() == 1 && entry.file_name().to_str() == Some(naming::STATE_FOLDER);
    let walk = walkdir::WalkDir::new(root).into_iter();
    let mut removed = 0;
    for entry in walk.filter_entry(|entry| !is_foreign(entry) && !is_state(entry)).flatten() {
        if !entry.file_type().is_file() || !entry.file_name().to_str().is_some_and(is_temporary) {
            continue;
        }
        match fs::remove_file(entry.path()) {
            Ok(()) => {
                tracing::info!(file = %entry.path().display(), "removed what a killed run left half written");
                removed += 1;
            }
            Err(error) => tracing::warn!(file = %entry.path().display(), %error, "a leftover cannot be removed"),
        }
    }
    removed
}

/// Whether a file is called as [`Inner::store`] and [`Spooled::save`] call files for a moment: `.<trace id>.part`,
/// `.<trace id>.<attachment>.part`, and these with `.link`.
fn is_temporary(name: &str) -> bool {
    let name = name.strip_suffix(".link").unwrap_or(name);
    let Some(inner) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".part")) else { return false };
    let (trace, attachment) = inner.split_once('.').unwrap_or((inner, "0"));
    trace.len() == 36 && uuid::Uuid::try_parse(trace).is_ok() && attachment.parse::<usize>().is_ok()
}

/// Temporary file, sync, rename. Removes the temporary file when that fails.
fn write_whole(path: &Path, temporary: &Path, bytes: &Spooled) -> io::Result<()> {
    let result = bytes.save(temporary).and_then(|()| fs::rename(temporary, path));
    // After an error what is left is half an output, and the error counts, not one of removing it. After success nothing is left,
    // unless the same output was stored before: renaming a file to its own other name does nothing.
    let _ = fs::remove_file(temporary);
    result
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan2geo_actors::{Found, RunId};

    fn unit(doc_id: &str) -> Unit {
        Unit::from_found(Found::new(doc_id, 1, doc_id, "dxf"), RunId::random(), None)
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    fn extraction(text: &str) -> Extraction {
        Extraction::new(Spooled::from_bytes(text.to_owned()))
    }

    fn files(root: &Path) -> Vec<String> {
        walkdir::WalkDir::new(root)
            .sort_by_file_name()
            .into_iter()
            .map(Result::unwrap)
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| entry.path().strip_prefix(root).unwrap().display().to_string())
            .collect()
    }

    /// R135: whole, at its place, and nothing beside it.
    #[test]
    fn an_output_is_stored_whole_with_its_attachments() {
        let dir = tempfile::tempdir().unwrap();
        let sink = OutputDirectory::new(dir.path().join("deep/out"));
        block_on(sink.prepare()).unwrap();
        let mut extraction = extraction("{}");
        extraction.attachments.push((".txt".to_owned(), Spooled::from_bytes("words")));
        let stored = block_on(sink.store(&unit("A/B/L02.dxf"), &extraction)).unwrap();
        assert_eq!(stored.output, "A/B/L02.dxf.geojson");
        assert_eq!(files(&dir.path().join("deep/out")), ["A/B/L02.dxf.geojson", "A/B/L02.dxf.txt"]);
        assert_eq!(block_on(sink.digest(&stored.output)).unwrap(), Some(stored.sha256));
        assert_eq!(block_on(sink.digest("A/B/none.geojson")).unwrap(), None);
        block_on(sink.store(&unit("A/B/L02.dxf"), &super::tests::extraction("again"))).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("deep/out/A/B/L02.dxf.geojson")).unwrap(), "again");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_inside_the_output_leads_nowhere() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("A")).unwrap();
        let sink = OutputDirectory::new(dir.path().to_owned());
        let failure = block_on(sink.store(&unit("A/x.dxf"), &extraction("{}"))).unwrap_err();
        assert!(failure.message.contains("leads out of it"), "{failure}");
        assert!(files(elsewhere.path()).is_empty());
        assert!(block_on(sink.digest("../x")).is_err());
    }

    #[test]
    fn a_failed_output_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let sink = OutputDirectory::new(dir.path().to_owned());
        // A folder stands where the output has to go.
        fs::create_dir_all(dir.path().join("x.dxf.geojson/y")).unwrap();
        assert!(block_on(sink.store(&unit("x.dxf"), &extraction("{}"))).is_err());
        assert!(files(dir.path()).is_empty());
    }

    #[test]
    fn leftovers_are_told_by_their_names_and_nothing_else_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let trace = unit("x.dxf").trace_id;
        let left = [
            format!(".{trace}.part"),
            format!("A/B/.{trace}.part.link"),
            format!("A/.{trace}.0.part"),
            format!("A/.{trace}.12.part.link"),
        ];
        let others = [
            "A/x.dxf.geojson".to_owned(),
            format!("A/{trace}.part"),
            format!(".{trace}.part.geojson"),
            format!(".{trace}.x.part"),
            format!(".{}.part", &trace.to_string()[1..]),
            ".notes.part".to_owned(),
            // An output of its own below this one, with a run that may be at work.
            "A/other/_plan2geo/lock".to_owned(),
            format!("A/other/C/.{trace}.part"),
            format!("_plan2geo/.{trace}.part"),
        ];
        for file in left.iter().chain(&others) {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            File::create(path).unwrap();
        }
        assert_eq!(remove_leftovers(dir.path()), left.len());
        let mut expected = others.to_vec();
        expected.sort();
        let mut found = files(dir.path());
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(remove_leftovers(dir.path()), 0);
    }

    #[test]
    fn an_output_that_cannot_be_made_says_where_and_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        File::create(&file).unwrap();
        let failure = block_on(OutputDirectory::new(file.join("out")).prepare()).unwrap_err();
        assert!(failure.message.contains("output.location"), "{failure}");
        assert!(failure.message.contains("file/out"), "{failure}");
    }

    #[test]
    fn many_outputs_at_once_land_in_new_folders() {
        let dir = tempfile::tempdir().unwrap();
        let sink = OutputDirectory::new(dir.path().to_owned());
        block_on(async {
            let stores = (0..50).map(|n| {
                let sink = sink.clone();
                async move { sink.store(&unit(&format!("a/b{}/c/{n}.dxf", n % 3)), &extraction("{}")).await }
            });
            for stored in futures::future::join_all(stores).await {
                stored.unwrap();
            }
        });
        assert_eq!(files(dir.path()).len(), 50);
    }
}
