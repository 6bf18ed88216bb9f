//! Openings drawn as people draw them, by hand and one by one: on layer 0, where nothing but shape tells what they are,
//! and turned by an odd angle; and on layers with names.

use plan2geo::drawing::expand::CircularArc;
use plan2geo::drawing::{Point, Vec2};
use plan2geo::plan::{Opening, OpeningKind, Plan, PlanOptions, Side, derive};

use crate::support::sketch;

const TURN_DEG: f64 = 17.3;

/// What is drawn: strokes, each on the layer of walls or of doors.
#[derive(Default, Clone)]
struct Sketch {
    strokes: Vec<Stroke>,
}

#[derive(Clone)]
struct Stroke {
    points: Vec<Point>,
    closed: bool,
    arc: Option<CircularArc>,
    door: bool,
}

impl Sketch {
    /// Two rooms of 3.9 m × 4 m, walls of 0.2 m; the wall between them (x from 4.1 to 4.3) lacks `from..to` in y.
    fn two_rooms(from: f64, to: f64) -> Self {
        let mut sketch = Self::default();
        sketch.wall(&[[0.0, 0.0], [8.4, 0.0], [8.4, 4.4], [0.0, 4.4], [0.0, 0.0]]);
        // The faces of each room, with the jambs.
        sketch.wall(&[[4.1, from], [4.1, 0.2], [0.2, 0.2], [0.2, 4.2], [4.1, 4.2]]);
        sketch.wall(&[[4.3, from], [4.3, 0.2], [8.2, 0.2], [8.2, 4.2], [4.3, 4.2]]);
        sketch.wall(&[[4.1, from], [4.3, from]]);
        if to < 4.2 {
            sketch.wall(&[[4.1, 4.2], [4.1, to], [4.3, to], [4.3, 4.2]]);
        } else {
            sketch.wall(&[[4.1, 4.2], [4.3, 4.2]]);
        }
        sketch
    }

    /// The same with walls of one line.
    fn two_rooms_of_lines(from: f64, to: f64) -> Self {
        let mut sketch = Self::default();
        sketch.wall(&[[0.0, 0.0], [8.4, 0.0], [8.4, 4.4], [0.0, 4.4], [0.0, 0.0]]);
        sketch.wall(&[[4.2, 0.0], [4.2, from]]);
        sketch.wall(&[[4.2, to], [4.2, 4.4]]);
        sketch
    }

    fn wall(&mut self, points: &[[f64; 2]]) {
        for pair in points.windows(2) {
            self.stroke(pair, false, false);
        }
    }

    fn stroke(&mut self, points: &[[f64; 2]], closed: bool, door: bool) {
        let points = points.iter().map(|[x, y]| Point::new(*x, *y)).collect();
        self.strokes.push(Stroke { points, closed, arc: None, door });
    }

    /// A leaf as a thin box.
    fn leaf(mut self, x: [f64; 2], y: [f64; 2]) -> Self {
        self.stroke(&[[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]], true, true);
        self
    }

    /// A leaf as one line.
    fn line(mut self, points: &[[f64; 2]]) -> Self {
        self.stroke(points, false, true);
        self
    }

    /// A quarter arc from the closed to the open leaf, degrees.
    fn swing(mut self, hinge: [f64; 2], radius: f64, closed_deg: f64, open_deg: f64) -> Self {
        let centre = Point::new(hinge[0], hinge[1]);
        let (start, sweep) = (closed_deg.to_radians(), (open_deg - closed_deg).to_radians());
        let at = |part: f64| centre + Vec2::from_angle(start + sweep * part) * radius;
        let points = (0..=16).map(|step| at(f64::from(step) / 16.0)).collect();
        let arc = Some(CircularArc { centre, radius, towards_first: Vec2::from_angle(start) * radius, sweep });
        self.strokes.push(Stroke { points, closed: false, arc, door: true });
        let open = at(1.0);
        self.line(&[hinge, [open.x, open.y]])
    }

    fn plan(&self, walls: &str, doors: &str) -> Plan {
        let options = PlanOptions::default();
        let angle = TURN_DEG.to_radians();
        let turn = |point: Point| {
            let (sin, cos) = angle.sin_cos();
            Point::new(point.x * cos - point.y * sin, point.x * sin + point.y * cos)
        };
        let strokes = self.strokes.iter().map(|stroke| {
            let arc = stroke.arc.map(|arc| {
                let first = turn(Point::ZERO + arc.towards_first);
                CircularArc { centre: turn(arc.centre), towards_first: first - Point::ZERO, ..arc }
            });
            sketch::Stroke {
                layer: if stroke.door { doors } else { walls },
                points: stroke.points.iter().map(|point| turn(*point)).collect(),
                closed: stroke.closed,
                arc,
            }
        });
        derive(&sketch::input(strokes.collect(), &options), &options, &|| Ok(())).unwrap()
    }

