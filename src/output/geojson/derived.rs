//! Features of what was derived: level, rooms, walls, openings, labels, diagnostics.
//!
//! They stand before the entities. Their ids are `room/0`, `wall/0` … by the indices that the room graph uses.

use std::io;

use super::super::json::{write_name, write_number_member, write_string, write_text_member};
use super::super::shape::{Findings, Made};
use super::super::{AREA_REPAIRED, Entities, TOO_SMALL, fixed};
use super::{FeatureWriter, LabelFacts, MEASURE_DECIMALS, to_output, write_identity, write_label_facts};
use crate::drawing::Point;
use crate::drawing::nest::GridPoint;
use crate::issue::{Code, Place};
use crate::plan::{
    DiagnosticGeometry, Opening, OpeningKind, Plan, Polygon, Room, RoomOrigin, Side, SourceRef, View, Wall,
};

/// Decimals of confidences.
const CONFIDENCE_DECIMALS: u8 = 3;

/// The floor a plan shows, for its level feature.
#[derive(Debug, Clone, Copy, Default)]
pub struct LevelFacts<'a> {
    /// Ordinal; 0 is the ground floor.
    pub floor_level: Option<i32>,
    /// Name as written.
    pub level_name: Option<&'a str>,
}

/// Ordinal and name.
type Floor<'a> = (Option<i32>, Option<&'a str>);

