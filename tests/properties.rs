//! What holds for any input: every emitted geometry is valid, curves keep their bound, the hash sees what it should
//! and nothing else, clips divide without loss.

use std::f64::consts::TAU;

use geo::Validation;
use geo::{Area, Contains, Distance, Euclidean, Length};
use plan2geo::drawing::expand::{ExpandOptions, Flattening, Form, Polylines, expand};
use plan2geo::drawing::flatten::{FINEST_M, flatten};
use plan2geo::drawing::nest::{Effort, GridAreas, GridPoint, GridRings, Nester};
use plan2geo::drawing::{
    Affine, Clip, Colour, Drawing, DrawingBuilder, FillRule, Geometry, Identity, Item, Point, Segment, SourceFormat,
    Spline, Vec2,
};
use plan2geo::format::{Limits, Pace};
use plan2geo::output::geojson::FeatureWriter;
use plan2geo::output::{Frame, OutputOptions};
use proptest::prelude::*;

fn ring(reach: i64, max: usize) -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((0..reach, 0..reach), 3..max)
}

fn nested(rings: &[Vec<(i64, i64)>]) -> geo::MultiPolygon<f64> {
    let mut grid = GridRings::default();
    for ring in rings {
        grid.push(ring.iter().map(|&(x, y)| GridPoint { x, y }));
    }
    let mut areas = GridAreas::default();
    Nester::default().nest(&grid, &Effort::unbounded(), &mut areas).unwrap();
    multi_polygon(&areas)
}

fn multi_polygon(areas: &GridAreas) -> geo::MultiPolygon<f64> {
    let line = |ring: &[GridPoint]| -> geo::LineString<f64> {
        ring.iter().chain(ring.first()).map(|p| (p.x as f64, p.y as f64)).collect()
    };
    areas
        .iter()
        .map(|mut rings| {
            let shell = line(rings.next().unwrap());
            geo::Polygon::new(shell, rings.map(line).collect())
        })
        .collect()
}

fn winding_is_right(polygons: &geo::MultiPolygon<f64>) -> bool {
    use geo::winding_order::{Winding, WindingOrder};
    polygons.iter().all(|polygon| {
        polygon.exterior().winding_order() == Some(WindingOrder::CounterClockwise)
            && polygon.interiors().iter().all(|hole| hole.winding_order() == Some(WindingOrder::Clockwise))
    })
}

