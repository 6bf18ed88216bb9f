//! Which run it is: a new one, or an earlier one that was not finished; and where its books are.
//!
//! A state folder holds one directory a run, named by its id, and `latest`, which names the newest. Runs that replay
//! dead letters stand beside the others and are never resumed by `run`. Locks keep two programs apart: one on the folder
//! of the state, and one below the output where the state is kept elsewhere.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use plan2geo_actors::RunId;
use plan2geo_actors::ledger::{Closing, RunHeader};

use super::StartError;
use crate::sink::naming::STATE_FOLDER;

/// Names the newest run in a state folder.
const LATEST: &str = "latest";
const LOCK: &str = "lock";

/// What is in a state folder.
#[derive(Debug)]
pub(super) enum Last {
    /// No run yet.
    None,
    /// A run with something left to do.
    Unfinished { directory: PathBuf, header: RunHeader },
    /// A run whose books were closed.
    Finished { directory: PathBuf, header: RunHeader },
}

/// The last run in a state folder.
pub(super) fn last(state: &Path) -> Result<Last, String> {
    let Some(directory) = latest(state) else { return Ok(Last::None) };
    let header = RunHeader::load(&directory).map_err(|error| error.to_string())?;
    let Some(header) = header else { return Ok(Last::None) };
    let closing = Closing::load(&directory).map_err(|error| error.to_string())?;
    if closing.is_some_and(|closing| closing.complete) {
        Ok(Last::Finished { directory, header })
    } else {
        Ok(Last::Unfinished { directory, header })
    }
}

/// The directory that `latest` names, if there is one.
fn latest(state: &Path) -> Option<PathBuf> {
    let pointer = state.join(LATEST);
    let name = match fs::read_link(&pointer) {
        Ok(target) => target.to_str()?.to_owned(),
        Err(_) => fs::read_to_string(&pointer).ok()?.trim().to_owned(),
    };
    let run: RunId = name.parse().ok()?;
    let directory = state.join(run.to_string());
    directory.is_dir().then_some(directory)
}

/// Makes `latest` name a run.
pub(super) fn point_to(state: &Path, run: RunId) -> io::Result<()> {
    // One name for all, so that a crash leaves one at most: whoever is here holds the lock.
    let temporary = state.join(format!(".{LATEST}.new"));
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(run.to_string(), &temporary)?;
    #[cfg(not(unix))]
    File::create(&temporary)?.write_all(run.to_string().as_bytes())?;
    fs::rename(&temporary, state.join(LATEST))
}

/// The directory of a run, from a directory of a run, a state folder, an output directory or a configuration.
///
/// # Errors
/// When there is no run in any of these senses.
pub fn find_run(place: &Path) -> Result<PathBuf, String> {
    let no_run = || format!("there is no run in {}", place.display());
    let metadata = fs::metadata(place).map_err(|error| format!("cannot find a run in {}: {error}", place.display()))?;
    if metadata.is_file() {
        let config = crate::config::Config::load(Some(place), &[]).map_err(|errors| errors.to_string())?;
        let state = super::ends::state_folder(&config).ok_or_else(no_run)?;
        return latest(&state).ok_or_else(|| format!("there is no run in {}", state.display()));
    }
    let is_run = |directory: &Path| matches!(RunHeader::load(directory), Ok(Some(_)));
    if is_run(place) {
        // `latest` is a link: the real name is the better one in messages.
        return Ok(fs::canonicalize(place).unwrap_or_else(|_| place.to_owned()));
    }
    latest(place).or_else(|| latest(&place.join(STATE_FOLDER))).ok_or_else(no_run)
}

/// The runs beside the run in `directory` that did its dead letters again, and those that did theirs, by id.
///
/// # Errors
/// When the folder of the runs, or what one of them is, cannot be read.
pub fn replays_of(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let told = |error: &dyn std::fmt::Display| format!("cannot look for replays: {error}");
    let Some(own) = RunHeader::load(directory).map_err(|error| told(&error))? else { return Ok(Vec::new()) };
    let Some(state) = directory.parent() else { return Ok(Vec::new()) };
    let mut replays: Vec<(RunId, RunId, PathBuf)> = Vec::new();
    for entry in fs::read_dir(state).map_err(|error| told(&error))? {
        let entry = entry.map_err(|error| told(&error))?;
        if entry.file_name().to_str().is_none_or(|name| name.parse::<RunId>().is_err()) {
            continue;
        }
        let header = RunHeader::load(&entry.path()).map_err(|error| told(&error))?;
        if let Some((header, parent)) = header.and_then(|header| header.parent_run.map(|parent| (header, parent))) {
            replays.push((header.run_id, parent, entry.path()));
        }
    }
    replays.sort();
    let mut lineage = vec![own.run_id];
    let mut found = Vec::new();
    let mut known = 0;
    while let Some(run) = lineage.get(known).copied() {
        known += 1;
        for (replay, parent, directory) in &replays {
            if *parent == run && !lineage.contains(replay) {
                lineage.push(*replay);
                found.push(directory.clone());
            }
        }
    }
    Ok(found)
}

/// Keeps a second program away from a folder until it is dropped.
#[derive(Debug)]
pub(super) struct FolderLock {
    file: File,
    /// Whether whoever held it before was killed: its name still stood in the file.
    pub(super) left_behind: bool,
}

/// Why a lock was not taken.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another program holds it; what it has written of itself.
    Held(String),
    /// The file cannot be made, locked or written.
    Io(io::Error),
}