impl<W: io::Write> FeatureWriter<'_, W> {
    /// Writes the derived features and remembers what later shapes stand for.
    ///
    /// # Errors
    /// When the sink cannot be written.
    pub fn derived(&mut self, plan: &Plan, level: LevelFacts<'_>) -> io::Result<()> {
        self.remember(plan);
        if !self.options.derived {
            return Ok(());
        }
        self.level(plan, level)?;
        for room in &plan.rooms {
            self.room(room, room.view.and_then(|view| plan.views.get(view as usize)), level)?;
        }
        for (index, wall) in plan.walls.iter().enumerate() {
            self.wall(index, wall)?;
        }
        for (index, body) in plan.wall_areas.iter().enumerate() {
            let id = format!("wall-body/{index}");
            self.area_feature("wall", &id, std::slice::from_ref(body), |out, _| {
                write_text_member(out, "part", "body");
            })?;
        }
        for opening in &plan.openings {
            self.opening(opening)?;
        }
        if self.options.entities == Entities::None {
            self.loose_labels(plan)?;
        }
        self.diagnostics(plan)
    }

    fn remember(&mut self, plan: &Plan) {
        for label in &plan.labels {
            self.labels.entry(label.ordinal).or_insert_with(|| LabelFacts::from(label));
        }
        if self.options.derived {
            let sources = plan.rooms.iter().filter_map(|room| room.source.as_ref());
            let sources = sources.chain(plan.openings.iter().filter_map(|opening| opening.source.as_ref()));
            self.mapped.extend(sources.map(|source| source.ordinal));
            self.mapped.extend(plan.labels.iter().filter(|label| label.room.is_some()).map(|label| label.ordinal));
        }
    }

    /// One feature for the document's floor, or one for each floor that the sheet holds and names.
    fn level(&mut self, plan: &Plan, level: LevelFacts<'_>) -> io::Result<()> {
        let floor_of = |view: Option<u32>| {
            let view = plan.views.get(view? as usize)?;
            view.level_name.as_deref().map(|name| (view.floor_level, Some(name)))
        };
        let own = (level.floor_level, level.level_name);
        let parts = plan.level_outline.iter().map(|part| {
            let first = part.shell.first().copied().unwrap_or_default();
            let around = plan.views.iter().filter(|view| {
                let [left, low, right, high] = view.bbox;
                let rim = 1e-3;
                view.kind.has_rooms()
                    && (left - rim..=right + rim).contains(&first.x)
                    && (low - rim..=high + rim).contains(&first.y)
            });
            let size = |view: &View| (view.bbox[2] - view.bbox[0]) * (view.bbox[3] - view.bbox[1]);
            let view = around.min_by(|p, q| size(p).total_cmp(&size(q))).map(|view| view.index);
            (floor_of(view).unwrap_or(own), part)
        });
        let mut floors: Vec<(Floor<'_>, Vec<Polygon>)> = Vec::new();
        for (floor, part) in parts {
            match floors.iter_mut().find(|(known, _)| *known == floor) {
                Some((_, parts)) => parts.push(part.clone()),
                None => floors.push((floor, vec![part.clone()])),
            }
        }
        floors.sort_by_key(|(floor, _)| (*floor != own, floor.0, floor.1));
        for (index, ((ordinal, name), parts)) in floors.iter().enumerate() {
            let is_here = |room: &&Room| floor_of(room.view).unwrap_or(own) == (*ordinal, *name);
            let rooms = plan.rooms.iter().filter(is_here).count();
            self.area_feature("level", &format!("level/{index}"), parts, |out, _| {
                if let Some(name) = name {
                    write_text_member(out, "name", name);
                }
                write_name(out, "floor_level");
                match ordinal {
                    Some(ordinal) => fixed::write(out, i64::from(*ordinal), 0),
                    None => out.extend_from_slice(b"null"),
                }
                write_number_member(out, "room_count", rooms as f64, 0);
                write_number_member(out, "area_m2", parts.iter().map(area_m2).sum(), MEASURE_DECIMALS);
            })?;
        }
        Ok(())
    }

    fn room(&mut self, room: &Room, view: Option<&View>, level: LevelFacts<'_>) -> io::Result<()> {
        let id = format!("room/{}", room.index);
        let drawing = self.drawing;
        self.area_feature("room", &id, std::slice::from_ref(&room.polygon), |out, place| {
            if let Some(name) = room.number.as_ref().or(room.name.as_ref()) {
                write_text_member(out, "name", name);
            }
            if let Some(number) = &room.number {
                write_text_member(out, "number", number);
            }
            if let Some(name) = &room.name {
                write_text_member(out, "room_name", name);
            }
            if let Some(usage) = room.usage {
                write_text_member(out, "usage", usage);
            }
            if let Some(view) = view {
                write_number_member(out, "view", f64::from(view.index), 0);
            }
            // The floor that the sheet names for its part wins over that of the document.
            let (ordinal, name) = match view.and_then(|view| Some((view.floor_level, view.level_name.as_deref()?))) {
                Some((ordinal, name)) => (ordinal, Some(name)),
                None => (level.floor_level, level.level_name),
            };
            if let Some(ordinal) = ordinal {
                write_number_member(out, "floor_level", f64::from(ordinal), 0);
            }
            if let Some(name) = name {
                write_text_member(out, "level_name", name);
            }
            write_number_member(out, "area_m2", room.area_m2, MEASURE_DECIMALS);
            if let Some(area) = room.stated_area_m2 {
                write_number_member(out, "stated_area_m2", area, MEASURE_DECIMALS);
            }
            write_number_member(out, "perimeter_m", room.perimeter_m, MEASURE_DECIMALS);
            write_name(out, "label_point");
            place(out, room.label_point);
            if !room.texts.is_empty() {
                write_name(out, "texts");
                write_list(out, room.texts.iter(), |out, text| write_string(out, text));
            }
            let origin = match room.origin {
                RoomOrigin::Derived => "derived",
                RoomOrigin::Drawn => "drawn",
            };
            write_text_member(out, "origin", origin);
            write_source(out, room.source.as_ref(), drawing);
            write_judgement(out, room.confidence, &room.reason);
        })
    }

    fn wall(&mut self, index: usize, wall: &Wall) -> io::Result<()> {
        let id = format!("wall/{index}");
        self.line_feature("wall", &id, &wall.centre_line, |out, _| {
            write_text_member(out, "part", "centre_line");
            if let Some(thickness) = wall.thickness_m {
                write_number_member(out, "thickness_m", thickness, MEASURE_DECIMALS);
            }
            write_number_member(out, "length_m", wall.length_m, MEASURE_DECIMALS);
            write_name(out, "nodes");
            out.extend_from_slice(format!("[{},{}]", wall.nodes.0, wall.nodes.1).as_bytes());
            write_bool(out, "exterior", wall.exterior);
            write_judgement(out, wall.confidence, &wall.reason);
        })
    }

    fn opening(&mut self, opening: &Opening) -> io::Result<()> {
        let (class, kind) = match opening.kind {
            OpeningKind::Door => ("door", "door"),
            OpeningKind::DoubleDoor => ("door", "double_door"),
            OpeningKind::SlidingDoor => ("door", "sliding_door"),
            OpeningKind::Window => ("window", "window"),
            OpeningKind::Gap => ("opening", "gap"),
        };
        let id = format!("opening/{}", opening.index);
        let drawing = self.drawing;
        self.line_feature(class, &id, &opening.line, |out, place| {
            write_text_member(out, "kind", kind);
            write_number_member(out, "width_m", opening.width_m, MEASURE_DECIMALS);
            if let Some(depth) = opening.depth_m {
                write_number_member(out, "depth_m", depth, MEASURE_DECIMALS);
            }
            write_name(out, "rooms");
            write_list(out, opening.sides.iter(), write_side);
            if !opening.hinges.is_empty() {
                write_name(out, "hinges");
                write_list(out, opening.hinges.iter(), |out, point| place(out, *point));
            }
            if let Some(swing) = opening.swing {
                write_name(out, "swing");
                place(out, swing);
            }
            if let Some(block) = &opening.block {
                write_text_member(out, "block", block);
            }
            write_source(out, opening.source.as_ref(), drawing);
            write_judgement(out, opening.confidence, &opening.reason);
        })
    }

    /// Labels as features of their own, where no text entities are written.
    fn loose_labels(&mut self, plan: &Plan) -> io::Result<()> {
        for (index, label) in plan.labels.iter().enumerate() {
            let id = format!("label/{index}");
            let at = self.placed(label.at);
            let kind = self.gridded.point(at);
            self.feature("label", &id, kind, |out, _| {
                write_text_member(out, "name", &label.text);
                if label.height_m > 0.0 {
                    write_number_member(out, "height_m", label.height_m, MEASURE_DECIMALS);
                }
                write_label_facts(out, &LabelFacts::from(label));
            })?;
        }
        Ok(())
    }

    fn diagnostics(&mut self, plan: &Plan) -> io::Result<()> {
        for (index, diagnostic) in plan.diagnostics.iter().enumerate() {
            let id = format!("diagnostic/{index}");
            let write = |out: &mut Vec<u8>, _: &dyn Fn(&mut Vec<u8>, Point)| {
                write_text_member(out, "code", diagnostic.code);
                write_text_member(out, "detail", &diagnostic.detail);
            };
            match &diagnostic.geometry {
                DiagnosticGeometry::Point(at) => {
                    let at = self.placed(*at);
                    let kind = self.gridded.point(at);
                    self.feature("diagnostic", &id, kind, write)?;
                }
                DiagnosticGeometry::Line(points) => self.line_feature("diagnostic", &id, points, write)?,
                DiagnosticGeometry::Area(area) => {
                    self.area_feature("diagnostic", &id, std::slice::from_ref(area), write)?;
                }
            }
        }
        Ok(())
    }

    fn area_feature(
        &mut self,
        class: &'static str,
        id: &str,
        parts: &[Polygon],
        write: impl FnOnce(&mut Vec<u8>, &dyn Fn(&mut Vec<u8>, Point)),
    ) -> io::Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let rings = parts
            .iter()
            .flat_map(|part| std::iter::once(part.shell.as_slice()).chain(part.holes.iter().map(Vec::as_slice)));
        let (steps, frame) = (self.steps, self.frame);
        let mut lost = false;
        let made =
            self.gridded.fill_rings(rings, &self.effort, &mut |point| to_output(point, frame.place, steps, &mut lost));
        let (kind, findings) = made.map_err(io::Error::other)?;
        let at = parts.first().and_then(|part| part.shell.first()).copied();
        if findings != Findings::default() && findings.repaired {
            self.note_derived(&AREA_REPAIRED, id, at);
        }
        if lost || kind != Made::Areas {
            self.summary.dropped += 1;
            self.note_derived(&TOO_SMALL, id, at);
            return Ok(());
        }
        self.feature(class, id, kind, write)
    }

    fn line_feature(
        &mut self,
        class: &'static str,
        id: &str,
        points: &[Point],
        write: impl FnOnce(&mut Vec<u8>, &dyn Fn(&mut Vec<u8>, Point)),
    ) -> io::Result<()> {
        let (steps, frame) = (self.steps, self.frame);
        let mut lost = false;
        let kind = self.gridded.line(points, &mut |point| to_output(point, frame.place, steps, &mut lost));
        if lost || kind != Made::Lines {
            self.summary.dropped += 1;
            self.note_derived(&TOO_SMALL, id, points.first().copied());
            return Ok(());
        }
        self.feature(class, id, kind, write)
    }

    /// Writes a feature with the geometry in `self.gridded`. `write` adds members; its second argument writes a position.
    fn feature(
        &mut self,
        class: &'static str,
        id: &str,
        kind: Made,
        write: impl FnOnce(&mut Vec<u8>, &dyn Fn(&mut Vec<u8>, Point)),
    ) -> io::Result<()> {
        self.begin(class);
        self.buffer.extend_from_slice(id.as_bytes());
        self.buffer.push(b'"');
        self.geometry(kind);
        self.buffer.extend_from_slice(br#","properties":{"class":""#);
        self.buffer.extend_from_slice(class.as_bytes());
        self.buffer.push(b'"');
        let (steps, frame, decimals) = (self.steps, self.frame, self.decimals);
        write(&mut self.buffer, &|out, point| {
            let mut lost = false;
            let at = to_output(point, frame.place, steps, &mut lost);
            if lost {
                out.extend_from_slice(b"null");
                return;
            }
            out.push(b'[');
            fixed::write(out, at.x, decimals);
            out.push(b',');
            fixed::write(out, at.y, decimals);
            out.push(b']');
        });
        self.end()
    }

    fn placed(&self, point: Point) -> GridPoint {
        to_output(point, self.frame.place, self.steps, &mut false)
    }

    fn note_derived(&mut self, code: &'static Code, id: &str, at: Option<Point>) {
        let at = at.map_or(Place::Document, |point| Place::Position { x: point.x, y: point.y });
        self.summary.issues.report(code, at, id);
    }
}