/// Inside by the even-odd rule, and the distance to the nearest edge.
fn even_odd(rings: &[Vec<(i64, i64)>], x: f64, y: f64) -> (bool, f64) {
    let (mut inside, mut nearest) = (false, f64::INFINITY);
    for ring in rings {
        for index in 0..ring.len() {
            let (a, b) = (ring[index], ring[(index + 1) % ring.len()]);
            let (ax, ay, bx, by) = (a.0 as f64, a.1 as f64, b.0 as f64, b.1 as f64);
            if (ay > y) != (by > y) {
                inside ^= x < ax + (bx - ax) * (y - ay) / (by - ay);
            }
            let line = geo::Line::new(geo::coord! { x: ax, y: ay }, geo::coord! { x: bx, y: by });
            nearest = nearest.min(Euclidean.distance(&geo::Point::new(x, y), &line));
        }
    }
    (inside, nearest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // B01, B02, B38, B64
    #[test]
    fn any_rings_on_a_coarse_grid_become_valid_polygons(rings in prop::collection::vec(ring(8, 9), 1..5)) {
        let polygons = nested(&rings);
        prop_assert!(polygons.is_valid(), "{:?} gave {:?}", rings, polygons.check_validation());
        prop_assert!(winding_is_right(&polygons));
    }

    #[test]
    fn nesting_keeps_the_even_odd_area(
        rings in prop::collection::vec(ring(1000, 8), 1..5),
        probes in prop::collection::vec((0.0..1000.0f64, 0.0..1000.0f64), 40),
    ) {
        let polygons = nested(&rings);
        prop_assert!(polygons.is_valid(), "{:?}", polygons.check_validation());
        for (x, y) in probes {
            let (inside, distance) = even_odd(&rings, x, y);
            // Crossings are rounded to the grid, so edges may move by about a step.
            if distance > 4.0 {
                prop_assert_eq!(polygons.contains(&geo::Point::new(x, y)), inside);
            }
        }
    }

    #[test]
    fn rings_that_do_not_meet_are_kept_to_the_last_vertex(count in 1usize..6, sides in 3usize..40) {
        // Concentric rings, each wholly inside the one before.
        let rings: Vec<Vec<(i64, i64)>> = (0..count).map(|level| {
            let radius = 10_000.0 / (level + 1) as f64;
            (0..sides).map(|side| {
                let angle = TAU * side as f64 / sides as f64;
                ((radius * angle.cos()).round() as i64, (radius * angle.sin()).round() as i64)
            }).collect()
        }).collect();
        let polygons = nested(&rings);
        prop_assert_eq!(polygons.0.len(), count.div_ceil(2));
        let vertices: usize = polygons.iter().map(|polygon| {
            polygon.exterior().0.len() - 1 + polygon.interiors().iter().map(|hole| hole.0.len() - 1).sum::<usize>()
        }).sum();
        prop_assert_eq!(vertices, count * sides);
        prop_assert!(polygons.is_valid());
    }
}

fn flattened(segments: &[Segment<'_>], transform: Affine, flattening: &Flattening) -> Vec<Point> {
    let mut out = Polylines::default();
    flatten(segments.iter().copied(), transform, flattening, usize::MAX, &Pace::free(), &mut out).unwrap();
    out.iter()
        .next()
        .map(|(points, closed)| {
            let mut points = points.to_vec();
            if closed {
                points.push(points[0]);
            }
            points
        })
        .unwrap_or_default()
}

fn distance_to(points: &[Point], at: Point) -> f64 {
    let mut nearest = f64::INFINITY;
    for pair in points.windows(2) {
        let line =
            geo::Line::new(geo::coord! { x: pair[0].x, y: pair[0].y }, geo::coord! { x: pair[1].x, y: pair[1].y });
        nearest = nearest.min(Euclidean.distance(&geo::Point::new(at.x, at.y), &line));
    }
    nearest
}

fn affine() -> impl Strategy<Value = Affine> {
    (0.05..20.0f64, 0.05..20.0f64, 0.0..TAU, -1.0..1.0f64, any::<bool>()).prop_map(|(x, y, turn, skew, mirrored)| {
        let mirror = if mirrored { -1.0 } else { 1.0 };
        Affine::rotate(turn) * Affine::skew(skew, 0.0) * Affine::scale_non_uniform(x * mirror, y)
    })
}

fn flattening() -> impl Strategy<Value = Flattening> {
    (0.0005..0.1f64, 0.0005..0.02f64)
        .prop_map(|(chord_error_m, chord_error_ratio)| Flattening { chord_error_m, chord_error_ratio })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn elliptical_arcs_keep_the_bound_after_the_transform(
        transform in affine(), flattening in flattening(),
        radius in 0.01..50.0f64, start in 0.0..TAU, sweep in -TAU..TAU,
    ) {
        prop_assume!(sweep.abs() > 1e-3);
        let (centre, u, v) = (Point::new(3.0, -2.0), Vec2::new(radius, 0.0), Vec2::new(0.0, radius));
        let segment = Segment::Arc { centre, u, v, start, sweep };
        let points = flattened(&[segment], transform, &flattening);
        let [a, b, c, d, ..] = transform.as_coeffs();
        let map = |w: Vec2| Vec2::new(a * w.x + c * w.y, b * w.x + d * w.y);
        let (u, v) = (map(u), map(v));
        for step in 0..=500 {
            let t = start + sweep * f64::from(step) / 500.0;
            let at = transform * centre + u * t.cos() + v * t.sin();
            let speed = (v * t.cos() - u * t.sin()).hypot();
            let radius = speed.powi(3) / u.cross(v).abs();
            let bound = flattening.chord_error_m.min((flattening.chord_error_ratio * radius).max(FINEST_M));
            prop_assert!(distance_to(&points, at) <= bound * (1.0 + 1e-6) + 1e-9);
        }
        // Both ends are exact.
        let end = transform * centre + u * (start + sweep).cos() + v * (start + sweep).sin();
        prop_assert!((points[points.len() - 1] - end).hypot() < 1e-9);
    }

    #[test]
    fn cubic_curves_keep_the_bound(
        flattening in flattening(),
        control in prop::array::uniform8(-10.0..10.0f64),
    ) {
        let p: Vec<Point> = control.chunks(2).map(|pair| Point::new(pair[0], pair[1])).collect();
        let segments = [Segment::Move(p[0]), Segment::Cubic(p[1], p[2], p[3])];
        let points = flattened(&segments, Affine::IDENTITY, &flattening);
        prop_assume!(points.len() > 1);
        let (q0, q1, q2) = ((p[1] - p[0]) * 3.0, (p[2] - p[1]) * 3.0, (p[3] - p[2]) * 3.0);
        for step in 0..=400 {
            let t = f64::from(step) / 400.0;
            let s = 1.0 - t;
            let at = (p[0].to_vec2() * (s * s * s) + p[1].to_vec2() * (3.0 * s * s * t)
                + p[2].to_vec2() * (3.0 * s * t * t) + p[3].to_vec2() * (t * t * t)).to_point();
            let first = q0 * (s * s) + q1 * (2.0 * s * t) + q2 * (t * t);
            let second = (q1 - q0) * (2.0 * s) + (q2 - q1) * (2.0 * t);
            let radius = first.hypot().powi(3) / first.cross(second).abs();
            let bound = flattening.chord_error_m.min((flattening.chord_error_ratio * radius).max(FINEST_M));
            prop_assert!(distance_to(&points, at) <= bound * (1.0 + 1e-6) + 1e-9);
        }
    }

    #[test]
    fn bulges_keep_their_ends_and_their_sagitta(
        bulge in prop_oneof![-20.0..-0.01f64, 0.01..20.0f64], transform in affine(), x in 0.01..30.0f64,
    ) {
        let (from, to) = (Point::ZERO, Point::new(x, 0.0));
        let points = flattened(&[Segment::Move(from), Segment::Bulge { to, bulge }], transform, &Flattening::default());
        prop_assert_eq!(points[0], transform * from);
        prop_assert_eq!(points[points.len() - 1], transform * to);
        // B16: the arc goes through the point at bulge × half the chord, to the right of the way.
        let top = transform * Point::new(x / 2.0, -bulge * x / 2.0);
        prop_assert!(distance_to(&points, top) < 0.0101);
    }

    #[test]
    fn a_curve_and_its_reverse_give_the_same_points(
        control in prop::array::uniform8(-10.0..10.0f64), sweep in 0.1..TAU, start in 0.0..TAU,
    ) {
        let p: Vec<Point> = control.chunks(2).map(|pair| Point::new(pair[0], pair[1])).collect();
        let flattening = Flattening::default();
        let forward = flattened(&[Segment::Move(p[0]), Segment::Cubic(p[1], p[2], p[3])], Affine::IDENTITY, &flattening);
        let mut backward =
            flattened(&[Segment::Move(p[3]), Segment::Cubic(p[2], p[1], p[0])], Affine::IDENTITY, &flattening);
        backward.reverse();
        prop_assert_eq!(forward.len(), backward.len());
        prop_assert!(forward.iter().zip(&backward).all(|(a, b)| (*a - *b).hypot() < 1e-9));
        let arc = |start, sweep| Segment::Arc {
            centre: p[0], u: Vec2::new(3.0, 1.0), v: Vec2::new(-1.0, 2.0), start, sweep,
        };
        let forward = flattened(&[arc(start, sweep)], Affine::IDENTITY, &flattening);
        let mut backward = flattened(&[arc(start + sweep, -sweep)], Affine::IDENTITY, &flattening);
        backward.reverse();
        prop_assert_eq!(forward.len(), backward.len());
        prop_assert!(forward.iter().zip(&backward).all(|(a, b)| (*a - *b).hypot() < 1e-9));
    }
}

// B32: a circle as a clamped rational spline.
#[test]
fn a_circle_drawn_as_a_rational_spline_is_round() {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let corners = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0)];
    let spline = Spline {
        degree: 2,
        control: corners.iter().map(|&(x, y)| Point::new(f64::from(x) * 10.0, f64::from(y) * 10.0)).collect(),
        weights: [1.0, half, 1.0, half, 1.0, half, 1.0, half, 1.0].to_vec(),
        knots: [0.0, 0.0, 0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1.0, 1.0, 1.0].to_vec(),
    };
    let flattening = Flattening::default();
    let points = flattened(&[Segment::Spline(&spline)], Affine::IDENTITY, &flattening);
    assert!(points.iter().all(|point| (point.to_vec2().hypot() - 10.0).abs() < 1e-9));
    assert_eq!(points[0], points[points.len() - 1]);
    for step in 0..1000 {
        let angle = TAU * f64::from(step) / 1000.0;
        assert!(distance_to(&points, Point::new(10.0 * angle.cos(), 10.0 * angle.sin())) <= 0.01);
    }
    assert!(points.len() < 200, "{}", points.len());
}

