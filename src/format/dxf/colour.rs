//! The 256 colours of the AutoCAD Color Index as 0xRRGGBB.
//!
//! Indices 10 to 249 are 24 hues, 15 degrees apart, each in five values and, at odd indices, with half the
//! saturation; the first nine and the last six are fixed.

use crate::drawing::Colour;

const FIRST: [u32; 10] =
    [0x000000, 0xFF0000, 0xFFFF00, 0x00FF00, 0x00FFFF, 0x0000FF, 0xFF00FF, 0xFFFFFF, 0x808080, 0xC0C0C0];
const GREYS: [u32; 6] = [0x000000, 0x656565, 0x666666, 0x999999, 0xCCCCCC, 0xFFFFFF];
/// The five values in percent.
const VALUES: [u32; 5] = [100, 65, 50, 30, 15];

/// The colour of an index from 1 to 255; `None` outside.
pub(super) fn rgb(index: u8) -> Option<u32> {
    match index {
        0 => None,
        1..=9 => FIRST.get(usize::from(index)).copied(),
        10..=249 => {
            let (hue, shade) = (u32::from(index) / 10 - 1, u32::from(index) % 10);
            let percent = VALUES[shade as usize / 2];
            let pale = !shade.is_multiple_of(2);
            // A channel at `step` quarters between the low and the high one.
            let channel = |step: u32| 255 * percent * (if pale { 4 + step } else { 2 * step }) / 800;
            let (sextant, step) = (hue / 4, hue % 4);
            let (high, rising, falling, low) = (channel(4), channel(step), channel(4 - step), channel(0));
            let (red, green, blue) = match sextant {
                0 => (high, rising, low),
                1 => (falling, high, low),
                2 => (low, high, rising),
                3 => (low, falling, high),
                4 => (rising, low, high),
                _ => (high, low, falling),
            };
            Some(red << 16 | green << 8 | blue)
        }
        250..=255 => GREYS.get(usize::from(index) - 250).copied(),
    }
}

/// The colour of an entity by its group 62 value: 0 is by block, 256 (and anything odd) by layer.
pub(super) fn of_entity(number: i64) -> Colour {
    match number.unsigned_abs() {
        0 => Colour::ByBlock,
        index => u8::try_from(index).ok().and_then(rgb).map_or(Colour::ByLayer, Colour::Rgb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_the_index() {
        for (index, expected) in [
            (1, 0xFF0000),
            (7, 0xFFFFFF),
            (10, 0xFF0000),
            (11, 0xFF7F7F),
            (12, 0xA50000),
            (21, 0xFF9F7F),
            (23, 0xA56752),
            (30, 0xFF7F00),
            (94, 0x007F00),
            (150, 0x007FFF),
            (170, 0x0000FF),
            (252, 0x666666),
            (255, 0xFFFFFF),
        ] {
            assert_eq!(rgb(index), Some(expected), "{index}");
        }
        assert_eq!(rgb(0), None);
        assert_eq!(of_entity(0), Colour::ByBlock);
        assert_eq!(of_entity(256), Colour::ByLayer);
        assert_eq!(of_entity(-1), Colour::Rgb(0xFF0000));
    }
}
