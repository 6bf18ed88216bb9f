//! What a drawing itself says about the length of its unit.
//!
//! Templates leave wrong units behind, and pictures have none. But a building is full of things whose size is known:
//! leaves of doors, walls, treads, letters, the distance from one room number to the next; and people write lengths
//! and areas beside what they draw. Each kind of evidence is measured without assuming a scale, and every unit that
//! plans are drawn in is charged for what the evidence would be under it. Lengths in feet and inches and
//! stated areas are exact; the rest only tells units apart that differ much.
//!
//! [`Evidence::scale`] is the outcome for the derivation; [`Finding`] tells the caller what the unit should be, how
//! sure that is and why. Nothing is changed here: who called decides whether the drawing is read anew.

use std::collections::BTreeMap;

use super::classify::Roles;
use super::input::{Drawn, Input, NONE};
use super::labels;
use super::reading;
use super::{Role, Room};
use crate::drawing::{Point, Units, Vec2};

/// Units that plans are drawn in, metres, with what each costs where another one is stated: people mistake
/// millimetres, metres, centimetres, inches and feet; the rest are prints and pictures at a scale ([`ODD_IN_CAD`]).
const UNITS: [(f64, f64); 10] = [
    (0.001, 6.0),
    (1.0, 6.0),
    (0.01, 6.0),
    (0.0254, 6.0),
    (0.3048, 7.5),
    (0.1, 7.0),
    (0.05, 8.0),
    (0.02, 8.0),
    (0.2, 8.0),
    (0.5, 8.0),
];

/// What a unit that is no CAD unit costs more in a CAD drawing.
const ODD_IN_CAD: f64 = 8.0;

/// How much a print on paper may be smaller than the building.
const SCALES: [f64; 10] = [0.01, 0.02, 0.005, 0.05, 0.002, 1.0 / 48.0, 1.0 / 96.0, 0.001, 0.1, 0.004];

/// How much likelier another unit must be, in the measure of the costs, beside what mistaking it costs.
const ENOUGH_BETTER: f64 = 1.5;
/// Names of the evidence that tells by itself.
const SWINGS: &str = "swings of doors";
const LENGTHS: &str = "dimensions";
const FIGURES: &str = "figures of dimensions";

/// Lines of walls looked at for distances; the longest.
const MOST_LINES: usize = 4096;

/// What is known about the unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// By this the metres of a unit must be multiplied.
    pub factor: f64,
    /// 0 to 1.
    pub confidence: f64,
    /// Lengths or areas that are written in the drawing tell it, not only the usual sizes of things.
    pub exact: bool,
    /// In words.
    pub reason: String,
}

impl Finding {
    /// The unit that a drawing should be read in, if it is to be another one than `units`.
    ///
    /// What the user states is never doubted. A unit that was assumed or inferred gives way to better evidence; one that the
    /// file states only to evidence that leaves no doubt; a scale of paper to building only to written lengths or areas.
    pub fn replaces(&self, units: &Units) -> Option<Units> {
        let guessed = units.from.contains("assumed") || units.from.contains("inferred");
        let paper = !is_unit(units.metres_per_unit);
        let needed = match units.from.as_str() {
            "config" => return None,
            _ if paper && !self.exact => return None,
            _ if paper || guessed => 0.6,
            _ => 0.95,
        };
        let metres_per_unit = rounded(units.metres_per_unit * self.factor);
        let same = (metres_per_unit / units.metres_per_unit - 1.0).abs() < 0.03;
        (self.confidence >= needed && !same && metres_per_unit.is_finite() && metres_per_unit > 0.0).then(|| Units {
            metres_per_unit,
            from: "inferred".to_owned(),
            confidence: Some((self.confidence * 100.0).floor().min(99.0) / 100.0),
        })
    }
}

/// Whether a length is one that plans are drawn in, and not a point of paper.
fn is_unit(metres: f64) -> bool {
    UNITS.iter().any(|(unit, _)| (metres / unit - 1.0).abs() < 1e-6)
}

