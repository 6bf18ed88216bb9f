use std::num::NonZeroU32;

use super::*;

#[test]
fn messages_that_differ_in_names_and_numbers_have_one_cause() {
    let cause = |message, doc_id| root_cause(message, doc_id);
    assert_eq!(
        cause("A/L02.dwg: unsupported DWG version AC1009 (R11/R12)", "A/L02.dwg"),
        "…: unsupported DWG version AC1009 (R11/R12)"
    );
    assert_eq!(cause("not finished after 1.5 s", "A/1.dxf"), cause("not finished after 30.0 s", "B/2.dxf"));
    assert_eq!(cause("malformed DXF: bad value at line 1,204", "A/1.dxf"), "malformed DXF: bad value at line #");
}

#[test]
fn extremes_are_the_same_for_every_order() {
    let unit =
        |number: u64| UnitTime { unit: format!("{number:03}"), bytes: number % 40, parse_ms: number, extracted: true };
    let numbers: Vec<u64> = (0..200).collect();
    let collect = |numbers: &mut dyn Iterator<Item = &u64>| {
        let mut tally = tally::Tally::default();
        for number in numbers {
            tally.add(&record(&unit(*number)));
        }
        (tally.slowest.into_sorted(), tally.largest.into_sorted())
    };
    let (slowest, largest) = collect(&mut numbers.iter());
    assert_eq!((slowest.clone(), largest.clone()), collect(&mut numbers.iter().rev()));
    assert_eq!(slowest.len(), 10);
    assert_eq!(slowest[0].parse_ms, 199);
    assert_eq!(largest[0].unit, "039");
}

fn record(unit: &UnitTime) -> plan2geo_actors::ledger::Record {
    serde_json::from_value(serde_json::json!({
        "attempts": 1, "bytes": unit.bytes, "doc_id": unit.unit, "event": "EXTRACTED", "format": "dxf", "index": 0,
        "ms": {"parse": unit.parse_ms, "queue": 0, "read": 0, "write": 0}, "page": NonZeroU32::MIN, "prev": "", "run_id":
        uuid::Uuid::nil(), "seq": 0, "trace_id": uuid::Uuid::nil(), "ts": "2026-01-01T00:00:00.000000+00:00", "v": 1
    }))
    .unwrap()
}

#[test]
fn causes_are_capped_and_counted() {
    let mut tally = tally::Tally::default();
    for number in 0..500_u64 {
        let mut record = record(&UnitTime { unit: format!("d{number}"), bytes: 1, parse_ms: 1, extracted: false });
        record.event = plan2geo_actors::ledger::Event::DeadLetter;
        let name: String = (0..3).map(|digit| char::from(b'a' + (number / 26_u64.pow(digit) % 26) as u8)).collect();
        record.error = serde_json::from_value(serde_json::json!({
            "kind": "malformed", "message": format!("cause {name}"), "stage": "parse"
        }))
        .unwrap();
        tally.add(&record);
    }
    let (causes, others) = tally.causes();
    assert_eq!(causes.len() as u64 + others, 500);
    assert!(causes.len() <= 200);
}

#[test]
fn plots_stand_still_for_the_same_numbers_and_survive_odd_ones() {
    let points = [(0.0, 1.0), (1.0, 5.0), (2.0, 3.0)];
    let plot = |points: &[(f64, f64)]| plot::over_time(points, Some(8.0), "x", |value| format!("{value:.0}"));
    assert_eq!(plot(&points), plot(&points));
    assert!(!plot(&[]).contains("NaN"));
    assert!(!plot(&[(0.0, 0.0)]).contains("NaN"));
}
