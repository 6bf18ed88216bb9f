//! What is a wall where no name says so: plans of one layer with frames, title blocks, windows, furniture, wide lines and
//! fills among the walls.

use plan2geo::drawing::expand::CircularArc;
use plan2geo::drawing::{Point, Vec2};
use plan2geo::kernel::{ConvertOptions, Document, convert};
use plan2geo::plan::{OpeningKind, Plan, PlanOptions, derive};

use crate::support::sketch::{self, Stroke};
use crate::support::{collection, room_areas};

type Line = [f64; 4];

fn plan(strokes: Vec<Stroke<'_>>) -> Plan {
    let options = PlanOptions::default();
    derive(&sketch::input(strokes, &options), &options, &|| Ok(())).unwrap()
}

fn line<'a>(layer: &'a str, [x0, y0, x1, y1]: Line) -> Stroke<'a> {
    Stroke::line(layer, Point::new(x0, y0), Point::new(x1, y1))
}

fn closed<'a>(layer: &'a str, [x0, y0, x1, y1]: Line) -> Stroke<'a> {
    let points = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)].map(|(x, y)| Point::new(x, y)).to_vec();
    Stroke { layer, points, closed: true, arc: None }
}

fn polyline<'a>(layer: &'a str, points: &[[f64; 2]]) -> Stroke<'a> {
    Stroke { layer, points: points.iter().map(|[x, y]| Point::new(*x, *y)).collect(), closed: false, arc: None }
}

/// A quarter of a circle about the hinge, with its leaf.
fn door<'a>(layer: &'a str, hinge: [f64; 2], radius: f64, closed_deg: f64, open_deg: f64) -> Vec<Stroke<'a>> {
    let centre = Point::new(hinge[0], hinge[1]);
    let tip = |degrees: f64| centre + radius * Vec2::from_angle(degrees.to_radians());
    let points = (0..=12).map(|step| tip(closed_deg + (open_deg - closed_deg) * f64::from(step) / 12.0)).collect();
    let sweep = (open_deg - closed_deg).to_radians();
    let towards_first = Vec2::from_angle(closed_deg.to_radians());
    let arc = Some(CircularArc { centre, radius, towards_first, sweep });
    vec![Stroke { layer, points, closed: false, arc }, Stroke::line(layer, centre, tip(open_deg))]
}

fn areas(plan: &Plan) -> Vec<f64> {
    let mut areas: Vec<f64> = plan.rooms.iter().map(|room| room.area_m2).collect();
    areas.sort_by(f64::total_cmp);
    areas
}

fn assert_areas(found: &[f64], wanted: &[f64]) {
    let equal = found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 0.02 * b);
    assert!(equal, "{found:?}, wanted {wanted:?}");
}

/// Three rooms of 4 m by 6 m in walls of one line, with windows as boxes in the long fronts, half of which lie in the rooms.
fn single_rooms() -> Vec<Stroke<'static>> {
    let mut strokes: Vec<Stroke<'_>> = [
        [0.0, 0.0, 12.0, 0.0],
        [12.0, 0.0, 12.0, 6.0],
        [12.0, 6.0, 0.0, 6.0],
        [0.0, 6.0, 0.0, 0.0],
        [4.0, 0.0, 4.0, 6.0],
        [8.0, 0.0, 8.0, 6.0],
    ]
    .map(|wall| line("0", wall))
    .to_vec();
    for x in [0.5, 4.5, 8.5] {
        for y in [0.0, 6.0] {
            strokes.push(closed("0", [x, y - 0.15, x + 3.0, y + 0.15]));
        }
    }
    strokes
}

/// A sheet of 30 m by 20 m around the origin's drawing: two rectangles, a title block in its corner, marks of its fields.
fn sheet() -> Vec<Stroke<'static>> {
    let mut strokes = vec![closed("0", [-9.0, -7.0, 21.0, 13.0]), closed("0", [-8.7, -6.7, 20.7, 12.7])];
    strokes.push(closed("0", [14.7, -6.7, 20.7, -3.7]));
    strokes.extend([1, 2, 3, 4].map(|row| {
        let y = -6.7 + 0.6 * f64::from(row);
        line("0", [14.7, y, 20.7, y])
    }));
    strokes.extend([0.0, 10.0].map(|x| line("0", [x, 12.7, x, 13.0])));
    strokes
}

