//! The DXF reader on its own: framing, text, geometry, blocks, units, limits. `cases.rs` has the reported faults.
//!
//! Documents are written here as pairs, so that a test shows what it is about; [`Document`] frames them. Most tests
//! look at [`outline`], a plain rendering of a drawing.

use std::fmt::Write as _;

use bytes::Bytes;
use plan2geo::drawing::{Drawing, Geometry, HorizontalAlign, Item, Point, Segment, VerticalAlign};
use plan2geo::format::{Limits, Read, ReadError, ReadOptions, dxf};
use plan2geo::issue::{Issues, Place};

mod blocks;
mod families;
mod framing;
mod geometry;
mod mutation;
mod peers;
mod strings;
mod units;

/// A document in its parts; every part is lines of text, codes and values by turns.
#[derive(Clone)]
struct Document {
    header: String,
    tables: String,
    blocks: String,
    entities: String,
    objects: String,
}

impl Document {
    /// One that draws these entities: pairs separated by `|`, as in `0|LINE|8|WALL|10|0`.
    fn new(entities: &str) -> Self {
        Self {
            header: pairs("9|$ACADVER|1|AC1015|9|$INSUNITS|70|6"),
            tables: String::new(),
            blocks: String::new(),
            entities: pairs(entities),
            objects: String::new(),
        }
    }

    fn header(mut self, header: &str) -> Self {
        self.header = pairs(header);
        self
    }

    fn tables(mut self, tables: &str) -> Self {
        self.tables = pairs(tables);
        self
    }

    fn blocks(mut self, blocks: &str) -> Self {
        self.blocks = pairs(blocks);
        self
    }

    fn objects(mut self, objects: &str) -> Self {
        self.objects = pairs(objects);
        self
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, content) in [
            ("HEADER", &self.header),
            ("TABLES", &self.tables),
            ("BLOCKS", &self.blocks),
            ("ENTITIES", &self.entities),
            ("OBJECTS", &self.objects),
        ] {
            if !content.is_empty() {
                write!(text, "  0\nSECTION\n  2\n{name}\n{content}  0\nENDSEC\n").unwrap();
            }
        }
        text + "  0\nEOF\n"
    }

    fn bytes(&self) -> Bytes {
        Bytes::from(self.text())
    }

    fn read(&self) -> Read {
        read(&self.bytes())
    }

    fn drawing(&self) -> Drawing {
        self.read().drawing
    }
}

/// `0|LINE|8|WALL` as lines of a file.
fn pairs(text: &str) -> String {
    let mut lines = String::new();
    for (index, field) in text.split('|').enumerate() {
        if text.is_empty() {
            break;
        }
        if index % 2 == 0 { writeln!(lines, "{field:>3}").unwrap() } else { writeln!(lines, "{field}").unwrap() }
    }
    lines
}

fn read_with(bytes: &Bytes, options: &ReadOptions) -> Result<Read, ReadError> {
    dxf::read(bytes, options, &|| Ok(()))
}

#[track_caller]
fn read(bytes: &Bytes) -> Read {
    read_with(bytes, &ReadOptions::default()).unwrap()
}

/// Everything a drawing shows, one line an item; blocks after the model.
fn outline(drawing: &Drawing) -> String {
    let mut out = String::new();
    for item in &drawing.items {
        write_item(&mut out, drawing, item);
    }
    for block in drawing.blocks.iter().filter(|block| block.defined) {
        writeln!(out, "block {} at {}", drawing.string(block.name), shown(block.base)).unwrap();
        for item in &block.items {
            out.push_str("  ");
            write_item(&mut out, drawing, item);
        }
    }
    out
}

fn write_item(out: &mut String, drawing: &Drawing, item: &Item) {
    write!(out, "{} [{}]", drawing.string(item.entity), drawing.layer_name(item.layer)).unwrap();
    match item.geometry {
        Geometry::Point(at) => write!(out, " point {}", shown(at)).unwrap(),
        Geometry::Line(path) => write_path(out, drawing, path, "line"),
        Geometry::Area(path, _) => write_path(out, drawing, path, "area"),
        Geometry::Text(text) => {
            let text = drawing.text(text).unwrap();
            let angle = text.direction.y.atan2(text.direction.x).to_degrees();
            write!(out, " text {:?} at {} turned {}", text.value, shown(text.at), number(angle)).unwrap();
        }
        Geometry::Insert(insert) => {
            let insert = drawing.insert(insert).unwrap();
            let block = drawing.block(insert.block).unwrap();
            let numbers: Vec<String> = insert.transform.as_coeffs().iter().map(|part| number(*part)).collect();
            write!(out, " insert {} by ({})", drawing.string(block.name), numbers.join(" ")).unwrap();
            if (insert.columns, insert.rows) != (1, 1) {
                write!(out, " {} × {}", insert.columns, insert.rows).unwrap();
                write!(out, " steps {} {}", shown(insert.column_step.to_point()), shown(insert.row_step.to_point()))
                    .unwrap();
            }
            for attribute in &insert.attributes {
                let text = drawing.text(attribute.text).unwrap();
                write!(out, " {}={:?}", drawing.string(attribute.tag), text.value).unwrap();
            }
        }
    }
    out.push('\n');
}

fn write_path(out: &mut String, drawing: &Drawing, path: plan2geo::drawing::Path, kind: &str) {
    write!(out, " {kind}").unwrap();
    for segment in drawing.paths.segments(path) {
        match segment {
            Segment::Move(to) => write!(out, " M{}", shown(to)),
            Segment::Line(to) => write!(out, " L{}", shown(to)),
            Segment::Bulge { to, bulge } => write!(out, " B{}~{}", shown(to), number(bulge)),
            Segment::Arc { centre, u, v, start, sweep } => write!(
                out,
                " A{} u{} v{} {}+{}",
                shown(centre),
                shown(u.to_point()),
                shown(v.to_point()),
                number(start.to_degrees()),
                number(sweep.to_degrees())
            ),
            Segment::Cubic(a, b, to) => write!(out, " C{}{}{}", shown(a), shown(b), shown(to)),
            Segment::Spline(spline) => write!(out, " S{}/{}", spline.degree, spline.control.len()),
            Segment::Close => write!(out, " Z"),
        }
        .unwrap();
    }
}

