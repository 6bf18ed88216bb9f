//! How fast are SVG plans read, beside usvg 0.49 in the same run? usvg resolves a document for rendering and
//! flattens nothing, so the column to compare is `read`; `read + expand` has every curve as points as well.
//!
//! `cargo bench --bench svg` makes a plan of about 20 MB; `PLAN2GEO_SVG_FOLDER=… cargo bench --bench svg` takes
//! the files of a folder. CPU time of this thread, best of five.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod clock;

use std::fmt::Write as _;

use bytes::Bytes;
use clock::best_of;
use plan2geo::drawing::SourceFormat;
use plan2geo::drawing::expand::{ExpandOptions, expand};
use plan2geo::format::{Read, ReadOptions, Readers};

fn main() {
    let files: Vec<(String, Bytes)> = match std::env::var("PLAN2GEO_SVG_FOLDER") {
        Ok(folder) => {
            let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            let svg = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "svg"));
            svg.map(|path| (path.display().to_string(), std::fs::read(path).unwrap().into())).collect()
        }
        Err(_) => vec![("plan of 60,000 rooms".to_owned(), plan(60_000).into())],
    };
    let size: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let megabytes = size as f64 / 1e6;
    let ours = best_of(5, || files.iter().for_each(|(_, bytes)| drop(read(bytes))));
    let both = best_of(5, || {
        for (_, bytes) in &files {
            let drawing = read(bytes).drawing;
            let mut num_points = 0usize;
            let report = expand::<()>(&drawing, &ExpandOptions::default(), &|| Ok(()), &mut |_| {
                num_points += 1;
                Ok(())
            });
            std::hint::black_box((report.unwrap(), num_points));
        }
    });
    let theirs = best_of(5, || {
        for (_, bytes) in &files {
            drop(std::hint::black_box(usvg::Tree::from_data(bytes, &usvg::Options::default())));
        }
    });
    println!("{} files, {megabytes:.1} MB, CPU seconds of the best of five runs", files.len());
    for (name, seconds) in [("plan2geo read", ours), ("plan2geo read + expand", both), ("usvg", theirs)] {
        println!("{name:<24} {seconds:>7.3} s {:>7.1} MB/s  {:>5.2} x usvg", megabytes / seconds, theirs / seconds);
    }
}

fn read(bytes: &Bytes) -> Read {
    Readers::default().read(SourceFormat::Svg, "", bytes, 1, &ReadOptions::default(), &|| Ok(())).unwrap()
}

/// A plan as drawing programs write them: classes, transforms, curves, labels, furniture through `use`.
fn plan(num_rooms: u32) -> String {
    let mut svg = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"3000mm\" height=\"3000mm\" viewBox=\"0 0 3000 3000\">\n\
         <style>.wall{fill:none;stroke:#000;stroke-width:.3}.room{fill:#eee}.label{font-size:4px}</style>\n\
         <defs><g id=\"desk\"><rect width=\"1.6\" height=\".8\"/><circle cx=\".8\" cy=\"1.2\" r=\".3\"/></g></defs>\n",
    );
    for room in 0..num_rooms {
        let (x, y) = (f64::from(room % 250) * 12.0, f64::from(room / 250) * 12.0);
        write!(
            svg,
            "<g id=\"room-{room}\" transform=\"translate({x},{y})\">\n\
             <path class=\"room\" data-number=\"{room}\" d=\"M0.15 0.15H11.85V11.85H0.15Z\"/>\n\
             <path class=\"wall\" d=\"M0,0 l12,0 0,{:.3} m0,0.9 V12 H0 z\"/>\n\
             <path class=\"wall\" d=\"M12 {:.3}a0.9 0.9 0 0 1 -0.9 0.9c-.2-.1 -.3.2 -.1.3\"/>\n\
             <text class=\"label\" x=\"2\" y=\"6\">R {room}<tspan x=\"2\" dy=\"1.2em\">24.5 m2</tspan></text>\n\
             <use href=\"#desk\" x=\"1\" y=\"{:.2}\"/>\n</g>\n",
            f64::from(room % 70) / 10.0 + 1.0,
            f64::from(room % 70) / 10.0 + 1.0,
            f64::from(room % 90) / 10.0,
        )
        .unwrap();
    }
    svg.push_str("</svg>\n");
    svg
}
