//! Colours of PDF as 0xRRGGBB.
//!
//! Device, calibrated and ICC spaces are taken by their number of components (a plan's grey is grey in every
//! profile); Indexed, Separation and DeviceN go through their table or tint function. CMYK is converted without a
//! profile. Patterns have no colour.

use std::rc::Rc;

use hayro_interpret::Function;
use hayro_syntax::object::{Array, Dict, Name, Object, Stream, String as PdfString};

use super::objects::Budget;

/// How deep spaces may be made of spaces.
const GREATEST_DEPTH: u32 = 4;
/// Greatest number of components of a DeviceN space.
const MOST_COMPONENTS: usize = 32;

/// A colour space.
#[derive(Clone)]
pub(super) enum Space {
    Gray,
    Rgb,
    Cmyk,
    /// CIE L*a*b*.
    Lab,
    /// Entries of a table, with the components of `base` as bytes.
    Indexed {
        base: Rc<Space>,
        table: Rc<[u8]>,
    },
    /// Separation and DeviceN.
    Tint {
        components: usize,
        alternate: Rc<Space>,
        function: Function,
    },
    Pattern,
}

impl Space {
    /// A space by name that needs no resources.
    pub(super) fn by_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"DeviceGray" | b"G" | b"CalGray" => Self::Gray,
            b"DeviceRGB" | b"RGB" | b"CalRGB" => Self::Rgb,
            b"DeviceCMYK" | b"CMYK" => Self::Cmyk,
            b"Pattern" => Self::Pattern,
            _ => return None,
        })
    }

    /// A space as a resource states it.
    pub(super) fn of_object(object: &Object<'_>) -> Option<Self> {
        Self::at_depth(object, GREATEST_DEPTH)
    }

    fn at_depth(object: &Object<'_>, depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let array = match object {
            Object::Name(name) => return Self::by_name(name),
            Object::Array(array) => array,
            _ => return None,
        };
        let mut entries = array.iter::<Object<'_>>();
        let Object::Name(family) = entries.next()? else { return None };
        match &*family {
            b"ICCBased" => {
                let Object::Stream(profile) = entries.next()? else { return None };
                by_components(profile.dict())
            }
            b"Lab" => Some(Self::Lab),
            b"Indexed" | b"I" => {
                let base = Rc::new(Self::at_depth(&entries.next()?, depth)?);
                let _greatest_index = entries.next()?;
                let table: Rc<[u8]> = match entries.next()? {
                    Object::String(table) => PdfString::as_bytes(&table).into(),
                    Object::Stream(table) => decoded_table(&table)?,
                    _ => return None,
                };
                Some(Self::Indexed { base, table })
            }
            b"Separation" => {
                let _name = entries.next()?;
                Self::tint(1, entries.next()?, entries.next()?, depth)
            }
            b"DeviceN" => {
                let Object::Array(names) = entries.next()? else { return None };
                Self::tint(count_entries(&names)?, entries.next()?, entries.next()?, depth)
            }
            family => Self::by_name(family),
        }
    }

    fn tint(components: usize, alternate: Object<'_>, function: Object<'_>, depth: u32) -> Option<Self> {
        let alternate = Rc::new(Self::at_depth(&alternate, depth)?);
        let function = is_small_function(&function, GREATEST_DEPTH).then(|| Function::new(&function))??;
        let fits = function.num_inputs() == components && function.num_outputs() >= alternate.num_components();
        fits.then_some(Self::Tint { components, alternate, function })
    }

    pub(super) fn is_pattern(&self) -> bool {
        matches!(self, Self::Pattern)
    }

    fn num_components(&self) -> usize {
        match self {
            Self::Gray | Self::Indexed { .. } => 1,
            Self::Rgb | Self::Lab => 3,
            Self::Cmyk => 4,
            Self::Tint { components, .. } => *components,
            Self::Pattern => 0,
        }
    }

    /// The colour a space starts with.
    pub(super) fn initial(&self) -> u32 {
        match self {
            Self::Tint { components, .. } => self.rgb(&vec![1.0; *components]),
            Self::Cmyk => self.rgb(&[0.0, 0.0, 0.0, 1.0]),
            _ => self.rgb(&[0.0; 4]),
        }
    }

    /// The colour of `components`; black if there are too few.
    pub(super) fn rgb(&self, components: &[f32]) -> u32 {
        match (self, components) {
            (Self::Gray, [gray, ..]) => pack([*gray; 3]),
            (Self::Rgb, [red, green, blue, ..]) => pack([*red, *green, *blue]),
            (Self::Cmyk, [c, m, y, k, ..]) => pack([c, m, y].map(|ink| (1.0 - ink) * (1.0 - k))),
            (Self::Lab, [l, a, b, ..]) => pack(lab(*l, *a, *b)),
            (Self::Indexed { base, table }, [index, ..]) => {
                let width = base.num_components();
                let start = (index.max(0.0) as usize).saturating_mul(width);
                let entry = table.get(start..start.saturating_add(width)).unwrap_or(&[]);
                let components: Vec<f32> = entry.iter().map(|byte| f32::from(*byte) / 255.0).collect();
                base.rgb(&components)
            }
            (Self::Tint { components: wanted, alternate, function }, components) => {
                let mut output = vec![0.0; function.num_outputs()];
                let evaluated = components.get(..*wanted).and_then(|input| function.eval(input, &mut output));
                if evaluated.is_some() { alternate.rgb(&output) } else { 0 }
            }
            _ => 0,
        }
    }
}