/// Units are round numbers; products of factors are off by the last bits.
fn rounded(metres: f64) -> f64 {
    UNITS.iter().map(|(unit, _)| *unit).find(|unit| (metres / unit - 1.0).abs() < 1e-6).unwrap_or(metres)
}

/// One kind of evidence.
#[derive(Debug, Clone)]
struct Fact {
    what: &'static str,
    /// Metres of the drawing, and the size it may have in metres with what that reading costs.
    value: f64,
    usual: Vec<(f64, f64)>,
    spread: f64,
    worst: f64,
    weight: f64,
}

impl Fact {
    /// Squared distance on a logarithmic scale, in spreads, bounded: an outlier may not decide alone.
    fn cost(&self, factor: f64) -> f64 {
        let miss = |usual: f64| {
            let off = (self.value / factor / usual).ln() / self.spread;
            (off * off).min(self.worst)
        };
        self.weight * self.usual.iter().map(|(usual, cost)| miss(*usual) + cost).fold(f64::INFINITY, f64::min)
    }
}

impl Fact {
    /// Tells by itself: several doors, or lengths that are written.
    fn is_sure(&self) -> bool {
        self.what == LENGTHS || self.what == FIGURES || self.what == SWINGS && self.weight >= 2.0
    }
}

/// All evidence of one drawing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    /// Factors that are possible, and what each costs by itself.
    factors: Vec<(f64, f64)>,
    facts: Vec<Fact>,
    extent: f64,
    /// Median radius of swings with a leaf, and how many there are.
    radius: Option<(f64, usize)>,
}

