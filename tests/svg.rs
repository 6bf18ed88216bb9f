//! SVG files through the reader and the walk over the drawing: what they say is what comes out.

use std::collections::BTreeMap;

use bytes::Bytes;
use plan2geo::drawing::expand::{ExpandOptions, Form, expand};
use plan2geo::drawing::{Drawing, Identity, Rect, SourceFormat};
use plan2geo::format::{Limits, Read, ReadError, ReadOptions, Readers};

fn read_with(bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Read, ReadError> {
    let bytes = Bytes::copy_from_slice(bytes.as_ref());
    Readers::default().read(SourceFormat::Svg, "test", &bytes, 1, options, &|| Ok(()))
}

fn read(svg: impl AsRef<[u8]>) -> Read {
    read_with(svg, &ReadOptions::default()).unwrap()
}

/// One shape of the expanded drawing, in metres.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    id: String,
    kind: &'static str,
    entity: String,
    layer: String,
    visible: bool,
    colour: Option<u32>,
    width: f64,
    bounds: Rect,
    area: f64,
    points: Vec<(f64, f64)>,
    says: String,
    rotation: f64,
    height: f64,
    properties: BTreeMap<String, String>,
}

impl Seen {
    fn box_is(&self, [x0, y0, x1, y1]: [f64; 4]) {
        let b = self.bounds;
        for (found, expected) in [(b.x0, x0), (b.y0, y0), (b.x1, x1), (b.y1, y1)] {
            assert!((found - expected).abs() < 1e-6, "{}: {:?} is not {:?}", self.id, b, [x0, y0, x1, y1]);
        }
    }

    fn property(&self, name: &str) -> &str {
        self.properties.get(name).map_or("", String::as_str)
    }
}

fn see(drawing: &Drawing) -> Vec<Seen> {
    let options = ExpandOptions { include_hidden: true, ..ExpandOptions::default() };
    let mut seen = Vec::new();
    expand::<()>(drawing, &options, &|| Ok(()), &mut |shape| {
        let (kind, lines) = match &shape.form {
            Form::Lines { lines, .. } => ("line", Some(*lines)),
            Form::Area { rings } => ("area", Some(*rings)),
            Form::Text(_) => ("text", None),
            Form::Point(_) => ("point", None),
            Form::Symbol(_) => ("symbol", None),
        };
        let area = lines.map_or(0.0, |lines| {
            let signed = |ring: &[plan2geo::drawing::Point]| {
                let next = ring.iter().cycle().skip(1);
                ring.iter().zip(next).map(|(a, b)| a.to_vec2().cross(b.to_vec2())).sum::<f64>() / 2.0
            };
            lines.iter().map(|(ring, _)| signed(ring)).sum::<f64>().abs()
        });
        let (says, at, rotation, height) = match &shape.form {
            Form::Text(text) => (text.text.value.clone(), Some(text.at), text.rotation_deg, text.height_m),
            _ => (String::new(), None, 0.0, 0.0),
        };
        let points: Vec<_> = match (lines, at) {
            (Some(lines), _) => lines.points.iter().map(|p| (p.x, p.y)).collect(),
            (None, Some(at)) => vec![(at.x, at.y)],
            _ => Vec::new(),
        };
        let mut bounds = points.first().map_or(Rect::ZERO, |p| Rect::from_points(*p, *p));
        for point in &points {
            bounds = bounds.union_pt(*point);
        }
        let id = match shape.identity {
            Identity::Name(name) => drawing.string(name).to_owned(),
            _ => String::new(),
        };
        let properties = drawing.properties(shape.properties).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        seen.push(Seen {
            id,
            kind,
            entity: shape.entity.to_owned(),
            layer: shape.layer_name.to_owned(),
            visible: shape.visible,
            colour: shape.colour,
            width: shape.width_m,
            bounds,
            area,
            points,
            says,
            rotation,
            height,
            properties,
        });
        Ok(())
    })
    .unwrap();
    seen
}

/// The shapes of `content` in a drawing of 100 × 100 units, one metre each.
fn shapes(content: &str) -> Vec<Seen> {
    see(&read(plan(content)).drawing)
}

