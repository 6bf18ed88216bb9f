//! The OBJECTS section: what of it changes the plan.
//!
//! Clip boundaries hang on their block reference by three handles: the reference's extension dictionary, the
//! dictionary named `ACAD_FILTER` in it, and the filter named `SPATIAL` in that. GEODATA says where the drawing lies
//! on Earth. Everything else is passed over.

use std::collections::HashMap;

use super::codes;
use super::number;
use super::reader::Reader;
use super::section::is_section_mark;
use crate::drawing::{Affine, Clip, GeoReference, Point, Vec2};
use crate::format::ReadError;

/// Links and clips by handle.
#[derive(Debug, Default)]
struct Objects {
    /// Extension dictionary → filter dictionary.
    filters: HashMap<u64, u64>,
    /// Filter dictionary → spatial filter.
    spatial: HashMap<u64, u64>,
    /// Spatial filter → its clip, if it is switched on and usable.
    clips: HashMap<u64, Option<Clip>>,
}

impl<'a> Reader<'a, '_> {
    pub(super) fn objects(&mut self) -> Result<(), ReadError> {
        let mut objects = Objects::default();
        while let Some(record) = self.record {
            if is_section_mark(record) {
                break;
            }
            self.count_record()?;
            if record.eq_ignore_ascii_case(b"DICTIONARY") {
                self.dictionary_object(&mut objects);
            } else if record.eq_ignore_ascii_case(b"SPATIAL_FILTER") {
                self.spatial_filter(&mut objects);
            } else if record.eq_ignore_ascii_case(b"GEODATA") {
                self.geodata()?;
            } else {
                self.skip_record();
            }
        }
        for (dictionary, insert) in std::mem::take(&mut self.later.dictionaries) {
            let filter = objects.filters.get(&dictionary).and_then(|filter| objects.spatial.get(filter));
            let Some(clip) = filter.and_then(|filter| objects.clips.get(filter)) else { continue };
            let Some(clip) = clip.clone() else { continue };
            let clip = self.out.clip(clip);
            if let Some(insert) = self.out.insert_mut(insert) {
                insert.clip = Some(clip);
            }
        }
        Ok(())
    }

    fn dictionary_object(&mut self, objects: &mut Objects) {
        let mut handle = 0;
        let mut name: &'a [u8] = b"";
        while let Some(tag) = self.field() {
            match tag.code {
                5 => handle = tag.handle(),
                3 => name = number::trim(tag.value),
                350 | 360 => {
                    let target = tag.handle();
                    match name {
                        b"ACAD_FILTER" => _ = objects.filters.insert(handle, target),
                        b"SPATIAL" => _ = objects.spatial.insert(handle, target),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    fn spatial_filter(&mut self, objects: &mut Objects) {
        let mut handle = 0;
        let mut points: Vec<Point> = Vec::new();
        let mut matrix: Vec<f64> = Vec::new();
        let (mut shown, mut front, mut back) = (true, false, false);
        while let Some(tag) = self.field() {
            match tag.code {
                5 => handle = tag.handle(),
                10 => points.push(Point::new(self.real(tag), 0.0)),
                20 => {
                    let y = self.real(tag);
                    if let Some(last) = points.last_mut() {
                        last.y = y;
                    }
                }
                71 => shown = self.integer(tag) != 0,
                72 => front = self.integer(tag) != 0,
                73 => back = self.integer(tag) != 0,
                // Distances of the clip planes stand before the matrices.
                40 if front => front = false,
                41 if back => back = false,
                40 => {
                    let value = self.real(tag);
                    matrix.push(value);
                }
                _ => {}
            }
        }
        if !shown {
            objects.clips.insert(handle, None);
            return;
        }
        let clip = clip_in_block(&points, &matrix);
        if clip.is_none() {
            self.report(&codes::CLIP_INVALID, || format!("filter {handle:X} with {} points", points.len()));
        }
        objects.clips.insert(handle, clip);
    }

    fn geodata(&mut self) -> Result<(), ReadError> {
        let mut system: Vec<&'a [u8]> = Vec::new();
        let (mut design, mut reference) = (Point::ZERO, Point::ZERO);
        let mut north = Vec2::new(0.0, 1.0);
        let mut scale = 1.0;
        while let Some(tag) = self.field() {
            match tag.code {
                // The definition comes in chunks of 255: all but the last in group 303, the last in 301.
                301 | 303 => system.push(tag.value),
                10 => design.x = self.real(tag),
                20 => design.y = self.real(tag),
                11 => reference.x = self.real(tag),
                21 => reference.y = self.real(tag),
                12 => north.x = self.real(tag),
                22 => north.y = self.real(tag),
                40 => scale = self.real(tag),
                // Mesh points reuse the groups of the design point.
                93 => {
                    self.skip_record();
                    break;
                }
                _ => {}
            }
        }
        let joined = system.concat();
        let system = self.decode(&joined)?.replace("^J", "\n");
        if design.is_finite() && reference.is_finite() && north.is_finite() {
            self.out.set_georeference(GeoReference {
                system,
                design_point: design,
                reference_point: reference,
                north,
                scale: if scale.is_finite() && scale > 0.0 { scale } else { 1.0 },
            });
        }
        Ok(())
    }
}

/// The boundary of a filter in the coordinates of its block. Two points are corners of a rectangle.
///
/// The filter stores its points in a system of its own; the second matrix leads from the world to it, the first
/// one from the world to the block. Both are three rows of four numbers.
fn clip_in_block(points: &[Point], matrix: &[f64]) -> Option<Clip> {
    let ring = match points {
        [a, b] => vec![*a, Point::new(b.x, a.y), *b, Point::new(a.x, b.y)],
        [_, _, _, ..] => points.to_vec(),
        _ => return None,
    };
    let plane = |rows: &[f64]| -> Option<Affine> {
        let [a, c, _, e, b, d, _, f, ..] = rows else { return None };
        Some(Affine::new([*a, *b, *c, *d, *e, *f]))
    };
    let to_block = match matrix.len() {
        24.. => {
            let from_filter = plane(&matrix[12..24])?;
            let from_filter =
                if from_filter.determinant().abs() > 1e-300 { from_filter.inverse() } else { Affine::IDENTITY };
            plane(&matrix[..12])? * from_filter
        }
        12..=23 => plane(&matrix[..12])?,
        _ => Affine::IDENTITY,
    };
    let ring: Vec<Point> = ring.into_iter().map(|point| to_block * point).collect();
    ring.iter().all(|point| point.is_finite()).then(|| Clip { rings: vec![ring], inverted: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_points_are_a_rectangle_in_the_block() {
        // The block stands at (100, 50), so the way from the world to it moves back.
        let mut matrix = vec![1.0, 0.0, 0.0, -100.0, 0.0, 1.0, 0.0, -50.0, 0.0, 0.0, 1.0, 0.0];
        matrix.extend([1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let clip = clip_in_block(&[Point::new(100.0, 49.0), Point::new(105.0, 51.0)], &matrix).unwrap();
        let expected = [(0.0, -1.0), (5.0, -1.0), (5.0, 1.0), (0.0, 1.0)].map(|(x, y)| Point::new(x, y));
        assert_eq!(clip.rings, vec![expected.to_vec()]);
        assert!(clip_in_block(&[Point::ZERO], &matrix).is_none());
    }
}