fn shown(point: Point) -> String {
    format!("({},{})", number(point.x), number(point.y))
}

/// Rounded to six decimals, without trailing zeros.
fn number(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    format!("{}", rounded + 0.0)
}

#[track_caller]
fn assert_outline(document: &Document, expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let found = outline(&document.drawing());
    let found: Vec<&str> = found.lines().map(str::trim).collect();
    assert_eq!(found, expected);
}

fn count(issues: &Issues, code: &str) -> u64 {
    issues.iter().find(|(id, _)| *id == code).map_or(0, |(_, tally)| tally.count)
}

fn codes(issues: &Issues) -> Vec<&'static str> {
    issues.iter().map(|(id, _)| id).collect()
}

fn first_place(issues: &Issues, code: &str) -> Option<Place> {
    issues.iter().find(|(id, _)| *id == code).and_then(|(_, tally)| tally.samples.first()).map(|sample| sample.at)
}

fn line(x0: f64, y0: f64, x1: f64, y1: f64) -> String {
    format!("0|LINE|8|WALL|10|{x0}|20|{y0}|11|{x1}|21|{y1}")
}

/// The pairs of a text document as a binary one; `long` codes are those of R13 and later.
fn binary(text: &str, long: bool) -> Bytes {
    let mut out = b"AutoCAD Binary DXF\r\n\x1a\0".to_vec();
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let code: i16 = pair[0].trim().parse().unwrap();
        if long {
            out.extend(code.to_le_bytes());
        } else if (0..255).contains(&code) {
            out.push(code as u8);
        } else {
            out.push(255);
            out.extend(code.to_le_bytes());
        }
        match code {
            10..=59 | 210..=239 => out.extend(pair[1].trim().parse::<f64>().unwrap().to_le_bytes()),
            60..=79 => out.extend(pair[1].trim().parse::<i16>().unwrap().to_le_bytes()),
            90..=99 => out.extend(pair[1].trim().parse::<i32>().unwrap().to_le_bytes()),
            _ => {
                out.extend(pair[1].as_bytes());
                out.push(0);
            }
        }
    }
    Bytes::from(out)
}

/// A small plan with something of everything, for framing, mutations and peers.
fn sample() -> Document {
    let entities = [
        line(0.0, 0.0, 10.0, 0.0),
        "0|LWPOLYLINE|5|2F|8|ROOM|62|3|90|4|70|1|43|0.2|10|0|20|0|10|6|20|0|42|0.5|10|6|20|4|10|0|20|4".to_owned(),
        "0|ARC|8|DOOR|10|5|20|5|40|0.9|50|0|51|90".to_owned(),
        "0|CIRCLE|8|COLUMN|10|3|20|3|40|0.3|210|0|220|0|230|-1".to_owned(),
        "0|ELLIPSE|8|X|10|1|20|2|11|4|21|0|40|0.5|41|0|42|1.5".to_owned(),
        "0|SPLINE|8|X|70|8|71|3|72|8|73|4|40|0|40|0|40|0|40|0|40|1|40|1|40|1|40|1|10|0|20|0|10|1|20|2|10|3|20|2|10|4|20|0"
            .to_owned(),
        "0|TEXT|8|TEXT|10|1|20|1|40|0.25|1|101|72|1|11|2|21|2".to_owned(),
        "0|MTEXT|8|TEXT|10|4|20|4|40|0.25|41|3|71|5|3|{\\fArial;Bü|1|ro}\\P12 m".to_owned(),
        "0|INSERT|8|DOOR|2|Door|10|8|20|0|41|-1|50|90|66|1|0|ATTRIB|8|DOOR|10|8|20|1|40|0.2|1|D-7|2|NUMBER|70|0|0|SEQEND|8|DOOR"
            .to_owned(),
        "0|HATCH|8|AREA|2|ANSI31|70|0|91|2|92|3|72|0|73|1|93|4|10|0|20|0|10|6|20|0|10|6|20|4|10|0|20|4|97|0|92|0|93|2|72|1|10|1|20|1|11|2|21|1|72|2|10|1.5|20|1|40|0.5|50|0|51|180|73|1|97|0|75|0|76|1|98|0"
            .to_owned(),
        "0|SOLID|8|X|10|0|20|0|11|1|21|0|12|0|22|1|13|1|23|1".to_owned(),
        "0|POINT|8|X|10|9|20|9".to_owned(),
        "0|POLYLINE|8|X|66|1|70|0|0|VERTEX|8|X|10|0|20|9|0|VERTEX|8|X|10|3|20|9|0|SEQEND|8|X".to_owned(),
        "0|LINE|8|SHEET|67|1|10|0|20|0|11|1|21|1".to_owned(),
    ]
    .join("|");
    Document::new(&entities)
        .tables("0|TABLE|2|LAYER|70|2|0|LAYER|2|WALL|70|0|62|1|0|LAYER|2|HIDDEN|70|1|62|-5|0|ENDTAB")
        .blocks("0|BLOCK|8|0|2|DOOR|70|0|10|0|20|0|0|LINE|8|0|10|0|20|0|11|0.9|21|0|0|ATTDEF|8|0|10|0|20|1|40|0.2|1|X|2|NUMBER|3|?|70|0|0|ENDBLK|8|0")
}