fn plan(content: &str) -> String {
    format!(
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' \
         xmlns:inkscape='http://www.inkscape.org/namespaces/inkscape' \
         width='100' height='100' viewBox='0 0 100 100'>{content}</svg>"
    )
}

fn only(content: &str) -> Seen {
    let seen = shapes(content);
    assert_eq!(seen.len(), 1, "{seen:?}");
    seen.into_iter().next().unwrap()
}

fn issue(read: &Read, code: &str) -> u64 {
    read.issues.iter().find(|(id, _)| *id == code).map_or(0, |(_, tally)| tally.count)
}

#[test]
fn b51_millimetres_are_not_scaled_twice() {
    let read = read(
        "<svg xmlns='http://www.w3.org/2000/svg' width='100mm' height='100mm' viewBox='0 0 100 100'>\
         <rect id='r' x='25' y='25' width='50' height='50'/></svg>",
    );
    assert_eq!((read.drawing.units.from.as_str(), read.drawing.units.confidence), ("svg width", None));
    let square = &see(&read.drawing)[0];
    square.box_is([0.025, 0.025, 0.075, 0.075]);
    assert!((square.area - 0.0025).abs() < 1e-12);
}

#[test]
fn b52_nested_svg_has_its_own_coordinates() {
    let seen = shapes(
        "<svg x='20' y='10' width='60' height='30' viewBox='0 0 6 6' preserveAspectRatio='none'>\
         <rect id='r' x='1' y='1' width='2' height='2'/></svg>\
         <svg x='0' y='50' width='40' height='20' viewBox='0 0 10 10'><rect id='q' width='10' height='10'/></svg>",
    );
    seen[0].box_is([30.0, 75.0, 50.0, 85.0]);
    seen[1].box_is([10.0, 30.0, 30.0, 50.0]);
}

#[test]
fn b54_arcs_in_rotated_groups_keep_their_radius() {
    let arc = only("<g transform='translate(80,40) rotate(36)'><path d='M12 -12A12 12 0 0 1 -12 -12'/></g>");
    let (cx, cy) = (87.053_423, 100.0 - 30.291_796);
    assert!(arc.points.len() > 8);
    for (x, y) in arc.points {
        assert!(((x - cx).hypot(y - cy) - 12.0).abs() < 1e-5);
    }
}

#[test]
fn b55_a_group_transform_counts_once_through_use() {
    let seen = shapes(
        "<defs><g id='bar' transform='translate(10,0)'><rect id='r' width='5' height='5'/></g></defs>\
         <g transform='translate(0,20)'><use xlink:href='#bar' x='30'/>\
         <use id='u2' href='#bar' transform='translate(60,0)'/></g>",
    );
    assert_eq!(seen.len(), 2);
    seen[0].box_is([40.0, 75.0, 45.0, 80.0]);
    seen[1].box_is([70.0, 75.0, 75.0, 80.0]);
    assert_eq!((seen[1].id.as_str(), seen[1].property("use"), seen[1].property("use_href")), ("r", "u2", "#bar"));
    assert_eq!(seen[1].property("group"), "bar");
}

#[test]
fn b56_symbols_are_drawn_only_by_use_and_fitted() {
    let square = only(
        "<symbol id='s' viewBox='0 0 10 10'><rect width='10' height='10'/></symbol>\
         <use href='#s' x='20' y='30' width='40' height='40'/>",
    );
    square.box_is([20.0, 30.0, 60.0, 70.0]);
}

#[test]
fn b58_hidden_layers_are_kept_as_hidden() {
    let read = read(plan(
        "<g inkscape:groupmode='layer' inkscape:label='Furniture' style='display:none'><rect width='9' height='9'/></g>\
         <g inkscape:groupmode='layer' inkscape:label='Walls'><rect x='10' y='10' width='80' height='80'/></g>",
    ));
    let seen = see(&read.drawing);
    let told: Vec<_> = seen.iter().map(|shape| (shape.layer.as_str(), shape.visible)).collect();
    assert_eq!(told, [("Furniture", false), ("Walls", true)]);
    let furniture = read.drawing.layers.iter().find(|layer| read.drawing.string(layer.name) == "Furniture").unwrap();
    assert!(furniture.off && furniture.declared);
}

