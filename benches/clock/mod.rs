//! The clock of the benches: CPU time, because the machine may have other work.

#![allow(clippy::unwrap_used, dead_code)]

/// CPU seconds of this thread, the best of `runs`.
pub(crate) fn best_of(runs: u32, run: impl Fn()) -> f64 {
    let times = (0..runs).map(|_| {
        let before = cpu_seconds();
        run();
        cpu_seconds() - before
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Time this thread has run, by the scheduler.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}
