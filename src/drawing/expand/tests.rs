//! Expansion rules, each on the smallest drawing that shows it.

use super::*;
use crate::drawing::{Clip, HorizontalAlign, VerticalAlign};
use crate::drawing::{DrawingBuilder, FillRule, SourceFormat, insert_transform};

/// What a test keeps of a shape.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    ordinal: u64,
    layer: String,
    lines: Vec<(Vec<(f64, f64)>, bool)>,
    colour: Option<u32>,
    visible: bool,
    text: Option<String>,
    depth: u32,
}

fn round(point: &Point) -> (f64, f64) {
    ((point.x * 1e6).round() / 1e6 + 0.0, (point.y * 1e6).round() / 1e6 + 0.0)
}

fn see(
    drawing: &Drawing,
    options: &ExpandOptions,
) -> Result<(Vec<Seen>, ExpandReport), ExpandError<std::convert::Infallible>> {
    let mut seen = Vec::new();
    let report = expand(drawing, options, &|| Ok(()), &mut |shape: &Shape<'_>| {
        let lines = match &shape.form {
            Form::Lines { lines, .. } | Form::Area { rings: lines } => {
                lines.iter().map(|(points, closed)| (points.iter().map(round).collect(), closed)).collect()
            }
            Form::Point(at) => vec![(vec![round(at)], false)],
            Form::Text(text) => vec![(vec![round(&text.at)], false)],
            Form::Symbol(symbol) => vec![(vec![round(&symbol.at)], false)],
        };
        seen.push(Seen {
            ordinal: shape.ordinal,
            layer: shape.layer_name.to_owned(),
            lines,
            colour: shape.colour,
            visible: shape.visible,
            text: match &shape.form {
                Form::Text(text) => Some(text.text.value.clone()),
                Form::Symbol(symbol) => Some(format!("<{}>", symbol.block)),
                _ => None,
            },
            depth: shape.depth,
        });
        Ok(())
    })?;
    Ok((seen, report))
}

struct Sheet(DrawingBuilder);

impl Sheet {
    fn new() -> Self {
        Self(DrawingBuilder::new(SourceFormat::Dxf, &Limits::default()))
    }

    fn item(&mut self, geometry: Geometry, layer: &str) -> Item {
        Item {
            geometry,
            entity: self.0.intern("X"),
            layer: self.0.layer(layer),
            colour: Colour::ByLayer,
            width: 0.0,
            identity: Identity::None,
            visible: true,
            properties: Properties::default(),
            clip: None,
        }
    }

    fn line(&mut self, points: &[(f64, f64)], layer: &str) -> Item {
        let mut path = self.0.path();
        for (index, (x, y)) in points.iter().enumerate() {
            if index == 0 { path.move_to(Point::new(*x, *y)) } else { path.line_to(Point::new(*x, *y)) }
        }
        let path = path.finish().unwrap().unwrap();
        self.item(Geometry::Line(path), layer)
    }

    fn reference(&mut self, block: &str) -> Insert {
        Insert {
            block: self.0.block(block),
            transform: Affine::IDENTITY,
            columns: 1,
            rows: 1,
            column_step: Vec2::ZERO,
            row_step: Vec2::ZERO,
            attributes: Vec::new(),
            clip: None,
        }
    }

    fn push(&mut self, item: Item) {
        self.0.push(item).unwrap();
    }

    fn push_insert(&mut self, insert: Insert, layer: &str) {
        let id = self.0.insert(insert);
        let item = self.item(Geometry::Insert(id), layer);
        self.push(item);
    }

    fn block(&mut self, name: &str, base: (f64, f64), fill: impl FnOnce(&mut Self)) {
        let id = self.0.block(name);
        self.0.open_block(id, Point::new(base.0, base.1));
        fill(self);
        self.0.close_block();
    }

    fn layer(&mut self, name: &str, change: impl FnOnce(&mut super::super::Layer)) {
        let id = self.0.layer(name);
        change(self.0.layer_mut(id).unwrap());
    }

    fn see(self) -> (Vec<Seen>, ExpandReport) {
        see(&self.0.finish(), &ExpandOptions::default()).unwrap()
    }
}