#[test]
fn b59_y_points_upward() {
    let mut corners = only("<polygon id='L' points='0,0 20,0 20,80 60,80 60,100 0,100'/>").points;
    let mut expected = vec![(0., 100.), (20., 100.), (20., 20.), (60., 20.), (60., 0.), (0., 0.)];
    corners.sort_by(|a, b| a.partial_cmp(b).unwrap());
    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert_eq!(corners, expected);
    // About the view box, wherever it lies.
    let read = read("<svg viewBox='-10 50 20 40'><rect x='-10' y='50' width='1' height='2'/></svg>");
    see(&read.drawing)[0].box_is([-10.0, 88.0, -9.0, 90.0]);
}

#[test]
fn b60_nested_transforms_multiply_in_order() {
    only(
        "<g transform='translate(58,20) rotate(90)'><g transform='scale(2) translate(5,0)'>\
         <rect width='10' height='4'/></g></g>",
    )
    .box_is([50.0, 50.0, 58.0, 70.0]);
}

#[test]
fn fill_and_stroke_make_one_feature() {
    let seen = shapes(
        "<rect id='a' width='9' height='9'/>\
         <rect id='b' width='9' height='9' fill='none' stroke='red' stroke-width='2'/>\
         <rect id='c' width='9' height='9' fill='#00ff00' stroke='blue' transform='scale(2)'/>\
         <rect id='d' width='9' height='9' fill='none'/>\
         <line id='e' x2='5' stroke='black'/>\
         <polyline id='f' points='0,0 5,0' stroke='black'/>\
         <polyline id='g' points='0,0 5,0 5,5' stroke='black'/>\
         <polyline id='h' points='0,0 5,0 5,5' stroke='black' fill='none'/>\
         <line id='i' x2='5' stroke='black' transform='scale(3)' vector-effect='non-scaling-stroke'/>",
    );
    let told: Vec<_> = seen.iter().map(|s| (s.id.as_str(), s.kind, s.visible, s.colour, s.width)).collect();
    assert_eq!(
        told,
        [
            ("a", "area", true, Some(0), 0.0),
            ("b", "line", true, Some(0xff0000), 2.0),
            ("c", "area", true, Some(0x00ff00), 2.0),
            ("d", "line", false, None, 0.0),
            ("e", "line", true, Some(0), 1.0),
            ("f", "line", true, Some(0), 1.0),
            ("g", "area", true, Some(0), 1.0),
            ("h", "line", true, Some(0), 1.0),
            ("i", "line", true, Some(0), 1.0),
        ]
    );
    assert_eq!((seen[2].property("stroke"), seen[2].property("stroke_width")), ("#0000ff", "2"));
}

#[test]
fn fill_rules_decide_about_holes() {
    let ring = "M0 0H10V10H0ZM2 2H8V8H2Z";
    assert_eq!(only(&format!("<path d='{ring}' fill-rule='evenodd'/>")).points.len(), 8);
    let nonzero = only(&format!("<path d='{ring}'/>"));
    assert!((nonzero.area - 100.0).abs() < 1e-6, "{}", nonzero.area);
}