    /// Both ways of drawing it give one opening of this kind and width between the two rooms.
    fn has_one(&self, kind: OpeningKind, width: f64) {
        for (walls, doors) in [("0", "0"), ("A-WALL", "A-DOOR")] {
            let plan = self.plan(walls, doors);
            let areas: Vec<f64> = plan.rooms.iter().map(|room| room.area_m2).collect();
            let seen: Vec<String> = plan.openings.iter().map(told).collect();
            assert_eq!(areas.len(), 2, "{walls}: {areas:?} {seen:?}");
            let [opening] = &plan.openings[..] else { panic!("{walls}: {seen:?}") };
            assert_eq!(opening.kind, kind, "{walls}: {seen:?}");
            assert!((opening.width_m - width).abs() < 0.011, "{walls}: {seen:?}");
            let rooms: Vec<bool> = opening.sides.iter().map(|side| matches!(side, Side::Room(_))).collect();
            assert!(rooms == [true, true] && opening.sides[0] != opening.sides[1], "{walls}: {seen:?}");
            assert!((areas[0] - areas[1]).abs() < 0.02, "{walls}: {areas:?}");
            assert!(plan.adjacency.unreachable.is_empty());
        }
    }
}

fn told(opening: &Opening) -> String {
    format!("{:?} {:.3} m, {:?}: {}", opening.kind, opening.width_m, opening.sides, opening.reason)
}

#[test]
fn a_gap_with_nothing_in_it() {
    Sketch::two_rooms(1.5, 2.4).has_one(OpeningKind::Gap, 0.9);
    Sketch::two_rooms_of_lines(1.5, 2.4).has_one(OpeningKind::Gap, 0.9);
}

#[test]
fn a_gap_between_the_end_of_a_wall_and_another_wall() {
    Sketch::two_rooms(3.2, 4.2).has_one(OpeningKind::Gap, 1.0);
}

#[test]
fn swings_with_their_leaves() {
    Sketch::two_rooms(1.5, 2.4).swing([4.1, 1.5], 0.9, 90.0, 180.0).has_one(OpeningKind::Door, 0.9);
    Sketch::two_rooms_of_lines(1.5, 2.4).swing([4.2, 1.5], 0.9, 90.0, 0.0).has_one(OpeningKind::Door, 0.9);
    Sketch::two_rooms(1.2, 2.8)
        .swing([4.1, 1.2], 0.8, 90.0, 180.0)
        .swing([4.1, 2.8], 0.8, 270.0, 180.0)
        .has_one(OpeningKind::DoubleDoor, 1.6);
}

#[test]
fn two_leaves_that_slide_past_each_other() {
    let gap = || Sketch::two_rooms(1.5, 3.0);
    gap().leaf([4.13, 4.17], [1.5, 2.35]).leaf([4.22, 4.26], [2.15, 3.0]).has_one(OpeningKind::SlidingDoor, 1.5);
    gap().line(&[[4.16, 1.5], [4.16, 2.35]]).line(&[[4.24, 2.15], [4.24, 3.0]]).has_one(OpeningKind::SlidingDoor, 1.5);
    Sketch::two_rooms_of_lines(1.5, 3.0)
        .leaf([4.15, 4.19], [1.5, 2.35])
        .leaf([4.21, 4.25], [2.15, 3.0])
        .has_one(OpeningKind::SlidingDoor, 1.5);
}

#[test]
fn three_leaves_one_behind_the_other() {
    Sketch::two_rooms(1.0, 3.4)
        .leaf([4.12, 4.15], [1.0, 1.9])
        .leaf([4.18, 4.21], [1.75, 2.65])
        .leaf([4.24, 4.27], [2.5, 3.4])
        .has_one(OpeningKind::SlidingDoor, 2.4);
}

#[test]
fn a_leaf_that_slides_along_the_wall_beside_its_gap() {
    // Open, closed, and half-way.
    for shift in [0.0, -0.9, -0.5] {
        Sketch::two_rooms(1.5, 2.4)
            .leaf([4.32, 4.36], [2.38 + shift, 3.33 + shift])
            .has_one(OpeningKind::SlidingDoor, 0.9);
    }
}

#[test]
fn a_leaf_that_slides_into_a_pocket_of_the_wall() {
    for shift in [0.0, -0.3, -0.6] {
        Sketch::two_rooms(1.5, 2.4)
            .leaf([4.18, 4.22], [2.4 + shift, 3.3 + shift])
            .has_one(OpeningKind::SlidingDoor, 0.9);
    }
}

