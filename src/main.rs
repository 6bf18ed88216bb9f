//! plan2geo: arguments → configuration → run → exit code. And how the allocator is set, which only a program may decide.

/// Counts what each conversion holds, for `limits.memory_per_drawing`. Behind it is the system's allocator.
#[global_allocator]
static ALLOCATOR: plan2geo::memory::Metered = plan2geo::memory::Metered;

fn main() -> std::process::ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heap::keep_small();
    plan2geo::cli::main()
}

/// glibc keeps what it once needed. Left alone, memory would grow with the length of a batch until each heap has met the largest
/// drawings and their remains lie between the small ones.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "two C calls on numbers; they touch no memory of ours")]
mod heap {
    use std::time::Duration;

    /// From this size on a buffer is mapped alone and goes back to the system when it is freed. glibc moves its own bound up to
    /// 32 MiB as soon as one such buffer was freed; a fixed one stays.
    const MAPPED_BYTES: libc::c_int = 1 << 20;

    /// Between two sweeps that give free pages inside the heaps back.
    const SWEEP: Duration = Duration::from_millis(500);

    /// At most as many heaps as cores (glibc would take eight a core), large buffers outside of them, and free pages given back.
    pub(super) fn keep_small() {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
        let heaps = libc::c_int::try_from(cores).unwrap_or(libc::c_int::MAX);
        // SAFETY: `mallopt` has no preconditions beyond being called before threads race for it; none runs yet.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        }
        // Without the thread everything works and memory is a tenth higher: not worth an error.
        let _ = std::thread::Builder::new().name("heap".to_owned()).stack_size(64 << 10).spawn(|| {
            loop {
                std::thread::sleep(SWEEP);
                // SAFETY: `malloc_trim` may be called at any time from any thread; it takes the locks of the heaps itself.
                unsafe { libc::malloc_trim(0) };
            }
        });
    }
}
