//! How fast is a drawing read, beside the bound of a tokenizer that only finds codes and parses numbers, in the same run?
//!
//! `cargo bench --bench read` makes a DXF export of about 20 MB; `PLAN2GEO_READ_FILE=export.dxf cargo bench --bench
//! read` takes a file. Where it is there, crate `dxf` 0.6 reads the same bytes. CPU time of this thread, best of five.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::fmt::Write as _;

use bytes::Bytes;
use plan2geo::drawing::expand::{ExpandOptions, expand};
use plan2geo::format::{Read, ReadOptions, dxf};

fn main() {
    let (name, bytes) = match std::env::var("PLAN2GEO_READ_FILE") {
        Ok(path) => (path.clone(), Bytes::from(std::fs::read(path).unwrap())),
        Err(_) => ("export of 4,000 rooms".to_owned(), Bytes::from(export(4_000))),
    };
    let megabytes = bytes.len() as f64 / 1e6;
    let before = peak_resident_kilobytes();
    let drawing = read(&bytes).drawing;
    let grown = peak_resident_kilobytes().saturating_sub(before) as f64 / 1e3;
    let num_items: usize = drawing.items.len() + drawing.blocks.iter().map(|block| block.items.len()).sum::<usize>();
    println!("{name}: {megabytes:.1} MB, {num_items} items, {} points", drawing.paths.num_points());
    println!("the drawing needs {grown:.1} MB beside the file, {:.2} of it", grown / megabytes);
    let bound = best(|| {
        std::hint::black_box(dxf::count_pairs(&bytes));
    });
    let ours = best(|| drop(std::hint::black_box(read(&bytes))));
    let expanded = best(|| {
        let mut num_shapes = 0u64;
        let report = expand::<()>(&drawing, &ExpandOptions::default(), &|| Ok(()), &mut |_| {
            num_shapes += 1;
            Ok(())
        });
        std::hint::black_box((report.unwrap(), num_shapes));
    });
    let peer = best(|| {
        let _ = std::hint::black_box(::dxf::Drawing::load(&mut std::io::Cursor::new(&bytes)));
    });
    for (what, seconds) in
        [("pairs and numbers only", bound), ("read to a drawing", ours), ("expand it", expanded), ("crate dxf", peer)]
    {
        println!(
            "{what:<24} {seconds:>7.3} s {:>8.1} MB/s  {:>5.2} of the bound",
            megabytes / seconds,
            bound / seconds
        );
    }
}

fn read(bytes: &Bytes) -> Read {
    dxf::read(bytes, &ReadOptions::default(), &|| Ok(())).unwrap()
}

fn best(run: impl Fn()) -> f64 {
    let times = (0..5).map(|_| {
        let before = cpu_seconds();
        run();
        cpu_seconds() - before
    });
    times.fold(f64::INFINITY, f64::min)
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn peak_resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A floor of rooms as a CAD program exports it: walls, doors as blocks, outlines with bulges, hatches, labels.
fn export(num_rooms: usize) -> String {
    let mut text = String::from(
        "  0\nSECTION\n  2\nHEADER\n  9\n$ACADVER\n  1\nAC1024\n  9\n$INSUNITS\n 70\n4\n  0\nENDSEC\n  0\nSECTION\n  2\nBLOCKS\n",
    );
    text.push_str("  0\nBLOCK\n  8\n0\n  2\nDOOR\n 70\n0\n 10\n0.0\n 20\n0.0\n");
    text.push_str("  0\nLINE\n  8\n0\n 10\n0.0\n 20\n0.0\n 11\n900.0\n 21\n0.0\n");
    text.push_str("  0\nARC\n  8\n0\n 10\n0.0\n 20\n0.0\n 40\n900.0\n 50\n0.0\n 51\n90.0\n  0\nENDBLK\n  0\nENDSEC\n");
    text.push_str("  0\nSECTION\n  2\nENTITIES\n");
    let mut handle = 0x100;
    let mut begin = |text: &mut String, kind: &str, layer: &str, class: &str| {
        handle += 1;
        let _ = write!(text, "  0\n{kind}\n  5\n{handle:X}\n330\n1F\n100\nAcDbEntity\n  8\n{layer}\n100\n{class}\n");
    };
    for room in 0..num_rooms {
        let (x, y) = ((room % 100) as f64 * 8_123.456_789_12, (room / 100) as f64 * 6_234.567_891_23);
        let (w, h) = (7000.0 + (room % 7) as f64 * 123.456_7, 5000.0 + (room % 5) as f64 * 98.765_43);
        let corners = [(x, y), (x + w, y), (x + w, y + h), (x, y + h)];
        for (index, from) in corners.iter().enumerate() {
            let to = corners[(index + 1) % 4];
            for offset in [0.0, 150.123_4] {
                begin(&mut text, "LINE", "A-WALL", "AcDbLine");
                let (ox, oy) = (from.0 + offset, from.1 + offset);
                let _ = write!(
                    text,
                    " 10\n{ox}\n 20\n{oy}\n 30\n0.0\n 11\n{}\n 21\n{}\n 31\n0.0\n",
                    to.0 + offset,
                    to.1 + offset
                );
            }
        }
        for layer in ["A-AREA", "A-FURN"] {
            begin(&mut text, "LWPOLYLINE", layer, "AcDbPolyline");
            let _ = write!(text, " 90\n24\n 70\n1\n");
            for step in 0..24 {
                let angle = f64::from(step) / 24.0 * std::f64::consts::TAU;
                let _ = write!(
                    text,
                    " 10\n{}\n 20\n{}\n 42\n{}\n",
                    x + w / 2.0 + angle.cos() * 999.9,
                    y + angle.sin() * 777.7,
                    [0.0, 0.2][step as usize % 2]
                );
            }
        }
        begin(&mut text, "INSERT", "A-DOOR", "AcDbBlockReference");
        let _ = write!(text, "  2\nDOOR\n 10\n{}\n 20\n{y}\n 30\n0.0\n 41\n-1.0\n 50\n90.0\n", x + w / 3.0);
        begin(&mut text, "TEXT", "A-ANNO", "AcDbText");
        let _ = write!(text, " 10\n{}\n 20\n{}\n 30\n0.0\n 40\n250.0\n  1\nR{room:05}\n", x + w / 2.0, y + h / 2.0);
        begin(&mut text, "HATCH", "A-PATT", "AcDbHatch");
        let _ = write!(
            text,
            " 10\n0.0\n 20\n0.0\n 30\n0.0\n  2\nANSI31\n 70\n0\n 71\n0\n 91\n1\n 92\n3\n 72\n0\n 73\n1\n 93\n4\n"
        );
        for (cx, cy) in corners {
            let _ = write!(text, " 10\n{cx}\n 20\n{cy}\n");
        }
        text.push_str(" 97\n0\n 75\n0\n 76\n1\n 52\n0.0\n 41\n1.0\n 77\n0\n 78\n0\n 98\n0\n");
    }
    text + "  0\nENDSEC\n  0\nEOF\n"
}