fn area_m2(polygon: &Polygon) -> f64 {
    let ring = |points: &[Point]| {
        let Some(origin) = points.first() else { return 0.0 };
        points.windows(2).map(|pair| (pair[0] - *origin).cross(pair[1] - *origin)).sum::<f64>() / 2.0
    };
    ring(&polygon.shell).abs() - polygon.holes.iter().map(|hole| ring(hole).abs()).sum::<f64>()
}

fn write_list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, mut write: impl FnMut(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}

fn write_bool(out: &mut Vec<u8>, name: &str, value: bool) {
    write_name(out, name);
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// The id of the room on one side, `"outside"`, or `null`.
fn write_side(out: &mut Vec<u8>, side: &Side) {
    match side {
        Side::Room(index) => out.extend_from_slice(format!("\"room/{index}\"").as_bytes()),
        Side::Outside => out.extend_from_slice(b"\"outside\""),
        Side::Unknown => out.extend_from_slice(b"null"),
    }
}

fn write_source(out: &mut Vec<u8>, source: Option<&SourceRef>, drawing: &crate::drawing::Drawing) {
    let Some(source) = source else { return };
    write_text_member(out, "layer", &source.layer);
    write_text_member(out, "entity", &source.entity);
    write_identity(out, source.identity, drawing);
}

fn write_judgement(out: &mut Vec<u8>, confidence: f64, reason: &str) {
    write_number_member(out, "confidence", confidence, CONFIDENCE_DECIMALS);
    if !reason.is_empty() {
        write_text_member(out, "reason", reason);
    }
}