#[test]
fn a_double_frame_does_not_make_walls_double() {
    assert_areas(&areas(&plan(single_rooms())), &[23.1; 3]);
    let strokes = [sheet(), single_rooms()].concat();
    assert_areas(&areas(&plan(strokes)), &[23.1; 3]);
}

#[test]
fn a_frame_and_its_title_block_are_no_rooms_around_walls_of_two_faces() {
    let ring = |at: f64| closed("0", [at, at, 12.0 - at, 6.0 - at]);
    let strokes = [sheet(), vec![ring(0.0), ring(0.25)]].concat();
    let found = plan(strokes);
    assert_areas(&areas(&found), &[11.5 * 5.5]);
    // Walls as near to each other as two rings are none: here the inner one has a wall of its own across.
    let hall = vec![ring(0.0), ring(0.25), line("0", [6.0, 0.25, 6.0, 5.75]), line("0", [6.2, 0.25, 6.2, 5.75])];
    assert_eq!(plan(hall).rooms.len(), 2);
}

#[test]
fn lines_as_wide_as_walls_are_walls_on_any_layer() {
    let mut dxf = String::from("0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n6\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n");
    let mut wide = |points: &[[f64; 2]], closed: bool, width: f64| {
        dxf += &format!("0\nLWPOLYLINE\n8\n0\n90\n{}\n70\n{}\n43\n{width}\n", points.len(), u8::from(closed));
        for [x, y] in points {
            dxf += &format!("10\n{x}\n20\n{y}\n");
        }
    };
    wide(&[[0.0, 0.0], [10.0, 0.0], [10.0, 5.0], [0.0, 5.0]], true, 0.3);
    wide(&[[4.0, 0.0], [4.0, 5.0]], false, 0.1);
    dxf += "0\nENDSEC\n0\nEOF\n";
    let document = Document { name: "wide.dxf", ..Document::default() };
    let converted = convert(dxf.into_bytes(), &document, ConvertOptions::default()).unwrap();
    assert_areas(&room_areas(&collection(converted)), &[3.8 * 4.7, 5.8 * 4.7]);
}

