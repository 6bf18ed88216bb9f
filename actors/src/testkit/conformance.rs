//! What every implementation of the three traits must do, as suites that return what is wrong.
//!
//! An empty answer means that the promises which can be seen from outside are kept.

use std::num::NonZeroU32;

use bytes::Bytes;
use futures::StreamExt;

use crate::failure::FailureKind;
use crate::kernel::{Extraction, Kernel, KernelContext, Signal};
use crate::sink::Sink;
use crate::source::{Found, Source};
use crate::spool::{SpoolSettings, Spooled};
use crate::unit::{MAX_UNIT_BYTES, RunId, Unit};

/// Lists twice, reads everything, and says what is wrong. For sources of a size that can be held in memory.
pub async fn source(source: &dyn Source) -> Vec<String> {
    let mut wrong = Vec::new();
    let first = list(source, &mut wrong).await;
    let second = list(source, &mut wrong).await;
    if first != second {
        wrong.push("two listings differ".to_owned());
    }
    for pair in first.windows(2) {
        if pair[0].id() >= pair[1].id() {
            wrong.push(format!("{} stands before {}", pair[0].id(), pair[1].id()));
        }
    }
    for found in first {
        let name = found.id();
        if found.location.contains("://") && found.location.contains(['?', '@']) {
            wrong.push(format!("{name}: its location may hold a secret: {}", found.location));
        }
        let failed = found.failure.is_some();
        let unit = Unit::from_found(found, RunId::random(), None);
        if unit.footprint() > MAX_UNIT_BYTES {
            wrong.push(format!("{name}: it takes {} bytes", unit.footprint()));
        }
        if failed {
            continue;
        }
        match source.read(&unit).await {
            Ok(bytes) if bytes.len() as u64 != unit.size => {
                wrong.push(format!("{name}: listed with {} bytes, read {}", unit.size, bytes.len()));
            }
            Ok(_) => {}
            Err(failure) if failure.kind == FailureKind::Empty && unit.size == 0 => {}
            Err(failure) => wrong.push(format!("{name}: {failure}")),
        }
    }
    wrong
}

async fn list(source: &dyn Source, wrong: &mut Vec<String>) -> Vec<Found> {
    let mut all = Vec::new();
    let mut findings = source.scan();
    while let Some(found) = findings.next().await {
        match found {
            Ok(found) => all.push(found),
            Err(error) => {
                wrong.push(format!("listing ended with: {error}"));
                break;
            }
        }
    }
    all
}

/// Stores awkwardly named units, each twice, and says what is wrong. Leaves its outputs in the sink.
pub async fn sink(sink: &dyn Sink) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Err(failure) = sink.prepare().await {
        return vec![failure.to_string()];
    }
    let mut places = std::collections::BTreeSet::new();
    for name in ["plain", "dir/with space", "ünï#1", "50%", "../outside", "/absolute", "a/../../b", "dot/./dot"] {
        for page in 1..=2 {
            let unit = Unit::from_found(Found::new(name, page, name, "x"), RunId::random(), None);
            let content = format!("{name} {page}");
            let extraction = Extraction::new(Spooled::from_bytes(content.into_bytes()));
            let place = sink.place(&unit);
            if place != sink.place(&unit) {
                wrong.push(format!("{name}: its place changes"));
            }
            if !places.insert(place.clone()) {
                wrong.push(format!("{name} page {page}: shares the place {place}"));
            }
            if matches!(sink.digest(&place).await, Ok(Some(_))) {
                wrong.push(format!("{name}: there before it was stored"));
            }
            for _ in 0..2 {
                match sink.store(&unit, &extraction).await {
                    Ok(stored) if stored.output != place => {
                        wrong.push(format!("{name}: stored at {} and not at {place}", stored.output));
                    }
                    Ok(stored) if stored.sha256 != extraction.output.sha256_hex() => {
                        wrong.push(format!("{name}: stored with another digest"));
                    }
                    Ok(_) => {}
                    Err(failure) => wrong.push(format!("{name}: {failure}")),
                }
            }
            match sink.digest(&place).await {
                Ok(Some(digest)) if digest == extraction.output.sha256_hex() => {}
                other => wrong.push(format!("{name}: after the store its digest is {other:?}")),
            }
        }
    }
    wrong
}

/// Runs a kernel over documents, each twice and once cancelled, and says what is wrong.
pub fn kernel<K: Kernel>(factory: impl Fn() -> K, documents: &[(&str, &[u8])]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut kernel = factory();
    for (format, bytes) in documents {
        let found = Found::new("doc", NonZeroU32::MIN.get(), "doc", *format).with_size(bytes.len() as u64);
        let unit = Unit::from_found(found, RunId::random(), None);
        let mut outcomes = Vec::new();
        for _ in 0..2 {
            let outcome = kernel.extract(&unit, Bytes::copy_from_slice(bytes), &KernelContext::unbounded());
            outcomes.push(outcome.map(|done| (done.output.sha256(), done.facts)));
        }
        if outcomes.first() != outcomes.last() {
            wrong.push(format!("{format}: the same bytes gave two outcomes"));
        }
        let signal = Signal::default();
        signal.cancel();
        let cx = KernelContext::new(None, SpoolSettings::default(), signal);
        match kernel.extract(&unit, Bytes::copy_from_slice(bytes), &cx) {
            Err(failure) if failure.kind == FailureKind::Cancelled => {}
            // Too short to meet a checkpoint.
            Ok(_) if bytes.len() < 4096 => {}
            Err(_) if outcomes.first().is_some_and(Result::is_err) => {}
            other => wrong.push(format!("{format}: told to give up, it answered {:?}", other.map(|_| "an extraction"))),
        }
    }
    wrong
}
