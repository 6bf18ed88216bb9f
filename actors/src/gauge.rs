//! What a run measures of itself: how deep a queue stood and for how long, how long stages took, how late the loop was, how much
//! memory was in use.
//!
//! A mailbox cannot be asked for its depth, so the [`DepthGauge`] counts what goes in and what comes out. The share of time at 0 and at the
//! bound says who waits for whom: a queue at 0 means the scanner is slow, a queue at its bound that the workers are.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Counts what is in a bounded place, and how long it held how much.
#[derive(Debug)]
pub struct DepthGauge {
    bound: usize,
    state: Mutex<DepthState>,
}

#[derive(Debug)]
struct DepthState {
    depth: usize,
    peak: usize,
    begun: Instant,
    last: Instant,
    at_zero: Duration,
    at_bound: Duration,
    /// Depth × seconds.
    area: f64,
    stamps: VecDeque<Instant>,
    waits: Duration,
    taken: u64,
    put: u64,
}

impl DepthGauge {
    /// A gauge over a place that holds at most `bound`.
    #[must_use]
    pub fn new(bound: usize) -> Self {
        let now = Instant::now();
        let state = DepthState {
            depth: 0,
            peak: 0,
            begun: now,
            last: now,
            at_zero: Duration::ZERO,
            at_bound: Duration::ZERO,
            area: 0.0,
            stamps: VecDeque::new(),
            waits: Duration::ZERO,
            taken: 0,
            put: 0,
        };
        Self { bound, state: Mutex::new(state) }
    }

    /// One more is in.
    pub fn put(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.advance(self.bound, now);
        state.depth += 1;
        state.put += 1;
        state.peak = state.peak.max(state.depth);
        state.stamps.push_back(now);
    }

    /// One is out: the oldest, as in a queue. Returns how long it was in.
    pub fn take(&self) -> Duration {
        let now = Instant::now();
        let mut state = self.lock();
        state.advance(self.bound, now);
        state.depth = state.depth.saturating_sub(1);
        state.taken += 1;
        let wait = state.stamps.pop_front().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        state.waits += wait;
        wait
    }

    /// How many are in now.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lock().depth
    }

    /// How long the oldest has been in.
    #[must_use]
    pub fn oldest(&self) -> Duration {
        self.lock().stamps.front().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// Everything known up to now.
    #[must_use]
    pub fn report(&self) -> DepthReport {
        let now = Instant::now();
        let mut state = self.lock();
        state.advance(self.bound, now);
        let elapsed = now.saturating_duration_since(state.begun).as_secs_f64().max(f64::MIN_POSITIVE);
        DepthReport {
            bound: self.bound,
            depth: state.depth,
            peak: state.peak,
            mean: state.area / elapsed,
            share_at_zero: (state.at_zero.as_secs_f64() / elapsed).min(1.0),
            share_at_bound: (state.at_bound.as_secs_f64() / elapsed).min(1.0),
            oldest_ms: state.stamps.front().map_or(0.0, |since| millis(now.saturating_duration_since(*since))),
            mean_wait_ms: if state.taken == 0 { 0.0 } else { millis(state.waits) / state.taken as f64 },
            total: state.put,
        }
    }

    fn lock(&self) -> MutexGuard<'_, DepthState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DepthState {
    fn advance(&mut self, bound: usize, now: Instant) {
        let passed = now.saturating_duration_since(self.last);
        self.last = now;
        if self.depth == 0 {
            self.at_zero += passed;
        }
        if self.depth >= bound {
            self.at_bound += passed;
        }
        self.area += self.depth as f64 * passed.as_secs_f64();
    }
}

/// A reading of a [`DepthGauge`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DepthReport {
    /// The most it may hold.
    pub bound: usize,
    /// What it held at the reading.
    pub depth: usize,
    /// The most it ever held.
    pub peak: usize,
    /// Mean over time.
    pub mean: f64,
    /// Share of time it was empty, 0 to 1.
    pub share_at_zero: f64,
    /// Share of time it was full, 0 to 1.
    pub share_at_bound: f64,
    /// Age of the oldest in it, in milliseconds.
    pub oldest_ms: f64,
    /// Mean time in it, in milliseconds.
    pub mean_wait_ms: f64,
    /// How many went in, in all.
    pub total: u64,
}

/// Durations in buckets that grow by about 19 %: constant memory, good to a tenth.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    total: Duration,
    max: Duration,
    count: u64,
}

/// Buckets for one doubling.
const STEPS: f64 = 4.0;
/// From one microsecond to beyond a day.
const BUCKETS: usize = 160;

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: Duration::ZERO, max: Duration::ZERO, count: 0 }
    }
}

impl Histogram {
    /// One more duration.
    pub fn add(&mut self, duration: Duration) {
        let micros = duration.as_secs_f64() * 1e6;
        let bucket = if micros <= 1.0 { 0 } else { (micros.log2() * STEPS) as usize + 1 };
        if let Some(count) = self.counts.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        self.count += 1;
        self.total += duration;
        self.max = self.max.max(duration);
    }

    /// The duration below which that share (0 to 1) of all lies; the upper edge of its bucket.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_secs_f64((bucket as f64 / STEPS).exp2() * 1e-6).min(self.max);
            }
        }
        self.max
    }

    /// Everything known.
    #[must_use]
    pub fn report(&self) -> TimeReport {
        TimeReport {
            count: self.count,
            p50_ms: millis(self.quantile(0.5)),
            p95_ms: millis(self.quantile(0.95)),
            p99_ms: millis(self.quantile(0.99)),
            max_ms: millis(self.max),
            total_ms: millis(self.total),
        }
    }
}

/// A reading of a [`Histogram`], in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct TimeReport {
    pub count: u64,
    pub p50_ms: f64,
    pub p95_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    pub total_ms: f64,
}

