//! Planar arrangements of rings on an integer grid: boolean operations whose result is valid, always.
//!
//! Three steps, all in exact integers:
//!
//! 1. *Noding.* Edges are split where they cross (rounded to the grid) and at every vertex whose unit square they pass
//!    through, until none does: iterated snap rounding after Hobby (1999) and Halperin, Packer (2002). Edges on
//!    top of each other become one, with the sum of their windings; those that cancel vanish.
//! 2. *Labelling.* The faces of the resulting graph get their winding numbers, by walking across edges inside a
//!    component and by a ray between components.
//! 3. *Tracing.* Faces that are kept are joined; their boundaries are cut at repeated vertices, which gives simple
//!    rings that touch at points only: one shell and its holes for each region.

use super::nest::{GridAreas, GridPoint, GridRings};

/// Rounds of noding; two or three are usual.
const MAX_ROUNDS: u32 = 40;

/// Steps a search for neighbours may take for each edge, and in any case.
const STEPS_PER_EDGE: u64 = 256;
const STEPS_ANYWAY: u64 = 20_000_000;

/// Half the largest extent that exact arithmetic allows; larger coordinates are made coarser.
const REACH_BITS: u32 = 40;

/// The rings are too entangled to be resolved within the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooEntangled;

/// Winding numbers with regard to the subject and to the clip.
pub(crate) type Windings = [i32; 2];

/// Appends to `out` the area of `subject` and `clip` whose winding numbers `keep` accepts. It must refuse `[0, 0]`.
pub(crate) fn arrange(
    subject: &GridRings,
    clip: Option<&GridRings>,
    keep: impl Fn(Windings) -> bool,
    out: &mut GridAreas,
) -> Result<(), TooEntangled> {
    let Some(frame) = Coarsening::of(subject, clip) else { return Ok(()) };
    let mut edges = Vec::new();
    for (layer, rings) in [Some(subject), clip].into_iter().flatten().enumerate() {
        let mut winding = [0, 0];
        winding[layer] = 1;
        for ring in rings.iter() {
            let mut before = ring.last().map(|point| frame.shrink(*point));
            for point in ring {
                let after = frame.shrink(*point);
                if let Some(a) = before {
                    edges.push(Edge { a, b: after, winding });
                }
                before = Some(after);
            }
        }
    }
    node(&mut edges)?;
    if edges.is_empty() {
        return Ok(());
    }
    let graph = Graph::new(&edges);
    let faces = graph.label(&edges);
    graph.trace(&faces, keep, &frame, out);
    Ok(())
}

/// Brings coordinates near the origin, and to fewer bits if they need too many; what comes back is on the given grid.
struct Coarsening {
    x: i64,
    y: i64,
    shift: u32,
}

impl Coarsening {
    fn of(subject: &GridRings, clip: Option<&GridRings>) -> Option<Self> {
        let points = [Some(subject), clip].into_iter().flatten().flat_map(|rings| rings.iter().flatten());
        let mut bounds: Option<[i64; 4]> = None;
        for p in points {
            let [x0, y0, x1, y1] = bounds.unwrap_or([p.x, p.y, p.x, p.y]);
            bounds = Some([x0.min(p.x), y0.min(p.y), x1.max(p.x), y1.max(p.y)]);
        }
        let [x0, y0, x1, y1] = bounds?;
        let (x, y) = (x0.midpoint(x1), y0.midpoint(y1));
        let reach = (i128::from(x1) - i128::from(x)).max(i128::from(y1) - i128::from(y));
        Some(Self { x, y, shift: (128 - reach.leading_zeros()).saturating_sub(REACH_BITS) })
    }

    fn shrink(&self, point: GridPoint) -> GridPoint {
        let half = if self.shift > 0 { 1i64 << (self.shift - 1) } else { 0 };
        let one = |value: i64, centre: i64| value.saturating_sub(centre).saturating_add(half) >> self.shift;
        GridPoint { x: one(point.x, self.x), y: one(point.y, self.y) }
    }

    fn restore(&self, point: GridPoint) -> GridPoint {
        GridPoint { x: (point.x << self.shift) + self.x, y: (point.y << self.shift) + self.y }
    }
}