/// A drawn thing, small enough for proptest to shrink.
#[derive(Debug, Clone)]
enum Drawn {
    Line(Vec<(f64, f64, f64)>, bool),
    Area(Vec<Vec<(f64, f64)>>, bool),
    Point(f64, f64),
}

fn coordinate() -> impl Strategy<Value = f64> {
    // Drafting steps, and the arbitrary rest.
    prop_oneof![(-40..40i32).prop_map(|half| f64::from(half) * 0.25), -10.0..10.0f64]
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        (
            prop::collection::vec((coordinate(), coordinate(), prop_oneof![3 => Just(0.0), 1 => -2.0..2.0f64]), 2..8),
            any::<bool>()
        )
            .prop_map(|(points, closed)| Drawn::Line(points, closed)),
        (prop::collection::vec(prop::collection::vec((coordinate(), coordinate()), 3..7), 1..4), any::<bool>())
            .prop_map(|(rings, winding)| Drawn::Area(rings, winding)),
        (coordinate(), coordinate()).prop_map(|(x, y)| Drawn::Point(x, y)),
    ]
}

fn drawing(things: &[Drawn], layer: &str) -> Drawing {
    let mut builder = DrawingBuilder::new(SourceFormat::Dxf, &Limits::default());
    for (number, thing) in things.iter().enumerate() {
        let geometry = match thing {
            Drawn::Point(x, y) => Geometry::Point(Point::new(*x, *y)),
            Drawn::Line(points, closed) => {
                let mut path = builder.path();
                path.move_to(Point::new(points[0].0, points[0].1));
                for pair in points.windows(2) {
                    path.bulge_to(Point::new(pair[1].0, pair[1].1), pair[0].2);
                }
                if *closed {
                    path.bulge_to(Point::new(points[0].0, points[0].1), points[points.len() - 1].2);
                    path.close();
                }
                Geometry::Line(path.finish().unwrap().unwrap())
            }
            Drawn::Area(rings, winding) => {
                let mut path = builder.path();
                for ring in rings {
                    path.move_to(Point::new(ring[0].0, ring[0].1));
                    for (x, y) in &ring[1..] {
                        path.line_to(Point::new(*x, *y));
                    }
                    path.close();
                }
                let rule = if *winding { FillRule::NonZero } else { FillRule::EvenOdd };
                Geometry::Area(path.finish().unwrap().unwrap(), rule)
            }
        };
        let item = Item {
            geometry,
            entity: builder.intern("X"),
            layer: builder.layer(layer),
            colour: Colour::ByLayer,
            width: 0.0,
            // Handles that occur twice are a fact of life.
            identity: Identity::Handle(number as u64 / 2),
            visible: true,
            properties: Default::default(),
            clip: None,
        };
        builder.push(item).unwrap();
    }
    builder.finish()
}

