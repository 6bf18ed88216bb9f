//! Measurements on the raw lines: swing arcs, and the scale the drawing seems to have.
//!
//! A door leaf swings about 0.9 m. Where several quarter arcs agree on another radius, the unit of the drawing was
//! told wrong, and all built-in lengths are scaled by what they say; without arcs, only a plan smaller than a
//! table or larger than a town is doubted.

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
            let at = |angle: f64| arc.centre + crate::drawing::Vec2::from_angle(angle) * arc.radius;
            let ends = [at(arc.start), at(arc.start + arc.sweep)];
            take(arc.centre, arc.radius, ends, at(arc.start + 0.5 * arc.sweep), arc.sweep.abs().to_degrees());
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

/// How long a metre of the real building seems to be in metres of the drawing: 1 when the units are right.
///
/// Every factor by which people get units wrong is weighed by what doors with leaves (`swings`: their radii), the
/// heights of texts and the extent of the plan would be under it; another factor than 1 must be far more likely.
pub(crate) fn scale(input: &Input, roles: &Roles, swings: &[f64]) -> f64 {
    const FACTORS: &[f64] = &[
        1.0,
        0.001,
        0.01,
        0.1,
        10.0,
        100.0,
        1000.0,
        0.0254,
        1.0 / 0.0254,
        0.3048,
        1.0 / 0.3048,
        25.4,
        1.0 / 25.4,
        304.8,
        1.0 / 304.8,
        12.0,
        1.0 / 12.0,
        2.54,
        1.0 / 2.54,
        30.48,
        1.0 / 30.48,
    ];
    let relevant = |role: Role| matches!(role, Role::Wall | Role::Unknown | Role::Room | Role::Outline | Role::Door);
    let mut low = Point::new(f64::INFINITY, f64::INFINITY);
    let mut high = Point::new(f64::NEG_INFINITY, f64::NEG_INFINITY);
    let named = roles.items.iter().any(|role| *role == Role::Wall || *role == Role::Room);
    for (item, role) in input.items.iter().zip(&roles.items) {
        if relevant(*role)
            && (!named || *role != Role::Unknown)
            && let Some((a, b)) = input.bounds(item)
        {
            low = Point::new(low.x.min(a.x), low.y.min(a.y));
            high = Point::new(high.x.max(b.x), high.y.max(b.y));
        }
    }
    let extent = (high.x - low.x).max(high.y - low.y);
    let mut radii: Vec<f64> = swings.to_vec();
    radii.sort_by(f64::total_cmp);
    let radius = radii.get(radii.len() / 2).copied();
    let mut heights: Vec<f64> = input
        .texts
        .iter()
        .zip(&roles.texts)
        .filter(|(text, role)| text.height > 0.0 && !matches!(role, Role::Dimension | Role::Sheet | Role::Grid))
        .map(|(text, _)| text.height)
        .collect();
    heights.sort_by(f64::total_cmp);
    let height = heights.get(heights.len() / 2).copied();
    // Squared distance on a logarithmic scale, in spreads, bounded: an outlier may not decide alone.
    let miss = |value: f64, usual: f64, spread: f64, worst: f64| {
        let off = (value / usual).ln() / spread;
        (off * off).min(worst)
    };
    let cost = |factor: f64| {
        // People mistake metres, centimetres, millimetres and inches; the rest is rare.
        let mut cost = match FACTORS.iter().position(|known| *known == factor) {
            Some(0) => 0.0,
            Some(1..=8) => 6.0,
            _ => 8.0,
        };
        if let Some(radius) = radius {
            cost += radii.len().min(4) as f64 * miss(radius / factor, 0.85, 0.35, 16.0);
        }
        if let Some(height) = height {
            cost += miss(height / factor, 0.2, 0.7, 9.0);
        }
        if extent.is_finite() && extent > 0.0 {
            // Anything from a hut to a campus is a plan; the middle decides between factors that are all possible.
            let size = extent / factor;
            let beyond = if size < 3.0 { 3.0 } else { size.min(2_000.0) };
            cost += miss(size, beyond, 0.5, 12.0) + 0.05 * miss(size, 25.0, 1.0, 40.0);
        }
        cost
    };
    let best = FACTORS.iter().copied().min_by(|p, q| cost(*p).total_cmp(&cost(*q))).unwrap_or(1.0);
    // With doors the plan measures itself.
    match radius {
        Some(radius) if best != 1.0 && radii.len() >= 3 && !(0.6..=1.4).contains(&(radius / best)) => radius / 0.85,
        _ => best,
    }
}
