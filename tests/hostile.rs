//! Drawings made to take all time and memory: each costs itself, and the rest of the batch is done.
//!
//! In thread isolation nothing can be stopped from outside, so every loop whose work grows with a drawing has to look at
//! the deadline, the memory held and the cancellation. What never looked would hang these tests.

use std::cell::Cell;
use std::fmt::Write as _;

use plan2geo::format::Interrupt;
use plan2geo::kernel::{ConvertOptions, Converter, Document};
use plan2geo_actors::{Spool, SpoolSettings};
use serde_json::Value;

use crate::support::Folder;

const PLAN: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="10m" height="8m" viewBox="0 0 10000 8000"><path d="M0 0H10000V8000H0Z" fill="none" stroke="black"/></svg>"#;

type Points = Vec<(f64, f64)>;

/// Numbers from 0 to 1, the same in every run.
fn numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn scattered(count: usize) -> Points {
    let mut unit = numbers(7);
    (0..count).map(|_| (100.0 * unit(), 100.0 * unit())).collect()
}

fn star(count: usize) -> Points {
    let point = |index: usize| {
        let angle = index as f64 * std::f64::consts::TAU * (count / 2 - 1) as f64 / count as f64;
        (50.0 + 50.0 * angle.cos(), 50.0 + 50.0 * angle.sin())
    };
    (0..count).map(point).collect()
}

fn wandering(count: usize) -> Points {
    let (mut unit, mut at) = (numbers(11), (50.0, 50.0));
    let mut step = || {
        at = (at.0 + unit() - 0.5, at.1 + unit() - 0.5);
        at
    };
    (0..count).map(|_| step()).collect()
}

fn comb(teeth: usize, upward: bool) -> Points {
    let tooth = |index: usize| {
        let (from, to) = (100.0 * index as f64 / teeth as f64, 100.0 * (index as f64 + 0.5) / teeth as f64);
        [(from, 0.0), (from, 100.0), (to, 100.0), (to, 0.0)].map(|(x, y)| if upward { (x, y) } else { (y, x) })
    };
    (0..teeth).flat_map(tooth).collect()
}

fn dxf(entities: &str) -> String {
    format!(
        "0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1027\n9\n$INSUNITS\n70\n6\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n{entities}0\nENDSEC\n0\nEOF\n"
    )
}

fn polyline(points: &Points, bulge: f64) -> String {
    let mut text = format!("0\nLWPOLYLINE\n8\n0\n90\n{}\n70\n1\n", points.len());
    for (x, y) in points {
        let _ = write!(text, "10\n{x}\n20\n{y}\n42\n{bulge}\n");
    }
    text
}

fn lines(ends: impl Iterator<Item = [f64; 4]>) -> String {
    let line = |[a, b, c, d]: [f64; 4]| format!("0\nLINE\n8\nA-WALL\n10\n{a}\n20\n{b}\n11\n{c}\n21\n{d}\n");
    dxf(&ends.map(line).collect::<String>())
}

fn hatch(loops: impl ExactSizeIterator<Item = (f64, f64, f64)>) -> String {
    let mut text = format!("0\nHATCH\n8\n0\n2\nSOLID\n70\n1\n71\n0\n91\n{}\n", loops.len());
    for (x, y, r) in loops {
        text.push_str("92\n2\n72\n0\n73\n1\n93\n4\n");
        for (dx, dy) in [(-r, -r), (r, -r), (r, r), (-r, r)] {
            let _ = write!(text, "10\n{}\n20\n{}\n", x + dx, y + dy);
        }
        text.push_str("97\n0\n");
    }
    dxf(&(text + "75\n0\n76\n1\n98\n0\n"))
}

fn spline(control: usize, degree: usize) -> String {
    let last = control - degree;
    let knots = (0..control + degree + 1).map(|knot| knot.saturating_sub(degree).min(last));
    let mut text =
        format!("0\nSPLINE\n8\n0\n70\n8\n71\n{degree}\n72\n{}\n73\n{control}\n74\n0\n", control + degree + 1);
    for knot in knots {
        let _ = write!(text, "40\n{knot}\n");
    }
    for index in 0..control {
        let _ = write!(text, "10\n{}\n20\n{}\n30\n0\n", 0.01 * index as f64, (0.3 * index as f64).sin());
    }
    dxf(&text)
}