fn written(drawing: &Drawing, options: &OutputOptions, frame: &Frame<'_>) -> (serde_json::Value, String) {
    let flattening = Flattening::default();
    let mut writer = FeatureWriter::new(b"{\"features\":[".to_vec(), drawing, &flattening, options, frame);
    expand(drawing, &ExpandOptions::default(), &|| Ok(()), &mut |shape| writer.shape(shape)).unwrap();
    let (bytes, summary) = writer.finish().unwrap();
    (serde_json::from_slice(&bytes).unwrap(), summary.topology_hash)
}

fn hash_of(things: &[Drawn], layer: &str) -> String {
    written(&drawing(things, layer), &OutputOptions::default(), &Frame::local_metres()).1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    // R133
    #[test]
    fn every_emitted_geometry_is_valid_and_every_id_unique(
        things in prop::collection::vec(drawn(), 1..12), decimals in 2u8..7,
    ) {
        let options = OutputOptions { decimals: Some(decimals), ..OutputOptions::default() };
        let (collection, _) = written(&drawing(&things, "0"), &options, &Frame::local_metres());
        let mut ids = std::collections::HashSet::new();
        for feature in collection["features"].as_array().unwrap() {
            prop_assert!(ids.insert(feature["id"].as_str().unwrap().to_owned()), "{} twice", feature["id"]);
            let text = feature["geometry"].to_string();
            let parsed: geojson::Geometry = text.parse().unwrap();
            // On the grid, where it is exact.
            let scale = 10f64.powi(i32::from(decimals));
            let geometry = geo::Geometry::<f64>::try_from(parsed).unwrap();
            let geometry = geo::MapCoords::map_coords(&geometry, |c| {
                geo::coord! { x: (c.x * scale).round(), y: (c.y * scale).round() }
            });
            prop_assert!(geometry.is_valid(), "{} {:?}", text, geometry.check_validation());
            let polygons = match geometry {
                geo::Geometry::Polygon(polygon) => geo::MultiPolygon(vec![polygon]),
                geo::Geometry::MultiPolygon(polygons) => polygons,
                geo::Geometry::GeometryCollection(_) => panic!("no collections"),
                _ => continue,
            };
            prop_assert!(winding_is_right(&polygons));
        }
    }

    #[test]
    fn the_hash_is_free_of_order_layers_and_direction(
        things in prop::collection::vec(drawn(), 1..10), swap in any::<prop::sample::Index>(),
    ) {
        let before = hash_of(&things, "A-WALL");
        let mut other = things.clone();
        let place = swap.index(other.len());
        other.rotate_left(place);
        for thing in &mut other {
            match thing {
                Drawn::Line(points, closed) => {
                    // Bulges belong to the edge that follows, and turn the other way when it is walked backwards.
                    let mut bulges: Vec<f64> = points.iter().map(|point| -point.2).collect();
                    points.reverse();
                    if *closed {
                        bulges.reverse();
                        bulges.rotate_left(1);
                    } else {
                        bulges.pop();
                        bulges.reverse();
                        bulges.push(0.0);
                    }
                    for (point, bulge) in points.iter_mut().zip(bulges) {
                        point.2 = bulge;
                    }
                }
                Drawn::Area(rings, false) => {
                    rings.rotate_left(1);
                    for ring in rings {
                        ring.reverse();
                        ring.rotate_left(1);
                    }
                }
                _ => {}
            }
        }
        prop_assert_eq!(before, hash_of(&other, "anything"));
    }

    #[test]
    fn the_hash_sees_a_vertex_that_moves(things in prop::collection::vec(drawn(), 1..6), which in any::<prop::sample::Index>(), step in 2..50i32) {
        let moved = |step: i32| {
            let offset = f64::from(step) * 1e-4;
            let mut other = things.clone();
            let place = which.index(other.len());
            other[place] = match &things[place] {
                Drawn::Line(points, _) => Drawn::Line(vec![points[0], (points[0].0 + 3.0 + offset, 7.0, 0.0)], false),
                Drawn::Point(x, y) => Drawn::Point(*x + offset, *y),
                Drawn::Area(_, rule) => Drawn::Area(vec![vec![(0.0, 0.0), (1.0 + offset, 0.0), (0.5, 1.0)]], *rule),
            };
            hash_of(&other, "0")
        };
        prop_assert_ne!(moved(0), moved(step));
    }

    #[test]
    fn a_clip_and_its_inverse_divide_without_loss(
        points in prop::collection::vec((-10.0..10.0f64, -10.0..10.0f64), 3..8),
        clip in prop::collection::vec((-8.0..8.0f64, -8.0..8.0f64), 3..7),
        closed in any::<bool>(),
    ) {
        let (mut lengths, mut areas) = ([0.0; 3], [0.0; 3]);
        for (index, inverted) in [None, Some(false), Some(true)].into_iter().enumerate() {
            let mut builder = DrawingBuilder::new(SourceFormat::Dxf, &Limits::default());
            let ring = clip.iter().map(|&(x, y)| Point::new(x, y)).collect();
            let clip = inverted.map(|inverted| builder.clip(Clip { rings: vec![ring], inverted }));
            let mut path = builder.path();
            path.move_to(Point::new(points[0].0, points[0].1));
            for &(x, y) in &points[1..] {
                path.line_to(Point::new(x, y));
            }
            if closed {
                path.close();
            }
            let path = path.finish().unwrap().unwrap();
            for geometry in [Geometry::Line(path), Geometry::Area(path, FillRule::EvenOdd)] {
                let item = Item {
                    geometry, entity: builder.intern("X"), layer: builder.layer("0"), colour: Colour::ByLayer, width: 0.0,
                    identity: Identity::None, visible: true, properties: Default::default(), clip,
                };
                builder.push(item).unwrap();
            }
            let drawing = builder.finish();
            expand::<()>(&drawing, &ExpandOptions::default(), &|| Ok(()), &mut |shape| {
                match &shape.form {
                    Form::Lines { lines, .. } => for (points, closed) in lines.iter() {
                        let line: geo::LineString<f64> =
                            points.iter().chain(points.first().filter(|_| closed)).map(|p| (p.x, p.y)).collect();
                        lengths[index] += Euclidean.length(&line);
                    },
                    Form::Area { rings } => {
                        let mut grid = GridRings::default();
                        for (ring, _) in rings.iter() {
                            grid.push(ring.iter().map(|point| GridPoint::nearest(*point, 1e6)));
                        }
                        let mut nested = GridAreas::default();
                        Nester::default().nest(&grid, &Effort::unbounded(), &mut nested).unwrap();
                        areas[index] += multi_polygon(&nested).unsigned_area() / 1e12;
                    }
                    _ => {}
                }
                Ok(())
            }).unwrap();
        }
        prop_assert!((lengths[0] - lengths[1] - lengths[2]).abs() < 1e-6, "{:?}", lengths);
        prop_assert!((areas[0] - areas[1] - areas[2]).abs() < 1e-4, "{:?}", areas);
    }
}
