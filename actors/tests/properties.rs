//! Random outcomes, random bounds: the books always balance and each unit ends as it was scripted to.

use std::time::Duration;

use bytes::Bytes;
use plan2geo_actors::testkit::{MemorySink, ScriptedKernel, ScriptedSource, number_of, numbered};
use plan2geo_actors::{Failure, FailureKind, Found, Stage};
use proptest::prelude::*;

use crate::support::{config, dead, done, malformed, run};

/// What a unit is scripted to do.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Script {
    Extract,
    ReadFails,
    ReadPanics,
    KernelFails,
    KernelPanics,
    TimesOut,
    StoreFails,
    StorePanics,
    Unreadable,
}

impl Script {
    fn kind(self) -> Option<(FailureKind, Stage)> {
        match self {
            Self::Extract => None,
            Self::ReadFails => Some((FailureKind::Vanished, Stage::Read)),
            Self::ReadPanics => Some((FailureKind::Panicked, Stage::Read)),
            Self::KernelFails => Some((FailureKind::Malformed, Stage::Parse)),
            Self::KernelPanics => Some((FailureKind::Panicked, Stage::Parse)),
            Self::TimesOut => Some((FailureKind::Timeout, Stage::Parse)),
            Self::StoreFails => Some((FailureKind::DiskFull, Stage::Write)),
            Self::StorePanics => Some((FailureKind::Panicked, Stage::Write)),
            Self::Unreadable => Some((FailureKind::Unreadable, Stage::Scan)),
        }
    }
}

fn script() -> impl Strategy<Value = Script> {
    prop_oneof![
        6 => Just(Script::Extract),
        1 => Just(Script::ReadFails),
        1 => Just(Script::ReadPanics),
        1 => Just(Script::KernelFails),
        1 => Just(Script::KernelPanics),
        1 => Just(Script::TimesOut),
        1 => Just(Script::StoreFails),
        1 => Just(Script::StorePanics),
        1 => Just(Script::Unreadable),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// R14, R22, R32, R43, R58, R148: for any mix of outcomes each unit has exactly one line, with the kind and stage it was scripted for.
    #[test]
    fn any_mix_of_outcomes_balances(
        scripts in prop::collection::vec(script(), 0..60),
        slots in 1_usize..5,
        waiting in 1_usize..9,
        commit_lines in 1_usize..5,
    ) {
        let (_directory, mut config) = config(slots, waiting);
        config.limits.deadline = Some(Duration::from_millis(150));
        config.commit_lines = commit_lines;
        let of = |scripts: &Vec<Script>| {
            let scripts = scripts.clone();
            move |number: u64| scripts.get(number as usize).copied().unwrap_or(Script::Extract)
        };
        let found = scripts.iter().enumerate().map(|(nth, script)| match script {
            Script::Unreadable => Found {
                failure: Some(Failure::new(FailureKind::Unreadable, Stage::Scan, "scripted")),
                ..numbered(nth as u64)
            },
            _ => numbered(nth as u64),
        });
        let read = of(&scripts);
        let source = ScriptedSource::of(found.collect()).reading(move |unit| {
            let script = read(number_of(&unit));
            Box::pin(async move {
                assert!(script != Script::ReadPanics, "scripted");
                match script {
                    Script::ReadFails => Err(Failure::new(FailureKind::Vanished, Stage::Read, "scripted")),
                    _ => Ok(Bytes::copy_from_slice(&number_of(&unit).to_be_bytes())),
                }
            })
        });
        let parse = of(&scripts);
        let kernel = ScriptedKernel::new(move |unit, bytes, cx| match parse(number_of(unit)) {
            Script::KernelFails => Err(malformed()),
            Script::KernelPanics => panic!("scripted"),
            Script::TimesOut => loop {
                cx.checkpoint()?;
                std::thread::sleep(Duration::from_millis(1));
            },
            _ => done(bytes),
        });
        let store = of(&scripts);
        let sink = MemorySink::default().before_store(move |unit| {
            let script = store(number_of(&unit));
            Box::pin(async move {
                assert!(script != Script::StorePanics, "scripted");
                match script {
                    Script::StoreFails => Err(Failure::new(FailureKind::DiskFull, Stage::Write, "scripted")),
                    _ => Ok(()),
                }
            })
        });
        let (summary, records) = run(config, source, sink, kernel.factory());
        prop_assert_eq!(summary.enumerated, scripts.len() as u64);
        prop_assert!(summary.queue.peak <= waiting && summary.slots.peak <= slots);
        let wanted: Vec<_> = scripts.iter().enumerate().filter_map(|(nth, script)| {
            script.kind().map(|(kind, stage)| (numbered(nth as u64).doc_id, kind, stage))
        }).collect();
        prop_assert_eq!(dead(&records), wanted);
    }
}