impl Evidence {
    /// Measures the drawing. `swings` are the radii of arcs with a leaf, `chains` what was measured and is written.
    pub(crate) fn gather(input: &Input, roles: &Roles, swings: &[f64], chains: &[(f64, Stated)]) -> Self {
        let mut evidence = Self { factors: factors(input), extent: extent(input, roles), ..Self::default() };
        let mut add = |what: &'static str, value: Option<f64>, usual: f64, spread: f64, worst: f64, weight: f64| {
            if let Some(value) = value.filter(|value| *value > 0.0 && value.is_finite() && weight > 0.0) {
                evidence.facts.push(Fact { what, value, usual: vec![(usual, 0.0)], spread, worst, weight });
            }
        };
        let mut radii = swings.to_vec();
        let radius = median(&mut radii);
        add(SWINGS, radius, 0.85, 0.35, 16.0, radii.len().min(4) as f64);
        let mut heights: Vec<f64> = input
            .texts
            .iter()
            .zip(&roles.texts)
            .filter(|(text, role)| text.height > 0.0 && !matches!(role, Role::Dimension | Role::Sheet | Role::Grid))
            .map(|(text, _)| text.height)
            .collect();
        add("heights of texts", median(&mut heights), 0.2, 0.7, 9.0, 1.0);
        let mut spacings = number_spacings(input, roles);
        let weight = 0.125 * (spacings.len().min(8) as f64);
        add(
            "distances of room numbers",
            median(&mut spacings),
            4.0,
            0.6,
            9.0,
            if spacings.len() < 3 { 0.0 } else { weight },
        );
        let lines = Lines::gather(input, roles);
        let (thickness, weight) = lines.thickness();
        add("thickness of walls", thickness, 0.17, 0.6, 6.0, weight);
        let mut treads = lines.treads();
        add("treads of stairs", median(&mut treads), 0.28, 0.2, 6.0, 0.5 * treads.len().min(2) as f64);
        let mut feet = Vec::new();
        let mut plain = Vec::new();
        for (measured, stated) in dimensions(input).into_iter().chain(chains.iter().copied()) {
            match stated {
                Stated::Metres(metres) => feet.push(measured / metres),
                Stated::Plain(value) => plain.push((measured, value)),
            }
        }
        if feet.len() >= 2 {
            add(LENGTHS, median(&mut feet), 1.0, 0.05, 16.0, 2.0);
        }
        evidence.facts.extend(plain_dimensions(&plain));
        evidence.radius = radius.map(|radius| (radius, radii.len()));
        evidence
    }

    fn cost(&self, factor: f64) -> f64 {
        self.facts.iter().map(|fact| fact.cost(factor)).sum::<f64>() + self.extent_cost(factor)
    }

    fn extent_cost(&self, factor: f64) -> f64 {
        let mut cost = 0.0;
        if self.extent.is_finite() && self.extent > 0.0 {
            // Anything from a hut to a campus is a plan; the middle decides between factors that are all possible.
            let size = self.extent / factor;
            let beyond = if size < 3.0 { 3.0 } else { size.min(2_000.0) };
            let miss = |usual: f64, spread: f64, worst: f64| (((size / usual).ln() / spread).powi(2)).min(worst);
            cost += miss(beyond, 0.5, 12.0) + 0.05 * miss(25.0, 1.0, 40.0);
        }
        cost
    }

    /// How long a metre of the real building seems to be in metres of the drawing: 1 when the unit is right. Another
    /// factor than 1 must be far more likely.
    pub(crate) fn scale(&self) -> f64 {
        let best = match self.decided() {
            Some(decision) if !decision.speaking.is_empty() => decision.factor,
            // Nothing but the extent: some power of ten, so that tolerances suit what is drawn.
            _ if self.is_absurd(1.0) => 10f64.powf((self.extent / 25.0).log10().round()),
            _ => 1.0,
        };
        // With doors the plan measures itself.
        match self.radius {
            Some((radius, count)) if best != 1.0 && count >= 3 && !(0.6..=1.4).contains(&(radius / best)) => {
                radius / 0.85
            }
            _ => best,
        }
    }

    /// No plan has such an extent.
    fn is_absurd(&self, factor: f64) -> bool {
        self.extent > 0.0 && self.extent.is_finite() && !(1.0..=5_000.0).contains(&(self.extent / factor))
    }

    /// The likeliest factor, if it is another than 1 and enough speaks for it: doors, written lengths, an extent that no
    /// plan has, or two kinds of what is less sure.
    fn decided(&self) -> Option<Decision<'_>> {
        let costs: Vec<(f64, f64)> =
            self.factors.iter().map(|(factor, cost)| (*factor, cost + self.cost(*factor))).collect();
        let (factor, least) = costs.iter().copied().min_by(|p, q| p.1.total_cmp(&q.1))?;
        let stays = self.cost(1.0);
        if factor == 1.0 || stays - least < ENOUGH_BETTER {
            return None;
        }
        // A fact speaks for the factor if it would be unusual without it and is not with it.
        let speaking: Vec<&Fact> = self
            .facts
            .iter()
            .filter(|fact| fact.cost(factor) <= fact.weight && fact.cost(1.0) > fact.cost(factor) + 1.0)
            .collect();
        let sure = speaking.iter().any(|fact| fact.is_sure());
        let absurd = self.is_absurd(1.0) && !self.is_absurd(factor);
        let size = usize::from(self.extent_cost(1.0) > self.extent_cost(factor) + 1.0);
        if !sure && !absurd && speaking.len() + size < 2 {
            return None;
        }
        let total: f64 = costs.iter().map(|(_, cost)| (-0.5 * (cost - least)).exp()).sum();
        Some(Decision { factor, confidence: 1.0 / total, speaking })
    }

    /// What the unit should be, if not what it is.
    pub(crate) fn finding(&self) -> Option<Finding> {
        let Decision { factor, confidence, speaking } = self.decided()?;
        // What is told best must fit: if the doors would be no doors in the other unit either, neither is right.
        let fits = self.facts.iter().all(|fact| !fact.is_sure() || fact.cost(factor) <= 4.0 * fact.weight);
        if speaking.is_empty() || !fits {
            return None;
        }
        let says = |what: &str| speaking.iter().any(|fact| fact.what == what);
        // Bare figures have no unit of their own; with doors they have.
        let exact = says(LENGTHS) || says(FIGURES) && says(SWINGS);
        let named: Vec<&str> = speaking.iter().map(|fact| fact.what).collect();
        Some(Finding { factor: 1.0 / factor, confidence, exact, reason: format!("by {}", named.join(", ")) })
    }
}

/// What the evidence comes to.
struct Decision<'a> {
    factor: f64,
    confidence: f64,
    speaking: Vec<&'a Fact>,
}

