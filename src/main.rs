//! plan2geo: arguments → configuration → run → exit code.

/// Counts what each conversion holds, for `limits.memory_per_drawing`.
#[global_allocator]
static ALLOCATOR: plan2geo::memory::Metered = plan2geo::memory::Metered;

fn main() -> std::process::ExitCode {
    share_heaps();
    plan2geo::cli::main()
}

/// At most as many heaps as cores. glibc gives threads heaps of their own, up to eight a core, and each keeps what its largest
/// drawing needed: memory would grow with the length of a batch until all of them have met a large one (by a fifth
/// between the same 40 plans once and a hundred times over; by less than a tenth with this).
fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
        let heaps = libc::c_int::try_from(cores).unwrap_or(libc::c_int::MAX);
        #[expect(unsafe_code, reason = "a C call that only sets a number; no other thread runs yet")]
        // SAFETY: `mallopt` has no preconditions beyond being called before threads race for it.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, heaps);
        }
    }
}