/// An edge; its winding counts along the way from `a` to `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Edge {
    a: GridPoint,
    b: GridPoint,
    winding: Windings,
}

/// Puts edges in order, joins those on top of each other and drops those that cancel.
fn tidy(edges: &mut Vec<Edge>) {
    for edge in edges.iter_mut() {
        if edge.b < edge.a {
            std::mem::swap(&mut edge.a, &mut edge.b);
            edge.winding = edge.winding.map(|w| -w);
        }
    }
    edges.sort_unstable_by_key(|edge| (edge.a, edge.b));
    edges.dedup_by(|next, kept| {
        let same = (next.a, next.b) == (kept.a, kept.b);
        if same {
            kept.winding = [kept.winding[0] + next.winding[0], kept.winding[1] + next.winding[1]];
        }
        same
    });
    edges.retain(|edge| edge.a != edge.b && edge.winding != [0, 0]);
}

/// Splits edges until they meet at common vertices only.
///
/// Every round is a snap rounding of its own: the crossings of *all* edges as they stand are found first, then every
/// edge is led through every vertex and crossing whose square it passes. Splitting at once instead would let nearly
/// parallel edges cross anew one step further on, again and again. A second round only finds that nothing is left.
fn node(edges: &mut Vec<Edge>) -> Result<(), TooEntangled> {
    for _ in 0..MAX_ROUNDS {
        tidy(edges);
        let mut splits: Vec<(u32, GridPoint)> = Vec::new();
        let mut crossings: Vec<GridPoint> = Vec::new();
        let mut boxes: Vec<[i64; 4]> = edges.iter().map(|edge| near(edge.a, edge.b)).collect();
        let done = for_each_near_pair(&boxes, |one, other| {
            let (s, t) = (&edges[one], &edges[other]);
            splits.extend([t.a, t.b].into_iter().filter(|p| passes_through(s, *p)).map(|p| (one as u32, p)));
            splits.extend([s.a, s.b].into_iter().filter(|p| passes_through(t, *p)).map(|p| (other as u32, p)));
            if let Some(p) = crossing(s, t) {
                crossings.push(p);
                for (index, edge) in [(one, s), (other, t)] {
                    if p != edge.a && p != edge.b {
                        splits.push((index as u32, p));
                    }
                }
            }
        });
        if !done {
            return Err(TooEntangled);
        }
        if splits.is_empty() {
            return Ok(());
        }
        crossings.sort_unstable();
        crossings.dedup();
        if !crossings.is_empty() {
            boxes.extend(crossings.iter().map(|p| [p.x, p.y, p.x, p.y]));
            let done = for_each_near_pair(&boxes, |one, other| {
                let (edge, point) = (one.min(other), one.max(other));
                if edge < edges.len() && point >= edges.len() {
                    let p = crossings[point - edges.len()];
                    if passes_through(&edges[edge], p) {
                        splits.push((edge as u32, p));
                    }
                }
            });
            if !done {
                return Err(TooEntangled);
            }
        }
        split(edges, &mut splits);
    }
    Err(TooEntangled)
}

/// The box of an edge and the squares around its ends.
fn near(a: GridPoint, b: GridPoint) -> [i64; 4] {
    [a.x.min(b.x) - 1, a.y.min(b.y) - 1, a.x.max(b.x) + 1, a.y.max(b.y) + 1]
}

fn split(edges: &mut Vec<Edge>, splits: &mut [(u32, GridPoint)]) {
    splits.sort_unstable_by_key(|(index, point)| {
        let Edge { a, b, .. } = edges[*index as usize];
        (*index, along(a, b, *point), *point)
    });
    let mut rest = &splits[..];
    while let Some(&(index, _)) = rest.first() {
        let len = rest.iter().take_while(|(other, _)| *other == index).count();
        let (own, others) = rest.split_at(len);
        rest = others;
        let Edge { a, b, winding } = edges[index as usize];
        let mut before = a;
        for &(_, point) in own {
            if point != before {
                edges.push(Edge { a: before, b: point, winding });
                before = point;
            }
        }
        edges[index as usize] = Edge { a: before, b, winding };
    }
}