fn lines_of(seen: &[Seen]) -> Vec<(String, Vec<(f64, f64)>)> {
    seen.iter()
        .filter(|one| one.text.is_none())
        .flat_map(|one| one.lines.iter().map(|(points, _)| (one.layer.clone(), points.clone())))
        .collect()
}

#[test]
fn layer_zero_content_takes_the_layer_and_colour_of_its_insert() {
    // B06, B07
    let mut sheet = Sheet::new();
    sheet.layer("0", |layer| (layer.inherits, layer.frozen) = (true, true));
    sheet.layer("A-WALL", |layer| layer.colour = Some(0xff0000));
    sheet.block("B", (0.0, 0.0), |sheet| {
        let item = sheet.line(&[(0.0, 0.0), (1.0, 0.0)], "0");
        sheet.push(item);
        let item = sheet.line(&[(0.0, 1.0), (1.0, 1.0)], "A-DOOR");
        sheet.push(item);
        let mut item = sheet.line(&[(0.0, 2.0), (1.0, 2.0)], "A-DOOR");
        item.colour = Colour::ByBlock;
        sheet.push(item);
    });
    let insert = sheet.reference("B");
    sheet.push_insert(insert, "A-WALL");
    let loose = sheet.line(&[(9.0, 9.0), (8.0, 9.0)], "0");
    sheet.push(loose);
    let (seen, report) = sheet.see();
    let layers: Vec<_> = seen.iter().map(|one| (one.layer.as_str(), one.colour)).collect();
    let red = Some(0xff0000);
    assert_eq!(layers, [("A-WALL", red), ("A-WALL", red), ("A-DOOR", None), ("A-DOOR", red)]);
    assert_eq!(report.hidden.by_layer.get("0"), Some(&1));
}

#[test]
fn an_insert_on_a_layer_that_is_off_hides_less_than_one_on_a_frozen_layer() {
    // B08
    let mut sheet = Sheet::new();
    sheet.layer("0", |layer| layer.inherits = true);
    sheet.layer("OFF", |layer| layer.off = true);
    sheet.layer("COLD", |layer| layer.frozen = true);
    sheet.block("B", (0.0, 0.0), |sheet| {
        let item = sheet.line(&[(0.0, 0.0), (1.0, 0.0)], "0");
        sheet.push(item);
        let item = sheet.line(&[(0.0, 1.0), (1.0, 1.0)], "DIM");
        sheet.push(item);
    });
    for layer in ["OFF", "COLD"] {
        let insert = sheet.reference("B");
        sheet.push_insert(insert, layer);
    }
    let (seen, report) = sheet.see();
    assert_eq!(lines_of(&seen), [("DIM".to_owned(), vec![(0.0, 1.0), (1.0, 1.0)])]);
    assert_eq!(report.hidden.total, 5);
}

#[test]
fn hidden_shapes_come_with_their_ordinal_on_request() {
    let build = || {
        let mut sheet = Sheet::new();
        sheet.layer("OFF", |layer| layer.off = true);
        for (y, layer) in [(0.0, "ON"), (1.0, "OFF"), (2.0, "ON")] {
            let item = sheet.line(&[(0.0, y), (1.0, y)], layer);
            sheet.push(item);
        }
        sheet.0.finish()
    };
    let options = ExpandOptions { include_hidden: true, ..ExpandOptions::default() };
    let (all, _) = see(&build(), &options).unwrap();
    let (shown, report) = see(&build(), &ExpandOptions::default()).unwrap();
    assert_eq!(all.iter().filter(|one| one.visible).cloned().collect::<Vec<_>>(), shown);
    assert_eq!(all.len(), 3);
    assert_eq!((report.shapes, report.hidden.total), (2, 1));
}

