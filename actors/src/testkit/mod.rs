//! Doubles for the three traits and suites any implementation of them must pass. For tests, examples and measurements.
//!
//! Doubles do what a closure says: a source that stalls, a kernel that panics at the third unit, a sink that holds everything back until a [`Gate`] is
//! opened. Gates are explicit, so that tests assert exact numbers and never sleep for a proof.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::sync::watch;

use crate::failure::Failure;
use crate::kernel::{Extraction, Kernel, KernelContext};
use crate::sink::{Sink, Stored};
use crate::source::{Found, Source, SourceError};
use crate::spool::Spooled;
use crate::unit::Unit;

pub mod conformance;
mod directory_sink;
pub mod faults;

pub use directory_sink::DirectorySink;

/// Something to wait at until it is opened. Knows how many wait.
#[derive(Debug, Clone)]
pub struct Gate {
    open: Arc<watch::Sender<bool>>,
    waiting: Arc<watch::Sender<usize>>,
}

impl Gate {
    /// A gate that lets nobody pass.
    #[must_use]
    pub fn closed() -> Self {
        Self { open: Arc::new(watch::Sender::new(false)), waiting: Arc::new(watch::Sender::new(0)) }
    }

    /// Lets everybody pass from now on.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    /// How many wait now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        *self.waiting.borrow()
    }

    /// Waits until it is opened.
    pub async fn pass(&self) {
        struct Counted<'a>(&'a Gate);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.waiting.send_modify(|waiting| *waiting -= 1);
            }
        }
        self.waiting.send_modify(|waiting| *waiting += 1);
        let _counted = Counted(self);
        let mut open = self.open.subscribe();
        let _ = open.wait_for(|open| *open).await;
    }

    /// As [`Gate::pass`], blocking the thread: what a kernel that never looks at its checkpoint does.
    pub fn block(&self) {
        futures::executor::block_on(self.pass());
    }
}

/// Waits until `condition` holds, for at most 30 seconds.
///
/// # Panics
///
/// If it does not come to hold.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

type Read = dyn Fn(Unit) -> BoxFuture<'static, Result<Bytes, Failure>> + Send + Sync;
type List = dyn Fn(u64) -> BoxFuture<'static, Option<Result<Found, SourceError>>> + Send + Sync;

/// A source that lists and reads as it is told.
#[derive(Clone)]
pub struct ScriptedSource {
    list: Arc<List>,
    read: Arc<Read>,
    asked: Arc<AtomicU64>,
}

impl std::fmt::Debug for ScriptedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedSource").field("asked", &self.asked).finish_non_exhaustive()
    }
}

impl ScriptedSource {
    /// So many units named `unit-000000000` and on, each of 8 bytes: its number in big-endian order.
    #[must_use]
    pub fn units(count: u64) -> Self {
        Self::listing(move |nth| Box::pin(async move { (nth < count).then(|| Ok(numbered(nth))) }))
    }

    /// What the closure yields for 0, 1, 2 and on, until `None`.
    #[must_use]
    pub fn listing(
        list: impl Fn(u64) -> BoxFuture<'static, Option<Result<Found, SourceError>>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            list: Arc::new(list),
            read: Arc::new(|unit| Box::pin(async move { Ok(Bytes::copy_from_slice(&number_of(&unit).to_be_bytes())) })),
            asked: Arc::default(),
        }
    }

    /// These entries, in this order.
    #[must_use]
    pub fn of(found: Vec<Found>) -> Self {
        let found = Arc::new(found);
        Self::listing(move |nth| {
            let found = found.get(nth as usize).cloned();
            Box::pin(async move { found.map(Ok) })
        })
    }

    /// The same listing, with another way to read.
    #[must_use]
    pub fn reading(
        mut self,
        read: impl Fn(Unit) -> BoxFuture<'static, Result<Bytes, Failure>> + Send + Sync + 'static,
    ) -> Self {
        self.read = Arc::new(read);
        self
    }

    /// How many entries were yielded so far.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }
}

/// The entry that [`ScriptedSource::units`] yields for a number.
#[must_use]
pub fn numbered(nth: u64) -> Found {
    let name = format!("unit-{nth:09}");
    Found::new(name.clone(), 1, name, "number").with_size(8).with_version("1")
}

