//! Runs kernels on threads of their own, off the event loop.
//!
//! A `SyncArbiter` queues without bound; what bounds it is that only a unit with a slot is sent here. It also loses a thread for good when a
//! handler panics; so a kernel runs under `catch_unwind`, and after a panic it is dropped and made anew. A stack overflow is no panic
//! and ends the process: kernels bound their recursion, or drive a child process.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use actix::{Actor, Addr, Handler, SyncArbiter, SyncContext};
use tokio::sync::mpsc;

use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel::{Extraction, Kernel, KernelContext};
use crate::limits::Limits;
use crate::messages::{Parse, Parsed};
use crate::spool::SpoolSettings;
use crate::unit::Unit;

/// Makes a kernel on a pool thread.
pub(crate) type KernelFactory<K> = Arc<dyn Fn() -> K + Send + Sync>;

/// One thread of the pool.
pub(crate) struct PoolThread<K: Kernel> {
    factory: KernelFactory<K>,
    /// Boxed, so that a kernel need not be `Unpin`.
    kernel: Option<Box<K>>,
    deadline: Option<Duration>,
    spool: SpoolSettings,
    /// Dropped with the thread's actor: how the end of all threads is seen.
    _alive: mpsc::Sender<()>,
}

/// The pool as the engine holds it.
pub(crate) struct ParserPool<K: Kernel> {
    addr: Addr<PoolThread<K>>,
    ended: mpsc::Receiver<()>,
}

impl<K: Kernel> ParserPool<K> {
    /// Starts the threads. Needs a running System.
    pub(crate) fn start(limits: &Limits, spool: &SpoolSettings, factory: KernelFactory<K>) -> Self {
        capture_panics();
        let (alive, ended) = mpsc::channel(1);
        let (deadline, spool) = (limits.deadline, spool.clone());
        let stack = limits.stack_bytes;
        let mut nth = 0;
        let named = move || {
            nth += 1;
            std::thread::Builder::new().name(format!("parser-{nth}")).stack_size(stack)
        };
        let addr = SyncArbiter::start_with_thread_builder(limits.threads, named, move || PoolThread {
            factory: Arc::clone(&factory),
            kernel: None,
            deadline,
            spool: spool.clone(),
            _alive: alive.clone(),
        });
        Self { addr, ended }
    }

    pub(crate) fn addr(&self) -> Addr<PoolThread<K>> {
        self.addr.clone()
    }

    /// Lets the threads finish what they have and waits for their end, at most `grace`. `false` if some have not ended: they are in a kernel
    /// that does not return, and are left behind.
    pub(crate) async fn join(self, grace: Duration) -> bool {
        let Self { addr, mut ended } = self;
        drop(addr);
        tokio::time::timeout(grace, async { while ended.recv().await.is_some() {} }).await.is_ok()
    }
}

impl<K: Kernel> Actor for PoolThread<K> {
    type Context = SyncContext<Self>;
}

impl<K: Kernel> Handler<Parse> for PoolThread<K> {
    type Result = Result<Parsed, Failure>;

    fn handle(&mut self, parse: Parse, _: &mut Self::Context) -> Self::Result {
        let Parse { unit, bytes, signal, started, slot } = parse;
        // Nobody listens when the unit was given up meanwhile; the signal says so too.
        let begun = Instant::now();
        let _ = started.send(begun);
        let cx = KernelContext::new(self.deadline, self.spool.clone(), signal);
        cx.checkpoint()?;
        IN_KERNEL.set(true);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let kernel = self.kernel.get_or_insert_with(|| Box::new((self.factory)()));
            kernel.extract(&unit, bytes, &cx)
        }));
        IN_KERNEL.set(false);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(payload) => {
                // The kernel may be in any state: away with it, and a panic in its own `Drop` counts as the same one.
                let broken = self.kernel.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                Err(Failure::new(FailureKind::Panicked, Stage::Parse, describe(payload.as_ref())))
            }
        };
        drop(slot);
        let took = begun.elapsed();
        log(&unit, took, &outcome);
        outcome.map(|extraction| Parsed { extraction, took })
    }
}

/// One log line a unit: which thread, which unit, what came out of it.
fn log(unit: &Unit, took: Duration, outcome: &Result<Extraction, Failure>) {
    let thread = std::thread::current();
    let (worker, unit, ms) = (thread.name().unwrap_or("parser"), unit.id(), took.as_millis());
    match outcome {
        Ok(extraction) => {
            let count = |key: &str| extraction.facts.get(key).and_then(serde_json::Value::as_u64);
            tracing::info!(worker, %unit, ms, entities = count("entities"), features = count("features"), "parsed");
        }
        Err(failure) => tracing::info!(worker, %unit, ms, %failure, "not parsed"),
    }
}

thread_local! {
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the place of a panic for the dead letter instead of printing it; panics elsewhere are reported as before.
fn capture_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if IN_KERNEL.try_with(Cell::get).unwrap_or(false) {
                let place = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
                let _ = PLACE.try_with(|kept| kept.replace(place));
            } else {
                before(info);
            }
        }));
    });
}

/// What a panic said, and where if that is known.
pub(crate) fn describe(payload: &(dyn Any + Send)) -> String {
    let said = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    match PLACE.take() {
        Some(place) => format!("{said} ({place})"),
        None => said,
    }
}