/// Factors by which a drawing in this unit may be off, with what each costs.
fn factors(input: &Input) -> Vec<(f64, f64)> {
    let metres_per_unit = input.metres_per_unit;
    let mut factors = vec![(1.0, 0.0)];
    let odd = |cost: f64| if cost > 7.5 && input.is_cad { ODD_IN_CAD } else { 0.0 };
    if is_unit(metres_per_unit) || metres_per_unit <= 0.0 {
        let stated = if metres_per_unit > 0.0 { metres_per_unit } else { 1.0 };
        let others = UNITS.iter().filter(|(unit, _)| (unit / stated - 1.0).abs() > 1e-6);
        factors.extend(others.map(|(unit, cost)| (stated / unit, *cost + odd(*cost))));
    } else {
        factors.extend(SCALES.iter().map(|scale| (*scale, 6.0)));
        factors.extend(
            UNITS
                .iter()
                .filter(|(_, cost)| *cost <= 7.5 && *cost != 7.0)
                .map(|(unit, _)| (metres_per_unit / unit, 8.0)),
        );
    }
    // One factor may have two reasons; the likelier one counts.
    factors.sort_by(|p, q| p.0.total_cmp(&q.0));
    factors.dedup_by(|other, known| {
        let same = (other.0 / known.0 - 1.0).abs() < 1e-9;
        known.1 = if same { known.1.min(other.1) } else { known.1 };
        same
    });
    factors
}