/// The number in the name of a unit; 0 if there is none.
#[must_use]
pub fn number_of(unit: &Unit) -> u64 {
    unit.doc_id.rsplit('-').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[async_trait]
impl Source for ScriptedSource {
    fn scan(&self) -> BoxStream<'static, Result<Found, SourceError>> {
        let (list, asked) = (Arc::clone(&self.list), Arc::clone(&self.asked));
        futures::stream::unfold(0, move |nth| {
            let (list, asked) = (Arc::clone(&list), Arc::clone(&asked));
            async move {
                let found = list(nth).await?;
                asked.fetch_add(1, Ordering::SeqCst);
                Some((found, nth + 1))
            }
        })
        .boxed()
    }

    async fn read(&self, unit: &Unit) -> Result<Bytes, Failure> {
        (self.read)(unit.clone()).await
    }
}

type Extract = dyn Fn(&Unit, &Bytes, &KernelContext) -> Result<Extraction, Failure> + Send + Sync;

/// A kernel that does what a closure says.
#[derive(Clone)]
pub struct ScriptedKernel(Arc<Extract>);

impl std::fmt::Debug for ScriptedKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScriptedKernel")
    }
}

impl ScriptedKernel {
    /// The closure is called for each attempt, on a pool thread.
    pub fn new(
        extract: impl Fn(&Unit, &Bytes, &KernelContext) -> Result<Extraction, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(extract))
    }

    /// Gives back what it was given.
    #[must_use]
    pub fn echo() -> Self {
        Self::new(|_, bytes, _| Ok(Extraction::new(Spooled::from_bytes(bytes.clone()))))
    }

    /// What an engine makes its kernels with.
    pub fn factory(self) -> impl Fn() -> Self + Send + Sync + 'static {
        move || self.clone()
    }
}

impl Kernel for ScriptedKernel {
    fn extract(&mut self, unit: &Unit, bytes: Bytes, cx: &KernelContext) -> Result<Extraction, Failure> {
        (self.0)(unit, &bytes, cx)
    }
}

type Store = dyn Fn(Unit) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync;

/// A sink that keeps digests in memory, after doing what a closure says.
#[derive(Clone, Default)]
pub struct MemorySink {
    stored: Arc<Mutex<BTreeMap<String, String>>>,
    before: Option<Arc<Store>>,
}

impl std::fmt::Debug for MemorySink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemorySink").field("stored", &self.stored().len()).finish_non_exhaustive()
    }
}

impl MemorySink {
    /// With something to do before each store, such as to wait or to fail.
    #[must_use]
    pub fn before_store(
        mut self,
        before: impl Fn(Unit) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync + 'static,
    ) -> Self {
        self.before = Some(Arc::new(before));
        self
    }

    /// Stores nothing until the gate is opened.
    #[must_use]
    pub fn stalled_at(gate: &Gate) -> Self {
        let gate = gate.clone();
        Self::default().before_store(move |_| {
            let gate = gate.clone();
            Box::pin(async move {
                gate.pass().await;
                Ok(())
            })
        })
    }

    /// The digest of each output by its place.
    pub fn stored(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Sink for MemorySink {
    fn place(&self, unit: &Unit) -> String {
        format!("{}.{}.out", unit.doc_id, unit.page)
    }

    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure> {
        if let Some(before) = &self.before {
            before(unit.clone()).await?;
        }
        let (output, sha256) = (self.place(unit), extraction.output.sha256_hex());
        self.stored().insert(output.clone(), sha256.clone());
        Ok(Stored { output, sha256 })
    }

    async fn digest(&self, output: &str) -> Result<Option<String>, Failure> {
        Ok(self.stored().get(output).cloned())
    }
}

/// A sink that keeps nothing: for measurements and million-unit runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSink;

#[async_trait]
impl Sink for NullSink {
    fn place(&self, unit: &Unit) -> String {
        unit.doc_id.clone()
    }

    async fn store(&self, unit: &Unit, extraction: &Extraction) -> Result<Stored, Failure> {
        Ok(Stored { output: self.place(unit), sha256: extraction.output.sha256_hex() })
    }

    async fn digest(&self, _: &str) -> Result<Option<String>, Failure> {
        Ok(None)
    }
}

/// A path below `root` for any name: each part is kept if it is harmless and escaped if it is not.
pub(crate) fn below(root: &Path, place: &str) -> PathBuf {
    let mut path = root.to_owned();
    for part in place.split('/') {
        match part {
            "" | "." => path.push("%2E"),
            ".." => path.push("%2E%2E"),
            part => path.push(part.replace(['\\', '\0'], "_")),
        }
    }
    path
}
