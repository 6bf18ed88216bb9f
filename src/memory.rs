//! How much memory a conversion holds, counted where it is taken.
//!
//! [`Metered`] is the allocator of the program: the system's, with a count for each thread of the bytes it took and has
//! not given back. A conversion runs on one thread, so a [`Meter`] begun at its start knows what it holds, whichever
//! library took it. Checkpoints ask the meter and end a conversion that holds more than `limits.memory_per_drawing`.
//! Programs that use the library with another allocator count nothing, and nothing is limited by it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use crate::format::Interrupt;

thread_local! {
    /// Bytes taken by this thread less bytes given back by it. What one thread takes and another gives back makes
    /// it drift, which is why only differences over one conversion mean anything.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator with a count for each thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Metered;

#[expect(unsafe_code, reason = "an allocator is unsafe by its trait; every call goes on to the system's unchanged")]
// SAFETY: all requests are answered by `System` with the layouts they came with; counting takes no memory, because the
// counter is a constant-initialized thread-local without a destructor.
unsafe impl GlobalAlloc for Metered {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: `place` came from `System`, since every allocation here does.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: `place` came from `System`, since every allocation here does.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[inline]
fn count(taken: usize, given_back: usize) {
    // A thread that is ending has no counter any more, and no conversion either.
    let _ = HELD.try_with(|held| held.set(held.get() + taken as i64 - given_back as i64));
}

/// Gives back to the system what the allocator keeps for later. Does nothing where the system's allocator is not glibc's.
///
/// glibc keeps the pages it once needed: without this, memory would grow with the length of a batch until each heap
/// has met the largest drawings and their remains lie between the small ones. It costs a walk over all heaps, and the
/// pages have to be asked for again, so it is for moments at which much has just been let go.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        #[expect(unsafe_code, reason = "a C call that touches nothing but free memory of the allocator")]
        // SAFETY: `malloc_trim` takes the allocator's own locks and may be called at any time from any thread.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// What this thread has taken since [`Meter::start`], against a limit.
#[derive(Debug, Clone, Copy)]
pub struct Meter {
    before: i64,
    limit: Option<u64>,
}

impl Meter {
    /// Begins to count on this thread. Without a limit [`check`](Self::check) never fails.
    pub fn start(limit: Option<u64>) -> Self {
        Self { before: HELD.get(), limit }
    }

    /// Bytes held now, beyond those held at the start.
    pub fn held(&self) -> u64 {
        u64::try_from(HELD.get() - self.before).unwrap_or(0)
    }

    /// Whether the limit is kept.
    ///
    /// # Errors
    /// [`Interrupt::Memory`] with the limit.
    pub fn check(&self) -> Result<(), Interrupt> {
        match self.limit {
            Some(limit) if self.held() > limit => Err(Interrupt::Memory { limit }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meter_counts_what_its_own_thread_takes_and_gives_back() {
        let meter = Meter::start(Some(1_000));
        count(4_000, 0);
        assert_eq!(meter.held(), 4_000);
        assert_eq!(meter.check(), Err(Interrupt::Memory { limit: 1_000 }));
        count(0, 3_500);
        assert_eq!(meter.check(), Ok(()));
        let elsewhere = std::thread::spawn(|| Meter::start(None).held()).join();
        assert_eq!(elsewhere.ok(), Some(0));
    }
}