impl FolderLock {
    /// Makes the folder and takes its lock.
    pub(super) fn take(folder: &Path) -> Result<Self, LockError> {
        fs::create_dir_all(folder).map_err(LockError::Io)?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(folder.join(LOCK)).map_err(LockError::Io)?;
        let locked = file.try_lock();
        let mut holder = String::new();
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // Only for the message: whoever holds the lock has written itself down.
                let _ = file.read_to_string(&mut holder);
                return Err(LockError::Held(holder.trim().to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        // What is no text was left behind by somebody as well.
        let left_behind = file.read_to_string(&mut holder).map_or(true, |bytes| bytes > 0);
        let holder = format!("process {}, begun {}\n", std::process::id(), jiff::Timestamp::now());
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes()));
        written.map_err(LockError::Io)?;
        Ok(Self { file, left_behind })
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // An empty file says that its holder ended in order. If that cannot be said, the next one looks for leftovers in vain.
        let _ = self.file.set_len(0);
    }
}

/// Whether a file system has no locks: `ENOLCK`, or that it cannot do such a thing.
fn knows_no_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    error.kind() == io::ErrorKind::Unsupported
}

/// The locks of a run: on its state, and on a local output.
#[derive(Debug)]
pub(super) struct Locks {
    _state: FolderLock,
    _output: Option<FolderLock>,
    /// Whether a run on the output was killed, and nobody can be at work there now.
    pub(super) killed_before: bool,
}

impl Locks {
    /// Takes both; one lock serves when the state is kept below the output.
    pub(super) fn take(state: &Path, output: Option<&Path>) -> Result<Self, StartError> {
        let held = |holder: &str, place: &Path, own: &str| {
            let remedy = format!("wait for the other run, or give this one {own}");
            StartError::refused(format!("{} is in use by {holder}", place.display()), remedy)
        };
        let state_lock = FolderLock::take(state).map_err(|error| match error {
            LockError::Held(holder) => held(&holder, state, "a state directory of its own (run.state)"),
            LockError::Io(error) => super::no_state(state, &error),
        })?;
        let Some(output) = output else {
            return Ok(Self { _state: state_lock, _output: None, killed_before: false });
        };
        let below = output.join(STATE_FOLDER);
        if matches!((state.canonicalize(), below.canonicalize()), (Ok(a), Ok(b)) if a == b) {
            let killed_before = state_lock.left_behind;
            return Ok(Self { _state: state_lock, _output: None, killed_before });
        }
        let output_lock = match FolderLock::take(&below) {
            Ok(lock) => Some(lock),
            Err(LockError::Held(holder)) => {
                return Err(held(&holder, output, "an output directory of its own (output.location)"));
            }
            // On a share without locks the state has to be kept elsewhere: nothing is known there, so nothing forbidden.
            Err(LockError::Io(error)) if knows_no_locks(&error) => {
                tracing::warn!(output = %output.display(), "the output cannot be locked: use it by one run at a time");
                None
            }
            Err(LockError::Io(error)) => return Err(super::no_output(output, &error)),
        };
        let killed_before = output_lock.as_ref().is_some_and(|lock| lock.left_behind);
        Ok(Self { _state: state_lock, _output: output_lock, killed_before })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: impl AsRef<Path>, text: &str) {
        File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn latest_names_the_newest_run() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(last(dir.path()).unwrap(), Last::None));
        for _ in 0..2 {
            let run = RunId::random();
            fs::create_dir(dir.path().join(run.to_string())).unwrap();
            write(dir.path().join(".latest.new"), "left by a crash");
            point_to(dir.path(), run).unwrap();
            assert!(!dir.path().join(".latest.new").try_exists().unwrap());
            assert_eq!(latest(dir.path()).unwrap(), dir.path().join(run.to_string()));
        }
        assert!(find_run(dir.path().join("nowhere").as_path()).is_err());
    }

    #[test]
    fn a_second_program_is_refused_and_told_who_was_first() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        let refusal = |state: &Path| match Locks::take(state, Some(&dir.path().join("out"))) {
            Err(StartError::Refused { message, remedy }) => (message, remedy),
            result => panic!("{result:?}"),
        };
        let locks = Locks::take(&one, Some(&dir.path().join("out"))).unwrap();
        let own = format!("is in use by process {}", std::process::id());
        for (state, place, key) in [(&one, "one", "run.state"), (&other, "out", "output.location")] {
            let (message, remedy) = refusal(state);
            assert!(message.contains(&format!("{place} {own}")) && remedy.contains(key), "{message} {remedy}");
        }
        drop(locks);
        assert!(!Locks::take(&other, Some(&dir.path().join("out"))).unwrap().killed_before);
        // Below the output one lock serves, by whatever name.
        let below = dir.path().join("out/../out").join(STATE_FOLDER);
        write(below.join(LOCK), "process 1, killed");
        assert!(Locks::take(&below, Some(&dir.path().join("out"))).unwrap().killed_before);
        // A state whose run was killed says nothing about another output.
        write(below.join(LOCK), "process 1, killed");
        assert!(!Locks::take(&below, Some(&dir.path().join("elsewhere"))).unwrap().killed_before);
    }

    #[test]
    fn whoever_was_killed_is_known_by_the_name_it_left() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!FolderLock::take(dir.path()).unwrap().left_behind);
        assert!(!FolderLock::take(dir.path()).unwrap().left_behind, "it ended in order");
        write(dir.path().join(LOCK), "process 1, begun long ago");
        assert!(FolderLock::take(dir.path()).unwrap().left_behind);
        assert!(!FolderLock::take(dir.path()).unwrap().left_behind);
    }
}
