//! Takes units from the queue, one at a time, and works on as many as there are slots.
//!
//! One actor with N slots, not N actors: short units then never wait behind a long one in a private queue. The mailbox is suspended while the unit
//! in hand waits for its slot, so `slots + waiting + 1` units are enumerated and unfinished at most (one more while a large document waits
//! in its own lane).
//!
//! A job runs as a task of its own, never inside the actor's context: a context that waits for a slot would also suspend the job that must free it.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Recipient};
use bytes::Bytes;
use futures::FutureExt;
use tokio::sync::oneshot;

use crate::failure::{Failure, FailureKind, Stage};
use crate::journal::{Claim, Journal};
use crate::kernel::{Extraction, Signal};
use crate::limits::Slot;
use crate::messages::{Done, EndOfWork, Outcome, Parse, Parsed, Work};
use crate::parser_pool::describe;
use crate::progress::Counters;
use crate::shared::Shared;
use crate::sink::Stored;
use crate::stop::Level;
use crate::ticket::Ticket;
use crate::unit::Unit;

/// Gives units their slots. One per run.
pub(crate) struct Worker {
    desk: Arc<Desk>,
    /// Large documents waiting for another one: at most one, so that the bound holds.
    parked: Arc<AtomicUsize>,
}

/// What a job works with.
pub(crate) struct Desk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Recipient<Parse>,
    pub(crate) journal: Journal,
}

impl Worker {
    pub(crate) fn new(desk: Desk) -> Self {
        Self { desk: Arc::new(desk), parked: Arc::default() }
    }
}

impl Actor for Worker {
    type Context = Context<Self>;
}

impl Handler<Work> for Worker {
    type Result = ();

    fn handle(&mut self, work: Work, ctx: &mut Self::Context) {
        let Work { ticket, credit } = work;
        credit.taken();
        let size = ticket.unit().map_or(0, |unit| unit.size);
        let gate = &self.desk.shared.gate;
        if gate.is_large(size) && gate.lane_is_taken() && self.parked.load(Ordering::Relaxed) == 0 {
            // Small units pass while it waits for the other large one to end.
            self.parked.fetch_add(1, Ordering::Relaxed);
            let (desk, parked) = (Arc::clone(&self.desk), Arc::clone(&self.parked));
            actix_rt::spawn(async move {
                let admitted = admit(&desk.shared, ticket).await;
                parked.fetch_sub(1, Ordering::Relaxed);
                if let Some((ticket, slot)) = admitted {
                    work_on(desk, ticket, slot).await;
                }
            });
            return;
        }
        if self.desk.shared.stop.level() < Level::Abort
            && let Some(slot) = gate.try_admit(size)
        {
            actix_rt::spawn(work_on(Arc::clone(&self.desk), ticket, slot));
            return;
        }
        let shared = Arc::clone(&self.desk.shared);
        let admitted = async move { admit(&shared, ticket).await };
        ctx.wait(wrap_future::<_, Self>(admitted).map(|admitted, worker, _| {
            if let Some((ticket, slot)) = admitted {
                actix_rt::spawn(work_on(Arc::clone(&worker.desk), ticket, slot));
            }
        }));
    }
}

impl Handler<EndOfWork> for Worker {
    type Result = ();

    fn handle(&mut self, _: EndOfWork, ctx: &mut Self::Context) {
        ctx.stop();
    }
}

/// Waits for a slot. `None` when the run was aborted first; the unit has its outcome then.
async fn admit(shared: &Shared, ticket: Ticket) -> Option<(Ticket, Slot)> {
    let size = ticket.unit().map_or(0, |unit| unit.size);
    let admitted = tokio::select! {
        biased;
        () = shared.stop.reached(Level::Abort) => None,
        slot = shared.gate.admit(size) => slot,
    };
    match admitted {
        Some(slot) => Some((ticket, slot)),
        None => {
            ticket.fail(cancelled(Stage::Queue));
            None
        }
    }
}

fn cancelled(stage: Stage) -> Failure {
    Failure::new(FailureKind::Cancelled, stage, "the run was aborted")
}