#[test]
fn nested_base_points_and_scales_apply_in_order() {
    // B19
    let mut sheet = Sheet::new();
    sheet.block("IN", (0.0, 0.0), |sheet| {
        let item = sheet.line(&[(0.0, 0.0), (0.0, 1.0)], "0");
        sheet.push(item);
    });
    sheet.block("OUT", (5.0, 0.0), |sheet| {
        let mut insert = sheet.reference("IN");
        insert.transform = insert_transform(Point::new(5.0, 5.0), Vec2::new(1.0, 1.0), 0.0);
        sheet.push_insert(insert, "0");
    });
    let mut insert = sheet.reference("OUT");
    insert.transform = insert_transform(Point::new(100.0, 100.0), Vec2::new(2.0, 2.0), 0.0);
    sheet.push_insert(insert, "0");
    let (seen, _) = sheet.see();
    assert_eq!(lines_of(&seen), [("0".to_owned(), vec![(100.0, 110.0), (100.0, 112.0)])]);
    assert_eq!(seen.last().unwrap().depth, 2);
}

#[test]
fn an_array_repeats_symbol_content_and_attributes() {
    // B18
    let mut sheet = Sheet::new();
    sheet.block("B", (0.0, 0.0), |sheet| {
        let item = sheet.line(&[(0.0, 0.0), (1.0, 0.0)], "0");
        sheet.push(item);
    });
    let value = sheet.0.text(Text {
        value: "7".to_owned(),
        tag: None,
        at: Point::new(0.5, 0.0),
        direction: Vec2::new(1.0, 0.0),
        height: 0.2,
        horizontal: HorizontalAlign::Left,
        vertical: VerticalAlign::Baseline,
        box_width: None,
    });
    let tag = sheet.0.intern("NUMBER");
    let layer = sheet.0.layer("0");
    let mut insert = sheet.reference("B");
    insert.transform = insert_transform(Point::ZERO, Vec2::new(1.0, 1.0), std::f64::consts::FRAC_PI_2);
    (insert.columns, insert.column_step) = (3, Vec2::new(0.0, 10.0));
    insert.attributes.push(Attribute { tag, text: value, layer, visible: true, identity: Identity::None });
    sheet.push_insert(insert, "0");
    let mut none = sheet.reference("B");
    none.rows = 0;
    sheet.push_insert(none, "0");
    let (seen, report) = sheet.see();
    let drawn: Vec<_> = lines_of(&seen).into_iter().map(|(_, points)| points).collect();
    assert_eq!(drawn, [0.0, 10.0, 20.0].map(|y| vec![(0.0, y), (0.0, y + 1.0)]));
    let texts: Vec<_> = seen.iter().filter_map(|one| one.text.as_deref()).collect();
    assert_eq!(texts, ["<B>", "7", "<B>", "7", "<B>", "7"]);
    assert_eq!(report.by_entity.get("ATTRIB"), Some(&3));
}

#[test]
fn cycles_and_missing_blocks_are_issues() {
    let mut sheet = Sheet::new();
    for (name, inner) in [("A", "B"), ("B", "A"), ("SELF", "SELF")] {
        sheet.block(name, (0.0, 0.0), |sheet| {
            let item = sheet.line(&[(0.0, 0.0), (1.0, 0.0)], "0");
            sheet.push(item);
            let insert = sheet.reference(inner);
            sheet.push_insert(insert, "0");
        });
    }
    for name in ["A", "SELF", "GONE"] {
        let insert = sheet.reference(name);
        sheet.push_insert(insert, "0");
    }
    let (seen, report) = sheet.see();
    assert_eq!(lines_of(&seen).len(), 3);
    assert_eq!(report.issues.count(&BLOCK_CYCLE), 2);
    assert_eq!(report.issues.count(&BLOCK_MISSING), 1);
}

