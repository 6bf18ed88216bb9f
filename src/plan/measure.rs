//! Arcs that may be swings of doors, exact ones and such as were flattened before they came here.
//!
//! Nothing is known of the scale yet: what the arcs mean is told by the leaves beside them (`symbols.rs`), and what
//! their radii say about the unit by `units.rs`.

use super::Role;
use super::classify::Roles;
use super::input::{Drawn, Input, NONE};
use crate::drawing::Point;

/// A circular arc that may be the swing of a door.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwingArc {
    pub centre: Point,
    pub radius: f64,
    /// Ends.
    pub ends: [Point; 2],
    /// Its middle.
    pub middle: Point,
    /// Included angle, degrees, positive.
    pub sweep_deg: f64,
    pub item: u32,
    pub group: u32,
    pub role: Role,
}

/// All open arcs with a sweep that doors have, exact ones and such as were flattened before.
pub(crate) fn swing_arcs(input: &Input, roles: &Roles) -> Vec<SwingArc> {
    let mut arcs = Vec::new();
    for (number, item) in input.items.iter().enumerate() {
        let role = roles.items[number];
        let fits =
            matches!(role, Role::Door | Role::Unknown | Role::Wall | Role::Window | Role::Room | Role::Annotation)
                && item.drawn == Drawn::Lines;
        if !fits {
            continue;
        }
        let mut take = |centre: Point, radius: f64, ends: [Point; 2], middle: Point, sweep_deg: f64| {
            if (25.0..=200.0).contains(&sweep_deg) && radius > 0.0 {
                let item_number = number as u32;
                arcs.push(SwingArc {
                    centre,
                    radius,
                    ends,
                    middle,
                    sweep_deg,
                    item: item_number,
                    group: item.group,
                    role,
                });
            }
        };
        if item.arc != NONE {
            let arc = input.arcs[item.arc as usize];
            let turned = |angle: f64| {
                let (sin, cos) = angle.sin_cos();
                let way = arc.towards_first;
                arc.centre + crate::drawing::Vec2::new(way.x * cos - way.y * sin, way.x * sin + way.y * cos)
            };
            let ends = [arc.centre + arc.towards_first, turned(arc.sweep)];
            take(arc.centre, arc.radius, ends, turned(0.5 * arc.sweep), arc.sweep.abs().to_degrees());
            continue;
        }
        for (points, _) in input.subpaths(item) {
            for run in curved_runs(points) {
                if let Some((centre, radius, sweep)) = fit_arc(run) {
                    let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
                    take(centre, radius, [*first, *last], run[run.len() / 2], sweep.to_degrees());
                }
            }
        }
    }
    arcs
}

/// Maximal runs of a polyline in which every turn is small and to the same side.
fn curved_runs(points: &[Point]) -> Vec<&[Point]> {
    let mut runs = Vec::new();
    if points.len() < 4 || points.len() > 400 {
        return runs;
    }
    let turn = |at: usize| {
        let (u, v) = (points[at] - points[at - 1], points[at + 1] - points[at]);
        u.cross(v).atan2(u.dot(v))
    };
    let mut start = 0usize;
    let mut sign = 0.0f64;
    for at in 1..points.len() - 1 {
        let angle = turn(at);
        let smooth = angle.abs() > 1e-3 && angle.abs() < 0.6;
        if smooth && (sign == 0.0 || angle.signum() == sign) {
            sign = angle.signum();
            continue;
        }
        if sign != 0.0 && at - start >= 3 {
            runs.push(&points[start..=at]);
        }
        start = if smooth { at - 1 } else { at };
        sign = if smooth { angle.signum() } else { 0.0 };
    }
    if sign != 0.0 && points.len() - start >= 4 {
        runs.push(&points[start..]);
    }
    runs
}

/// Centre, radius and included angle of points on a circle; `None` if they are off it by more than 2 %.
fn fit_arc(points: &[Point]) -> Option<(Point, f64, f64)> {
    let (a, b, c) = (*points.first()?, *points.get(points.len() / 2)?, *points.last()?);
    let (u, v) = (b - a, c - a);
    let cross = 2.0 * u.cross(v);
    if cross.abs() < 1e-12 {
        return None;
    }
    let (uu, vv) = (u.hypot2(), v.hypot2());
    let centre = a + crate::drawing::Vec2::new(v.y * uu - u.y * vv, u.x * vv - v.x * uu) / cross;
    let radius = centre.distance(a);
    if points.iter().any(|point| (centre.distance(*point) - radius).abs() > 0.02 * radius) {
        return None;
    }
    let mut sweep = 0.0;
    for pair in points.windows(2) {
        let (p, q) = (pair[0] - centre, pair[1] - centre);
        sweep += p.cross(q).atan2(p.dot(q));
    }
    Some((centre, radius, sweep.abs()))
}
