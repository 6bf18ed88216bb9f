//! The graphics state: what `q` saves and `Q` brings back.

use std::rc::Rc;

use hayro_syntax::object::Number;

use super::clip::Region;
use super::colour::Space;
use super::font::PageFont;
use crate::drawing::{Affine, Vec2};

/// Colour of fills or strokes.
#[derive(Clone)]
pub(super) struct Paint {
    space: Rc<Space>,
    /// `None` for patterns.
    pub(super) colour: Option<u32>,
    pub(super) alpha: f32,
}

impl Paint {
    fn black() -> Self {
        Self { space: Rc::new(Space::Gray), colour: Some(0), alpha: 1.0 }
    }

    /// Changes the space; the colour is its first.
    pub(super) fn set_space(&mut self, space: Rc<Space>) {
        self.colour = (!space.is_pattern()).then(|| space.initial());
        self.space = space;
    }

    /// Changes the colour within the space; a named one is a pattern.
    pub(super) fn set_colour(&mut self, components: &[Number], named: bool) {
        self.colour = (!named && !self.space.is_pattern()).then(|| self.space.rgb(&floats(components)));
    }

    /// Changes space and colour.
    pub(super) fn set(&mut self, space: Space, components: &[Number]) {
        self.colour = Some(space.rgb(&floats(components)));
        self.space = Rc::new(space);
    }

    /// Whether it leaves no mark.
    pub(super) fn is_clear(&self) -> bool {
        self.alpha <= 0.0
    }
}

fn floats(numbers: &[Number]) -> Vec<f32> {
    numbers.iter().map(Number::as_f32).collect()
}

/// Text state (PDF 2.0, 9.3).
#[derive(Clone)]
pub(super) struct TextState<'a> {
    pub(super) font: Option<Rc<PageFont<'a>>>,
    pub(super) size: f64,
    pub(super) character_space: f64,
    pub(super) word_space: f64,
    /// 1 is 100 %.
    pub(super) stretch: f64,
    pub(super) leading: f64,
    pub(super) rise: f64,
    pub(super) mode: i64,
    pub(super) matrix: Affine,
    pub(super) line_matrix: Affine,
}

impl TextState<'_> {
    /// Render modes that leave no mark: 3 (invisible) and 7 (clip only).
    pub(super) fn is_invisible(&self) -> bool {
        matches!(self.mode, 3 | 7)
    }

    /// Render modes that are drawn with the stroke colour.
    pub(super) fn is_stroked(&self) -> bool {
        matches!(self.mode, 1 | 5)
    }

    /// Render modes that add the letters to the clip.
    pub(super) fn is_clip(&self) -> bool {
        (4..=7).contains(&self.mode)
    }

    pub(super) fn next_line(&mut self, x: f64, y: f64) {
        self.set_matrix(self.line_matrix * Affine::translate((x, y)));
    }

    pub(super) fn set_matrix(&mut self, matrix: Affine) {
        self.line_matrix = matrix;
        self.matrix = matrix;
    }

    /// Moves along the line of text, unscaled text space units.
    pub(super) fn advance(&mut self, by: f64) {
        let horizontal = self.font.as_ref().is_none_or(|font| font.horizontal);
        let step = if horizontal { Vec2::new(by * self.stretch, 0.0) } else { Vec2::new(0.0, by) };
        self.matrix *= Affine::translate(step);
    }
}

/// The graphics state (PDF 2.0, 8.4).
#[derive(Clone)]
pub(super) struct State<'a> {
    /// User space to page space.
    pub(super) ctm: Affine,
    pub(super) fill: Paint,
    pub(super) stroke: Paint,
    /// Line width, user space.
    pub(super) width: f64,
    pub(super) dashed: bool,
    pub(super) text: TextState<'a>,
    pub(super) region: Rc<Region>,
}

impl State<'_> {
    pub(super) fn new(ctm: Affine, region: Rc<Region>) -> Self {
        Self {
            ctm,
            fill: Paint::black(),
            stroke: Paint::black(),
            width: 1.0,
            dashed: false,
            text: TextState {
                font: None,
                size: 1.0,
                character_space: 0.0,
                word_space: 0.0,
                stretch: 1.0,
                leading: 0.0,
                rise: 0.0,
                mode: 0,
                matrix: Affine::IDENTITY,
                line_matrix: Affine::IDENTITY,
            },
            region,
        }
    }

    /// Line width in page space.
    pub(super) fn page_width(&self) -> f32 {
        (self.width.abs() * self.ctm.determinant().abs().sqrt()) as f32
    }
}
