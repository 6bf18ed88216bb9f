//! How fast rooms are found: segments a second, growth, and the polygonizer beside GEOS in the same run.
//!
//! `cargo bench --bench rooms` measures growth from 1,000 to 1,000,000 dirty wall segments; give `--peer PYTHON` (an
//! interpreter with shapely) to run `benches/peers/polygonize.py` on the same 50,000 segments. All times are CPU
//! time of the process or the peer, not wall time.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

#[path = "../tests/support/sketch.rs"]
mod sketch;

use std::io::Write as _;

use plan2geo::drawing::Point;
use plan2geo::plan::graph::Graph;
use plan2geo::plan::grid::Frame;
use plan2geo::plan::noding::{Noding, Segment, node};
use plan2geo::plan::{PlanOptions, derive};
use sketch::Stroke;

/// A grid of rooms drawn wall by wall and turned by 13.7°: a third of the ends overshoot or fall short by up to 1 mm.
fn dirty_walls(rooms: usize, seed: u64) -> Vec<[Point; 2]> {
    let side = (rooms as f64).sqrt().ceil() as usize;
    let mut state = seed;
    let mut unit = move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    let (sin, cos) = 13.7f64.to_radians().sin_cos();
    let turn = |x: f64, y: f64| Point::new(x * cos - y * sin, x * sin + y * cos);
    let mut walls = Vec::new();
    let mut wall = |x0: f64, y0: f64, x1: f64, y1: f64| {
        let length = (x1 - x0).hypot(y1 - y0);
        let (ux, uy) = ((x1 - x0) / length, (y1 - y0) / length);
        let mut shift = || match unit() {
            u if u < 0.15 => 0.001 * unit(),
            u if u < 0.30 => -0.001 * unit(),
            _ => 0.0,
        };
        let (a, b) = (shift(), shift());
        walls.push([turn(x0 - ux * a, y0 - uy * a), turn(x1 + ux * b, y1 + uy * b)]);
    };
    for row in 0..=side {
        for column in 0..side {
            let (x, y) = (4.0 * column as f64, 3.0 * row as f64);
            wall(x, y, x + 4.0, y);
        }
    }
    for column in 0..=side {
        for row in 0..side {
            let (x, y) = (4.0 * column as f64, 3.0 * row as f64);
            wall(x, y, x, y + 3.0);
            if column < side && (row * 31 + column * 17) % 50 == 0 {
                // A column in the middle of the room.
                let (x, y) = (x + 2.0, y + 1.5);
                for (p, q) in [(0.0, 0.0), (0.3, 0.0), (0.3, 0.3), (0.0, 0.3)].into_iter().zip([
                    (0.3, 0.0),
                    (0.3, 0.3),
                    (0.0, 0.3),
                    (0.0, 0.0),
                ]) {
                    wall(x + p.0, y + p.1, x + q.0, y + q.1);
                }
            }
        }
    }
    walls
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let tick = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (tick(11) + tick(12)) / 100.0
}

/// Faces and area by the polygonizer, with a tolerance of 4 mm.
fn polygonize(walls: &[[Point; 2]]) -> (usize, f64) {
    let frame = Frame::holding(walls.iter().flatten().copied(), Frame::STEP_M);
    let segments: Vec<Segment> =
        walls.iter().map(|[a, b]| Segment { a: frame.grid(*a), b: frame.grid(*b), marks: 1 }).collect();
    let free = || Ok(());
    let noding = Noding { tolerance: frame.steps(0.004), max_crossings: 100_000_000 };
    let noded = node(&segments, noding, &free).unwrap();
    let graph = Graph::build(&noded, &free).unwrap();
    let twice: i128 = graph.faces.iter().map(|face| face.area_twice).sum();
    (graph.faces.len(), 0.5 * twice as f64 * frame.step() * frame.step())
}

/// The whole derivation on a layer named as walls.
fn whole(walls: &[[Point; 2]]) -> usize {
    let options = PlanOptions::default();
    let strokes = walls.iter().map(|[a, b]| Stroke::line("A-WALL", *a, *b)).collect();
    derive(&sketch::input(strokes, &options), &options, &|| Ok(())).unwrap().rooms.len()
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let peer = arguments.iter().position(|argument| argument == "--peer").and_then(|at| arguments.get(at + 1));
    println!("| segments | faces | area m² | polygonizer CPU s | µs a segment | whole derivation CPU s | rooms |");
    println!("|---:|---:|---:|---:|---:|---:|---:|");
    let sizes: &[usize] = if peer.is_some() { &[24_000] } else { &[500, 5_000, 24_000, 50_000, 480_000] };
    for &rooms in sizes {
        let walls = dirty_walls(rooms, 7);
        let start = cpu_seconds();
        let (faces, area) = polygonize(&walls);
        let middle = cpu_seconds();
        let found = whole(&walls);
        let end = cpu_seconds();
        let (first, second) = (middle - start, end - middle);
        let each = 1e6 * first / walls.len() as f64;
        println!("| {} | {faces} | {area:.3} | {first:.2} | {each:.2} | {second:.2} | {found} |", walls.len());
        if let Some(python) = peer {
            let path = std::env::temp_dir().join("plan2geo-bench-walls.txt");
            let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
            for [a, b] in &walls {
                writeln!(file, "{} {} {} {}", a.x, a.y, b.x, b.y).unwrap();
            }
            file.flush().unwrap();
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/polygonize.py");
            let output = std::process::Command::new(python).arg(script).arg(&path).output().unwrap();
            println!("{}", String::from_utf8_lossy(&output.stdout));
        }
    }
}