/// Works on one unit until it has its outcome.
async fn work_on(desk: Arc<Desk>, mut ticket: Ticket, slot: Slot) {
    let slot = Arc::new(slot);
    ticket.hold_slot(Arc::clone(&slot));
    let Some(unit) = ticket.unit().cloned() else {
        return;
    };
    let mut job = Job { desk, unit, slot, bytes_read: 0, extraction: None, alone: Cell::new(false) };
    if let Some(claim) = ticket.claim()
        && let Some(done) = job.believe(claim).await
    {
        ticket.settle(Outcome::Extracted(Box::new(done)));
        return;
    }
    let outcome = loop {
        ticket.begin_attempt();
        let was_alone = job.alone.get();
        let failure = match job.attempt(&mut ticket).await {
            Ok(done) => break Outcome::Extracted(Box::new(done)),
            Err(failure) => failure,
        };
        if job.alone.get() && !was_alone {
            tracing::info!(unit = %job.unit.id(), %failure, "trying again with nothing beside it");
            Counters::add(&job.desk.shared.counters.retries, 1);
            continue;
        }
        let retry = &job.desk.shared.config.retry;
        let Some(wait) = retry.wait(ticket.attempts(), &failure, job.unit.trace_id) else {
            break Outcome::DeadLetter(failure);
        };
        tracing::info!(unit = %job.unit.id(), %failure, ?wait, "trying again");
        Counters::add(&job.desk.shared.counters.retries, 1);
        ticket.waited(wait);
        tokio::select! {
            biased;
            () = job.desk.shared.stop.reached(Level::Abort) => break Outcome::DeadLetter(cancelled(failure.stage)),
            () = tokio::time::sleep(wait) => {}
        }
    };
    ticket.enter(Stage::Audit);
    ticket.settle(outcome);
}

/// One unit in its slot.
struct Job {
    desk: Arc<Desk>,
    unit: Arc<Unit>,
    slot: Arc<Slot>,
    bytes_read: u64,
    /// Whether it is to work with nothing beside it. It was given up for want of memory while others were in progress.
    alone: Cell<bool>,
    /// Kept between attempts: a store that failed is repeated without reading and parsing again.
    extraction: Option<Extraction>,
}

impl Job {
    /// An output that is said to be there already: `Some` if it is, with the digest it must have.
    async fn believe(&self, claim: Claim) -> Option<Done> {
        let digest = AssertUnwindSafe(self.desk.shared.sink.digest(&claim.output)).catch_unwind();
        let digest = tokio::select! {
            biased;
            () = self.desk.shared.stop.reached(Level::Abort) => return None,
            digest = digest => unpanicked(digest, Stage::Write).ok()??,
        };
        (digest == claim.output_sha256).then_some(Done {
            stored: Stored { output: claim.output, sha256: claim.output_sha256 },
            bytes: claim.bytes,
            output_bytes: claim.output_bytes,
            facts: claim.facts,
        })
    }

    async fn attempt(&mut self, ticket: &mut Ticket) -> Result<Done, Failure> {
        let extraction = match self.extraction.clone() {
            Some(extraction) => extraction,
            None => {
                // Before anything is read: who waits for a turn holds no bytes beside one that works alone.
                let shared = &self.desk.shared;
                let _turn = tokio::select! {
                    biased;
                    () = shared.stop.reached(Level::Abort) => return Err(cancelled(Stage::Read)),
                    turn = shared.memory_guard.turn(self.alone.get()) => turn,
                };
                ticket.enter(Stage::Read);
                let begun = Instant::now();
                let bytes = self.read().await;
                if let Some(times) = ticket.times() {
                    times.read += begun.elapsed();
                }
                let bytes = bytes?;
                self.bytes_read = bytes.len() as u64;
                Counters::add(&self.desk.shared.counters.bytes_read, self.bytes_read);
                ticket.enter(Stage::Parse);
                let begun = Instant::now();
                let mut began = None;
                let parsed = self.parse(ticket.index(), bytes, &mut began).await;
                let on_thread = began.map_or(Duration::ZERO, |began: Instant| began.elapsed());
                let took = parsed.as_ref().map_or(on_thread, |parsed| parsed.took);
                if let Some(times) = ticket.times() {
                    times.parse += took;
                    // What passed without a thread on it is waiting.
                    times.queue += begun.elapsed().saturating_sub(took);
                }
                self.extraction.insert(parsed?.extraction).clone()
            }
        };
        ticket.enter(Stage::Write);
        let begun = Instant::now();
        let output_bytes = extraction.output.len();
        let facts = extraction.facts.clone();
        let stored = self.store(ticket.index(), extraction).await;
        if let Some(times) = ticket.times() {
            times.write += begun.elapsed();
        }
        Ok(Done { stored: stored?, bytes: self.bytes_read, output_bytes, facts })
    }

    async fn read(&self) -> Result<Bytes, Failure> {
        let shared = &self.desk.shared;
        let read = AssertUnwindSafe(shared.source.read(&self.unit)).catch_unwind();
        tokio::select! {
            biased;
            () = shared.stop.reached(Level::Abort) => Err(cancelled(Stage::Read)),
            outcome = read => unpanicked(outcome, Stage::Read),
            () = deadline(shared.config.limits.deadline) => Err(timed_out(shared, Stage::Read)),
        }
    }

