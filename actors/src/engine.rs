//! Wires the five actors, and takes them down in the one order in which nothing is lost.
//!
//! Up: AuditWriter, pool, Worker, Scanner. Down: Scanner (listing over), Worker (nothing follows), jobs (each outcome durable), pool (threads joined),
//! AuditWriter (file closed), Reconciler (books compared). Each step waits for the one before; nobody is told to stop while somebody upstream may
//! still send.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use actix::{Actor, Addr, System};
use jiff::Timestamp;

use crate::audit_writer::AuditWriter;
use crate::config::EngineConfig;
use crate::failure::Failure;
use crate::gauge::{DepthReport, Plateau, peak_resident_bytes};
use crate::journal::Journal;
use crate::kernel::Kernel;
use crate::ledger::record::timestamp;
use crate::ledger::{Closing, LedgerError};
use crate::limits::LimitError;
use crate::messages::{Close, EndOfWork, Reconcile, Recorded, Scan, ScanEnd};
use crate::monitor;
use crate::outbox::Outbox;
use crate::parser_pool::{KernelFactory, ParserPool};
use crate::progress::ProgressReader;
use crate::reconciler::{Balance, Reconciler};
use crate::resume::{OpenBooks, RecordedBefore, open_books};
use crate::scanner::{ScanJob, Scanner};
use crate::shared::{Measured, Phase, STAGE_NAMES, Shared};
use crate::sink::Sink;
use crate::source::Source;
use crate::stop::{Level, Stop, StopCause, listen_to_signals};
use crate::summary::{Ended, MemoryReport, RunSummary, verdict};
use crate::ticket::TicketOffice;
use crate::worker::{Desk, Worker};

/// One run of a batch: a source, a kernel for each pool thread, a sink, and what bounds them.
pub struct Engine<K: Kernel> {
    shared: Arc<Shared>,
    factory: KernelFactory<K>,
}

impl<K: Kernel> std::fmt::Debug for Engine<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

/// The run could not begin, or its thread died. A run that began has a [`RunSummary`], whatever became of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The limits cannot be.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Limits(Vec<LimitError>),
    /// The books could not be opened.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Outputs cannot be stored.
    #[error("outputs cannot be stored: {0}")]
    Sink(Failure),
    /// The thread of the engine could not be started.
    #[error("the engine's thread could not be started: {0}")]
    Thread(std::io::Error),
    /// The source could not be listed.
    #[error("{0}")]
    Source(StopCause),
    /// A fault in the engine.
    #[error("the engine panicked: {0}")]
    Panicked(String),
}

impl<K: Kernel> Engine<K> {
    /// A run that is ready to start. The factory is called once on each pool thread, and again after a panic.
    pub fn new(
        config: EngineConfig,
        source: impl Source,
        sink: impl Sink,
        factory: impl Fn() -> K + Send + Sync + 'static,
    ) -> Self {
        let shared = Shared::new(config, Arc::new(source), Arc::new(sink), Stop::default());
        Self { shared: Arc::new(shared), factory: Arc::new(factory) }
    }

    /// Ends the run early, from any thread.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.shared.stop.clone()
    }

    /// Runs to the end. Blocks the calling thread; the engine has one of its own, so this works inside any runtime.
    ///
    /// # Errors
    ///
    /// When the run could not begin. What happens later is told by the [`RunSummary`].
    pub fn run(self) -> Result<RunSummary, RunError> {
        self.start()?.join()
    }

    /// Starts the run on a thread of its own.
    ///
    /// # Errors
    ///
    /// When limits cannot be or the thread cannot be started.
    pub fn start(self) -> Result<RunHandle, RunError> {
        let Self { shared, factory } = self;
        shared.config.limits.check().map_err(RunError::Limits)?;
        let progress = ProgressReader {
            begun: Instant::now(),
            counters: Arc::clone(&shared.counters),
            queue: Arc::clone(&shared.queue),
            slots: Arc::clone(&shared.slots),
            gate: Arc::clone(&shared.gate),
            stop: shared.stop.clone(),
        };
        let (stop, grace) = (shared.stop.clone(), shared.config.grace);
        let (over, outcome) = mpsc::sync_channel(1);
        let finished = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&finished);
        let thread = std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || {
                let runner = System::new();
                // Nobody listens when the handle was dropped.
                let _ = over.send(runner.block_on(run(shared, factory)));
                told.store(true, Ordering::Release);
                // The runtime waits here for threads that read or write, and one of them may never return.
                drop(runner);
            })
            .map_err(RunError::Thread)?;
        Ok(RunHandle { thread, outcome, finished, grace, progress, stop })
    }
}