/// How far `p` lies along the way from `a` to `b`, times its length.
fn along(a: GridPoint, b: GridPoint, p: GridPoint) -> i128 {
    let (dx, dy) = (i128::from(b.x - a.x), i128::from(b.y - a.y));
    i128::from(p.x - a.x) * dx + i128::from(p.y - a.y) * dy
}

fn cross(a: GridPoint, b: GridPoint, p: GridPoint) -> i128 {
    i128::from(b.x - a.x) * i128::from(p.y - a.y) - i128::from(b.y - a.y) * i128::from(p.x - a.x)
}

/// Whether the edge passes through the unit square around `p`, between its ends.
fn passes_through(edge: &Edge, p: GridPoint) -> bool {
    let Edge { a, b, .. } = *edge;
    if p == a || p == b {
        return false;
    }
    let reach = i128::from((b.x - a.x).abs()) + i128::from((b.y - a.y).abs());
    if 2 * cross(a, b, p).abs() >= reach {
        return false;
    }
    let position = along(a, b, p);
    position > 0 && position < along(a, b, b)
}

/// The grid point nearest to where two edges properly cross.
fn crossing(s: &Edge, t: &Edge) -> Option<GridPoint> {
    let (c, d) = (cross(s.a, s.b, t.a), cross(s.a, s.b, t.b));
    if c.signum() * d.signum() >= 0 {
        return None;
    }
    let (a, b) = (cross(t.a, t.b, s.a), cross(t.a, t.b, s.b));
    if a.signum() * b.signum() >= 0 {
        return None;
    }
    // s.a + (s.b − s.a)·a / (a − b), rounded; 41 + 83 bits at most.
    let part = |from: i64, to: i64| {
        let (numerator, denominator) = (i128::from(to - from) * a, a - b);
        let (numerator, denominator) =
            if denominator < 0 { (-numerator, -denominator) } else { (numerator, denominator) };
        from + (2 * numerator + denominator).div_euclid(2 * denominator) as i64
    };
    Some(GridPoint { x: part(s.a.x, s.b.x), y: part(s.a.y, s.b.y) })
}

/// Calls `visit` once for every pair of boxes that overlap. Gives up, with `false`, when that would take too long.
///
/// The plane is cut into strips along the axis on which boxes are shorter, and each strip is swept along the other.
pub(crate) fn for_each_near_pair(boxes: &[[i64; 4]], mut visit: impl FnMut(usize, usize)) -> bool {
    let overlap = |a: &[i64; 4], b: &[i64; 4]| a[0] <= b[2] && b[0] <= a[2] && a[1] <= b[3] && b[1] <= a[3];
    if boxes.len() <= 24 {
        for (one, a) in boxes.iter().enumerate() {
            for (other, b) in boxes.iter().enumerate().skip(one + 1) {
                if overlap(a, b) {
                    visit(one, other);
                }
            }
        }
        return true;
    }
    let mut whole = boxes[0];
    let (mut wide, mut tall) = (0.0f64, 0.0f64);
    for b in boxes {
        whole = [whole[0].min(b[0]), whole[1].min(b[1]), whole[2].max(b[2]), whole[3].max(b[3])];
        wide += (b[2] - b[0]) as f64;
        tall += (b[3] - b[1]) as f64;
    }
    // Average number of boxes over a line across each axis.
    let extent = |low: i64, high: i64| (high - low).max(1) as f64;
    let over = [wide / extent(whole[0], whole[2]), tall / extent(whole[1], whole[3])];
    let strip_axis = usize::from(over[1] < over[0]);
    let sweep_axis = 1 - strip_axis;
    let count = boxes.len();
    let strips = ((4.0 * count as f64 / over[strip_axis].max(1.0)) as usize).clamp(1, count);
    let (from, size) = (whole[strip_axis], extent(whole[strip_axis], whole[strip_axis + 2]) + 1.0);
    let strip_of = |at: i64| (((at - from) as f64 / size * strips as f64) as usize).min(strips - 1);

    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by_key(|index| boxes[*index as usize][sweep_axis]);
    let mut starts = vec![0u32; strips + 1];
    for b in boxes {
        for strip in strip_of(b[strip_axis])..=strip_of(b[strip_axis + 2]) {
            starts[strip + 1] += 1;
        }
    }
    for strip in 0..strips {
        starts[strip + 1] += starts[strip];
    }
    let mut filled = starts.clone();
    let mut members = vec![0u32; starts[strips] as usize];
    for index in order {
        let b = &boxes[index as usize];
        for strip in strip_of(b[strip_axis])..=strip_of(b[strip_axis + 2]) {
            members[filled[strip] as usize] = index;
            filled[strip] += 1;
        }
    }
    let mut left = STEPS_PER_EDGE * count as u64 + STEPS_ANYWAY;
    for strip in 0..strips {
        let members = &members[starts[strip] as usize..starts[strip + 1] as usize];
        for (place, &one) in members.iter().enumerate() {
            let a = &boxes[one as usize];
            for &other in &members[place + 1..] {
                let b = &boxes[other as usize];
                if b[sweep_axis] > a[sweep_axis + 2] {
                    break;
                }
                let Some(less) = left.checked_sub(1) else { return false };
                left = less;
                // A pair that shares several strips is seen in the first of them.
                if overlap(a, b) && strip == strip_of(a[strip_axis].max(b[strip_axis])) {
                    visit(one as usize, other as usize);
                }
            }
        }
    }
    true
}