    /// Sends the unit to a thread. The deadline counts from the moment a thread begins, which is noted in `began`.
    async fn parse(&self, index: u64, bytes: Bytes, began: &mut Option<Instant>) -> Result<Parsed, Failure> {
        let shared = &self.desk.shared;
        let mut abort = pin!(shared.stop.reached(Level::Abort));
        let signal = Signal::default();
        let (started, mut begins) = oneshot::channel();
        let parse = Parse {
            unit: Arc::clone(&self.unit),
            bytes,
            signal: signal.clone(),
            started,
            slot: Arc::clone(&self.slot),
        };
        let mut request = pin!(self.desk.pool.send(parse).map(|answer| {
            answer.unwrap_or_else(|error| Err(Failure::new(FailureKind::Dropped, Stage::Parse, error.to_string())))
        }));
        tokio::select! {
            biased;
            answer = &mut request => {
                *began = begins.try_recv().ok();
                return answer;
            }
            // Dropping the request takes it out of the queue of the pool.
            () = &mut abort => {
                signal.cancel();
                return Err(self.give_up(&mut request, cancelled(Stage::Parse)).await);
            }
            at = &mut begins => *began = at.ok(),
        }
        let watched = shared.memory_guard.watch(index, self.unit.size, signal.clone());
        tokio::select! {
            biased;
            answer = &mut request => {
                let failed = matches!(&answer, Err(failure) if failure.kind == FailureKind::OutOfMemory);
                if failed && watched.was_crowded_out() {
                    self.alone.set(true);
                }
                answer
            }
            () = &mut abort => {
                signal.cancel();
                Err(self.give_up(&mut request, cancelled(Stage::Parse)).await)
            }
            () = deadline(shared.config.limits.deadline) => {
                signal.time_out();
                Err(self.give_up(&mut request, timed_out(shared, Stage::Parse)).await)
            }
        }
    }

    /// The unit is over; a cooperative kernel returns within a moment, another keeps its thread and the slot with it, and its late result
    /// is thrown away.
    async fn give_up<T>(&self, request: &mut (impl Future<Output = T> + Unpin), failure: Failure) -> Failure {
        if tokio::time::timeout(COOPERATION, request).await.is_err() {
            self.slot.mark_stuck();
        }
        failure
    }

    /// Stores the extraction. A store is not interrupted, since it might be published already: at the deadline or at an abort the unit is given
    /// up and the store keeps the slot until it returns.
    async fn store(&self, index: u64, extraction: Extraction) -> Result<Stored, Failure> {
        let shared = &self.desk.shared;
        self.desk.journal.storing(index, &shared.sink.place(&self.unit), &extraction, self.bytes_read);
        let (sink, unit, slot) = (Arc::clone(&shared.sink), Arc::clone(&self.unit), Arc::clone(&self.slot));
        let faults = shared.config.faults.clone();
        let mut task = actix_rt::spawn(async move {
            let injected = |error| Failure::from_io(Stage::Write, "injected", &error);
            faults.at("store.before").map_err(injected)?;
            let stored = AssertUnwindSafe(sink.store(&unit, &extraction)).catch_unwind().await;
            faults.at("store.after").map_err(injected)?;
            drop(slot);
            unpanicked(stored, Stage::Write)
        });
        let grace = shared.config.grace;
        let failure = tokio::select! {
            biased;
            outcome = &mut task => {
                return outcome.unwrap_or_else(|error| {
                    Err(Failure::new(FailureKind::Panicked, Stage::Write, error.to_string()))
                });
            }
            () = async {
                shared.stop.reached(Level::Abort).await;
                tokio::time::sleep(shared.stop.grace_left(grace)).await;
            } => {
                cancelled(Stage::Write)
            }
            () = deadline(shared.config.limits.deadline) => timed_out(shared, Stage::Write),
        };
        self.slot.mark_stuck();
        Err(failure)
    }
}

/// How long a kernel has, once told to give up, before its slot counts as stuck.
const COOPERATION: Duration = Duration::from_millis(100);

async fn deadline(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

fn timed_out(shared: &Shared, stage: Stage) -> Failure {
    let seconds = shared.config.limits.deadline.unwrap_or_default().as_secs_f64();
    Failure::new(FailureKind::Timeout, stage, format!("not finished after {seconds:.1} s"))
}

fn unpanicked<T>(
    outcome: Result<Result<T, Failure>, Box<dyn std::any::Any + Send>>,
    stage: Stage,
) -> Result<T, Failure> {
    outcome.unwrap_or_else(|payload| Err(Failure::new(FailureKind::Panicked, stage, describe(payload.as_ref()))))
}