/// What the areas say that are written in rooms, or the sides (square metres by room): the exact factor, if at least two and most of them agree on one other
/// than 1.
pub(crate) fn by_areas(rooms: &[Room], sides: &[(u32, f64)], input: &Input) -> Option<Finding> {
    let mut ratios: Vec<f64> = rooms
        .iter()
        .filter_map(|room| room.stated_area_m2.map(|stated| (room.area_m2, stated)))
        .chain(sides.iter().filter_map(|(room, stated)| Some((rooms.get(*room as usize)?.area_m2, *stated))))
        .filter(|(_, stated)| *stated > 0.0)
        .map(|(measured, stated)| measured / stated)
        .filter(|ratio| *ratio > 0.0)
        .map(f64::sqrt)
        .collect();
    let count = ratios.len();
    let middle = median(&mut ratios)?;
    let agree = ratios.iter().filter(|ratio| (**ratio / middle - 1.0).abs() < 0.04).count();
    // Who states areas to the middle of walls has the right unit; no other unit is that near. Pictures have any scale.
    let metres_per_unit = input.metres_per_unit;
    let right = if is_unit(metres_per_unit) { 0.15 } else { 0.05 };
    if count < 2 || agree < 2 || agree * 10 < count * 6 || (middle - 1.0).abs() < right {
        return None;
    }
    // In a wrong unit walls are measured worse and rooms with them. Units lie far apart, scales of prints do not.
    let tolerance = if is_unit(metres_per_unit) { 0.06 } else { 0.02 };
    let off = |factor: &f64| (middle / factor - 1.0).abs();
    let known = factors(input)
        .into_iter()
        .map(|known| known.0)
        .filter(|factor| *factor != 1.0 && off(factor) < tolerance)
        .min_by(|p, q| off(p).total_cmp(&off(q)));
    let factor = known.unwrap_or(middle);
    // Other ratios than those of units are those of pictures and prints.
    let confidence = match known {
        Some(_) if agree >= 3 => 0.98,
        None if agree >= 4 && agree * 10 >= count * 8 => 0.96,
        _ => 0.9,
    };
    let reason = format!("by the areas written in {agree} rooms");
    Some(Finding { factor: 1.0 / factor, confidence, exact: true, reason })
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Longest side of what may be building.
fn extent(input: &Input, roles: &Roles) -> f64 {
    let relevant = |role: Role| matches!(role, Role::Wall | Role::Unknown | Role::Room | Role::Outline | Role::Door);
    let named = roles.items.iter().any(|role| *role == Role::Wall || *role == Role::Room);
    let mut low = Point::new(f64::INFINITY, f64::INFINITY);
    let mut high = Point::new(f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (item, role) in input.items.iter().zip(&roles.items) {
        if relevant(*role)
            && (!named || *role != Role::Unknown)
            && let Some((a, b)) = input.bounds(item)
        {
            low = Point::new(low.x.min(a.x), low.y.min(a.y));
            high = Point::new(high.x.max(b.x), high.y.max(b.y));
        }
    }
    (high.x - low.x).max(high.y - low.y)
}

/// From each room number to the nearest other one.
fn number_spacings(input: &Input, roles: &Roles) -> Vec<f64> {
    use rstar::{RTree, primitives::GeomWithData};
    let mut places: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for (text, role) in input.texts.iter().zip(&roles.texts) {
        let speaks = labels::may_label(*role) && reading::reads_as_number(&text.value);
        if speaks {
            places.entry(text.value.as_str()).or_default().push(text.middle);
        }
    }
    // What stands in many places is a type or a note.
    let points: Vec<(Point, usize)> = places
        .into_values()
        .enumerate()
        .filter(|(_, places)| places.len() <= 2)
        .flat_map(|(number, places)| places.into_iter().map(move |place| (place, number)))
        .collect();
    let tree = RTree::bulk_load(points.iter().map(|(p, number)| GeomWithData::new([p.x, p.y], *number)).collect());
    points
        .iter()
        .filter_map(|(place, number)| {
            let next = tree.nearest_neighbor_iter([place.x, place.y]).take(8).find(|other| other.data != *number)?;
            Some(place.distance(Point::new(next.geom()[0], next.geom()[1])))
        })
        .filter(|distance| *distance > 0.0)
        .collect()
}

/// Lines along the two main directions of the drawing, that may be walls or stairs.
struct Lines {
    /// By direction: offset across, from, to.
    runs: [Vec<(f64, f64, f64)>; 2],
}

impl Lines {
    fn gather(input: &Input, roles: &Roles) -> Self {
        let named = roles.items.contains(&Role::Wall);
        let length = |segment: &(Point, Point)| segment.0.distance(segment.1);
        let keep_longest = |segments: &mut Vec<(Point, Point)>| {
            if segments.len() > MOST_LINES {
                segments.select_nth_unstable_by(MOST_LINES, |p, q| length(q).total_cmp(&length(p)));
                segments.truncate(MOST_LINES);
            }
        };
        let mut segments: Vec<(Point, Point)> = Vec::new();
        for (item, role) in input.items.iter().zip(&roles.items) {
            let wall = *role == Role::Wall || (!named && *role == Role::Unknown);
            let pattern = item.drawn == Drawn::Lines && input.text(item.entity).eq_ignore_ascii_case("HATCH");
            if (wall || *role == Role::Stair) && !pattern && item.arc == NONE {
                segments.extend(input.segments(item).filter(|segment| length(segment) > 0.0));
                if segments.len() > 4 * MOST_LINES {
                    keep_longest(&mut segments);
                }
            }
        }
        keep_longest(&mut segments);
        // The main direction: the right angle that holds most length, in classes of two degrees.
        let mut classes = [0.0f64; 45];
        let angle = |segment: &(Point, Point)| (segment.1 - segment.0).angle().to_degrees().rem_euclid(90.0);
        for segment in &segments {
            let class = ((angle(segment) + 1.0).rem_euclid(90.0) / 2.0) as usize;
            classes[class.min(44)] += length(segment);
        }
        let most = (0..classes.len()).max_by(|p, q| classes[*p].total_cmp(&classes[*q]).then(q.cmp(p))).unwrap_or(0);
        let middle = most as f64 * 2.0;
        let near = |segment: &(Point, Point)| {
            let off = angle(segment) - middle;
            if off > 45.0 { off - 90.0 } else { off }
        };
        // Within the class the length decides exactly.
        let (mut sum, mut weight) = (0.0, 0.0);
        for segment in segments.iter().filter(|segment| near(segment).abs() <= 1.5) {
            sum += near(segment) * length(segment);
            weight += length(segment);
        }
        let main = (middle + if weight > 0.0 { sum / weight } else { 0.0 }).to_radians();
        let along = Vec2::from_angle(main);
        let mut runs = [Vec::new(), Vec::new()];
        for (a, b) in segments {
            let way = (b - a) / a.distance(b);
            for (number, u) in [along, Vec2::new(-along.y, along.x)].into_iter().enumerate() {
                if u.cross(way).abs() < 0.02 {
                    let n = Vec2::new(-u.y, u.x);
                    let (p, q) = (a.to_vec2(), b.to_vec2());
                    let (from, to) = (u.dot(p).min(u.dot(q)), u.dot(p).max(u.dot(q)));
                    runs[number].push((0.5 * (n.dot(p) + n.dot(q)), from, to));
                }
            }
        }
        for runs in &mut runs {
            runs.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.total_cmp(&q.1)).then(p.2.total_cmp(&q.2)));
        }
        Self { runs }
    }

    /// The distance at which most length runs side by side, and how much it weighs.
    fn thickness(&self) -> (Option<f64>, f64) {
        const CLASS: f64 = 0.15;
        let mut classes: BTreeMap<i64, f64> = BTreeMap::new();
        let mut total = 0.0;
        for runs in &self.runs {
            for (index, (offset, low, high)) in runs.iter().enumerate() {
                total += high - low;
                let next = runs.iter().skip(index + 1).take(24).find(|(other, from, to)| {
                    let overlap = high.min(*to) - low.max(*from);
                    // Faces of walls are longer than the wall is thick.
                    let gap = other - offset;
                    gap > 1e-4 * (high - low) && overlap >= 3.0 * gap
                });
                if let Some((other, from, to)) = next {
                    let class = ((other - offset).ln() / CLASS).round();
                    if class.is_finite() {
                        *classes.entry(class as i64).or_default() += high.min(*to) - low.max(*from);
                    }
                }
            }
        }
        let around = |class: i64| (class - 1..=class + 1).filter_map(|near| classes.get(&near)).sum::<f64>();
        let best = classes.keys().copied().max_by(|p, q| around(*p).total_cmp(&around(*q)).then(q.cmp(p)));
        let share = best.map_or(0.0, |best| 2.0 * around(best) / f64::max(total, f64::MIN_POSITIVE));
        let weight = if share > 0.3 { share.min(1.0) } else { 0.0 };
        (best.map(|best| (best as f64 * CLASS).exp()), weight)
    }

    /// Distances in flights: five lines and more of one length, one behind the other.
    fn treads(&self) -> Vec<f64> {
        let mut found = Vec::new();
        for runs in &self.runs {
            let mut columns: BTreeMap<(i64, i64), Vec<f64>> = BTreeMap::new();
            let widest = runs.iter().map(|run| run.2 - run.1).fold(0.0, f64::max);
            let cell = 1e-3 * widest.max(f64::MIN_POSITIVE);
            for (offset, from, to) in runs {
                let key = ((from / cell).round() as i64, (to / cell).round() as i64);
                columns.entry(key).or_default().push(*offset);
            }
            for ((from, to), offsets) in columns {
                let length = (to - from) as f64 * cell;
                let mut run: Vec<f64> = Vec::new();
                for step in offsets.windows(2).map(|pair| pair[1] - pair[0]).chain([f64::NAN]) {
                    let same = run.first().is_some_and(|first| (step - first).abs() < 0.04 * first);
                    if same || (run.is_empty() && step > 0.0) {
                        run.push(step);
                        continue;
                    }
                    // A tread is three to six times as long as it is deep.
                    if let Some(first) = run.first().filter(|first| (2.5..=8.0).contains(&(length / **first)))
                        && run.len() >= 4
                    {
                        found.push(*first);
                    }
                    run.clear();
                    run.extend((step > 0.0).then_some(step));
                }
            }
        }
        found
    }
}