/// Half-edge 2·i runs from `a` to `b` of edge i, half-edge 2·i + 1 back.
struct Graph {
    points: Vec<GridPoint>,
    /// Vertex that a half-edge starts at.
    origin: Vec<u32>,
    /// The half-edge that follows on the boundary of the face to the left.
    next: Vec<u32>,
}

/// Faces as cycles of half-edges.
struct Faces {
    /// Cycle that a half-edge is on.
    cycle: Vec<u32>,
    /// Winding numbers left of each cycle.
    windings: Vec<Windings>,
    /// Cycles of one face, as a forest.
    parents: Vec<u32>,
}

impl Graph {
    fn new(edges: &[Edge]) -> Self {
        let mut points: Vec<GridPoint> = edges.iter().flat_map(|edge| [edge.a, edge.b]).collect();
        points.sort_unstable();
        points.dedup();
        let vertex = |point: &GridPoint| points.binary_search(point).unwrap_or(0) as u32;
        let origin: Vec<u32> = edges.iter().flat_map(|edge| [vertex(&edge.a), vertex(&edge.b)]).collect();
        let mut around: Vec<u32> = (0..origin.len() as u32).collect();
        let direction = |half: u32| {
            let (from, to) = (origin[half as usize], origin[(half ^ 1) as usize]);
            let (a, b) = (points[from as usize], points[to as usize]);
            (b.x - a.x, b.y - a.y)
        };
        around.sort_unstable_by(|one, other| {
            origin[*one as usize]
                .cmp(&origin[*other as usize])
                .then_with(|| compare_angles(direction(*one), direction(*other)))
        });
        // Coming in on h, the face on the left goes on with the half-edge clockwise of the way back.
        let mut next = vec![0; origin.len()];
        let mut rest = &around[..];
        while let Some(first) = rest.first() {
            let vertex = origin[*first as usize];
            let len = rest.iter().take_while(|half| origin[**half as usize] == vertex).count();
            let (star, others) = rest.split_at(len);
            rest = others;
            for (place, &half) in star.iter().enumerate() {
                let clockwise = star[if place == 0 { len - 1 } else { place - 1 }];
                next[(half ^ 1) as usize] = clockwise;
            }
        }
        Self { points, origin, next }
    }

    fn point(&self, half: u32) -> GridPoint {
        self.points[self.origin[half as usize] as usize]
    }

