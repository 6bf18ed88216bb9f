//! Frames of IMAGE and WIPEOUT, and endless lines cut to what they cross.
//!
//! An image lies in a pixel grid: an origin at its lower left corner and the two steps of a pixel. Its clip
//! boundary counts pixels from the upper left corner, with their centres at whole numbers.

use std::collections::HashMap;

use super::codes;
use super::reader::{Common, Endless, Reader};
use crate::drawing::scale::rough_bounds;
use crate::drawing::{BlockId, Point, Rect, Symbol, Vec2};
use crate::format::ReadError;

impl<'a> Reader<'a, '_> {
    pub(super) fn image_frame(&mut self, kind: Symbol) -> Result<(), ReadError> {
        let mut common = Common::new();
        let mut origin = Point::ZERO;
        let (mut column, mut row, mut size) = (Vec2::ZERO, Vec2::ZERO, Vec2::ZERO);
        let mut clip: Vec<Point> = Vec::new();
        while let Some(tag) = self.field() {
            match tag.code {
                10 => origin.x = self.real(tag),
                20 => origin.y = self.real(tag),
                11 => column.x = self.real(tag),
                21 => column.y = self.real(tag),
                12 => row.x = self.real(tag),
                22 => row.y = self.real(tag),
                13 => size.x = self.real(tag),
                23 => size.y = self.real(tag),
                14 => clip.push(Point::new(self.real(tag), 0.0)),
                24 => {
                    let y = self.real(tag);
                    if let Some(last) = clip.last_mut() {
                        last.y = y;
                    }
                }
                _ => self.common(&mut common, tag),
            }
        }
        if self.is_elsewhere(kind, &common) {
            return Ok(());
        }
        let corners = match clip.as_slice() {
            [] | [_] => vec![Point::new(-0.5, -0.5), Point::new(size.x - 0.5, size.y - 0.5)],
            _ => clip,
        };
        let corners = match corners.as_slice() {
            [low, high] => vec![*low, Point::new(high.x, low.y), *high, Point::new(low.x, high.y)],
            _ => corners,
        };
        if column == Vec2::ZERO && row == Vec2::ZERO {
            self.left_out(&codes::NO_EXTENT, kind, &common);
            return Ok(());
        }
        let place = |pixel: &Point| origin + column * (pixel.x + 0.5) + row * (size.y - pixel.y - 0.5);
        let mut path = self.out.path();
        let mut corners = corners.iter();
        if let Some(first) = corners.next() {
            path.move_to(place(first));
        }
        corners.for_each(|corner| path.line_to(place(corner)));
        path.close();
        let path = path.finish()?;
        self.push_line(kind, &common, path)
    }

    /// Cuts the endless lines to the box around everything else in their block or the model, and adds them.
    pub(super) fn finish_endless(&mut self) -> Result<(), ReadError> {
        let endless = std::mem::take(&mut self.later.endless);
        let mut known: HashMap<Option<BlockId>, Option<Rect>> = HashMap::new();
        for line in endless {
            let drawing = self.out.drawing();
            let bounds = *known.entry(line.block).or_insert_with(|| {
                let block = line.block.and_then(|block| drawing.block(block));
                rough_bounds(drawing, block.map_or(&drawing.items, |block| &block.items))
            });
            self.finish_one(&line, bounds)?;
        }
        Ok(())
    }

    fn finish_one(&mut self, line: &Endless, bounds: Option<Rect>) -> Result<(), ReadError> {
        let Some(bounds) = bounds else {
            self.left_out(&codes::UNBOUNDED, line.kind, &line.common);
            return Ok(());
        };
        // Outside of the box there is nothing to see of it: it counts as without extent.
        let Some((from, to)) = clip_line(line.base, line.direction, line.both_ways, bounds) else {
            self.left_out(&codes::NO_EXTENT, line.kind, &line.common);
            return Ok(());
        };
        let mut path = self.out.path();
        path.move_to(from);
        path.line_to(to);
        let path = path.finish()?;
        if let Some(block) = line.block {
            self.out.reopen_block(block);
        }
        let result = self.push_line(line.kind, &line.common, path);
        self.out.close_block();
        result
    }
}

/// The part of a line inside a box: from `base` on, or in both directions. Liang and Barsky's clipping.
fn clip_line(base: Point, direction: Vec2, both_ways: bool, bounds: Rect) -> Option<(Point, Point)> {
    let (mut low, mut high) = (if both_ways { f64::NEG_INFINITY } else { 0.0 }, f64::INFINITY);
    let sides =
        [(direction.x, bounds.x0 - base.x, bounds.x1 - base.x), (direction.y, bounds.y0 - base.y, bounds.y1 - base.y)];
    for (step, to_low, to_high) in sides {
        if step == 0.0 {
            if to_low > 0.0 || to_high < 0.0 {
                return None;
            }
        } else {
            let (near, far) =
                if step > 0.0 { (to_low / step, to_high / step) } else { (to_high / step, to_low / step) };
            low = low.max(near);
            high = high.min(far);
        }
    }
    (low < high && low.is_finite() && high.is_finite()).then(|| (base + direction * low, base + direction * high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_lines_end_at_the_box() {
        let bounds = Rect::new(0.0, 0.0, 10.0, 10.0);
        let diagonal = Vec2::new(1.0, 1.0);
        assert_eq!(
            clip_line(Point::new(5.0, 5.0), diagonal, true, bounds),
            Some((Point::new(0.0, 0.0), Point::new(10.0, 10.0)))
        );
        assert_eq!(
            clip_line(Point::new(5.0, 5.0), Vec2::new(0.0, -2.0), false, bounds),
            Some((Point::new(5.0, 5.0), Point::new(5.0, 0.0)))
        );
        assert_eq!(clip_line(Point::new(20.0, 5.0), Vec2::new(1.0, 0.0), false, bounds), None);
        assert_eq!(clip_line(Point::new(20.0, 50.0), Vec2::new(1.0, 0.0), true, bounds), None);
    }
}