/// How often a thread that is about to end is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A run that was started.
#[derive(Debug)]
pub struct RunHandle {
    thread: std::thread::JoinHandle<()>,
    outcome: mpsc::Receiver<Result<RunSummary, RunError>>,
    finished: Arc<AtomicBool>,
    grace: Duration,
    progress: ProgressReader,
    stop: Stop,
}

impl RunHandle {
    /// Takes readings while it runs.
    #[must_use]
    pub fn progress(&self) -> ProgressReader {
        self.progress.clone()
    }

    /// Ends it early.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    /// Whether [`RunHandle::join`] has nothing more to wait for than threads that are about to end.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) || self.thread.is_finished()
    }

    /// Waits for the end. A read or a store that hangs for longer than the grace, once the books are closed, is left behind with
    /// its thread.
    ///
    /// # Errors
    ///
    /// When the run could not begin.
    pub fn join(self) -> Result<RunSummary, RunError> {
        let Ok(outcome) = self.outcome.recv() else {
            let payload = self.thread.join().err();
            let what = payload.map_or_else(String::new, |payload| crate::parser_pool::describe(payload.as_ref()));
            return Err(RunError::Panicked(what));
        };
        let begun = Instant::now();
        let left = self.progress.stop.grace_left(self.grace);
        while !self.thread.is_finished() && begun.elapsed() < left {
            std::thread::sleep(LOOK_EVERY);
        }
        outcome
    }
}

async fn run<K: Kernel>(shared: Arc<Shared>, factory: KernelFactory<K>) -> Result<RunSummary, RunError> {
    let clock = RunClock { begun: Instant::now(), started: Timestamp::now() };
    shared.sink.prepare().await.map_err(RunError::Sink)?;
    let books = open_books(&shared.config)?;
    let shared = adopt(shared, &books);
    let signals = shared.config.signals.then(|| actix_rt::spawn(listen_to_signals(shared.stop.clone())));
    let monitor = actix_rt::spawn(monitor::watch(Arc::clone(&shared), clock.begun));
    let summary = Run { shared, clock }.all(books, factory).await;
    monitor.abort();
    if let Some(signals) = signals {
        signals.abort();
    }
    Ok(summary)
}

/// A resumed run keeps its name, and its counts begin where they stood.
fn adopt(shared: Arc<Shared>, books: &OpenBooks) -> Arc<Shared> {
    let counters = &shared.counters;
    let RecordedBefore { extracted, dead_letters, by_kind, .. } = &books.recorded;
    counters.enumerated.store(books.before.count, Ordering::Relaxed);
    counters.extracted.store(*extracted, Ordering::Relaxed);
    counters.dead_letters.store(*dead_letters, Ordering::Relaxed);
    counters.resumed.store(extracted + dead_letters, Ordering::Relaxed);
    shared.measured().by_kind.clone_from(by_kind);
    if let Some((tear, aside)) = &books.tear {
        shared
            .note("LEDGER_TORN", format!("{} torn bytes of the ledger were moved to {}", tear.bytes, aside.display()));
    }
    shared.identity.get_or_init(|| (books.header.run_id, books.header.trace_namespace));
    shared
}

struct RunClock {
    begun: Instant,
    started: Timestamp,
}

struct Run {
    shared: Arc<Shared>,
    clock: RunClock,
}

/// What was learned on the way down.
struct Ends {
    scan: Option<ScanEnd>,
    recorded: Option<Recorded>,
    balance: Balance,
    queue: DepthReport,
    blocked_ms: f64,
    threads_left: usize,
}