fn data(points: &Points) -> String {
    points.iter().fold(String::from("M"), |mut text, (x, y)| {
        let _ = write!(text, "{x:.3} {y:.3} ");
        text
    })
}

fn svg(body: &str) -> String {
    format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="100m" height="100m" viewBox="0 0 100 100">{body}</svg>"#)
}

/// Doors that swing about one place, with their leaves.
fn swings(count: usize) -> String {
    let swing = |index: usize| {
        let x = 50.0 + 1e-6 * index as f64;
        let arc = format!("0\nARC\n8\nA-DOOR\n10\n{x}\n20\n50\n40\n0.9\n50\n0\n51\n90\n");
        arc + &format!("0\nLINE\n8\nA-DOOR\n10\n{x}\n20\n50\n11\n{x}\n21\n50.9\n")
    };
    dxf(&(0..count).map(swing).collect::<String>())
}

/// Name and bytes of each.
fn hostile() -> Vec<(&'static str, String)> {
    let round = |index: usize| {
        let (sin, cos) = (index as f64).sin_cos();
        [50.0, 50.0, 50.0 + 50.0 * cos, 50.0 + 50.0 * sin]
    };
    let mut unit = numbers(3);
    let clip = |ring: &Points, inner: &str| {
        let path = data(ring);
        format!(r##"<clipPath id="c"><path d="{path}"/></clipPath><g clip-path="url(#c)">{inner}</g>"##)
    };
    let (upward, level) = (comb(2_000, true), comb(2_000, false));
    vec![
        ("ring.dxf", dxf(&polyline(&scattered(20_000), 0.0))),
        ("star.dxf", dxf(&polyline(&star(20_000), 0.0))),
        ("wandering.dxf", dxf(&polyline(&wandering(20_000), 0.0))),
        ("bulges.dxf", dxf(&polyline(&scattered(20_000), 0.9))),
        ("far_bulges.dxf", dxf(&polyline(&scattered(20_000).iter().map(|(x, y)| (1e6 * x, 1e6 * y)).collect(), 0.9))),
        ("loops.dxf", hatch((0..20_000).map(|i| (f64::from(i % 150), f64::from(i / 150), 0.4)))),
        ("crossing_loops.dxf", hatch((0..8_000).map(|_| (100.0 * unit(), 100.0 * unit(), 1.5)))),
        ("nested_loops.dxf", hatch((0..8_000).map(|i| (0.0, 0.0, 100.0 - 0.01 * f64::from(i))))),
        ("spline.dxf", spline(8_000, 25)),
        ("path.svg", svg(&format!(r#"<path d="{}"/>"#, data(&wandering(100_000))))),
        ("combs.svg", svg(&clip(&upward, &format!(r#"<path fill="none" stroke="red" d="{}"/>"#, data(&level))))),
        ("clipped.svg", svg(&clip(&wandering(20_000), &format!(r#"<path d="{}"/>"#, data(&level))))),
        ("fan.dxf", lines((0..12_000).map(round))),
        ("swings.dxf", swings(4_000)),
        ("same.dxf", lines((0..12_000).map(|_| [0.0, 0.0, 100.0, 0.0]))),
        ("parallel.dxf", lines((0..12_000).map(|i| [0.0, 0.001 * f64::from(i), 100.0, 0.001 * f64::from(i)]))),
        ("collinear.dxf", lines((0..12_000).map(|i| [0.01 * f64::from(i), 0.0, 100.0 + 0.01 * f64::from(i), 0.0]))),
        (
            "tangle.dxf",
            lines(
                scattered(24_000).chunks(2).map(|p| [p[0].0, p[0].1, p[1].0, p[1].1]).collect::<Vec<_>>().into_iter(),
            ),
        ),
    ]
}

// R51, R58: a stuck drawing is a dead letter of its own, in threads too.
#[test]
fn hostile_drawings_cost_themselves_and_not_the_batch() {
    let folder = Folder::new();
    folder.write(
        "batch.toml",
        "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n[limits]\nthreads = 2\nunit_deadline = \"2s\"\nmemory_per_drawing = \"256MiB\"\n",
    );
    let hostile = hostile();
    for (name, bytes) in &hostile {
        folder.write(format!("plans/{name}"), bytes);
    }
    for number in 0..8 {
        folder.write(format!("plans/L{number:02}.svg"), PLAN);
    }
    let outcome = folder.run(["run", "batch.toml", "--quiet"]);
    assert!(matches!(outcome.code, 0 | 3), "{}", outcome.stderr);
    let ledger = folder.read("out/_plan2geo/latest/ledger.jsonl");
    let ends: Vec<Value> = ledger
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &Value| line["doc_id"].is_string())
        .collect();
    assert_eq!(ends.len(), hostile.len() + 8);
    for end in ends {
        let name = end["doc_id"].as_str().unwrap();
        let extracted = end["event"] == "EXTRACTED";
        let given_up = matches!(end["error"]["kind"].as_str(), Some("timeout" | "limit"));
        // What was resolved, or cost one shape, is extracted.
        assert!(extracted || (given_up && hostile.iter().any(|(other, _)| *other == name)), "{end}");
    }
}

/// Memory is a limit of one drawing, with its key and number, whatever it is that grows.
#[test]
fn memory_of_a_drawing_is_bounded_and_the_error_says_by_what() {
    let folder = Folder::new();
    let file = folder
        .write("far.dxf", dxf(&polyline(&scattered(20_000).iter().map(|(x, y)| (1e6 * x, 1e6 * y)).collect(), 0.9)));
    let outcome = folder.run([
        "convert",
        file.to_str().unwrap(),
        "-o",
        "far.geojson",
        "--set",
        "limits.memory_per_drawing=\"48MiB\"",
    ]);
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("limits.memory_per_drawing` = 50331648"), "{}", outcome.stderr);
}

/// What lies beside a swing is not kept for all of them at once.
#[test]
fn many_swings_at_one_place_take_little_memory() {
    let folder = Folder::new();
    let file = folder.write("swings.dxf", swings(1_500));
    let limit = "limits.memory_per_drawing=\"16MiB\"";
    let outcome = folder.run(["convert", file.to_str().unwrap(), "-o", "swings.geojson", "--set", limit]);
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
}

/// A conversion that is told to stop at the nth look stops there: nothing goes on by itself.
#[test]
fn every_hostile_drawing_looks_at_its_checkpoint_and_stops() {
    for (name, bytes) in hostile() {
        let looks = Cell::new(0u32);
        let checkpoint = || {
            looks.set(looks.get() + 1);
            if looks.get() <= 20 { Ok(()) } else { Err(Interrupt::Deadline) }
        };
        let document = Document { name, ..Document::default() };
        let mut converter = Converter::new(ConvertOptions::default());
        let spool = Spool::new(SpoolSettings::default());
        let converted = converter.convert(&document, bytes.into(), spool, &checkpoint);
        assert!(looks.get() > 5, "{name}: {} looks", looks.get());
        assert!(converted.is_ok() || looks.get() == 21, "{name}: {} looks after the end", looks.get());
    }
}

// What may never end is refused before it is read.
#[cfg(unix)]
#[test]
fn folders_pipes_and_devices_are_refused_at_once() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("plans")).unwrap();
    let pipe = folder.join("pipe.dxf");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    for (path, says) in [
        (folder.join("plans"), "holds drawings and is none"),
        (pipe, "it is no regular file"),
        ("/dev/zero".into(), "it is no regular file"),
    ] {
        for command in ["convert", "preview"] {
            let outcome = folder.run([command.as_ref(), path.as_os_str(), "-o".as_ref(), "out.svg".as_ref()]);
            assert!(matches!(outcome.code, 1 | 2), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        }
    }
}
