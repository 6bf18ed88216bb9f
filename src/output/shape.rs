//! Flattened shapes → valid geometry on a grid: points, lines, or polygons.
//!
//! A closed line becomes a polygon if it is one; areas become valid polygons whatever they were. Vertices that
//! are equal after rounding are one vertex; what is left with a single point has vanished and is reported.

use crate::drawing::Point;
use crate::drawing::expand::Polylines;
use crate::drawing::nest::{Effort, GridAreas, GridPoint, GridRings, Nester};
use crate::format::Interrupt;

/// What a shape became; the geometry is in the [`Gridded`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Nothing is left on the grid.
    Nothing,
    /// One point.
    Point,
    /// Lines, open or closed.
    Lines,
    /// Polygons.
    Areas,
}

/// What had to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    /// An area was noded anew.
    pub repaired: bool,
    /// An area encloses nothing and became lines.
    pub flat: bool,
    /// An area is too entangled to be resolved and became lines.
    pub entangled: bool,
    /// A closed line stayed a line.
    pub crosses: bool,
    /// Parts that vanished beside others that did not.
    pub vanished: u32,
}

/// One shape on the grid. Reused from shape to shape.
#[derive(Default)]
pub struct Gridded {
    nester: Nester,
    rings: GridRings,
    /// Polygons, if that is what was made.
    pub areas: GridAreas,
    points: Vec<GridPoint>,
    ends: Vec<(u32, bool)>,
}

impl Gridded {
    /// The lines: their points, and whether they run back to the first, which is not repeated.
    pub fn lines(&self) -> impl Iterator<Item = (&[GridPoint], bool)> {
        let mut start = 0usize;
        self.ends.iter().map(move |(end, closed)| {
            let from = std::mem::replace(&mut start, *end as usize);
            (self.points.get(from..*end as usize).unwrap_or(&[]), *closed)
        })
    }

    /// All points of the lines; the point.
    pub fn points(&self) -> &[GridPoint] {
        &self.points
    }

    /// Puts a point.
    pub fn point(&mut self, at: GridPoint) -> Made {
        self.points.clear();
        self.ends.clear();
        self.points.push(at);
        Made::Point
    }

    /// Puts stroked subpaths.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn stroke(
        &mut self,
        lines: &Polylines,
        effort: &Effort<'_>,
        to_grid: &mut impl FnMut(Point) -> GridPoint,
    ) -> Result<(Made, Findings), Interrupt> {
        effort.steps(lines.points.len())?;
        let mut findings = Findings::default();
        self.take_lines(lines, to_grid, &mut findings);
        if self.ends.is_empty() {
            return Ok((Made::Nothing, findings));
        }
        if self.ends.iter().any(|(_, closed)| !closed) {
            return Ok((Made::Lines, findings));
        }
        self.take_rings();
        // One outline, or several drawn as one: polygons with holes if they stay apart, lines if they cross or touch.
        if self.nester.nest_if_apart(&self.rings, effort, &mut self.areas)? {
            return Ok((Made::Areas, findings));
        }
        findings.crosses = true;
        Ok((Made::Lines, findings))
    }

    /// Puts the rings of an area.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn fill(
        &mut self,
        rings: &Polylines,
        effort: &Effort<'_>,
        to_grid: &mut impl FnMut(Point) -> GridPoint,
    ) -> Result<(Made, Findings), Interrupt> {
        self.fill_rings(rings.iter().map(|(ring, _)| ring), effort, to_grid)
    }

    /// Puts rings given one by one, as shells and holes of polygons or as any rings.
    ///
    /// # Errors
    /// [`Interrupt`] of the effort's checkpoint.
    pub fn fill_rings<'a>(
        &mut self,
        rings: impl Iterator<Item = &'a [Point]> + Clone,
        effort: &Effort<'_>,
        to_grid: &mut impl FnMut(Point) -> GridPoint,
    ) -> Result<(Made, Findings), Interrupt> {
        let mut findings = Findings::default();
        self.rings.clear();
        for ring in rings.clone() {
            effort.steps(ring.len())?;
            findings.vanished += u32::from(!self.rings.push(ring.iter().map(|point| to_grid(*point))));
        }
        if !self.rings.is_empty() {
            let outcome = self.nester.nest(&self.rings, effort, &mut self.areas)?;
            (findings.repaired, findings.entangled) = (outcome.repaired, outcome.entangled);
            if !self.areas.is_empty() {
                return Ok((Made::Areas, findings));
            }
        }
        findings = Findings { flat: !findings.entangled, entangled: findings.entangled, ..Findings::default() };
        self.begin_lines();
        for ring in rings {
            self.take_line(ring, true, to_grid, &mut findings);
        }
        if self.ends.is_empty() {
            findings.flat = false;
            return Ok((Made::Nothing, findings));
        }
        Ok((Made::Lines, findings))
    }

    /// Puts one open line.
    pub fn line(&mut self, points: &[Point], to_grid: &mut impl FnMut(Point) -> GridPoint) -> Made {
        self.begin_lines();
        self.take_line(points, false, to_grid, &mut Findings::default());
        if self.ends.is_empty() { Made::Nothing } else { Made::Lines }
    }

    fn begin_lines(&mut self) {
        self.points.clear();
        self.ends.clear();
    }

    fn take_lines(&mut self, lines: &Polylines, to_grid: &mut impl FnMut(Point) -> GridPoint, findings: &mut Findings) {
        self.begin_lines();
        for (points, closed) in lines.iter() {
            let start = self.points.len();
            self.take_line(points, closed, to_grid, findings);
            // A line that comes back to its start on the grid is closed, whether or not it says so.
            if !closed && self.points.len() > start + 3 && self.points.last() == self.points.get(start) {
                self.points.pop();
                if let Some(end) = self.ends.last_mut() {
                    *end = (self.points.len() as u32, true);
                }
            }
        }
        if self.ends.is_empty() {
            findings.vanished = 0;
        }
    }

    /// Adds a line without repeated points; one that is left with two points is open, with one has vanished.
    fn take_line(
        &mut self,
        points: &[Point],
        closed: bool,
        to_grid: &mut impl FnMut(Point) -> GridPoint,
        findings: &mut Findings,
    ) {
        let start = self.points.len();
        for &point in points {
            let point = to_grid(point);
            if self.points.len() == start || self.points.last() != Some(&point) {
                self.points.push(point);
            }
        }
        if closed {
            while self.points.len() > start + 1 && self.points.last() == self.points.get(start) {
                self.points.pop();
            }
        }
        match self.points.len() - start {
            0 => {}
            1 => {
                self.points.truncate(start);
                findings.vanished += 1;
            }
            len => self.ends.push((self.points.len() as u32, closed && len > 2)),
        }
    }

    fn take_rings(&mut self) {
        let mut rings = std::mem::take(&mut self.rings);
        rings.clear();
        for (ring, _) in self.lines() {
            rings.push(ring.iter().copied());
        }
        self.rings = rings;
    }
}