#[test]
fn a_short_fill_between_a_wall_and_an_opening_is_a_wall() {
    let mut svg = String::from(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="8000mm" height="6000mm" viewBox="0 0 8000 6000">"#,
    );
    let fills = [
        [0, 0, 8000, 250],
        [0, 5750, 8000, 250],
        [0, 250, 250, 5500],
        [7750, 250, 250, 5500],
        // A wall in two parts with the stub of another one between them, which goes on behind an opening.
        [2000, 250, 120, 2750],
        [2000, 3180, 120, 2570],
        [2000, 3000, 290, 180],
        [3190, 3000, 4560, 180],
    ];
    for [x, y, wide, high] in fills {
        svg.push_str(&format!(r#"<path d="M{x} {y}h{wide}v{high}h-{wide}z"/>"#));
    }
    svg.push_str("</svg>");
    let document = Document { name: "fills.svg", ..Document::default() };
    let converted = convert(svg.into_bytes(), &document, ConvertOptions::default()).unwrap();
    assert_areas(&room_areas(&collection(converted)), &[1.75 * 5.5, 5.63 * 2.57, 5.63 * 2.75]);
}

#[test]
fn what_is_drawn_in_furniture_makes_it_no_wall() {
    let faces = |strokes: &mut Vec<Stroke<'_>>| {
        strokes.extend([closed("0", [0.0, 0.0, 8.4, 4.4]), closed("0", [0.2, 0.2, 4.1, 4.2])]);
        strokes.push(closed("0", [4.3, 0.2, 8.2, 4.2]));
    };
    let mut strokes = Vec::new();
    faces(&mut strokes);
    // A sofa with its back to the wall: arms and back are as wide as walls are thick.
    strokes.push(closed("0", [0.22, 1.0, 1.12, 3.0]));
    strokes.push(polyline("0", &[[1.12, 1.2], [0.42, 1.2], [0.42, 2.8], [1.12, 2.8]]));
    let found = plan(strokes);
    assert_areas(&areas(&found), &[3.9 * 4.0; 2]);
    assert!(found.openings.is_empty(), "{:?}", found.openings);
}

#[test]
fn a_bare_gap_beside_a_wall_with_a_door_in_it_is_closed() {
    // A corridor along two rooms; a light wall with a door across it ends the part that the bare gap leads to.
    let mut strokes = vec![closed("A-WALL", [0.0, 0.0, 12.0, 10.0])];
    let boxes = [
        [0.0, 0.0, 12.0, 0.25],
        [0.0, 9.75, 12.0, 10.0],
        [0.0, 0.25, 0.25, 9.75],
        [11.75, 0.25, 12.0, 9.75],
        // South of the corridor: a gap from 3.8 to 5; north of it: a door from 4 to 5.
        [0.25, 5.0, 3.8, 5.25],
        [5.0, 5.0, 11.75, 5.25],
        [0.25, 6.75, 4.0, 7.0],
        [5.0, 6.75, 11.75, 7.0],
        [5.16, 5.25, 5.28, 5.46],
        [5.16, 6.46, 5.28, 6.75],
    ];
    strokes.extend(boxes.map(|faces| closed("A-WALL", faces)));
    strokes.extend(door("A-DOOR", [5.16, 5.46], 1.0, 90.0, 180.0));
    strokes.extend(door("A-DOOR", [4.0, 7.0], 1.0, 0.0, 90.0));
    let found = plan(strokes);
    assert_areas(&areas(&found), &[1.5 * 4.91, 1.5 * 6.47, 11.5 * 2.75, 11.5 * 4.75]);
    let gaps = found.openings.iter().filter(|opening| opening.kind == OpeningKind::Gap).count();
    assert_eq!((found.openings.len(), gaps), (3, 1));
}

/// Two rows of the same exploded dimension stand as near to each other as the faces of a thick wall; grid lines cross them.
#[test]
fn rows_of_dimensions_are_no_room() {
    let mut dxf = String::from("0\nSECTION\n2\nHEADER\n9\n$INSUNITS\n70\n6\n0\nENDSEC\n0\nSECTION\n2\nENTITIES\n");
    let mut line = |[x0, y0, x1, y1]: Line| {
        dxf += &format!("0\nLINE\n8\n0\n10\n{x0}\n20\n{y0}\n11\n{x1}\n21\n{y1}\n");
    };
    let mut ring = |[x0, y0, x1, y1]: Line| {
        for side in [[x0, y0, x1, y0], [x1, y0, x1, y1], [x1, y1, x0, y1], [x0, y1, x0, y0]] {
            line(side);
        }
    };
    ring([0.0, 0.0, 12.36, 6.27]);
    ring([0.3, 0.3, 6.0, 5.98]);
    ring([6.3, 0.3, 12.06, 5.98]);
    for y in [-1.6, -2.2] {
        line([0.0, y, 12.36, y]);
        for x in [0.0, 12.36] {
            line([x, -0.6, x, y - 0.1]);
            line([x - 0.07, y - 0.07, x + 0.07, y + 0.07]);
        }
    }
    line([-1.6, 0.0, -1.6, 6.27]);
    for y in [0.0, 6.27] {
        line([-0.6, y, -1.7, y]);
        line([-1.67, y - 0.07, -1.53, y + 0.07]);
    }
    for x in [4.1, 7.7] {
        line([x, -4.0, x, 8.0]);
    }
    for (x, y, turned, figure) in [(6.0, -1.5, 0, "12.36"), (6.0, -2.1, 0, "12.36"), (-1.7, 3.0, 90, "6.27")] {
        dxf += &format!("0\nTEXT\n8\n0\n10\n{x}\n20\n{y}\n40\n0.12\n50\n{turned}\n1\n{figure}\n");
    }
    dxf += "0\nENDSEC\n0\nEOF\n";
    let document = Document { name: "dimensions.dxf", ..Document::default() };
    let converted = convert(dxf.into_bytes(), &document, ConvertOptions::default()).unwrap();
    assert_areas(&room_areas(&collection(converted)), &[5.7 * 5.68, 5.76 * 5.68]);
}