    /// Finds the faces and their winding numbers.
    fn label(&self, edges: &[Edge]) -> Faces {
        const UNSEEN: u32 = u32::MAX;
        let halves = self.next.len();
        let mut cycle = vec![UNSEEN; halves];
        let mut first_of: Vec<u32> = Vec::new();
        let mut areas: Vec<i128> = Vec::new();
        for start in 0..halves as u32 {
            if cycle[start as usize] != UNSEEN {
                continue;
            }
            let number = first_of.len() as u32;
            let (origin, mut area, mut half) = (self.point(start), 0i128, start);
            loop {
                cycle[half as usize] = number;
                area += cross(origin, self.point(half), self.point(half ^ 1));
                half = self.next[half as usize];
                if half == start {
                    break;
                }
            }
            first_of.push(start);
            areas.push(area);
        }
        let count = first_of.len();
        let mut faces = Faces { cycle, windings: vec![[0, 0]; count], parents: (0..count as u32).collect() };

        // Components, from the leftmost vertex on: what may lie around one is labelled before it.
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        for half in 0..halves as u32 {
            members[faces.cycle[half as usize] as usize].push(half);
        }
        let mut outer: Vec<(GridPoint, u32)> = Vec::new();
        for (number, area) in areas.iter().enumerate() {
            if *area <= 0 {
                let lowest = members[number].iter().map(|half| self.point(*half)).min();
                outer.extend(lowest.map(|point| (point, number as u32)));
            }
        }
        outer.sort_unstable();
        let mut labelled = vec![false; count];
        let mut queue = Vec::new();
        for (lowest, number) in outer {
            if labelled[number as usize] {
                continue;
            }
            let (base, around) = self.around(lowest, edges, &faces, &labelled);
            if let Some(face) = around {
                faces.join(number, face);
            }
            faces.windings[number as usize] = base;
            labelled[number as usize] = true;
            queue.push(number);
            while let Some(inside) = queue.pop() {
                for &half in &members[inside as usize] {
                    let across = faces.cycle[(half ^ 1) as usize];
                    if labelled[across as usize] {
                        continue;
                    }
                    let winding = edges[half as usize / 2].winding;
                    let sign = if half % 2 == 0 { 1 } else { -1 };
                    let here = faces.windings[inside as usize];
                    faces.windings[across as usize] = [here[0] - sign * winding[0], here[1] - sign * winding[1]];
                    labelled[across as usize] = true;
                    queue.push(across);
                }
            }
        }
        faces
    }

    /// The winding numbers just left of `point`, the leftmost vertex of its component, and a cycle of the face there.
    fn around(&self, point: GridPoint, edges: &[Edge], faces: &Faces, labelled: &[bool]) -> (Windings, Option<u32>) {
        let mut base = [0, 0];
        let mut nearest: Option<(GridPoint, GridPoint, u32)> = None;
        for (index, edge) in edges.iter().enumerate() {
            // Edges are ordered, so `a` is not right of `b`.
            if edge.a.x >= point.x || !labelled[faces.cycle[2 * index] as usize] {
                continue;
            }
            let upward = edge.a.y < edge.b.y;
            let (low, high) = if upward { (edge.a, edge.b) } else { (edge.b, edge.a) };
            if low.y > point.y || high.y <= point.y || cross(low, high, point) >= 0 {
                continue;
            }
            let sign = if upward { 1 } else { -1 };
            base = [base[0] - sign * edge.winding[0], base[1] - sign * edge.winding[1]];
            let nearer = nearest.is_none_or(|(l, h, _)| is_right_of(low, high, l, h, point.y));
            if nearer {
                // To the right of the upward way is to the left of the downward one.
                let downward = 2 * index as u32 + u32::from(upward);
                nearest = Some((low, high, faces.cycle[downward as usize]));
            }
        }
        (base, nearest.map(|(.., cycle)| cycle))
    }