/// What a dimension text says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stated {
    /// With its unit: feet, inches, or a metric unit behind the figure.
    Metres(f64),
    /// A bare figure.
    Plain(f64),
}

/// Dimensions by their drawn blocks: the length drawn, metres of the drawing, and what is written.
fn dimensions(input: &Input) -> Vec<(f64, Stated)> {
    let mut texts: BTreeMap<u32, Option<(Stated, Vec2)>> = BTreeMap::new();
    for text in &input.texts {
        let name = input.text(text.block);
        if name.starts_with("*D") || name.starts_with("*d") {
            let stated = stated(&text.value).map(|stated| (stated, text.direction));
            // Two texts are a tolerance or an alternative unit.
            texts.entry(text.block).and_modify(|known| *known = None).or_insert(stated);
        }
    }
    if texts.is_empty() {
        return Vec::new();
    }
    let mut pieces: BTreeMap<u32, Vec<(Point, Point)>> = BTreeMap::new();
    for item in input.items.iter().filter(|item| item.drawn == Drawn::Lines && texts.contains_key(&item.block)) {
        pieces.entry(item.block).or_default().extend(input.segments(item));
    }
    let mut found = Vec::new();
    for (block, text) in texts {
        let (Some((stated, reading)), Some(pieces)) = (text, pieces.get(&block)) else { continue };
        // The dimension line runs along its text, or texts stand level and it runs across.
        let across = Vec2::new(-reading.y, reading.x);
        let axes = [reading, across];
        let between = axes.iter().find_map(|along| between_extensions(pieces, *along));
        let length = between.or_else(|| axes.iter().find_map(|along| length_along(pieces, *along)));
        found.extend(length.map(|length| (length, stated)));
    }
    found
}

