//! plan2geo: arguments → configuration → run → exit code. And how the allocator is set, which only a program may decide.

/// Counts what each conversion holds, for `limits.memory_per_drawing`. Behind it is the system's allocator.
#[global_allocator]
static ALLOCATOR: plan2geo::memory::Metered = plan2geo::memory::Metered;

fn main() -> std::process::ExitCode {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    heap::keep_small();
    plan2geo::cli::main()
}

/// Few heaps, and large buffers outside of them. What is then kept of large drawings, `memory::give_back` gives back.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "two C calls on numbers; they touch no memory of ours")]
mod heap {
    /// From this size on a buffer is mapped alone and goes back to the system when it is freed. glibc moves its own bound up to
    /// 32 MiB as soon as one such buffer was freed; a fixed one stays.
    const MAPPED_BYTES: libc::c_int = 1 << 20;

    /// At most as many heaps as cores (glibc would take eight a core).
    pub(super) fn keep_small() {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
        let heaps = libc::c_int::try_from(cores).unwrap_or(libc::c_int::MAX);
        // SAFETY: `mallopt` has no preconditions beyond being called before threads race for it; none runs yet.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
        }
    }
}
