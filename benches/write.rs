//! How fast is output written, beside serde_json and the crate geojson in the same run? 20,000 polygons of 51 vertices.
//!
//! `cargo bench --bench write`. CPU time of this thread, best of five. `feature writer` does what the product does: expand,
//! round, prove validity, hash, write; `coordinates` is its number writer alone and the line to compare with the
//! two others, which only write.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use plan2geo::drawing::expand::{ExpandOptions, Flattening, expand};
use plan2geo::drawing::{Colour, Drawing, DrawingBuilder, Geometry, Identity, Item, Point, Properties, SourceFormat};
use plan2geo::format::Limits;
use plan2geo::output::geojson::FeatureWriter;
use plan2geo::output::{Frame, OutputOptions, fixed};
use serde::Serialize;

const POLYGONS: usize = 20_000;
const VERTICES: usize = 50;

fn main() {
    let rings: Vec<Vec<[f64; 2]>> = (0..POLYGONS).map(ring).collect();
    let drawing = drawing(&rings);
    let size = |write: &dyn Fn() -> Vec<u8>| write().len() as f64 / 1e6;
    let rows: [(&str, &dyn Fn() -> Vec<u8>); 4] = [
        ("coordinates", &|| coordinates(&rings)),
        ("feature writer", &|| features(&drawing)),
        ("serde_json", &|| with_serde_json(&rings)),
        ("geojson", &|| with_geojson(&rings)),
    ];
    println!("{POLYGONS} polygons, {} vertices, CPU seconds of the best of five runs", POLYGONS * (VERTICES + 1));
    for (name, write) in rows {
        let seconds = best(|| drop(std::hint::black_box(write())));
        let megabytes = size(write);
        println!("{name:<16} {seconds:>7.3} s {megabytes:>6.1} MB {:>6.0} MB/s", megabytes / seconds);
    }
}

/// A ring with coordinates of four decimals, as they come out of a drawing in millimetres with curves.
fn ring(number: usize) -> Vec<[f64; 2]> {
    let (x, y) = ((number % 200) as f64 * 3.7, (number / 200) as f64 * 4.1);
    (0..VERTICES)
        .map(|side| {
            let angle = std::f64::consts::TAU * side as f64 / VERTICES as f64;
            [x + 1.3 * angle.cos(), y + 1.7 * angle.sin()].map(|value| (value * 1e4).round() / 1e4)
        })
        .collect()
}

fn drawing(rings: &[Vec<[f64; 2]>]) -> Drawing {
    let mut builder = DrawingBuilder::new(SourceFormat::Dxf, &Limits::default());
    let (entity, layer) = (builder.intern("LWPOLYLINE"), builder.layer("A-AREA"));
    for (number, ring) in rings.iter().enumerate() {
        let mut path = builder.path();
        for (index, [x, y]) in ring.iter().enumerate() {
            if index == 0 { path.move_to(Point::new(*x, *y)) } else { path.line_to(Point::new(*x, *y)) }
        }
        path.close();
        let geometry = Geometry::Line(path.finish().unwrap().unwrap());
        let item = Item {
            geometry,
            entity,
            layer,
            colour: Colour::ByLayer,
            width: 0.0,
            identity: Identity::Handle(number as u64 + 256),
            visible: true,
            properties: Properties::default(),
            clip: None,
        };
        builder.push(item).unwrap();
    }
    builder.finish()
}

fn coordinates(rings: &[Vec<[f64; 2]>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 << 20);
    for ring in rings {
        out.push(b'[');
        for (index, [x, y]) in ring.iter().chain(ring.first()).enumerate() {
            out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
            fixed::write_float(&mut out, *x, 4);
            out.push(b',');
            fixed::write_float(&mut out, *y, 4);
            out.push(b']');
        }
        out.push(b']');
    }
    out
}

fn features(drawing: &Drawing) -> Vec<u8> {
    let (flattening, options, frame) = (Flattening::default(), OutputOptions::default(), Frame::local_metres());
    let sink = Vec::with_capacity(32 << 20);
    let mut writer = FeatureWriter::new(sink, drawing, &flattening, &options, &frame);
    expand(drawing, &ExpandOptions::default(), &|| Ok(()), &mut |shape| writer.shape(shape)).unwrap();
    writer.finish().unwrap().0
}

#[derive(Serialize)]
struct Feature<'a> {
    r#type: &'a str,
    id: &'a str,
    geometry: Polygon<'a>,
    properties: Facts<'a>,
}

#[derive(Serialize)]
struct Polygon<'a> {
    r#type: &'a str,
    coordinates: [&'a [[f64; 2]]; 1],
}

#[derive(Serialize)]
struct Facts<'a> {
    class: &'a str,
    layer: &'a str,
    entity: &'a str,
    handle: &'a str,
}

fn with_serde_json(rings: &[Vec<[f64; 2]>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 << 20);
    for ring in rings {
        let feature = Feature {
            r#type: "Feature",
            id: "2F",
            geometry: Polygon { r#type: "Polygon", coordinates: [ring] },
            properties: Facts { class: "area", layer: "A-AREA", entity: "LWPOLYLINE", handle: "2F" },
        };
        serde_json::to_writer(&mut out, &feature).unwrap();
        out.push(b'\n');
    }
    out
}

fn with_geojson(rings: &[Vec<[f64; 2]>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32 << 20);
    for ring in rings {
        let positions: Vec<geojson::Position> =
            ring.iter().chain(ring.first()).map(|point| geojson::Position::from(point.to_vec())).collect();
        let geometry = geojson::Geometry::new(geojson::GeometryValue::new_polygon(vec![positions]));
        let feature = geojson::Feature { geometry: Some(geometry), ..geojson::Feature::default() };
        serde_json::to_writer(&mut out, &feature).unwrap();
        out.push(b'\n');
    }
    out
}

fn best(mut run: impl FnMut()) -> f64 {
    (0..5)
        .map(|_| {
            let begun = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            run();
            let ended = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            (ended.tv_sec - begun.tv_sec) as f64 + (ended.tv_nsec - begun.tv_nsec) as f64 / 1e9
        })
        .fold(f64::INFINITY, f64::min)
}
