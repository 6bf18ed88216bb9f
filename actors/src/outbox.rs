//! The bounded edge between Scanner and Worker.
//!
//! actix does not suspend a sender on a full mailbox: `send` enqueues past the bound and awaits the *answer*, `do_send` ignores the bound, and
//! each clone of an address adds a place. So the bound is held outside: as many [`Credit`]s as the mailbox has places. A credit is
//! taken before the source is asked for the next unit, rides in the message, and goes back when the Worker takes the unit. While there
//! is none, the Scanner sleeps: that is the whole of backpressure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix::dev::{MessageResponse, ToEnvelope};
use actix::{Actor, Addr, Handler, Message};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::gauge::DepthGauge;

/// An address that is sent to with credits only.
#[derive(Debug)]
pub struct Outbox<A: Actor> {
    addr: Addr<A>,
    credits: Arc<Semaphore>,
    gauge: Arc<DepthGauge>,
    blocked: AtomicU64,
}

/// A place in the mailbox. Dropping it gives the place back, so nothing that dies with its message can leak one.
#[derive(Debug)]
pub struct Credit {
    _permit: OwnedSemaphorePermit,
    gauge: Arc<DepthGauge>,
    posted: bool,
}

impl Credit {
    /// The message is taken out of the mailbox. Returns how long it was in.
    pub fn taken(mut self) -> Duration {
        self.posted = false;
        self.gauge.take()
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        if self.posted {
            self.gauge.take();
        }
    }
}

impl<A: Actor> Outbox<A> {
    /// An outbox to an actor whose mailbox has at least `capacity` places. The address must be the only one messages of data
    /// are sent through.
    #[must_use]
    pub fn new(addr: Addr<A>, capacity: usize, gauge: Arc<DepthGauge>) -> Self {
        Self { addr, credits: Arc::new(Semaphore::new(capacity)), gauge, blocked: AtomicU64::new(0) }
    }

    /// Waits for a place.
    pub async fn credit(&self) -> Credit {
        if let Some(credit) = self.try_credit() {
            return credit;
        }
        let begun = Instant::now();
        // Counted by a guard, so that a wait that is given up counts as well.
        let _blocked = Blocked { since: begun, total: &self.blocked };
        loop {
            match Arc::clone(&self.credits).acquire_owned().await {
                Ok(permit) => {
                    return Credit { _permit: permit, gauge: Arc::clone(&self.gauge), posted: false };
                }
                // The semaphore is never closed.
                Err(_) => std::future::pending::<()>().await,
            }
        }
    }

    /// A place, if there is one now.
    pub fn try_credit(&self) -> Option<Credit> {
        let permit = Arc::clone(&self.credits).try_acquire_owned().ok()?;
        Some(Credit { _permit: permit, gauge: Arc::clone(&self.gauge), posted: false })
    }

    /// Puts a message into the place of its credit.
    ///
    /// # Errors
    ///
    /// Gives nothing back when the actor is gone: what the message holds is dropped and acts by its own `Drop`.
    pub fn post<M>(&self, mut credit: Credit, message: impl FnOnce(Credit) -> M) -> Result<(), ActorGone>
    where
        M: Message + Send + 'static,
        M::Result: Send + MessageResponse<A, M>,
        A: Handler<M>,
        A::Context: ToEnvelope<A, M>,
    {
        credit.posted = true;
        self.gauge.put();
        self.addr.try_send(message(credit)).map_err(|_| ActorGone)
    }

    /// The time senders spent waiting for a place.
    pub fn blocked(&self) -> Duration {
        Duration::from_nanos(self.blocked.load(Ordering::Relaxed))
    }

    /// The address, for messages that are no data.
    pub fn addr(&self) -> &Addr<A> {
        &self.addr
    }
}

/// The actor behind an [`Outbox`] has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the actor has ended")]
pub struct ActorGone;

struct Blocked<'a> {
    since: Instant,
    total: &'a AtomicU64,
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        let nanos = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.total.fetch_add(nanos, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use actix::{AsyncContext as _, Context};
    use futures::FutureExt as _;

    use super::*;

    struct Slow {
        go: Arc<Semaphore>,
    }

    impl Actor for Slow {
        type Context = Context<Self>;
    }

    struct Job(Credit);

    impl Message for Job {
        type Result = ();
    }

    impl Handler<Job> for Slow {
        type Result = ();

        fn handle(&mut self, job: Job, ctx: &mut Self::Context) {
            job.0.taken();
            let go = Arc::clone(&self.go);
            let wait = async move {
                if let Ok(permit) = go.acquire().await {
                    permit.forget();
                }
            };
            ctx.wait(actix::fut::wrap_future(wait));
        }
    }

    /// R16, R47, R121: the sender is suspended when the mailbox is full, exactly, and goes on when a message is taken.
    #[actix::test]
    async fn a_full_mailbox_suspends_the_sender() {
        for capacity in [1, 2, 8] {
            let go = Arc::new(Semaphore::new(0));
            let held = Arc::clone(&go);
            let addr = Slow::create(|ctx| {
                ctx.set_mailbox_capacity(capacity);
                Slow { go: held }
            });
            let gauge = Arc::new(DepthGauge::new(capacity));
            let outbox = Outbox::new(addr, capacity, Arc::clone(&gauge));
            // One in the hand of the actor, `capacity` in its mailbox.
            for _ in 0..=capacity {
                let credit = outbox.credit().await;
                outbox.post(credit, Job).unwrap();
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            }
            assert!(outbox.credit().now_or_never().is_none());
            assert_eq!(gauge.depth(), capacity);
            go.add_permits(1);
            let credit = outbox.credit().await;
            outbox.post(credit, Job).unwrap();
            assert_eq!(gauge.report().peak, capacity);
            assert!(outbox.blocked() > Duration::ZERO);
        }
    }

    #[actix::test]
    async fn a_credit_that_dies_with_its_message_comes_back() {
        let addr = Slow { go: Arc::new(Semaphore::new(0)) }.start();
        let outbox = Outbox::new(addr, 1, Arc::new(DepthGauge::new(1)));
        drop(outbox.credit().await);
        assert!(outbox.credit().now_or_never().is_some());
    }
}