fn by_components(profile: &Dict<'_>) -> Option<Space> {
    Some(match profile.get::<i32>("N")? {
        1 => Space::Gray,
        3 => Space::Rgb,
        4 => Space::Cmyk,
        _ => return None,
    })
}

fn count_entries(names: &Array<'_>) -> Option<usize> {
    let count = names.iter::<Name<'_>>().take(MOST_COMPONENTS + 1).count();
    (1..=MOST_COMPONENTS).contains(&count).then_some(count)
}

/// The table of an Indexed space.
fn decoded_table(stream: &Stream<'_>) -> Option<Rc<[u8]>> {
    Some(is_small(stream).then(|| stream.decoded_data())?.ok()?.as_ref().into())
}

/// Whether a table or a tint function stays small when it is decoded; a colour is not worth more.
fn is_small(stream: &Stream<'_>) -> bool {
    const LARGEST: u64 = 16 << 20;
    Budget::new(LARGEST).admit(stream).is_ok()
}

fn is_small_function(function: &Object<'_>, depth: u32) -> bool {
    match function {
        Object::Stream(samples) => is_small(samples),
        Object::Dict(dict) => dict.get::<Array<'_>>("Functions").is_none_or(|parts| {
            depth > 0 && parts.iter::<Object<'_>>().all(|part| is_small_function(&part, depth - 1))
        }),
        _ => true,
    }
}

fn pack(components: [f32; 3]) -> u32 {
    components.iter().fold(0, |packed, component| (packed << 8) | (component.clamp(0.0, 1.0) * 255.0).round() as u32)
}

/// CIE L*a*b* (D50) to sRGB.
fn lab(l: f32, a: f32, b: f32) -> [f32; 3] {
    let m = (l + 16.0) / 116.0;
    let decode = |t: f32| if t >= 6.0 / 29.0 { t * t * t } else { 108.0 / 841.0 * (t - 4.0 / 29.0) };
    let (x, y, z) = (0.9642 * decode(m + a / 500.0), decode(m), 0.8249 * decode(m - b / 200.0));
    // XYZ (D50) to linear sRGB, Bradford-adapted
    let linear = [
        3.1339 * x - 1.6169 * y - 0.4906 * z,
        -0.9788 * x + 1.9161 * y + 0.0335 * z,
        0.0719 * x - 0.2290 * y + 1.4052 * z,
    ];
    linear.map(|c| if c <= 0.003_130_8 { 12.92 * c } else { 1.055 * c.powf(1.0 / 2.4) - 0.055 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_colours() {
        assert_eq!(Space::Gray.rgb(&[0.5]), 0x80_80_80);
        assert_eq!(Space::Rgb.rgb(&[1.0, 0.0, 0.2]), 0xFF_00_33);
        assert_eq!(Space::Cmyk.rgb(&[0.0, 1.0, 1.0, 0.0]), 0xFF_00_00);
        assert_eq!(Space::Rgb.rgb(&[1.0]), 0, "too few components");
        let white = Space::Lab.rgb(&[100.0, 0.0, 0.0]);
        assert!(white & 0xFF > 0xFA && white >> 16 > 0xFA, "{white:06x}");
    }

    #[test]
    fn indexed_colours_come_from_the_table() {
        let space = Space::Indexed { base: Rc::new(Space::Rgb), table: [0, 0, 0, 255, 0, 0].as_slice().into() };
        assert_eq!(space.rgb(&[1.0]), 0xFF_00_00);
        assert_eq!(space.rgb(&[9.0]), 0, "outside the table");
    }
}