impl Run {
    async fn all<K: Kernel>(&self, books: OpenBooks, factory: KernelFactory<K>) -> RunSummary {
        let OpenBooks { manifest, ledger, journal, before, recorded, previous, resumed, lock, .. } = books;
        let limits = &self.shared.config.limits;
        let recorded_before = recorded.books.count;

        let arbiter = actix::Arbiter::new();
        let (shared, capacity) = (Arc::clone(&self.shared), limits.waiting + limits.slots + 16);
        let audit = AuditWriter::start_in_arbiter(&arbiter.handle(), move |ctx| {
            // A place for every ticket there can be at one time.
            ctx.set_mailbox_capacity(capacity);
            AuditWriter::new(shared, ledger, recorded.books)
        });
        self.reached("audit_writer_started");
        let (office, mut drained) = TicketOffice::new(audit.clone(), Arc::clone(&self.shared.counters));

        let pool = ParserPool::start(limits, &self.shared.config.spool, factory);
        self.reached("pool_started");
        let desk = Desk { shared: Arc::clone(&self.shared), pool: pool.addr().recipient(), journal };
        let waiting = limits.waiting;
        let worker = Worker::create(|ctx| {
            ctx.set_mailbox_capacity(waiting);
            Worker::new(desk)
        });
        self.reached("worker_started");
        let outbox = Arc::new(Outbox::new(worker.clone(), waiting, Arc::clone(&self.shared.queue)));
        let job = ScanJob {
            shared: Arc::clone(&self.shared),
            outbox: Arc::clone(&outbox),
            office: office.clone(),
            manifest,
            before,
            previous,
        };
        self.reached("scan_started");
        let scan = self.listing(Scanner::new(job).start()).await;
        self.reached("scan_ended");
        // Before the drain, which would count as an empty queue.
        let queue = self.shared.queue.report();
        let blocked_ms = crate::gauge::millis(outbox.blocked());

        // Behind every unit in the mailbox, so all are taken when it answers.
        if worker.send(EndOfWork).await.is_err() {
            self.shared.note("WORKER_DIED", "the worker ended before the units did".to_owned());
        }
        self.reached("worker_ended");
        drop((office, outbox, worker));
        while drained.recv().await.is_some() {}
        self.reached("drained");
        let all_joined = pool.join(self.shared.stop.grace_left(self.shared.config.grace)).await;
        let threads_left = if all_joined { 0 } else { self.shared.gate.stuck().max(1) };
        self.reached("pool_ended");
        let recorded = audit.send(Close).await.ok();
        drop(audit);
        arbiter.stop();
        drop(tokio::task::spawn_blocking(move || arbiter.join()).await);
        self.reached("audit_writer_ended");
        let balance = self.balance(scan.as_ref(), recorded.as_ref()).await;
        self.reached("reconciled");
        monitor::sample(&self.shared, self.clock.begun);
        let ends = Ends { scan, recorded, balance, queue, blocked_ms, threads_left };
        let summary = self.summarise(ends, resumed, recorded_before);
        let summary = self.close(summary);
        drop(lock);
        summary
    }

    /// Lets the Scanner list. `None` if it died.
    async fn listing(&self, scanner: Addr<Scanner>) -> Option<ScanEnd> {
        match scanner.send(Scan).await {
            Ok(end) => Some(end),
            Err(error) => {
                let what = format!("the scanner ended before the source did: {error}");
                self.shared.stop.raise(Level::Abort, StopCause::Source(what));
                None
            }
        }
    }

    async fn balance(&self, scan: Option<&ScanEnd>, recorded: Option<&Recorded>) -> Balance {
        let ask = Reconcile { scanned: scan.map(|end| end.books), recorded: recorded.map(|end| end.books) };
        match Reconciler::new(Arc::clone(&self.shared)).start().send(ask).await {
            Ok(balance) => balance,
            Err(error) => Balance {
                balanced: false,
                unaccounted: 0,
                missing: Vec::new(),
                errors: vec![format!("the reconciler ended without an answer: {error}")],
            },
        }
    }

    fn reached(&self, name: &str) {
        let at_ms = self.clock.begun.elapsed().as_millis() as u64;
        self.shared.measured().phases.push(Phase { name: name.to_owned(), at_ms });
    }