#[test]
fn names_classes_titles_and_data_stay() {
    let seen = shapes(
        "<g id='rooms' class='floor' data-floor='1' data-wing='A'><title>Ground floor</title>\
         <a xlink:href='https://example.org/101'>\
         <rect id='r101' class='room  office' data-wing='B' data-name='101' aria-label='Room 101' \
          inkscape:label='R 101' width='5' height='5'><title>Office\n 101</title><desc>with a view</desc></rect></a></g>",
    );
    let room = &seen[0];
    assert_eq!((room.id.as_str(), room.layer.as_str()), ("r101", "rooms"));
    let expected = [
        ("aria-label", "Room 101"),
        ("class", "room office"),
        ("data-floor", "1"),
        ("data-name", "101"),
        ("data-wing", "B"),
        ("desc", "with a view"),
        ("group", "rooms"),
        ("group_class", "floor"),
        ("group_title", "Ground floor"),
        ("href", "https://example.org/101"),
        ("label", "R 101"),
        ("title", "Office 101"),
    ];
    let found: Vec<_> = room.properties.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn layers_follow_the_documented_rule() {
    let layers = |content: &str| shapes(content).into_iter().map(|shape| shape.layer).collect::<Vec<_>>().join(" ");
    let rect = "<rect width='1' height='1'/>";
    assert_eq!(layers(rect), "default");
    assert_eq!(layers(&format!("<g id='g123'>{rect}</g>")), "default");
    assert_eq!(layers(&format!("<g id='walls'><g id='g12'>{rect}</g><g id='thin'>{rect}</g></g>")), "walls thin");
    assert_eq!(layers("<rect class='st0 wall' width='1' height='1'/>"), "wall");
    assert_eq!(layers(&format!("<g class='cls-1'><g class='wall'>{rect}</g></g>")), "wall");
    let layer = "inkscape:groupmode='layer' inkscape:label";
    assert_eq!(layers(&format!("<g {layer}='A'><g id='walls'>{rect}</g><g {layer}='B'>{rect}</g></g>")), "A B");
    let illustrator = format!(
        "<!-- Generator: Adobe Illustrator 26.0 -->{}",
        plan(&format!("<g id='Erdgescho_xDF_'><g id='x'>{rect}</g></g>"))
    );
    let read = read(&illustrator);
    assert_eq!(see(&read.drawing)[0].layer, "Erdgeschoß");
    assert_eq!(read.drawing.application.as_deref(), Some("Adobe Illustrator 26.0"));
}

#[test]
fn hidden_things_stay_with_a_mark() {
    let seen = shapes(
        "<style>.off{display:none} #v{visibility:visible}</style>\
         <g class='off'><rect id='a' width='1' height='1'/></g>\
         <g visibility='hidden'><rect id='b' width='1' height='1'/><rect id='v' width='1' height='1'/></g>\
         <text id='t' display='none'>x</text>\
         <rect id='c' width='1' height='1' style='display: none'/>",
    );
    let told: Vec<_> = seen.iter().map(|shape| (shape.id.as_str(), shape.visible)).collect();
    assert_eq!(told, [("a", false), ("b", false), ("v", true), ("t", false), ("c", false)]);
}

#[test]
fn clips_cut_and_nest() {
    let seen = shapes(
        "<defs><clipPath id='c'><rect width='50' height='50'/></clipPath>\
         <clipPath id='d' clip-path='url(#c)'><circle cx='50' cy='50' r='20'/></clipPath>\
         <clipPath id='box' clipPathUnits='objectBoundingBox'><rect width='.5' height='1'/></clipPath>\
         <clipPath id='two'><rect width='20' height='10'/><rect x='10' width='20' height='10'/></clipPath></defs>\
         <g clip-path='url(#c)'><rect id='cut' x='40' y='40' width='40' height='40'/>\
         <rect id='whole' x='4' y='4' width='4' height='4'/><rect id='gone' x='60' width='4' height='4'/></g>\
         <rect id='quarter' width='100' height='100' clip-path='url(#d)'/>\
         <rect id='half' x='10' width='20' height='10' clip-path='url(#box)'/>\
         <rect id='joined' width='100' height='100' clip-path='url(#two)'/>\
         <svg width='10' height='10'><rect id='view' width='100' height='5'/></svg>\
         <svg width='10' height='10' overflow='visible'><rect id='over' width='100' height='5'/></svg>",
    );
    let by_id: BTreeMap<_, _> = seen.iter().map(|shape| (shape.id.as_str(), shape)).collect();
    by_id["cut"].box_is([40.0, 50.0, 50.0, 60.0]);
    by_id["whole"].box_is([4.0, 92.0, 8.0, 96.0]);
    assert!(!by_id["gone"].visible);
    assert!((by_id["quarter"].area - std::f64::consts::PI * 100.0).abs() < 1.0, "{}", by_id["quarter"].area);
    by_id["half"].box_is([10.0, 90.0, 20.0, 100.0]);
    by_id["joined"].box_is([0.0, 90.0, 30.0, 100.0]);
    assert!((by_id["joined"].area - 300.0).abs() < 1e-6);
    by_id["view"].box_is([0.0, 95.0, 10.0, 100.0]);
    by_id["over"].box_is([0.0, 95.0, 100.0, 100.0]);
}

#[test]
fn a_switch_shows_its_first_usable_child() {
    let seen = shapes(
        "<switch><foreignObject requiredExtensions='http://ns.adobe.com/AdobeIllustrator/10.0/'><x/></foreignObject>\
         <g id='shown'><rect id='a' width='1' height='1'/></g><rect id='b' width='1' height='1'/></switch>",
    );
    assert_eq!(seen.iter().map(|shape| shape.id.as_str()).collect::<Vec<_>>(), ["a"]);
}

// R120
#[test]
fn what_is_not_drawn_is_counted() {
    let read = read(plan(
        "<image href='x.png' width='5' height='5'/><foreignObject/><blink/><mesh/>\
         <marker id='m'><path d='M0 0L1 1'/></marker><line x2='5' stroke='red' marker-end='url(#m)'/>\
         <g mask='url(#k)'><rect width='1' height='1'/></g><rect width='1' height='1' filter='url(#f)'/>\
         <sodipodi:namedview/><metadata><rdf:RDF/></metadata>",
    ));
    let counts: Vec<_> = read.drawing.unsupported.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(
        counts,
        [("blink", 1), ("filter", 1), ("foreignObject", 1), ("image", 1), ("marker", 1), ("mask", 1), ("mesh", 1)]
    );
    assert_eq!(read.drawing.census.get("rect"), Some(&2));
    assert_eq!(issue(&read, "SVG154"), 2);
}

#[test]
fn texts_have_place_turn_and_height() {
    let text = only(
        "<g transform='translate(10,90) rotate(-90)'><text x='5' font-size='10' class='label'>Room <tspan>1</tspan></text></g>",
    );
    assert_eq!((text.says.as_str(), text.kind), ("Room 1", "text"));
    assert!((text.points[0].0 - 10.0).abs() < 1e-9 && (text.points[0].1 - 15.0).abs() < 1e-9, "{:?}", text.points);
    assert!((text.rotation - 90.0).abs() < 1e-9 && (text.height - 7.0).abs() < 1e-9);
}

#[test]
fn style_sheets_apply_wherever_they_stand() {
    let seen = shapes(
        "<rect id='a' class='wall' width='1' height='1'/>\
         <style type='text/css'><![CDATA[ .wall{fill:none;stroke:#112233;stroke-width:.5px} ]]></style>",
    );
    assert_eq!((seen[0].kind, seen[0].colour, seen[0].width), ("line", Some(0x112233), 0.5));
}

#[test]
fn a_transform_origin_is_kept_in_place() {
    only("<rect x='40' y='40' width='20' height='10' style='transform: rotate(90deg); transform-origin: 50px 50px'/>")
        .box_is([50.0, 40.0, 60.0, 60.0]);
}

#[test]
fn encodings_and_compression() {
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><svg><text>K\xfcche</text></svg>";
    assert_eq!(see(&read(latin).drawing)[0].says, "Küche");
    let wide: Vec<u8> = "\u{feff}<?xml version='1.0' encoding='UTF-16'?><svg><text>Küche</text></svg>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(see(&read(wide).drawing)[0].says, "Küche");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, plan("<rect id='a' width='1' height='1'/>").as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    assert_eq!(see(&read(&zipped).drawing).len(), 1);
    let options = ReadOptions { limits: Limits { decompressed_bytes: 50, ..Limits::default() }, ..Default::default() };
    assert!(read_with(&zipped, &options).unwrap_err().to_string().contains("limits.decompressed_bytes` = 50"));
    let cut = read_with(&zipped[..zipped.len() - 12], &ReadOptions::default()).unwrap();
    assert_eq!(issue(&cut, "SVG103"), 1);
}

#[test]
fn damaged_files_give_all_before_the_damage() {
    let seen = |svg: &str| {
        let read = read(svg);
        let ids: Vec<_> = see(&read.drawing).into_iter().map(|shape| shape.id).collect();
        (ids.join(" "), read)
    };
    let (ids, cut) = seen("<svg><g><rect id='a' width='1' height='1'/><rect id='b' wid");
    assert_eq!((ids.as_str(), issue(&cut, "SVG104"), issue(&cut, "SVG105")), ("a", 1, 1));
    let (ids, crossed) = seen("<svg><g><a><rect id='a' width='1' height='1'/></g></b></svg>");
    assert_eq!((ids.as_str(), issue(&crossed, "SVG106")), ("a", 2));
    let (ids, bare) = seen("<svg><title>R&D & more &nbsp;</title><text id='t'>A & B &uuml;</text></svg>");
    assert_eq!((ids.as_str(), issue(&bare, "SVG104")), ("t", 0));
    let (ids, prefixed) = seen("<ns0:svg><ns0:rect inkscape:label='x' id='a' width='1' height='1'/></ns0:svg>");
    assert_eq!((ids.as_str(), prefixed.issues.total()), ("a", 1));
    assert!(matches!(read_with("<html><p>no</p></html>", &ReadOptions::default()), Err(ReadError::Malformed { .. })));
    assert!(matches!(read_with("", &ReadOptions::default()), Err(ReadError::Empty)));
}

#[test]
fn entities_are_never_expanded() {
    let bomb = "<!DOCTYPE svg [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><svg><text>&b;</text>\
                <rect width='1' height='1'/></svg>";
    let read = read(bomb);
    let seen = see(&read.drawing);
    assert_eq!(seen[0].says, "&b;");
    assert_eq!((seen.len(), issue(&read, "SVG109")), (2, 1));
}

#[test]
fn bombs_end_with_a_limit_and_its_number() {
    let mut bomb = "<svg><defs><rect id='a0' width='1' height='1'/>".to_owned();
    for level in 1..=12 {
        bomb.push_str(&format!("<g id='a{level}'>{}</g>", format!("<use href='#a{}'/>", level - 1).repeat(10)));
    }
    bomb.push_str("</defs><use href='#a12'/></svg>");
    let error = read_with(&bomb, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`limits.expanded_shapes` = 20000000"), "{error}");

    let tangle: String = (0..12)
        .map(|n| {
            let uses: String = (0..12).filter(|m| *m != n).map(|m| format!("<use href='#t{m}'/>")).collect();
            format!("<g id='t{n}'>{uses}</g>")
        })
        .collect();
    let limits = Limits { expanded_shapes: 10_000, ..Limits::default() };
    let options = ReadOptions { limits, ..Default::default() };
    assert!(matches!(read_with(plan(&tangle), &options), Err(ReadError::Limit { key: "expanded_shapes", .. })));

    let circle = read(plan("<g id='a'><use href='#b'/></g><g id='b'><use href='#a'/><rect width='1' height='1'/></g>"));
    assert!(issue(&circle, "SVG121") > 0);

    let many = format!("<svg>{}</svg>", "<g/>".repeat(1000));
    let options = ReadOptions { limits: Limits { entities: 500, ..Limits::default() }, ..Default::default() };
    assert!(matches!(read_with(many, &options), Err(ReadError::Limit { key: "entities", .. })));
}

#[test]
fn any_depth_is_survived() {
    let deep = |depth: usize| {
        format!(
            "<svg>{}<rect width='1' height='1'/>{}<rect id='last' width='1' height='1'/></svg>",
            "<g>".repeat(depth),
            "</g>".repeat(depth)
        )
    };
    let read_deep = |depth| {
        let read = read(deep(depth));
        (see(&read.drawing).len(), issue(&read, "SVG107"))
    };
    assert_eq!(read_deep(654), (2, 0));
    assert_eq!(read_deep(4000), (2, 0));
    let (shapes, left_out) = read_deep(200_000);
    assert!(shapes == 1 && left_out > 195_000, "{shapes} {left_out}");
}

#[test]
fn units_are_stated_inferred_or_given() {
    let units = |head: &str, options: &ReadOptions| {
        let read = read_with(format!("<svg {head}><rect width='1' height='1'/></svg>"), options).unwrap();
        (read.drawing.units.clone(), issue(&read, "SVG140"))
    };
    let (pixels, warned) = units("width='640' height='480'", &ReadOptions::default());
    assert_eq!((pixels.from.as_str(), pixels.confidence, warned), ("assumed", Some(0.0), 1));
    let given = ReadOptions { metres_per_unit: Some(0.05), ..Default::default() };
    let (stated, warned) = units("width='640' height='480'", &given);
    assert_eq!((stated.from.as_str(), stated.metres_per_unit, warned), ("config", 0.05, 0));
}

/// A small deterministic generator (xorshift), so that mutants are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// One to six changes: a byte, a hole, a cut, a piece of itself, something spicy.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    const SPICE: [&[u8]; 20] = [
        b"\"",
        b"<",
        b">",
        b"&",
        b"/",
        b"-",
        b"1e999",
        b"NaN",
        b"</g>",
        b"<g>",
        b"<use href='#table'/>",
        b"]]>",
        b"\0",
        b"\xff",
        b"<svg viewBox='0 0 1e-300 1'>",
        b" transform='scale(1e200)'",
        b" clip-path='url(#c)'",
        b"<style>*+*{fill:none}",
        b"0,0 ",
        b"M0 0A1 1 0 0 1 1e-320 0",
    ];
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.below(256) as u8,
            1 => drop(bytes.drain(at..(at + random.below(40)).min(bytes.len()))),
            2 => bytes.truncate(at.max(1)),
            3 => {
                let from = random.below(bytes.len());
                let piece = bytes[from..(from + random.below(200)).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            _ => drop(bytes.splice(at..at, SPICE[random.below(SPICE.len())].iter().copied())),
        }
        if bytes.is_empty() {
            bytes.push(b'<');
        }
    }
}

