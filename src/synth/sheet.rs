//! What surrounds a plan: axes with bubbles, dimension chains, frame and title block, paper space.

use super::layout::{Floor, bounds, point};
use super::sketch::{Mark, Role, Shape, Sketch, box_corners, closed};
use super::spec::{Format, Language, LayerScheme};
use super::style::Style;

/// Axes every 6 to 8 metres. On plans without layers they are stubs outside the building, as dash-dotted lines
/// cannot be told from walls there by people either.
pub(super) fn grid(sketch: &mut Sketch, floor: &Floor, style: &Style) {
    let (low, high) = bounds(&floor.outline);
    let stubs = style.layers == LayerScheme::Zero;
    for (along_x, from, to) in [(true, low.x, high.x), (false, low.y, high.y)] {
        let count = ((to - from) / 7.2).floor().max(1.0) as usize;
        for index in 0..=count {
            let at = from + (to - from) * index as f64 / count as f64;
            let place = |depth: f64| if along_x { point(at, low.y - depth) } else { point(low.x - depth, at) };
            let far = if along_x { point(at, high.y + 1.0) } else { point(high.x + 1.0, at) };
            let end = if stubs { place(3.4) } else { far };
            sketch.draw(Role::Grid, Shape::Line(place(4.2), end));
            sketch.draw(Role::Grid, Shape::Circle { centre: place(4.6), radius: 0.4 });
            let name =
                if along_x { char::from(b'A' + (index % 26) as u8).to_string() } else { (index + 1).to_string() };
            sketch.text(Role::Grid, place(4.6), 0.35, name);
        }
    }
}

/// Overall dimensions below and to the left, and a chain of the columns of the grid.
pub(super) fn measure(sketch: &mut Sketch, floor: &Floor, style: &Style) {
    let (low, high) = bounds(&floor.outline);
    let value = |metres: f64| match style.language {
        Language::English => format!("{:.0}", metres * 1000.0),
        _ => format!("{metres:.2}").replace('.', ","),
    };
    let mut dimension = |a, b, through, size: f64| {
        sketch.draw(Role::Dimension, Shape::Dimension { a, b, through, height: 0.2, value: value(size) });
    };
    let (south_west, south_east, north_west) = (low, point(high.x, low.y), point(low.x, high.y));
    dimension(south_west, south_east, low - point(0.0, 2.6), high.x - low.x);
    dimension(south_west, north_west, low - point(2.6, 0.0), high.y - low.y);
    let mut marks: Vec<f64> = floor
        .openings
        .iter()
        .filter(|o| o.along.y.abs() < 1e-9 && o.centre.y < low.y + 0.6 && o.rooms.contains(&None))
        .flat_map(|o| [o.centre.x - o.width / 2.0, o.centre.x + o.width / 2.0])
        .collect();
    marks.extend([low.x, high.x]);
    marks.sort_by(f64::total_cmp);
    for pair in marks.windows(2).filter(|pair| pair[1] - pair[0] > 0.05) {
        dimension(point(pair[0], low.y), point(pair[1], low.y), low - point(0.0, 1.6), pair[1] - pair[0]);
    }
}

/// A frame with a title block: in paper space for DXF, around the plan for SVG and for plans without layers.
pub(super) fn frame_sheet(sketch: &mut Sketch, floor: &Floor, style: &Style) {
    let (low, high) = bounds(&floor.outline);
    let (low, high) = (low - point(7.0, 7.0), high + point(3.0, 3.0));
    let paper = style.format == Format::Dxf;
    let scale = if paper { 0.01 } else { 1.0 };
    let mut draw = |shape| sketch.marks.push(Mark { role: Role::Frame, shape, paper });
    let corner = point(high.x - 6.0, low.y);
    let at = |x: f64, y: f64| point(x, y) * scale;
    draw(closed(&box_corners(low * scale, high * scale)));
    draw(closed(&box_corners(corner * scale, at(high.x, low.y + 2.4))));
    draw(Shape::Line(at(corner.x, low.y + 1.2), at(high.x, low.y + 1.2)));
    draw(Shape::Line(at(corner.x + 3.0, low.y), at(corner.x + 3.0, low.y + 1.2)));
    let texts = match style.language {
        Language::English => ["FLOOR PLAN", "Scale 1:100", "Sheet A-101"],
        Language::German => ["GRUNDRISS", "Maßstab 1:100", "Plan-Nr. 101"],
        Language::French => ["PLAN DE NIVEAU", "Échelle 1:100", "Planche 101"],
    };
    for (text, place) in texts.iter().zip([(3.0, 1.8), (1.5, 0.6), (4.5, 0.6)]) {
        let shape = Shape::Text {
            at: at(corner.x + place.0, low.y + place.1),
            height: 0.25 * scale,
            rotation: 0.0,
            value: (*text).to_owned(),
            align: super::sketch::Align::Centre,
        };
        draw(shape);
    }
}
