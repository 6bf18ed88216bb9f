//! Which run it is: a new one, or an earlier one that was not finished; and where its books are.
//!
//! A state folder holds one directory a run, named by its id, and `latest`, which names the newest. Runs that replay
//! dead letters stand beside the others and are never resumed by `run`. A lock on the folder keeps two programs apart.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use plan2geo_actors::RunId;
use plan2geo_actors::ledger::{Closing, RunHeader};

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
    let temporary = state.join(format!(".{LATEST}.{run}"));
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

/// Keeps a second program away from a state folder until it is dropped.
#[derive(Debug)]
pub(super) struct StateLock {
    _file: File,
}

impl StateLock {
    /// Makes the folder and takes its lock.
    pub(super) fn take(state: &Path) -> Result<Self, String> {
        let fail = |error: io::Error| format!("cannot keep the state of the run in {}: {error}", state.display());
        fs::create_dir_all(state).map_err(fail)?;
        let path = state.join(LOCK);
        let mut file = File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Only for the message: whoever holds the lock has written itself down.
                let _ = file.read_to_string(&mut holder);
                return Err(format!("{} is in use by {}", state.display(), holder.trim()));
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        let holder = format!("process {}, begun {}\n", std::process::id(), jiff::Timestamp::now());
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(holder.as_bytes()));
        written.map_err(fail)?;
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_names_the_newest_run() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(last(dir.path()).unwrap(), Last::None));
        for _ in 0..2 {
            let run = RunId::random();
            fs::create_dir(dir.path().join(run.to_string())).unwrap();
            point_to(dir.path(), run).unwrap();
            assert_eq!(latest(dir.path()).unwrap(), dir.path().join(run.to_string()));
        }
        assert!(find_run(dir.path().join("nowhere").as_path()).is_err());
    }

    #[test]
    fn a_second_program_is_refused_and_told_who_was_first() {
        let dir = tempfile::tempdir().unwrap();
        let lock = StateLock::take(dir.path()).unwrap();
        let error = StateLock::take(dir.path()).unwrap_err();
        assert!(error.contains(&format!("in use by process {}", std::process::id())), "{error}");
        drop(lock);
        StateLock::take(dir.path()).unwrap();
    }
}