/// Reads and expands; tells whether it could be read.
fn survives(bytes: &[u8]) -> bool {
    let limits = Limits { expanded_shapes: 100_000, ..Limits::default() };
    match read_with(bytes, &ReadOptions { limits, ..Default::default() }) {
        Ok(read) => {
            let _ = see(&read.drawing);
            true
        }
        Err(_) => false,
    }
}

fn svg_files(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn four_hundred_mutants_neither_panic_nor_grow() {
    let sources = svg_files(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/svg"));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut num_read = 0;
    for round in 0..400 {
        let mut bytes = sources[round % sources.len()].clone();
        mutate(&mut bytes, &mut random);
        num_read += u32::from(survives(&bytes));
    }
    assert!(num_read > 300, "{num_read} read");
}

/// `PLAN2GEO_SVG_FOLDER=… PLAN2GEO_MINUTES=20 cargo test --test main svg::mutants_for -- --ignored --nocapture`
#[test]
#[ignore = "runs as long as PLAN2GEO_MINUTES says"]
fn mutants_for_some_minutes() {
    let minutes: u64 = std::env::var("PLAN2GEO_MINUTES").unwrap().parse().unwrap();
    let mut sources = svg_files(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/svg"));
    if let Ok(folder) = std::env::var("PLAN2GEO_SVG_FOLDER") {
        sources.extend(svg_files(folder.as_ref()).into_iter().filter(|bytes| bytes.len() < 60_000));
    }
    let begun = std::time::Instant::now();
    let (mut num_mutants, mut num_read, mut slowest) = (0u64, 0u64, std::time::Duration::ZERO);
    while begun.elapsed().as_secs() < minutes * 60 {
        let mut random = Random(1 | 0x9e37_79b9_7f4a_7c15 ^ (num_mutants + 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut bytes = sources[random.below(sources.len())].clone();
        mutate(&mut bytes, &mut random);
        let started = std::time::Instant::now();
        match std::panic::catch_unwind(|| survives(&bytes)) {
            Ok(read) => num_read += u64::from(read),
            Err(_) => {
                let path = std::env::temp_dir().join(format!("svg-mutant-{num_mutants}.svg"));
                std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), &bytes).unwrap();
                panic!("mutant {num_mutants} panicked, see {}", path.display());
            }
        }
        slowest = slowest.max(started.elapsed());
        num_mutants += 1;
    }
    println!("{num_mutants} mutants, {num_read} read, the slowest took {slowest:?}");
}

#[test]
fn every_cut_of_a_file_is_read_or_refused() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/svg/styles.svg");
    let bytes = std::fs::read(file).unwrap();
    let mut num_shapes = 0;
    for end in (1..bytes.len()).step_by(7) {
        if let Ok(read) = read_with(&bytes[..end], &ReadOptions::default()) {
            let found = read.drawing.items.len();
            assert!(found >= num_shapes || end < 700, "shapes are lost at byte {end}");
            num_shapes = num_shapes.max(found);
        }
    }
    assert!(num_shapes >= 10);
}
