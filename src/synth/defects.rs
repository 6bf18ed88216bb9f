//! Faults put into the wall lines of a finished sketch. The truth does not change: it is what was meant.

use super::layout::{Point, length, point};
use super::random::Random;
use super::sketch::{Mark, Role, Shape, Sketch, Vertex};
use super::spec::Defects;

/// Greatest gap between wall ends, metres.
pub const GAP: f64 = 0.008;
/// Greatest overshoot of wall ends, metres.
pub const OVERSHOOT: f64 = 0.012;
/// Greatest error of a wall coordinate, metres.
pub const JITTER: f64 = 0.0004;

/// Applies every fault of `defects` that concerns wall lines.
pub fn apply(sketch: &mut Sketch, defects: &Defects, random: &Random) {
    let (mut walls, mut rest): (Vec<Mark>, Vec<Mark>) = std::mem::take(&mut sketch.marks)
        .into_iter()
        .partition(|mark| matches!(mark.role, Role::WallOuter | Role::WallInner) && !mark.paper);
    if defects.broken_walls {
        walls = broken(walls, &mut random.fork("broken"));
    }
    if defects.gap || defects.overshoot {
        ends(&mut walls, defects, &mut random.fork("ends"));
    }
    if defects.duplicate {
        duplicates(&mut walls, &mut random.fork("duplicate"));
    }
    if defects.jitter {
        jitter(&mut walls, &mut random.fork("jitter"));
    }
    walls.append(&mut rest);
    sketch.marks = walls;
}

/// Lines in two or three collinear pieces, some reversed, in random order. Closed polylines become lines here
/// and there, as after an explode.
fn broken(walls: Vec<Mark>, random: &mut Random) -> Vec<Mark> {
    let mut pieces = Vec::new();
    for mark in walls {
        match &mark.shape {
            Shape::Line(a, b) if length(*b - *a) > 0.5 && random.chance(0.35) => {
                let count = random.whole(2, 3);
                let mut from = *a;
                for index in 1..=count {
                    let share =
                        if index == count { 1.0 } else { (index as f64 + random.between(-0.3, 0.3)) / count as f64 };
                    let to = *a + (*b - *a) * share;
                    pieces.push(Mark { shape: oriented(from, to, random), ..mark.clone() });
                    from = to;
                }
            }
            Shape::Polyline { vertices, closed: true } if random.chance(0.2) => {
                for (index, vertex) in vertices.iter().enumerate() {
                    let next = vertices[(index + 1) % vertices.len()].at;
                    pieces.push(Mark { shape: super::draft::edge(vertex.at, next, vertex.bulge), ..mark.clone() });
                }
            }
            _ => pieces.push(mark),
        }
    }
    random.shuffle(&mut pieces);
    pieces
}

fn oriented(a: Point, b: Point, random: &mut Random) -> Shape {
    if random.chance(0.3) { Shape::Line(b, a) } else { Shape::Line(a, b) }
}

/// Moves ends along their lines: outward for overshoots, inward for gaps. Closed polylines lose their last bit.
fn ends(walls: &mut [Mark], defects: &Defects, random: &mut Random) {
    let shift = |random: &mut Random| {
        let gap = defects.gap && (!defects.overshoot || random.chance(0.5));
        if !random.chance(0.2) {
            0.0
        } else if gap {
            -random.between(0.0005, GAP)
        } else {
            random.between(0.0005, OVERSHOOT)
        }
    };
    for mark in walls {
        match &mut mark.shape {
            Shape::Line(a, b) if length(*b - *a) > 0.06 => {
                let along = (*b - *a) / length(*b - *a);
                *a = *a - along * shift(random);
                *b = *b + along * shift(random);
            }
            Shape::Polyline { vertices, closed } if *closed && defects.gap && random.chance(0.15) => {
                let (Some(first), Some(last)) = (vertices.first().copied(), vertices.last().copied()) else { continue };
                let size = length(first.at - last.at);
                if last.bulge == 0.0 && size > 0.06 {
                    let missing = random.between(0.0005, GAP);
                    let at = first.at + (last.at - first.at) / size * missing;
                    vertices.push(Vertex { at, bulge: 0.0 });
                    *closed = false;
                }
            }
            _ => {}
        }
    }
}

/// Lines drawn again, whole, in part, or longer than the first.
fn duplicates(walls: &mut Vec<Mark>, random: &mut Random) {
    let mut again = Vec::new();
    for mark in walls.iter() {
        if !random.chance(0.12) {
            continue;
        }
        let shape = match &mark.shape {
            Shape::Line(a, b) if random.chance(0.5) => {
                let (low, high) = (random.between(0.0, 0.4), random.between(0.6, 1.0));
                oriented(*a + (*b - *a) * low, *a + (*b - *a) * high, random)
            }
            other => other.clone(),
        };
        again.push(Mark { shape, ..mark.clone() });
    }
    walls.append(&mut again);
}

fn jitter(walls: &mut [Mark], random: &mut Random) {
    let off = |p: &mut Point, random: &mut Random| {
        *p = *p + point(random.between(-JITTER, JITTER), random.between(-JITTER, JITTER));
    };
    for mark in walls {
        match &mut mark.shape {
            Shape::Line(a, b) => {
                off(a, random);
                off(b, random);
            }
            Shape::Polyline { vertices, .. } => {
                for vertex in vertices {
                    off(&mut vertex.at, random);
                }
            }
            _ => {}
        }
    }
}
