//! The geometry of SVG files beside usvg, which resolves a document for rendering: every visible shape must have
//! the same box and the same area there and here. usvg keeps single precision, so a part in a hundred thousand
//! of the drawing's size is the agreement to expect.
//!
//! The files of `tests/data/svg` are compared always; a folder of others with
//! `PLAN2GEO_SVG_FOLDER=… cargo test --release svg_folder -- --ignored --nocapture`, which prints a table.

use std::path::Path;

use bytes::Bytes;
use kurbo::Shape as _;
use plan2geo::drawing::expand::{Flattening, Polylines};
use plan2geo::drawing::flatten::flatten;
use plan2geo::drawing::{Affine, Drawing, Geometry, Point, Rect, SourceFormat};
use plan2geo::format::{ReadOptions, Readers};
use usvg::tiny_skia_path::PathSegment;

/// Box and unsigned area of a shape, in the pixels of the root viewport.
#[derive(Debug, Clone, Copy)]
struct Extent {
    bounds: Rect,
    area: f64,
}

fn extent(rings: &[Vec<Point>]) -> Option<Extent> {
    let mut points = rings.iter().flatten();
    let first = *points.next()?;
    let bounds = points.fold(Rect::from_points(first, first), |bounds, point| bounds.union_pt(*point));
    let signed = |ring: &Vec<Point>| {
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(a, b)| a.to_vec2().cross(b.to_vec2())).sum::<f64>() / 2.0
    };
    Some(Extent { bounds, area: rings.iter().map(signed).sum::<f64>().abs() })
}

fn of_usvg(tree: &usvg::Tree) -> Vec<Extent> {
    let mut found = Vec::new();
    let mut stack: Vec<&usvg::Node> = tree.root().children().iter().rev().collect();
    while let Some(node) = stack.pop() {
        match node {
            usvg::Node::Group(group) => stack.extend(group.children().iter().rev()),
            usvg::Node::Path(path) if path.is_visible() => {
                let t = path.abs_transform();
                let map = |p: usvg::tiny_skia_path::Point| {
                    let (x, y) = (f64::from(p.x), f64::from(p.y));
                    let (a, b, c, d) = (f64::from(t.sx), f64::from(t.ky), f64::from(t.kx), f64::from(t.sy));
                    Point::new(a * x + c * y + f64::from(t.tx), b * x + d * y + f64::from(t.ty))
                };
                let mut path_of = kurbo::BezPath::new();
                for segment in path.data().segments() {
                    match segment {
                        PathSegment::MoveTo(p) => path_of.move_to(map(p)),
                        PathSegment::LineTo(p) => path_of.line_to(map(p)),
                        PathSegment::QuadTo(a, p) => path_of.quad_to(map(a), map(p)),
                        PathSegment::CubicTo(a, b, p) => path_of.curve_to(map(a), map(b), map(p)),
                        PathSegment::Close => path_of.close_path(),
                    }
                }
                let bounds = path_of.bounding_box();
                let mut rings: Vec<Vec<Point>> = Vec::new();
                kurbo::flatten(path_of, 0.002, |element| match element {
                    kurbo::PathEl::MoveTo(p) => rings.push(vec![p]),
                    kurbo::PathEl::LineTo(p) => rings.last_mut().unwrap().push(p),
                    _ => {}
                });
                // Flattening loses the tips of curves that turn back on themselves: the box is that of the curves.
                found.extend(extent(&rings).map(|extent| Extent { bounds, ..extent }));
            }
            _ => {}
        }
    }
    found
}

/// Visible shapes, with `to_pixels` from drawing units.
fn of_drawing(drawing: &Drawing, to_pixels: Affine) -> Vec<Extent> {
    let mut found = Vec::new();
    let fine = Flattening { chord_error_m: 0.002, chord_error_ratio: 1.0 };
    for item in drawing.items.iter().filter(|item| item.visible) {
        let (Geometry::Area(path, _) | Geometry::Line(path)) = item.geometry else { continue };
        let mut lines = Polylines::default();
        let pace = plan2geo::format::Pace::free();
        flatten(drawing.paths.segments(path), to_pixels, &fine, usize::MAX, &pace, &mut lines).unwrap();
        let rings: Vec<_> = lines.iter().map(|(ring, _)| ring.to_vec()).collect();
        found.extend(extent(&rings));
    }
    found
}