#[test]
fn bombs_are_refused_at_once_with_the_number_of_the_limit() {
    let mut nested = Sheet::new();
    nested.block("B0", (0.0, 0.0), |sheet| {
        let item = sheet.line(&[(0.0, 0.0), (1.0, 0.0)], "0");
        sheet.push(item);
    });
    for level in 1..40 {
        nested.block(&format!("B{level}"), (0.0, 0.0), |sheet| {
            for _ in 0..10 {
                let insert = sheet.reference(&format!("B{}", level - 1));
                sheet.push_insert(insert, "0");
            }
        });
    }
    let insert = nested.reference("B39");
    nested.push_insert(insert, "0");
    let mut array = Sheet::new();
    array.block("E", (0.0, 0.0), |_| ());
    let mut insert = array.reference("E");
    (insert.columns, insert.rows) = (u32::MAX, u32::MAX);
    array.push_insert(insert, "0");
    let start = std::time::Instant::now();
    for sheet in [nested, array] {
        let error = see(&sheet.0.finish(), &ExpandOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), "number of shapes exceeds `limits.expanded_shapes` = 20000000");
    }
    assert!(start.elapsed().as_millis() < 500);

    let mut deep = Sheet::new();
    deep.block("D0", (0.0, 0.0), |_| ());
    for level in 1..100_000 {
        deep.block(&format!("D{level}"), (0.0, 0.0), |sheet| {
            let insert = sheet.reference(&format!("D{}", level - 1));
            sheet.push_insert(insert, "0");
        });
    }
    let insert = deep.reference("D99999");
    deep.push_insert(insert, "0");
    let error = see(&deep.0.finish(), &ExpandOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "nesting of blocks exceeds `limits.block_depth` = 64");
}

#[test]
fn vertices_of_curves_count_against_their_limit() {
    let mut sheet = Sheet::new();
    for _ in 0..100 {
        let mut path = sheet.0.path();
        path.circle_arc(Point::ZERO, 10.0, 0.0, std::f64::consts::TAU);
        let path = path.finish().unwrap().unwrap();
        let item = sheet.item(Geometry::Line(path), "0");
        sheet.push(item);
    }
    let limits = Limits { expanded_vertices: 1000, ..Limits::default() };
    let error = see(&sheet.0.finish(), &ExpandOptions { limits, ..ExpandOptions::default() }).unwrap_err();
    assert_eq!(error.to_string(), "number of expanded vertices exceeds `limits.expanded_vertices` = 1000");
}

fn square(x: f64, y: f64, side: f64) -> Vec<Point> {
    vec![Point::new(x, y), Point::new(x + side, y), Point::new(x + side, y + side), Point::new(x, y + side)]
}

#[test]
fn clips_of_nested_inserts_intersect_and_may_be_inverted() {
    // B20
    let build = |inverted: bool, turn: f64| {
        let mut sheet = Sheet::new();
        sheet.block("IN", (0.0, 0.0), |sheet| {
            let item = sheet.line(&[(0.0, 0.5), (10.0, 0.5)], "0");
            sheet.push(item);
        });
        sheet.block("OUT", (0.0, 0.0), |sheet| {
            let mut insert = sheet.reference("IN");
            insert.clip = Some(sheet.0.clip(Clip { rings: vec![square(0.0, -2.0, 5.0)], inverted: false }));
            sheet.push_insert(insert, "0");
        });
        let mut insert = sheet.reference("OUT");
        insert.transform = Affine::rotate(turn);
        insert.clip = Some(sheet.0.clip(Clip { rings: vec![square(2.0, -2.0, 20.0)], inverted }));
        sheet.push_insert(insert, "0");
        let (seen, _) = sheet.see();
        lines_of(&seen).into_iter().map(|(_, points)| points).collect::<Vec<_>>()
    };
    assert_eq!(build(false, 0.0), [vec![(2.0, 0.5), (5.0, 0.5)]]);
    assert_eq!(build(true, 0.0), [vec![(0.0, 0.5), (2.0, 0.5)]]);
    assert_eq!(build(false, std::f64::consts::FRAC_PI_2), [vec![(-0.5, 2.0), (-0.5, 5.0)]]);
    let (slant, along) = (build(false, 0.3), Affine::rotate(0.3));
    assert_eq!(slant, [vec![round(&(along * Point::new(2.0, 0.5))), round(&(along * Point::new(5.0, 0.5)))]]);
}

