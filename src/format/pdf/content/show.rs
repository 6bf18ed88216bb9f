//! Text operators: where each glyph of a string stands, and what it means.

use hayro_syntax::content::ops::TypedInstruction as Operator;
use hayro_syntax::object::{Dict, Object};
use hayro_syntax::page::Resources;

use super::super::layers::Membership;
use super::super::path::Element;
use super::super::text::{Glyph, Style};
use super::Interpreter;
use crate::drawing::{Affine, FillRule, Point, Rect, Vec2};
use crate::format::ReadError;

impl<'a> Interpreter<'a, '_> {
    pub(super) fn text_operator(
        &mut self,
        operator: Operator<'_, '_>,
        resources: &Resources<'a>,
    ) -> Result<(), ReadError> {
        let text = &mut self.state.text;
        match operator {
            Operator::BeginText(_) => {
                text.set_matrix(Affine::IDENTITY);
                self.text_clip = None;
            }
            Operator::EndText(_) => self.clip_to_text()?,
            Operator::CharacterSpacing(space) => text.character_space = space.0.as_f64(),
            Operator::WordSpacing(space) => text.word_space = space.0.as_f64(),
            Operator::HorizontalScaling(percent) => text.stretch = percent.0.as_f64() / 100.0,
            Operator::TextLeading(leading) => text.leading = leading.0.as_f64(),
            Operator::TextRise(rise) => text.rise = rise.0.as_f64(),
            Operator::TextRenderingMode(mode) => text.mode = mode.0.as_i64(),
            Operator::TextFont(font) => {
                text.size = font.1.as_f64();
                self.set_font(resources.get_font(font.0))?;
            }
            Operator::NextLine(step) => text.next_line(step.0.as_f64(), step.1.as_f64()),
            Operator::NextLineAndSetLeading(step) => {
                text.leading = -step.1.as_f64();
                text.next_line(step.0.as_f64(), step.1.as_f64());
            }
            Operator::NextLineUsingLeading(_) => text.next_line(0.0, -text.leading),
            Operator::SetTextMatrix(m) => {
                text.set_matrix(Affine::new([m.0, m.1, m.2, m.3, m.4, m.5].map(|number| number.as_f64())));
            }
            Operator::ShowText(shown) => self.show(shown.0.as_bytes()),
            Operator::NextLineAndShowText(shown) => {
                text.next_line(0.0, -text.leading);
                self.show(shown.0.as_bytes());
            }
            Operator::ShowTextWithParameters(shown) => {
                text.word_space = shown.0.as_f64();
                text.character_space = shown.1.as_f64();
                text.next_line(0.0, -text.leading);
                self.show(shown.2.as_bytes());
            }
            Operator::ShowTexts(shown) => {
                for part in shown.0.iter::<Object<'_>>() {
                    match part {
                        Object::String(part) => self.show(part.as_bytes()),
                        Object::Number(back) => {
                            let by = -back.as_f64() / 1_000.0 * self.state.text.size;
                            self.state.text.advance(by);
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What follows text that clips is seen through its letters: not beyond the box around them.
    fn clip_to_text(&mut self) -> Result<(), ReadError> {
        let Some(clip) = self.text_clip.take() else { return Ok(()) };
        let corners = [(clip.x0, clip.y0), (clip.x1, clip.y0), (clip.x1, clip.y1), (clip.x0, clip.y1)];
        let [first, rest @ ..] = corners.map(Point::from);
        let path = [&[Element::Move(first)][..], &rest.map(Element::Line), &[Element::Close]].concat();
        let limit = self.builder.limits().vertices;
        self.state.region = self.clipper.intersect(&self.state.region, &path, FillRule::NonZero, limit)?;
        Ok(())
    }

    pub(super) fn set_font(&mut self, dict: Option<Dict<'a>>) -> Result<(), ReadError> {
        let font = match &dict {
            Some(dict) => self.fonts.get(dict, &mut self.budget)?,
            None => None,
        };
        if font.is_none() {
            self.tallies.unreadable_fonts += 1;
        }
        self.state.text.font = font;
        Ok(())
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(font) = self.state.text.font.clone() else {
            self.tallies.unknown_characters += bytes.len() as u64;
            return;
        };
        let Membership { layer, visible } = self.membership();
        let text = &self.state.text;
        let paint = if text.is_stroked() { &self.state.stroke } else { &self.state.fill };
        let invisible_ink = text.is_invisible() || paint.is_clear();
        let style = Style { layer: layer.unwrap_or(self.base_layer), visible, invisible_ink, colour: paint.colour };
        let mut offset = 0;
        while offset < bytes.len() {
            let (code, length, character) = font.character(bytes, offset);
            offset += length;
            let text = &self.state.text;
            let size = text.size;
            let to_page = self.state.ctm * text.matrix * Affine::new([text.stretch, 0.0, 0.0, 1.0, 0.0, text.rise]);
            let [a, b, c, d, ..] = to_page.as_coeffs();
            let (along, up) = (Vec2::new(a, b), Vec2::new(c, d));
            let reading = if font.horizontal { along } else { -up };
            let step = if font.horizontal { along } else { up } * (character.advance * size);
            let origin = to_page * Point::ZERO;
            let height = up.hypot() * size.abs() * font.em;
            let known = match &*character.text {
                "" if length == 1 && (33..127).contains(&code) => char::from_u32(code),
                _ => None,
            };
            let mut buffer = [0; 4];
            let shown: &str = match known {
                Some(ascii) => ascii.encode_utf8(&mut buffer),
                None => &character.text,
            };
            if character.text.is_empty() {
                self.tallies.unknown_characters += 1;
            }
            let length_of_reading = reading.hypot() * size.signum();
            if text.is_clip() {
                let (rise, fall) = (up * (size * font.em), up * (-0.3 * size * font.em));
                let corners = [origin + rise, origin + fall, origin + step + rise, origin + step + fall];
                for corner in corners.into_iter().filter(|corner| corner.is_finite()) {
                    let point = Rect::from_points(corner, corner);
                    self.text_clip = Some(self.text_clip.map_or(point, |clip| clip.union(point)));
                }
            }
            let drawable = origin.is_finite() && step.is_finite() && height > 0.0 && length_of_reading != 0.0;
            if drawable && !shown.is_empty() && self.state.region.contains(origin) {
                if !visible {
                    self.tallies.hidden += 1;
                }
                self.texts.push(Glyph {
                    text: shown,
                    origin,
                    end: origin + step,
                    direction: reading / length_of_reading,
                    size: height,
                    capital: height * font.capital,
                    style,
                });
            }
            let word_space = if code == 32 && length == 1 { self.state.text.word_space } else { 0.0 };
            let by = character.advance * size + self.state.text.character_space + word_space;
            self.state.text.advance(by);
        }
    }
}