/// From the reader's frame (y upward about the view box) to pixels of the root viewport.
fn to_pixels(svg: &str, size: usvg::Size) -> Affine {
    let head = svg.find("<svg").map_or("", |at| svg[at..].split_once('>').map_or("", |(head, _)| head));
    let view_box = head.split_once("viewBox=").map(|(_, rest)| {
        let rest = rest.trim_start().get(1..).unwrap();
        let list = rest.split(['"', '\'']).next().unwrap();
        let numbers = list.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty());
        numbers.map(|number| number.parse::<f64>().unwrap()).collect::<Vec<_>>()
    });
    let (width, height) = (f64::from(size.width()), f64::from(size.height()));
    match view_box.as_deref() {
        Some([x, y, w, h]) => {
            let scale = (width / w).min(height / h);
            let free = ((width - w * scale) / 2.0, (height - h * scale) / 2.0);
            let upright = Affine::new([1.0, 0.0, 0.0, -1.0, 0.0, 2.0 * y + h]);
            Affine::translate(free) * Affine::scale(scale) * Affine::translate((-x, -y)) * upright
        }
        _ => Affine::new([1.0, 0.0, 0.0, -1.0, 0.0, height]),
    }
}

/// Shapes here and there, and the greatest difference as a part of the drawing's size, if the numbers agree.
fn compare(bytes: &[u8]) -> (usize, Result<usize, String>, Option<(f64, f64)>) {
    let read = Readers::default()
        .read(SourceFormat::Svg, "", &Bytes::copy_from_slice(bytes), 1, &ReadOptions::default(), &|| Ok(()))
        .unwrap();
    let tree = match usvg::Tree::from_data(bytes, &usvg::Options::default()) {
        Ok(tree) => tree,
        Err(error) => return (of_drawing(&read.drawing, Affine::IDENTITY).len(), Err(error.to_string()), None),
    };
    let svg = String::from_utf8_lossy(bytes);
    let ours = of_drawing(&read.drawing, to_pixels(&svg, tree.size()));
    let theirs = of_usvg(&tree);
    if ours.len() != theirs.len() {
        return (ours.len(), Ok(theirs.len()), None);
    }
    let size = f64::from(tree.size().width().max(tree.size().height()));
    let (mut most, mut most_area) = (0.0f64, 0.0f64);
    for (a, b) in ours.iter().zip(&theirs) {
        let sides = [
            a.bounds.x0 - b.bounds.x0,
            a.bounds.y0 - b.bounds.y0,
            a.bounds.x1 - b.bounds.x1,
            a.bounds.y1 - b.bounds.y1,
        ];
        most = sides.iter().fold(most, |most, side| most.max(side.abs() / size));
        most_area = most_area.max((a.area - b.area).abs() / (size * size));
    }
    (ours.len(), Ok(theirs.len()), Some((most, most_area)))
}

// R134
#[test]
fn svg_test_files_agree_with_usvg() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/svg");
    let mut num_files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "svg") {
            let (ours, theirs, most) = compare(&std::fs::read(&path).unwrap());
            assert_eq!(Ok(ours), theirs, "{}", path.display());
            let (bounds, area) = most.unwrap();
            assert!(ours > 0 && bounds < 5e-5 && area < 2e-5, "{}: {bounds} {area}", path.display());
            num_files += 1;
        }
    }
    assert!(num_files >= 4);
}

#[test]
#[ignore = "needs PLAN2GEO_SVG_FOLDER"]
fn svg_folder_agrees_with_usvg() {
    let folder = std::env::var("PLAN2GEO_SVG_FOLDER").unwrap();
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let (ours, theirs, most) = compare(&std::fs::read(&path).unwrap());
        let name = path.file_name().unwrap().to_string_lossy();
        let theirs = theirs.map_or_else(|error| error, |number| number.to_string());
        let most = most.map_or("-".to_owned(), |(bounds, area)| format!("{bounds:.1e} {area:.1e}"));
        println!("{ours:>7} {theirs:>7} {most:>18} {name}");
    }
}
