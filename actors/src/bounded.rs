//! A bounded pool over an iterator: a fixed number of workers, a bounded number of references waiting, nothing else.
//!
//! This is the smallest form of the engine's idea, for callers who need neither books nor outputs: references instead of bodies, a producer that
//! waits for room instead of making a task an item, a typed end of stream, and a first failure that stops the group and is not discarded.
//!
//! It does not survive the loss of the process, limits no other process and no rate, and cannot cancel work that a handler started elsewhere: a handler that
//! submits remote work must wait for the end of that work, or its place here is free too early. The [`Engine`](crate::Engine) is for that.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{Mutex, mpsc};

/// Workers when nobody says otherwise.
pub const WORKERS: usize = 2;
/// References waiting when nobody says otherwise.
pub const WAITING: usize = 3;

/// What [`consume_bounded`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumed {
    /// References handled.
    pub handled: u64,
    /// The most handlers that ran at one time: at most `workers`.
    pub peak_active: usize,
}

/// Why [`consume_bounded`] ended early.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoundedError<E> {
    /// `workers` or `waiting` is 0.
    #[error("use positive integer limits: {0} is 0")]
    Limit(&'static str),
    /// A handler failed; the others were stopped at their next await.
    #[error("a handler failed: {0}")]
    Handler(E),
}

/// Calls `handle` for each reference, on `workers` at a time, with at most `waiting` references taken from the iterator and not yet begun.
///
/// Outcomes are the handler's to keep; nothing is collected here, so memory does not grow with the number of references: at most
/// `waiting + workers + 1` of them exist at one time. Dropping the returned future cancels every handler at its next await.
///
/// # Errors
///
/// [`BoundedError::Limit`] before anything is taken; [`BoundedError::Handler`] with the first failure, after which nothing more is begun.
pub async fn consume_bounded<R, E, F, A>(
    refs: impl IntoIterator<Item = R>,
    handle: F,
    workers: usize,
    waiting: usize,
) -> Result<Consumed, BoundedError<E>>
where
    F: Fn(R) -> A,
    A: Future<Output = Result<(), E>>,
{
    let workers = NonZeroUsize::new(workers).ok_or(BoundedError::Limit("workers"))?;
    let waiting = NonZeroUsize::new(waiting).ok_or(BoundedError::Limit("waiting"))?;
    let (sender, receiver) = mpsc::channel(waiting.get());
    let receiver = Mutex::new(receiver);
    let (active, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));

    // Room first, then the next reference: the iterator is never ahead of the queue. The end of stream is the sender's end, no value.
    let produce = async move {
        let mut refs = refs.into_iter();
        while let Ok(room) = sender.reserve().await {
            let Some(reference) = refs.next() else { break };
            room.send(reference);
        }
    };
    let work = || async {
        let mut handled = 0;
        loop {
            let next = receiver.lock().await.recv().await;
            let Some(reference) = next else {
                return Ok(handled);
            };
            let _active = Active::enter(&active, &peak);
            handle(reference).await?;
            handled += 1;
        }
    };
    let consume = async {
        let mut group: FuturesUnordered<_> = (0..workers.get()).map(|_| work()).collect();
        let mut handled = 0;
        while let Some(outcome) = group.next().await {
            // Leaving drops the group, and with it every other handler.
            handled += outcome?;
        }
        Ok(handled)
    };
    // The producer ends by itself when the queue is closed or the references are at their end.
    let mut produce = std::pin::pin!(produce);
    let mut consume = std::pin::pin!(consume);
    let outcome = tokio::select! {
        biased;
        outcome = &mut consume => outcome,
        () = &mut produce => consume.await,
    };
    let handled = outcome.map_err(BoundedError::Handler)?;
    Ok(Consumed { handled, peak_active: peak.load(Ordering::Relaxed) })
}

/// Counts a handler for as long as it runs, whatever ends it.
struct Active<'a>(&'a AtomicUsize);

impl<'a> Active<'a> {
    fn enter(active: &'a AtomicUsize, peak: &AtomicUsize) -> Self {
        peak.fetch_max(active.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        Self(active)
    }
}

impl Drop for Active<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::convert::Infallible;

    use futures::FutureExt;

    use super::*;
    use crate::testkit::Gate;