/// Whether a piece runs along a direction.
fn runs_along((a, b): (Point, Point), along: Vec2) -> bool {
    let way = b - a;
    way.hypot() > 0.0 && along.cross(way).abs() < 0.03 * way.hypot()
}

/// From the first to the last extension line, if the dimension line spans most of the way between them.
fn between_extensions(pieces: &[(Point, Point)], along: Vec2) -> Option<f64> {
    let places = pieces
        .iter()
        .filter(|piece| runs_along(**piece, Vec2::new(-along.y, along.x)))
        .map(|(a, _)| along.dot(a.to_vec2()));
    let (low, high) = places
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high): (f64, f64), place| (low.min(place), high.max(place)));
    let line = length_along(pieces, along)?;
    (high > low && (0.6..1.6).contains(&(line / (high - low)))).then_some(high - low)
}

/// How far the pieces along a direction reach.
fn length_along(pieces: &[(Point, Point)], along: Vec2) -> Option<f64> {
    let (low, high) = pieces
        .iter()
        .filter(|piece| runs_along(**piece, along))
        .flat_map(|(a, b)| [*a, *b])
        .map(|point| along.dot(point.to_vec2()))
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high): (f64, f64), place| (low.min(place), high.max(place)));
    (high > low).then_some(high - low)
}

impl Stated {
    /// Reads a dimension: `15'-6"`, `15' 6 1/2"`, `36"`, `3.5 m`, `3500`, `3,50`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        stated(text)
    }
}

fn stated(text: &str) -> Option<Stated> {
    let text = text.trim().trim_start_matches(['±', '~', '≈']).replace(['’', '′'], "'").replace(['”', '″'], "\"");
    let text = text.replace("''", "\"");
    let figure = |part: &str| part.trim().replace(',', ".").parse::<f64>().ok().filter(|value| *value > 0.0);
    if text.contains(['\'', '"']) {
        let (feet, inches) = match text.split_once('\'') {
            Some((feet, rest)) => (feet.trim().parse::<f64>().ok()?, rest),
            None => (0.0, text.as_str()),
        };
        let mut total = 0.0;
        for part in inches
            .trim()
            .trim_start_matches('-')
            .trim_end_matches('"')
            .split([' ', '-'])
            .filter(|part| !part.is_empty())
        {
            total += match part.split_once('/') {
                Some((over, under)) => {
                    over.parse::<f64>().ok()? / under.parse::<f64>().ok().filter(|under| *under > 0.0)?
                }
                None => part.parse::<f64>().ok()?,
            };
        }
        let metres = 0.0254 * (12.0 * feet + total);
        return (metres > 0.0).then_some(Stated::Metres(metres));
    }
    for (unit, metres) in [("mm", 0.001), ("cm", 0.01), ("m", 1.0)] {
        if let Some(value) = text.strip_suffix(unit) {
            return figure(value).map(|value| Stated::Metres(value * metres));
        }
    }
    figure(&text).map(Stated::Plain)
}