/// Resident memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemorySample {
    /// Milliseconds since the start of the run.
    pub at_ms: u64,
    /// Units with an outcome by then.
    pub units: u64,
    /// Units waiting by then.
    pub waiting: usize,
    /// Resident bytes.
    pub resident: u64,
    /// Those of them that are pages of files, which the system takes back when memory is short.
    #[serde(default)]
    pub of_files: u64,
}

impl MemorySample {
    /// Bytes that cannot be taken back.
    #[must_use]
    pub fn private(&self) -> u64 {
        self.resident.saturating_sub(self.of_files)
    }
}

/// Whether memory stood still in the second half of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Plateau {
    /// It grew by less than 1 MB per 1,000 units.
    Flat,
    /// It grew by more.
    Growing,
    /// Too few samples or units to tell.
    Unknown,
}

/// Samples of resident memory in constant space: when full, every second one is dropped and the pace halves.
#[derive(Debug)]
pub struct MemorySeries {
    samples: Vec<MemorySample>,
    keep_every: u64,
    seen: u64,
    peak: u64,
}

const SAMPLES: usize = 512;

impl Default for MemorySeries {
    fn default() -> Self {
        Self { samples: Vec::with_capacity(SAMPLES), keep_every: 1, seen: 0, peak: 0 }
    }
}

impl MemorySeries {
    /// One more sample.
    pub fn add(&mut self, sample: MemorySample) {
        self.peak = self.peak.max(sample.resident);
        if self.seen.is_multiple_of(self.keep_every) {
            if self.samples.len() == SAMPLES {
                let mut nth = 0;
                self.samples.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
                self.keep_every *= 2;
            }
            self.samples.push(sample);
        }
        self.seen += 1;
    }

    /// The most ever seen, in bytes.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// The samples kept, in order.
    #[must_use]
    pub fn samples(&self) -> &[MemorySample] {
        &self.samples
    }

    /// A straight line through the second half of the samples: bytes per 1,000 units.
    #[must_use]
    pub fn slope(&self) -> Option<f64> {
        let half = self.samples.get(self.samples.len() / 2..)?;
        let span = half.last()?.units.checked_sub(half.first()?.units)?;
        if half.len() < 8 || span < 100 {
            return None;
        }
        let n = half.len() as f64;
        let mean_x = half.iter().map(|sample| sample.units as f64).sum::<f64>() / n;
        let mean_y = half.iter().map(|sample| sample.private() as f64).sum::<f64>() / n;
        let mut covariance = 0.0;
        let mut variance = 0.0;
        for sample in half {
            let x = sample.units as f64 - mean_x;
            covariance += x * (sample.private() as f64 - mean_y);
            variance += x * x;
        }
        (variance > 0.0).then(|| covariance / variance * 1000.0)
    }

    /// The verdict of [`MemorySeries::slope`].
    #[must_use]
    pub fn plateau(&self) -> Plateau {
        match self.slope() {
            None => Plateau::Unknown,
            Some(slope) if slope < 1e6 => Plateau::Flat,
            Some(_) => Plateau::Growing,
        }
    }
}

/// Resident bytes of this process now, and those of them that are pages of files; `None` where the system does not say.
#[must_use]
pub fn resident_bytes() -> Option<(u64, u64)> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = statm.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    let page = rustix::param::page_size() as u64;
    Some((pages.next()? * page, pages.next()? * page))
}

/// The most resident bytes of this process so far; `None` where the system does not say.
#[must_use]
pub fn peak_resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Open files of this process now; `None` where the system does not say.
#[must_use]
pub fn open_files() -> Option<usize> {
    // The listing itself holds one.
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1))
}

/// A duration in milliseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_peak_and_totals_are_counted() {
        let gauge = DepthGauge::new(2);
        gauge.put();
        gauge.put();
        gauge.take();
        gauge.put();
        let report = gauge.report();
        assert_eq!((report.depth, report.peak, report.total), (2, 2, 3));
        assert!(report.share_at_zero + report.share_at_bound <= 1.0 + 1e-9);
    }

    #[test]
    fn quantiles_are_good_to_a_fifth() {
        let mut histogram = Histogram::default();
        for ms in 1..=1000 {
            histogram.add(Duration::from_millis(ms));
        }
        let report = histogram.report();
        assert!((report.p50_ms - 500.0).abs() < 100.0, "{report:?}");
        assert!((report.p95_ms - 950.0).abs() < 190.0, "{report:?}");
        assert_eq!(report.max_ms, 1000.0);
        assert_eq!(Histogram::default().report().p95_ms, 0.0);
    }

    fn series(resident: impl Fn(u64) -> u64, samples: u64) -> MemorySeries {
        let mut series = MemorySeries::default();
        for i in 0..samples {
            series.add(MemorySample { at_ms: i, units: i * 100, waiting: 0, resident: resident(i), of_files: 0 });
        }
        series
    }

    /// R42, R61: flat and growing memory are told apart, and a short run is neither.
    #[test]
    fn the_plateau_is_judged_from_the_second_half() {
        assert_eq!(series(|i| if i < 50 { i << 20 } else { 50 << 20 }, 200).plateau(), Plateau::Flat);
        assert_eq!(series(|i| i << 20, 200).plateau(), Plateau::Growing);
        assert_eq!(series(|_| 1 << 20, 6).plateau(), Plateau::Unknown);
    }

    #[test]
    fn a_long_series_stays_small_and_keeps_its_ends() {
        let series = series(|i| i, 100_000);
        assert!(series.samples().len() <= SAMPLES);
        assert_eq!(series.samples()[0].at_ms, 0);
        assert!(series.samples().last().unwrap().at_ms > 99_000);
        assert_eq!(series.peak(), 99_999);
    }
}