    /// Writes the regions that `keep` accepts.
    fn trace(&self, faces: &Faces, keep: impl Fn(Windings) -> bool, frame: &Coarsening, out: &mut GridAreas) {
        let halves = self.next.len();
        let kept: Vec<bool> = faces.windings.iter().map(|windings| keep(*windings)).collect();
        let inside = |half: u32| kept[faces.cycle[half as usize] as usize];
        let bounds = |half: u32| inside(half) && !inside(half ^ 1);
        let mut regions = Faces { cycle: Vec::new(), windings: Vec::new(), parents: faces.parents.clone() };
        for half in (0..halves as u32).step_by(2) {
            if inside(half) && inside(half ^ 1) {
                regions.join(faces.cycle[half as usize], faces.cycle[(half ^ 1) as usize]);
            }
        }
        const NOWHERE: u32 = u32::MAX;
        let mut seen = vec![false; halves];
        let mut place = vec![NOWHERE; self.points.len()];
        let mut path: Vec<u32> = Vec::new();
        // Rings: region, whether it is a hole, its points.
        let mut rings: Vec<(u32, bool, Vec<GridPoint>)> = Vec::new();
        for start in 0..halves as u32 {
            if seen[start as usize] || !bounds(start) {
                continue;
            }
            let region = regions.find(faces.cycle[start as usize]);
            let mut half = start;
            while !seen[half as usize] {
                seen[half as usize] = true;
                let vertex = self.origin[half as usize] as usize;
                if place[vertex] != NOWHERE {
                    self.cut(place[vertex] as usize, &mut path, &mut place, region, frame, &mut rings);
                }
                place[vertex] = path.len() as u32;
                path.push(vertex as u32);
                half = self.next[half as usize];
                while !bounds(half) {
                    half = self.next[(half ^ 1) as usize];
                }
            }
            self.cut(0, &mut path, &mut place, region, frame, &mut rings);
        }
        // Shells by place, holes behind the shell of their region.
        rings.retain(|(.., ring)| ring.len() > 2);
        let mut shells: Vec<usize> = (0..rings.len()).filter(|index| !rings[*index].1).collect();
        shells.sort_by_key(|index| rings[*index].2.iter().min().copied());
        let mut holes: Vec<usize> = (0..rings.len()).filter(|index| rings[*index].1).collect();
        holes.sort_by_key(|index| (rings[*index].0, rings[*index].2.iter().min().copied()));
        let mut spent = vec![false; regions.parents.len()];
        for shell in shells {
            let (region, _, ring) = &rings[shell];
            out.push_ring(ring, false);
            if !std::mem::replace(&mut spent[*region as usize], true) {
                let first = holes.partition_point(|hole| rings[*hole].0 < *region);
                for hole in holes[first..].iter().take_while(|hole| rings[**hole].0 == *region) {
                    out.push_ring(&rings[*hole].2, false);
                }
            }
            out.end_polygon();
        }
    }

    /// Takes the path from `from` on as a ring of its own.
    fn cut(
        &self,
        from: usize,
        path: &mut Vec<u32>,
        place: &mut [u32],
        region: u32,
        frame: &Coarsening,
        rings: &mut Vec<(u32, bool, Vec<GridPoint>)>,
    ) {
        let ring: Vec<GridPoint> = path
            .drain(from..)
            .map(|vertex| {
                place[vertex as usize] = u32::MAX;
                frame.restore(self.points[vertex as usize])
            })
            .collect();
        if !ring.is_empty() {
            let hole = super::nest::signed_area(&ring) < 0;
            rings.push((region, hole, ring));
        }
    }
}

impl Faces {
    fn find(&mut self, mut cycle: u32) -> u32 {
        while self.parents[cycle as usize] != cycle {
            let above = self.parents[self.parents[cycle as usize] as usize];
            self.parents[cycle as usize] = above;
            cycle = above;
        }
        cycle
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        self.parents[one.max(other) as usize] = one.min(other);
    }
}

/// Whether the first edge crosses the height `y` further right than the second, or leaves it further right.
fn is_right_of(low: GridPoint, high: GridPoint, than_low: GridPoint, than_high: GridPoint, y: i64) -> bool {
    // x = low.x + (y − low.y)·dx / dy on both, multiplied out.
    let terms = |low: GridPoint, high: GridPoint| {
        let (dx, dy) = (i128::from(high.x - low.x), i128::from(high.y - low.y));
        (i128::from(low.x) * dy + i128::from(y - low.y) * dx, dx, dy)
    };
    let ((x, dx, dy), (than_x, than_dx, than_dy)) = (terms(low, high), terms(than_low, than_high));
    let (here, there) = (x * than_dy, than_x * dy);
    here > there || (here == there && dx * than_dy > than_dx * dy)
}

