//! Areas that cross themselves or each other → polygons that do not, on the grid of the output, by the exact arithmetic of
//! [`crate::drawing`]. What is too entangled for it is left to the caller as it is.

use super::Polygon;
use crate::drawing::Point;
use crate::drawing::arrange::{Stop, arrange};
use crate::drawing::hash::STEPS_PER_METRE;
use crate::drawing::nest::{Effort, GridAreas, GridPoint, GridRings, Nester};
use crate::format::Interrupt;

/// What shells cover together, without holes; `None` if they are too entangled.
///
/// # Errors
/// [`Interrupt`] of the effort's checkpoint.
pub(crate) fn union<'a>(
    shells: impl Iterator<Item = &'a [Point]>,
    effort: &Effort<'_>,
) -> Result<Option<Vec<Polygon>>, Interrupt> {
    let mut areas = GridAreas::default();
    match arrange(&gridded(shells), None, |[winding, _]| winding > 0, effort, &mut areas) {
        Ok(()) => {}
        Err(Stop::Entangled) => return Ok(None),
        Err(Stop::Interrupted(interrupt)) => return Err(interrupt),
    }
    let mut polygons = polygons(&areas);
    polygons.iter_mut().for_each(|polygon| polygon.holes.clear());
    Ok(Some(polygons))
}

/// What rings enclose by the even-odd rule, which is how they are written; `None` if they need no mending, or are too entangled.
///
/// # Errors
/// [`Interrupt`] of the effort's checkpoint.
pub(crate) fn mended(rings: &[Vec<Point>], effort: &Effort<'_>) -> Result<Option<Vec<Polygon>>, Interrupt> {
    let mut areas = GridAreas::default();
    let outcome = Nester::default().nest(&gridded(rings.iter().map(Vec::as_slice)), effort, &mut areas)?;
    Ok(outcome.repaired.then(|| polygons(&areas)))
}

fn gridded<'a>(rings: impl Iterator<Item = &'a [Point]>) -> GridRings {
    let mut grid = GridRings::default();
    for ring in rings {
        grid.push(ring.iter().map(|point| GridPoint::nearest(*point, STEPS_PER_METRE)));
    }
    grid
}

fn polygons(areas: &GridAreas) -> Vec<Polygon> {
    let metres = |ring: &[GridPoint]| -> Vec<Point> {
        ring.iter()
            .map(|point| Point::new(point.x as f64 / STEPS_PER_METRE, point.y as f64 / STEPS_PER_METRE))
            .collect()
    };
    let of_rings = areas.iter().filter_map(|mut rings| {
        let shell = metres(rings.next()?);
        Some(Polygon { shell, holes: rings.map(metres).collect() })
    });
    of_rings.collect()
}
