//! Makes renames durable: fsync of directories, one for all that wait at the same time.
//!
//! A rename survives a power cut only after its directory was synced. When several outputs land in one directory, a
//! sync that begins after all of their renames serves them all.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Directories that are being synced.
#[derive(Debug, Default)]
pub(super) struct DirectorySync {
    directories: Mutex<HashMap<PathBuf, Arc<Turn>>>,
}

#[derive(Debug, Default)]
struct Turn {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    asked: u64,
    done: u64,
    running: bool,
    /// Syncs that failed: everybody up to that number is told.
    failed: Option<(u64, io::ErrorKind, String)>,
}

impl DirectorySync {
    /// Returns when everything that happened in `directory` before the call is durable.
    pub(super) fn sync(&self, directory: &Path) -> io::Result<()> {
        let turn = {
            let mut directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(directories.entry(directory.to_owned()).or_default())
        };
        let result = turn.wait(|| sync_now(directory));
        let mut directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        drop(turn);
        // Nobody else can get hold of it while the lock is held.
        if directories.get(directory).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            directories.remove(directory);
        }
        result
    }
}

impl Turn {
    fn wait(&self, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked += 1;
        let mine = state.asked;
        while state.running {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            if state.done >= mine {
                return state.outcome(mine);
            }
        }
        state.running = true;
        let upto = state.asked;
        drop(state);
        let result = sync();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.running = false;
        state.done = upto;
        if let Err(error) = &result {
            state.failed = Some((upto, error.kind(), error.to_string()));
        }
        self.changed.notify_all();
        result
    }
}

impl State {
    fn outcome(&self, mine: u64) -> io::Result<()> {
        match &self.failed {
            Some((upto, kind, message)) if *upto >= mine => Err(io::Error::new(*kind, message.clone())),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
fn sync_now(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        // Some network file systems cannot sync a directory; there is nothing more to be done there.
        Err(error) if error.raw_os_error() == Some(22) => Ok(()),
        result => result,
    }
}

#[cfg(not(unix))]
fn sync_now(_directory: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn those_who_wait_share_one_sync() {
        let turn = Turn::default();
        let syncs = AtomicU32::new(0);
        let (began, begins) = std::sync::mpsc::channel();
        let (release, released) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let (turn, syncs) = (&turn, &syncs);
            scope.spawn(move || {
                turn.wait(|| {
                    syncs.fetch_add(1, Ordering::SeqCst);
                    began.send(()).unwrap();
                    released.recv().unwrap();
                    Ok(())
                })
            });
            begins.recv().unwrap();
            for _ in 0..8 {
                scope.spawn(move || {
                    turn.wait(|| {
                        syncs.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    })
                });
            }
            while turn.state.lock().unwrap().asked < 9 {
                std::thread::yield_now();
            }
            release.send(()).unwrap();
        });
        assert_eq!(syncs.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_directory_is_forgotten_after_its_sync() {
        let dir = tempfile::tempdir().unwrap();
        let sync = DirectorySync::default();
        sync.sync(dir.path()).unwrap();
        assert!(sync.directories.lock().unwrap().is_empty());
        assert!(sync.sync(&dir.path().join("missing")).is_err());
    }
}
