//! The dead letters of an earlier run as a source: what is still there is listed and done again.
//!
//! The child run enumerates exactly what the parent could not do, so both balance. A dead letter that stood for more than
//! itself (a folder that could not be listed, a package or PDF that could not be opened) is replaced by what is found in its
//! place now; one that is gone is a dead letter again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt as _};
use plan2geo_actors::ledger::{self, Event, LedgerError};
use plan2geo_actors::{Failure, FailureKind, Found, Source, SourceError, Stage, Unit, UnitId};

use super::ends::Drawings;

/// A dead letter of the parent, with what stands for it if it is gone.
#[derive(Debug, Clone)]
struct Dead {
    location: String,
    /// It was met while listing, so other units may have come in its place.
    at_scan: bool,
}

/// The drawings of a source that an earlier run dead-lettered.
#[derive(Debug, Clone)]
pub(super) struct Replay {
    drawings: Drawings,
    dead: Arc<BTreeMap<UnitId, Dead>>,
}

impl Replay {
    /// Reads the dead letters of the run in `directory`. Memory: one entry a dead letter.
    pub(super) fn new(drawings: Drawings, directory: &Path) -> Result<Self, LedgerError> {
        let mut dead = BTreeMap::new();
        for record in ledger::read(directory)? {
            let record = record?;
            if record.event == Event::DeadLetter {
                let at_scan = record.error.as_ref().is_some_and(|error| error.stage == Stage::Scan);
                let id = record.id();
                let location = record.location.unwrap_or_else(|| id.doc_id.clone());
                dead.insert(id, Dead { location, at_scan });
            }
        }
        Ok(Self { drawings, dead: Arc::new(dead) })
    }

    pub(super) fn len(&self) -> usize {
        self.dead.len()
    }
}

/// Merges the sorted listing with the sorted dead letters.
struct Merge {
    scan: BoxStream<'static, Result<Found, SourceError>>,
    dead: Arc<BTreeMap<UnitId, Dead>>,
    /// The next dead letter that was not passed yet, and whether something stands in its place.
    next: Option<(UnitId, bool)>,
    /// A finding that waits because something vanished before it.
    ahead: Option<Found>,
    ended: bool,
}

impl Merge {
    fn new(scan: BoxStream<'static, Result<Found, SourceError>>, dead: Arc<BTreeMap<UnitId, Dead>>) -> Self {
        let next = dead.keys().next().map(|id| (id.clone(), false));
        Self { scan, dead, next, ahead: None, ended: false }
    }

    /// Passes the next dead letter; it is told if nothing stands in its place.
    fn pass(&mut self) -> Option<Found> {
        let (id, replaced) = self.next.take()?;
        let after = (std::ops::Bound::Excluded(&id), std::ops::Bound::Unbounded);
        self.next = self.dead.range(after).next().map(|(id, _)| (id.clone(), false));
        if replaced {
            return None;
        }
        let message = format!("{} is gone since it was a dead letter", id.doc_id);
        let failure = Failure::new(FailureKind::Vanished, Stage::Scan, message);
        let location = self.dead.get(&id).map(|dead| dead.location.clone()).unwrap_or_default();
        let mut found = Found::unreadable(id.doc_id, location, failure);
        found.page = id.page;
        Some(found)
    }

    /// Whether a finding stands in the place of a dead letter.
    fn stands_for(&self, found: &UnitId, id: &UnitId) -> bool {
        found == id
            || self.dead.get(id).is_some_and(|dead| dead.at_scan)
                && (found.doc_id == id.doc_id || (id.doc_id.ends_with('/') && found.doc_id.starts_with(&id.doc_id)))
    }

    async fn step(&mut self) -> Option<Result<Found, SourceError>> {
        loop {
            let found = match self.ahead.take() {
                Some(found) => found,
                None if self.ended => {
                    self.next.as_ref()?;
                    match self.pass() {
                        Some(gone) => return Some(Ok(gone)),
                        None => continue,
                    }
                }
                None => match self.scan.next().await {
                    Some(Ok(found)) => found,
                    Some(Err(error)) => return Some(Err(error)),
                    None => {
                        self.ended = true;
                        continue;
                    }
                },
            };
            // The rest of the listing is of no interest.
            let Some((id, replaced)) = self.next.clone() else { return None };
            let at = found.id();
            if self.stands_for(&at, &id) {
                if at == id && !self.dead.get(&id).is_some_and(|dead| dead.at_scan) {
                    self.next = Some((id, true));
                    self.pass();
                } else {
                    self.next = Some((id, true));
                }
                return Some(Ok(found));
            }
            if at < id {
                continue;
            }
            self.ahead = Some(found);
            if let Some(gone) = self.pass() {
                debug_assert!(!replaced);
                return Some(Ok(gone));
            }
        }
    }
}

#[async_trait]
impl Source for Replay {
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>> {
        let merge = Merge::new(self.drawings.scan(), Arc::clone(&self.dead));
        stream::unfold(merge, |mut merge| async move { merge.step().await.map(|found| (found, merge)) }).boxed()
    }

    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure> {
        self.drawings.read(unit).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(doc_id: &str, page: u32) -> Found {
        Found::new(doc_id, page, doc_id, "dxf")
    }

    fn merged(listing: &[(&str, u32)], dead: &[(&str, u32, bool)]) -> Vec<(String, u32, bool)> {
        let listing: Vec<_> = listing.iter().map(|(doc, page)| Ok(found(doc, *page))).collect();
        let dead = dead
            .iter()
            .map(|(doc, page, at_scan)| {
                (found(doc, *page).id(), Dead { location: (*doc).to_owned(), at_scan: *at_scan })
            })
            .collect();
        let merge = Merge::new(stream::iter(listing).boxed(), Arc::new(dead));
        let all = stream::unfold(merge, |mut merge| async move { merge.step().await.map(|found| (found, merge)) });
        futures::executor::block_on(all.collect::<Vec<_>>())
            .into_iter()
            .map(|found| found.unwrap())
            .map(|found| (found.doc_id, found.page.get(), found.failure.is_some()))
            .collect()
    }

    fn expected(all: &[(&str, u32, bool)]) -> Vec<(String, u32, bool)> {
        all.iter().map(|(doc, page, gone)| ((*doc).to_owned(), *page, *gone)).collect()
    }

    #[test]
    fn only_dead_letters_are_done_again_and_those_that_are_gone_are_told() {
        let listing = [("a", 1), ("b", 1), ("b", 2), ("b", 3), ("d", 1), ("e", 1)];
        let dead = [("a", 1, false), ("b", 2, false), ("c", 1, false), ("f", 1, false)];
        assert_eq!(
            merged(&listing, &dead),
            expected(&[("a", 1, false), ("b", 2, false), ("c", 1, true), ("f", 1, true)])
        );
    }

    #[test]
    fn what_stood_for_more_is_replaced_by_what_is_found_now() {
        let listing = [("a/x", 1), ("p.pdf", 1), ("p.pdf", 2), ("q.zip!/1", 1), ("q.zip!/2", 1), ("z", 1)];
        let dead = [("p.pdf", 1, true), ("q.zip!/", 1, true), ("r/", 1, true)];
        assert_eq!(
            merged(&listing, &dead),
            expected(&[
                ("p.pdf", 1, false),
                ("p.pdf", 2, false),
                ("q.zip!/1", 1, false),
                ("q.zip!/2", 1, false),
                ("r/", 1, true)
            ])
        );
    }
}