/// Counter-clockwise from the direction of the x axis.
fn compare_angles(one: (i64, i64), other: (i64, i64)) -> std::cmp::Ordering {
    let lower = |(x, y): (i64, i64)| y < 0 || (y == 0 && x < 0);
    lower(one).cmp(&lower(other)).then_with(|| {
        let turn = i128::from(one.0) * i128::from(other.1) - i128::from(one.1) * i128::from(other.0);
        0.cmp(&turn)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(list: &[&[(i64, i64)]]) -> GridRings {
        let mut rings = GridRings::default();
        for ring in list {
            rings.push(ring.iter().map(|&(x, y)| GridPoint { x, y }));
        }
        rings
    }

    fn doubled_area(areas: &GridAreas) -> i128 {
        areas.iter().flatten().map(super::super::nest::signed_area).sum()
    }

    #[test]
    fn nearly_parallel_edges_are_noded_in_two_rounds() {
        // Splitting where edges cross, one pair after the other, creeps along these for hundreds of rounds.
        let tangled: [&[(i64, i64)]; 2] =
            [&[(339, 128), (940, 876), (254, 0)], &[(330, 373), (516, 50), (731, 821), (522, 74), (0, 0)]];
        let mut edges = Vec::new();
        for ring in tangled {
            for (index, &a) in ring.iter().enumerate() {
                let b = ring[(index + 1) % ring.len()];
                let point = |(x, y)| GridPoint { x, y };
                edges.push(Edge { a: point(a), b: point(b), winding: [1, 0] });
            }
        }
        assert_eq!(node(&mut edges), Ok(()));
        assert!(edges.len() < 40, "{}", edges.len());
    }

    #[test]
    fn operations_on_two_squares() {
        let (a, b) = (rings(&[&[(0, 0), (10, 0), (10, 10), (0, 10)]]), rings(&[&[(5, 5), (15, 5), (15, 15), (5, 15)]]));
        for (keep, expected) in [
            ((|[a, b]: Windings| a != 0 && b != 0) as fn(Windings) -> bool, 25),
            (|[a, b]| a != 0 && b == 0, 75),
            (|[a, b]| a != 0 || b != 0, 175),
        ] {
            let mut out = GridAreas::default();
            arrange(&a, Some(&b), keep, &mut out).unwrap();
            assert_eq!((out.len(), doubled_area(&out)), (1, 2 * expected));
        }
    }

    #[test]
    fn winding_and_parity_differ_where_a_ring_covers_itself() {
        let twice = rings(&[&[(0, 0), (10, 0), (10, 10), (0, 10)], &[(2, 2), (4, 2), (4, 4), (2, 4)]]);
        let area = |keep: fn(Windings) -> bool| {
            let mut out = GridAreas::default();
            arrange(&twice, None, keep, &mut out).unwrap();
            doubled_area(&out)
        };
        assert_eq!(area(|[w, _]| w != 0), 200);
        assert_eq!(area(|[w, _]| w % 2 != 0), 192);
    }

    #[test]
    fn coordinates_far_out_are_made_coarser_and_stay_on_the_grid() {
        let far = 1i64 << 50;
        let bow_tie = rings(&[&[(-far, -far), (far, far), (far, -far), (-far, far)]]);
        let mut out = GridAreas::default();
        arrange(&bow_tie, None, |[w, _]| w % 2 != 0, &mut out).unwrap();
        assert_eq!(out.len(), 2);
        assert_eq!(doubled_area(&out) >> 100, 4);
    }

    #[test]
    fn pairs_are_found_once_whatever_the_strips() {
        // A lattice of long thin boxes: every horizontal one meets every vertical one.
        let mut boxes = Vec::new();
        for index in 0..60i64 {
            boxes.push([0, 10 * index, 1000, 10 * index + 1]);
            boxes.push([10 * index, 0, 10 * index + 1, 1000]);
        }
        let mut seen = std::collections::HashSet::new();
        assert!(for_each_near_pair(&boxes, |one, other| assert!(seen.insert((one.min(other), one.max(other))))));
        assert_eq!(seen.len(), 3600);
    }
}