/// Rectangles as closed polylines, and lines, each on its layer: `[left, bottom, right, top]`.
fn boxes_and_lines(boxes: &[(&str, [f64; 4])], lines: &[(&str, [f64; 4])]) -> Plan {
    let options = PlanOptions::default();
    let boxes = boxes.iter().map(|(layer, [left, bottom, right, top])| sketch::Stroke {
        layer,
        points: [[left, bottom], [right, bottom], [right, top], [left, top]].map(|[x, y]| Point::new(*x, *y)).to_vec(),
        closed: true,
        arc: None,
    });
    let lines =
        lines.iter().map(|(layer, [x, y, u, v])| sketch::Stroke::line(layer, Point::new(*x, *y), Point::new(*u, *v)));
    derive(&sketch::input(boxes.chain(lines).collect(), &options), &options, &|| Ok(())).unwrap()
}

#[test]
fn corners_of_walls_are_no_ends_where_a_corridor_goes_round() {
    // A corridor 1.5 m wide around a core, whose walls are drawn piece by piece.
    for layer in ["0", "A-WALL"] {
        let walls = [
            (layer, [0.0, 0.0, 10.0, 10.0]),
            (layer, [0.2, 0.2, 9.8, 9.8]),
            (layer, [1.7, 1.7, 8.3, 1.82]),
            (layer, [1.7, 8.18, 8.3, 8.3]),
            (layer, [1.7, 1.82, 1.82, 8.18]),
            (layer, [8.18, 1.82, 8.3, 8.18]),
        ];
        let plan = boxes_and_lines(&walls, &[]);
        let seen: Vec<String> = plan.openings.iter().map(told).collect();
        assert_eq!((plan.rooms.len(), seen.len()), (2, 0), "{layer}: {seen:?}");
    }
}

/// A room with walls of lines at the `depths`, and two windows of lines at the `panes` in its lower wall.
fn two_windows<'a>(
    wall: &'a str,
    glass: &'a str,
    depths: &[f64],
    panes: &[f64],
    boxes: &[(&str, [f64; 4])],
    more: &[(&'a str, [f64; 4])],
) -> Plan {
    let mut lines = more.to_vec();
    for &d in depths {
        lines.extend([[d, 2.0], [3.2, 5.0], [6.2, 8.0 - d]].map(|[from, to]| (wall, [from, d, to, d])));
        lines.push((wall, [d, 5.0 - d, 8.0 - d, 5.0 - d]));
        lines.extend([d, 8.0 - d].map(|x| (wall, [x, d, x, 5.0 - d])));
    }
    let thickness = depths.iter().copied().fold(0.0, f64::max);
    lines.extend([2.0, 3.2, 5.0, 6.2].map(|x| (wall, [x, 0.0, x, thickness])));
    for from in [2.0, 5.0] {
        lines.extend(panes.iter().map(|y| (glass, [from, *y, from + 1.2, *y])));
    }
    let plan = boxes_and_lines(boxes, &lines);
    let seen: Vec<String> = plan.openings.iter().map(told).collect();
    assert_eq!(plan.openings.len(), 2, "{wall}: {seen:?}");
    for opening in &plan.openings {
        assert_eq!(opening.kind, OpeningKind::Window, "{wall}: {seen:?}");
        assert!((opening.width_m - 1.2).abs() < 0.01, "{wall}: {seen:?}");
        assert!(opening.depth_m.is_some_and(|depth| (depth - thickness).abs() < 0.01), "{:?}", opening.depth_m);
    }
    assert_eq!(plan.rooms.len(), 1, "{wall}");
    let net = (8.0 - 2.0 * thickness) * (5.0 - 2.0 * thickness);
    assert!((plan.rooms[0].area_m2 - net).abs() < 0.02, "{wall}: {} m²", plan.rooms[0].area_m2);
    plan
}

#[test]
fn layers_of_a_wall_are_no_windows() {
    for (wall, glass) in [("A-WALL", "A-GLAZ"), ("0", "0")] {
        two_windows(wall, glass, &[0.0, 0.12, 0.24, 0.42], &[0.0, 0.18, 0.24, 0.42], &[], &[]);
    }
}

#[test]
fn frames_and_sills_of_windows_are_no_walls() {
    // Frames at both jambs and in the middle; a sill before the wall.
    let frame = |x: f64| ("0", [x, 0.115, x + 0.06, 0.185]);
    let frames: Vec<_> = [2.0, 5.0].into_iter().flat_map(|x| [x, x + 0.57, x + 1.14]).map(frame).collect();
    let sill = |x: f64| [[x - 0.06, -0.06, x + 1.26, -0.06], [x + 1.26, -0.06, x + 1.26, 0.0]].map(|line| ("0", line));
    let sills: Vec<_> = [2.0, 5.0].into_iter().flat_map(sill).collect();
    for panes in [&[0.0, 0.15, 0.3][..], &[0.0, 0.12, 0.18, 0.3]] {
        two_windows("0", "0", &[0.0, 0.3], panes, &frames, &[]);
        two_windows("0", "0", &[0.0, 0.3], panes, &frames, &sills);
    }
}