    fn summarise(&self, ends: Ends, resumed: bool, recorded_before: u64) -> RunSummary {
        let progress = &self.shared.counters;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let cause = self.shared.stop.cause();
        let Ends { scan, recorded, balance, queue, blocked_ms, threads_left } = ends;
        let complete = scan.as_ref().is_some_and(|end| end.complete);
        self.last_notes(&queue, scan.as_ref());
        let ended = match &cause {
            Some(StopCause::Asked(_)) if complete && self.shared.stop.level() < Level::Abort => Ended::Completed,
            Some(StopCause::Asked(_)) => Ended::Interrupted,
            None if complete => Ended::Completed,
            _ => Ended::Failed,
        };
        let (vanished, vanished_units, appeared) =
            scan.map_or((0, Vec::new(), 0), |end| (end.vanished, end.vanished_names, end.appeared));
        let mut measured = self.shared.measured();
        let stages = STAGE_NAMES.iter().zip(&measured.stages);
        RunSummary {
            run_id: self.shared.run_id(),
            parent_run: self.shared.config.parent_run,
            program: self.shared.config.program.clone(),
            started: timestamp(self.clock.started),
            finished: timestamp(Timestamp::now().max(self.clock.started)),
            elapsed_ms: self.clock.begun.elapsed().as_millis() as u64,
            ended,
            cause,
            reconciled: balance.balanced,
            errors: balance.errors,
            enumerated: count(&progress.enumerated),
            extracted: count(&progress.extracted),
            dead_letters: count(&progress.dead_letters),
            by_kind: measured.by_kind.clone(),
            unaccounted: balance.unaccounted,
            missing: balance.missing,
            resumed,
            recorded_before,
            vanished,
            vanished_units,
            appeared,
            retries: count(&progress.retries),
            bytes_read: count(&progress.bytes_read),
            stages: stages.map(|(name, times)| ((*name).to_owned(), times.report())).collect(),
            verdict: verdict(&queue),
            queue,
            slots: self.shared.slots.report(),
            blocked_ms,
            loop_lag: measured.loop_lag.report(),
            memory: memory_report(&measured),
            open_files: measured.open_files,
            threads_left,
            ledger_lines: recorded.as_ref().map_or(0, |end| end.lines),
            ledger_head: recorded.map_or_else(String::new, |end| end.head),
            notes: std::mem::take(&mut measured.notes),
            phases: std::mem::take(&mut measured.phases),
        }
    }

    fn last_notes(&self, queue: &DepthReport, scan: Option<&ScanEnd>) {
        if queue.peak < queue.bound && queue.total > 4 * queue.bound as u64 {
            let (peak, bound) = (queue.peak, queue.bound);
            self.shared
                .note("QUEUE_NEVER_FULL", format!("the queue held {peak} units at most and its bound is {bound}"));
        }
        let plateau = self.shared.measured().memory.plateau();
        if plateau == Plateau::Growing {
            let slope = self.shared.measured().memory.slope().unwrap_or_default() / 1e6;
            self.shared
                .note("MEMORY_GROWTH", format!("memory grew by {slope:.1} MB per 1,000 units in the second half"));
        }
        if let Some(appeared) = scan.map(|end| end.appeared).filter(|appeared| *appeared > 0) {
            let message = format!("{appeared} entries appeared behind the first listing; run again to include them");
            self.shared.note("APPEARED", message);
        }
    }

    /// Writes down how the books stand, unless they could not be written before.
    fn close(&self, mut summary: RunSummary) -> RunSummary {
        if matches!(summary.cause, Some(StopCause::Ledger(_))) {
            return summary;
        }
        let directory = &self.shared.config.directory;
        let closing = Closing {
            complete: summary.ended == Ended::Completed && summary.reconciled,
            enumerated: summary.enumerated,
            head: summary.ledger_head.clone(),
            lines: summary.ledger_lines,
            ts: summary.finished.clone(),
        };
        if let Err(error) = closing.store(directory) {
            summary.errors.push(error.to_string());
            summary.reconciled = false;
        } else if closing.complete {
            Journal::remove(directory);
        }
        summary
    }
}

fn memory_report(measured: &Measured) -> MemoryReport {
    MemoryReport {
        peak: peak_resident_bytes().unwrap_or(0).max(measured.memory.peak()),
        peak_private: measured.peak_private,
        plateau: measured.memory.plateau(),
        bytes_per_thousand: measured.memory.slope(),
        samples: measured.memory.samples().to_vec(),
    }
}