#[test]
fn a_clipped_ring_keeps_one_piece_across_its_start_and_areas_are_intersected() {
    let mut sheet = Sheet::new();
    let clip = sheet.0.clip(Clip { rings: vec![square(0.0, 0.0, 10.0)], inverted: false });
    let mut path = sheet.0.path();
    for (index, point) in square(5.0, 5.0, 10.0).into_iter().enumerate() {
        if index == 0 { path.move_to(point) } else { path.line_to(point) }
    }
    path.close();
    let path = path.finish().unwrap().unwrap();
    for geometry in [Geometry::Line(path), Geometry::Area(path, FillRule::NonZero)] {
        let mut item = sheet.item(geometry, "0");
        item.clip = Some(clip);
        sheet.push(item);
    }
    let (seen, _) = sheet.see();
    assert_eq!(seen[0].lines, [(vec![(5.0, 10.0), (5.0, 5.0), (10.0, 5.0)], false)]);
    let area: f64 = {
        let ring = &seen[1].lines[0].0;
        (0..ring.len()).map(|i| (ring[i], ring[(i + 1) % ring.len()])).map(|(a, b)| a.0 * b.1 - b.0 * a.1).sum()
    };
    assert_eq!((seen[1].lines.len(), area), (1, 50.0));
}

#[test]
fn a_non_zero_fill_becomes_even_odd_rings() {
    let mut sheet = Sheet::new();
    let mut path = sheet.0.path();
    for (x, y, side) in [(0.0, 0.0, 10.0), (2.0, 2.0, 4.0)] {
        for (index, point) in square(x, y, side).into_iter().enumerate() {
            if index == 0 { path.move_to(point) } else { path.line_to(point) }
        }
        path.close();
    }
    let path = path.finish().unwrap().unwrap();
    for rule in [FillRule::NonZero, FillRule::EvenOdd] {
        let item = sheet.item(Geometry::Area(path, rule), "0");
        sheet.push(item);
    }
    let (seen, _) = sheet.see();
    assert_eq!((seen[0].lines.len(), seen[1].lines.len()), (1, 2));
}

#[test]
fn far_away_shapes_are_left_out_with_an_issue() {
    let mut sheet = Sheet::new();
    let item = sheet.line(&[(0.0, 0.0), (1e12, 0.0)], "0");
    sheet.push(item);
    let (seen, report) = sheet.see();
    assert!(seen.is_empty());
    assert_eq!(report.issues.count(&COORDINATE_RANGE), 1);
}

#[test]
fn circles_are_told_under_similarities_only() {
    let arcs = |transform: Affine| {
        let mut sheet = Sheet::new();
        sheet.block("B", (0.0, 0.0), |sheet| {
            let mut path = sheet.0.path();
            path.circle_arc(Point::new(1.0, 0.0), 0.9, 0.0, std::f64::consts::FRAC_PI_2);
            let path = path.finish().unwrap().unwrap();
            let item = sheet.item(Geometry::Line(path), "0");
            sheet.push(item);
        });
        let mut insert = sheet.reference("B");
        insert.transform = transform;
        sheet.push_insert(insert, "0");
        let drawing = sheet.0.finish();
        let mut found = None;
        let mut ends = None;
        expand::<()>(&drawing, &ExpandOptions::default(), &|| Ok(()), &mut |shape| {
            if let Form::Lines { arc, lines } = &shape.form {
                found = *arc;
                ends = Some((lines.points[0], lines.points[lines.points.len() - 1]));
            }
            Ok(())
        })
        .unwrap();
        (found, ends.unwrap())
    };
    // B09: mirrored in x, the arc turns clockwise and its ends are exact.
    let (arc, (first, last)) = arcs(Affine::scale_non_uniform(-1.0, 1.0));
    let arc = arc.unwrap();
    assert_eq!((arc.centre, arc.sweep), (Point::new(-1.0, 0.0), -std::f64::consts::FRAC_PI_2));
    assert!(
        (arc.towards_first.x + arc.radius).abs() < 1e-12 * arc.radius && arc.towards_first.y.abs() < 1e-12 * arc.radius
    );
    assert!((first - Point::new(-1.9, 0.0)).hypot() < 1e-12 && (last - Point::new(-1.0, 0.9)).hypot() < 1e-12);
    assert!(arcs(Affine::scale_non_uniform(2.0, 1.0)).0.is_none());
}