/// Bare figures are metres, centimetres or millimetres by their size and looks.
fn plain_dimensions(dimensions: &[(f64, f64)]) -> Option<Fact> {
    let mut ratios: Vec<f64> = dimensions.iter().map(|(measured, value)| measured / value).collect();
    let mut values: Vec<f64> = dimensions.iter().map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    // Chains give every wall and pier beside the rooms: the longer ones are rooms.
    let (ratio, value) = (median(&mut ratios)?, *values.get(values.len() * 3 / 4)?);
    let alike = |within: f64| ratios.iter().filter(|other| (**other / ratio - 1.0).abs() < within).count();
    if dimensions.len() < 3 || alike(0.1) * 2 < dimensions.len() {
        return None;
    }
    // Figures are rounded; what they are measured by may not be.
    let spread = if alike(0.015) * 2 > dimensions.len() { 0.02 } else { 0.06 };
    // A figure in this unit is a length in a building from a pier to a wing; what is far off costs.
    let usual = [1.0, 0.01, 0.001, 0.0254, 0.3048].map(|unit: f64| {
        let off = (value * unit / 4.0).ln();
        (unit, (0.5 * off * off).min(9.0))
    });
    Some(Fact { what: FIGURES, value: ratio, usual: usual.to_vec(), spread, worst: 9.0, weight: 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_as_people_write_them() {
        let metres = |text: &str| match stated(text) {
            Some(Stated::Metres(metres)) => (metres * 1e4).round() / 1e4,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(metres("15'-6\""), 4.7244);
        assert_eq!(metres("15' 6 1/2\""), 4.7371);
        assert_eq!(metres("10'"), 3.048);
        assert_eq!(metres("36\""), 0.9144);
        assert_eq!(metres("3.50 m"), 3.5);
        assert_eq!(metres("350cm"), 3.5);
        assert_eq!(stated("3500"), Some(Stated::Plain(3500.0)));
        assert_eq!(stated("3,50"), Some(Stated::Plain(3.5)));
        assert_eq!(stated("R 20"), None);
        assert_eq!(stated("0"), None);
    }

    #[test]
    fn who_said_the_unit_decides_how_much_it_takes_to_replace_it() {
        let unit = |from: &str| Units { metres_per_unit: 0.001, from: from.to_owned(), confidence: None };
        let finding =
            |confidence: f64, exact: bool| Finding { factor: 1000.0, confidence, exact, reason: String::new() };
        let replaced = |from: &str, confidence, exact| finding(confidence, exact).replaces(&unit(from)).is_some();
        assert!(!replaced("config", 1.0, true));
        assert!(replaced("assumed", 0.7, false));
        assert!(replaced("$MEASUREMENT (metric), inferred", 0.7, false));
        assert!(!replaced("$INSUNITS", 0.9, false));
        assert!(replaced("$INSUNITS", 0.97, false));
        let paper = Units { metres_per_unit: 0.0254 / 72.0, from: "svg width".to_owned(), confidence: None };
        assert!(finding(0.99, false).replaces(&paper).is_none());
        assert!(finding(0.99, true).replaces(&paper).is_some());
        let found = finding(0.99, false).replaces(&unit("$INSUNITS"));
        assert_eq!(found.map(|units| units.metres_per_unit), Some(1.0));
    }

    #[test]
    fn bare_figures_are_read_in_the_unit_that_makes_rooms_of_them() {
        // Drawn in metres, read in millimetres, dimensioned in metres.
        let fact = plain_dimensions(&[(0.0035, 3.5), (0.0042, 4.2), (0.0081, 8.1)]).unwrap();
        assert!(fact.cost(0.001) < fact.cost(1.0));
        let fact = plain_dimensions(&[(3.5, 3500.0), (4.2, 4200.0), (8.1, 8100.0)]).unwrap();
        assert!(fact.cost(1.0) < 1.0 && fact.cost(0.001) > 5.0);
    }
}