    /// R81, R84, R87, R88, R89: eight of eight, with no more than two at a time.
    #[tokio::test]
    async fn all_are_handled_by_a_fixed_number_of_workers() {
        let outcomes = RefCell::new(Vec::new());
        let (active, most) = (Cell::new(0), Cell::new(0));
        let handle = async |reference: u32| {
            active.set(active.get() + 1);
            most.set(most.get().max(active.get()));
            tokio::task::yield_now().await;
            active.set(active.get() - 1);
            outcomes.borrow_mut().push(reference);
            Ok::<_, Infallible>(())
        };
        let consumed = consume_bounded(1..=8, handle, WORKERS, WAITING).await.unwrap();
        assert_eq!(consumed.handled, 8);
        assert_eq!(outcomes.borrow().len(), 8);
        assert!((1..=2).contains(&consumed.peak_active) && most.get() == consumed.peak_active);
        assert_eq!(active.get(), 0);
    }

    /// R90: empty input finishes cleanly.
    #[tokio::test]
    async fn nothing_is_done_at_once() {
        let none: [u8; 0] = [];
        let consumed = consume_bounded(none, async |_| Ok::<_, Infallible>(()), 2, 3).await.unwrap();
        assert_eq!(consumed, Consumed { handled: 0, peak_active: 0 });
    }

    /// R82, R83, R91: a limit of zero is refused before anything is taken.
    #[tokio::test]
    async fn limits_are_positive() {
        let taken = Cell::new(0);
        for (workers, waiting, named) in [(0, 3, "workers"), (2, 0, "waiting")] {
            let refs = (0..3).inspect(|_| taken.set(taken.get() + 1));
            let outcome = consume_bounded(refs, async |_| Ok::<_, Infallible>(()), workers, waiting).await;
            assert_eq!(outcome, Err(BoundedError::Limit(named)));
        }
        assert_eq!(taken.get(), 0);
        assert_eq!(
            BoundedError::<Infallible>::Limit("waiting").to_string(),
            "use positive integer limits: waiting is 0"
        );
    }

    /// R86, R92: the first failure stops the group and is handed on.
    #[tokio::test]
    async fn the_first_failure_stops_the_group() {
        let begun = Cell::new(0);
        let handle = async |reference: u32| {
            begun.set(begun.get() + 1);
            tokio::task::yield_now().await;
            if reference == 3 { Err("third") } else { Ok(()) }
        };
        let outcome = consume_bounded(1..=1000, handle, 2, 3).await;
        assert_eq!(outcome, Err(BoundedError::Handler("third")));
        assert!(begun.get() <= 5, "{}", begun.get());
    }

    /// R93, R98: dropping the whole cancels every handler.
    #[tokio::test]
    async fn cancelling_stops_every_handler() {
        let gate = Gate::closed();
        let mut pool = Box::pin(consume_bounded(
            0..100,
            async |_| {
                gate.pass().await;
                Ok::<_, Infallible>(())
            },
            4,
            2,
        ));
        for _ in 0..10 {
            assert!((&mut pool).now_or_never().is_none());
        }
        assert_eq!(gate.waiting(), 4);
        drop(pool);
        assert_eq!(gate.waiting(), 0);
    }

    /// R94, R95, R113: with a consumer that is blocked, `waiting + workers` references are taken and the producer stops.
    #[tokio::test]
    async fn a_blocked_consumer_stops_the_producer() {
        for (workers, waiting) in [(1, 1), (2, 3), (5, 7)] {
            let gate = Gate::closed();
            let taken = Cell::new(0);
            let refs = (0..1000).inspect(|_| taken.set(taken.get() + 1));
            let handle = async |_| {
                gate.pass().await;
                Ok::<_, Infallible>(())
            };
            let mut pool = Box::pin(consume_bounded(refs, handle, workers, waiting));
            for _ in 0..100 {
                assert!((&mut pool).now_or_never().is_none());
            }
            assert_eq!(taken.get(), waiting + workers);
            gate.open();
            assert_eq!(pool.await.unwrap().handled, 1000);
        }
    }

    /// R85: every value of the reference's type is a legal reference.
    #[tokio::test]
    async fn no_reference_means_the_end() {
        let refs = [None, Some(0), None, Some(u64::MAX)];
        let consumed = consume_bounded(refs, async |_| Ok::<_, Infallible>(()), 1, 1).await.unwrap();
        assert_eq!(consumed.handled, 4);
    }
}
