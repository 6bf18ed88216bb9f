//! Fonts as far as a drawing needs them: where a string's characters stand and what they mean.
//!
//! Outlines are never asked for: text is text. Every code is looked up once a page.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use hayro_font::hayro_cmap::BfString;
use hayro_font::{CMapResolverFn, Font, FontCache, FontGlyph, FontResolverFn};
use hayro_interpret::InterpreterSettings;
use hayro_syntax::object::{Array, Dict, Name, Rect, Stream};

use super::objects::Budget;
use crate::format::ReadError;

/// Height of a capital letter as a part of the font size, when the font does not tell.
const USUAL_CAPITAL: f64 = 0.7;
/// Thousandths of the font size, the unit of widths.
const THOUSANDTHS: f64 = 1_000.0;

/// The fonts of a page.
pub(super) struct Fonts<'a> {
    cache: FontCache<'a>,
    fonts: FontResolverFn,
    maps: CMapResolverFn,
    by_dict: HashMap<(usize, usize), Option<Rc<PageFont<'a>>>>,
}

impl<'a> Fonts<'a> {
    pub(super) fn new() -> Self {
        let settings = InterpreterSettings::default();
        Self {
            cache: FontCache::new(),
            fonts: settings.font_resolver,
            maps: settings.cmap_resolver,
            by_dict: HashMap::new(),
        }
    }

    /// The font of a dictionary; `None` if it cannot be read.
    pub(super) fn get(&mut self, dict: &Dict<'a>, budget: &mut Budget) -> Result<Option<Rc<PageFont<'a>>>, ReadError> {
        // Dictionaries are slices of the document (or of a kept object stream), so their place identifies them.
        let key = (dict.data().as_ptr() as usize, dict.data().len());
        if let Some(font) = self.by_dict.get(&key) {
            return Ok(font.clone());
        }
        check_streams(dict, budget)?;
        let font = self.cache.font(dict, &self.fonts, &self.maps).map(|font| Rc::new(PageFont::new(font, dict)));
        self.by_dict.insert(key, font.clone());
        Ok(font)
    }
}

/// What the library will inflate for a font must fit into the budget.
fn check_streams(dict: &Dict<'_>, budget: &mut Budget) -> Result<(), ReadError> {
    let descendant = dict.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
    for font in [Some(dict.clone()), descendant].into_iter().flatten() {
        let descriptor = font.get::<Dict<'_>>("FontDescriptor").unwrap_or_default();
        let streams = ["ToUnicode", "Encoding", "CIDToGIDMap"].map(|key| font.get::<Stream<'_>>(key));
        let programs = ["FontFile", "FontFile2", "FontFile3"].map(|key| descriptor.get::<Stream<'_>>(key));
        for stream in streams.iter().chain(&programs).flatten() {
            budget.admit(stream)?;
        }
    }
    Ok(())
}

/// What one code of a string is.
#[derive(Debug, Clone)]
pub(super) struct Character {
    /// Its characters; empty if the font does not tell.
    pub(super) text: Rc<str>,
    /// How far the next one stands, as a part of the font size.
    pub(super) advance: f64,
}

/// A font in use.
pub(super) struct PageFont<'a> {
    font: Font<'a>,
    characters: RefCell<HashMap<u32, Character>>,
    /// Whether text runs to the right (otherwise down).
    pub(super) horizontal: bool,
    /// Height of the font's line box as a part of the font size; 1 except for Type 3 fonts.
    pub(super) em: f64,
    /// Height of a capital letter as a part of `em`.
    pub(super) capital: f64,
}

impl<'a> PageFont<'a> {
    fn new(font: Font<'a>, dict: &Dict<'a>) -> Self {
        let horizontal = font.is_horizontal();
        let descendant = dict.get::<Array<'_>>("DescendantFonts").and_then(|fonts| fonts.iter::<Dict<'_>>().next());
        let descriptor = descendant.as_ref().unwrap_or(dict).get::<Dict<'_>>("FontDescriptor");
        let capital = descriptor
            .and_then(|descriptor| descriptor.get::<f32>("CapHeight"))
            .map(|height| f64::from(height) / THOUSANDTHS)
            .filter(|height| (0.4..=1.0).contains(height));
        let em =
            if dict.get::<Name<'_>>("Subtype").is_some_and(|kind| &*kind == b"Type3") { type3_em(dict) } else { 1.0 };
        Self { font, characters: RefCell::default(), horizontal, em, capital: capital.unwrap_or(USUAL_CAPITAL) }
    }

    /// The code at `offset` of a string, its length in bytes, and what it is.
    pub(super) fn character(&self, bytes: &[u8], offset: usize) -> (u32, usize, Character) {
        let (code, length) = self.font.read_code(bytes, offset);
        let known = self.characters.borrow().get(&code).cloned();
        let character = known.unwrap_or_else(|| {
            let character = self.look_up(code);
            self.characters.borrow_mut().insert(code, character.clone());
            character
        });
        (code, length.max(1), character)
    }

    fn look_up(&self, code: u32) -> Character {
        let advance = self.font.code_advance(code);
        let advance = if self.horizontal { advance.x } else { advance.y } / THOUSANDTHS;
        let unicode = match self.font.glyph(self.font.map_code(code), code) {
            FontGlyph::Outline(glyph) => glyph.as_unicode(),
            FontGlyph::Type3(glyph) => glyph.as_unicode(),
        };
        let text: Rc<str> = match unicode {
            Some(BfString::Char(character)) => Rc::from(character.encode_utf8(&mut [0; 4]) as &str),
            Some(BfString::String(text)) => Rc::from(text),
            None => Rc::from(""),
        };
        Character { text, advance: if advance.is_finite() { advance } else { 0.0 } }
    }
}

/// The height of the glyph space of a Type 3 font in text space.
fn type3_em(dict: &Dict<'_>) -> f64 {
    let scale = dict.get::<[f64; 6]>("FontMatrix").map_or(0.001, |matrix| matrix[3].abs());
    let height = dict.get::<Rect>("FontBBox").map_or(0.0, |rect| rect.height());
    let em = height * scale;
    if (0.05..=20.0).contains(&em) { em } else { (scale * THOUSANDTHS).clamp(0.05, 20.0) }
}
