//! The derivation from first to last, readable in one screen per stage.

use std::collections::BTreeMap;

use super::boxes::without_label_boxes;
use super::classify::{self, Roles};
use super::codes;
use super::figures;
use super::frames;
use super::graph::Graph;
use super::grid::Frame;
use super::input::{Input, NONE, path_length};
use super::labels::{self, Labelling};
use super::lines::{self, CLOSING, Faces, GLASS, WALL, WallLines};
use super::measure;
use super::necks::{self, Neck, Search};
use super::net::{Mending, Net, drop_small, mend, node_metres};
use super::noding::{Noded, Noding, Segment, node};
use super::openings::{self, Fitted, Loose, Measures, Openings};
use super::outline::{self, Outline};
use super::reading;
use super::rooms::{self, Agreement, Candidate, FaceKind};
use super::shape::Locator;
use super::symbols::{self, Symbols};
use super::units;
use super::views::{self, Sheet};
use super::walls;
use super::{
    ClassSource, Diagnostic, DiagnosticGeometry, Opening, Plan, PlanOptions, Polygon, Role, Room, RoomOrigin,
    RoomPolygons, Side, SourceRef, adjacency,
};
use crate::drawing::Point;
use crate::format::{Checkpoint, Interrupt, Pace};
use crate::issue::{Code, Place};

mod after;

/// Derives the plan.
///
/// # Errors
/// Only [`Interrupt`]: everything else is an issue of the plan.
pub fn derive(input: &Input, options: &PlanOptions, checkpoint: &Checkpoint<'_>) -> Result<Plan, Interrupt> {
    checkpoint()?;
    let mut plan = Plan::default();
    plan.counts.scale_hint = 1.0;
    if !options.enabled {
        return Ok(plan);
    }
    let mut roles = classify::by_names(input, options);
    let (_, faults) = super::names::compile_globs(&options.titles);
    for (pattern, reason) in std::mem::take(&mut roles.faults).into_iter().chain(faults) {
        plan.issues.report(&codes::BAD_GLOB, Place::Document, format!("`{pattern}`: {reason}"));
    }
    if input.refused > 0 {
        let limit = options.max_segments;
        plan.issues.report(&codes::TOO_MANY, Place::Document, format!("`plan.max_segments` = {limit}"));
        plan.classes = classify::sorted_layers(roles.layers);
        return Ok(plan);
    }
    let mut work = Work { input, options, roles, plan, sheet: Sheet::default(), scale: 1.0, tolerance: 0.0 };
    work.run(checkpoint)?;
    Ok(work.plan)
}

struct Work<'a> {
    input: &'a Input,
    options: &'a PlanOptions,
    roles: Roles,
    plan: Plan,
    sheet: Sheet,
    /// Length of a true metre in metres of the drawing.
    scale: f64,
    tolerance: f64,
}

/// What one way to read the lines gives.
struct Reading {
    lines: WallLines,
    fitted: Vec<Fitted>,
    rooms: Vec<Candidate>,
}

impl Work<'_> {
    fn run(&mut self, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        let chains =
            if self.options.geometry { figures::find(self.input, &mut self.roles, checkpoint)? } else { Vec::new() };
        let arcs = measure::swing_arcs(self.input, &self.roles);
        let evidence = symbols::evidence(self.input, &self.roles, &arcs, checkpoint)?;
        self.measure(&symbols::leaf_radii(&arcs, &evidence), &chains);
        let mut symbols =
            symbols::find(self.input, &self.roles, &arcs, evidence, self.scale, self.options, checkpoint)?;
        self.sheet = views::find(self.input, &self.roles, &symbols, self.scale, self.options, checkpoint)?;
        self.sheet.leave_out(self.input, &mut self.roles, &mut symbols);
        if self.options.geometry {
            frames::set_apart(self.input, &mut self.roles, &symbols, self.scale, self.options, checkpoint)?;
        }
        let mut lines = self.choose(&symbols, Faces::AsTheyLook, checkpoint)?;
        if lines.segments.len() as u64 > self.options.max_segments {
            let detail =
                format!("{} wall segments, `plan.max_segments` = {}", lines.segments.len(), self.options.max_segments);
            self.plan.issues.report(&codes::TOO_MANY, Place::Document, detail);
            self.classes(&lines);
            return Ok(());
        }
        self.plan.counts.wall_segments = lines.segments.len() as u64;
        self.plan.counts.wall_length_m = lines.segments.iter().map(|(a, b, _)| a.distance(*b)).sum();
        let outline = outline::drawn(
            self.input,
            &self.roles,
            self.scale,
            self.tolerance,
            self.options.max_crossings,
            checkpoint,
        )?;
        for (a, b) in &outline.open {
            self.report(&codes::OUTLINE_OPEN, *a, span(*a, *b), DiagnosticGeometry::Line(vec![*a, *b]));
        }
        let mut drawn = if self.options.room_polygons == RoomPolygons::Ignore {
            Vec::new()
        } else {
            let discarded = &mut self.plan.counts.discarded_faces;
            rooms::drawn(self.input, &self.roles, self.scale, self.options, discarded, checkpoint)?
        };
        let mut fitted = Vec::new();
        let derived = if self.options.room_polygons == RoomPolygons::Only {
            Vec::new()
        } else {
            let before = self.plan.clone();
            let found = match lines.segments.is_empty() {
                true => Vec::new(),
                false => self.derive_rooms(&lines, &symbols, &mut fitted, checkpoint)?,
            };
            if drawn.is_empty() && lines.double && !lines.named && self.options.geometry {
                match self.single_lines(&symbols, &found, before, checkpoint)? {
                    Some(single) => {
                        (lines, fitted) = (single.lines, single.fitted);
                        single.rooms
                    }
                    None => found,
                }
            } else {
                found
            }
        };
        if lines.segments.is_empty() && drawn.is_empty() && !self.input.items.is_empty() {
            self.plan.issues.report(&codes::NO_WALLS, Place::Document, "no layer, block or geometry looks like walls");
        }
        let boxes = without_label_boxes(&mut drawn, &derived, &self.input.texts, &Pace::new(checkpoint))?;
        if boxes > 0 {
            self.plan.counts.discarded_faces.insert("drawn_around_label", boxes);
        }
        self.settle(&lines, drawn, derived, outline, checkpoint)?;
        self.label(checkpoint)?;
        self.usages(&lines, checkpoint)?;
        self.views();
        self.openings(fitted, checkpoint)?;
        self.classes(&lines);
        Ok(())
    }

    fn measure(&mut self, swings: &[f64], chains: &[(f64, units::Stated)]) {
        let evidence = units::Evidence::gather(self.input, &self.roles, swings, chains);
        self.plan.unit = evidence.finding();
        self.scale = evidence.scale();
        self.plan.counts.scale_hint = self.scale;
        self.tolerance = self.options.snap_tolerance_m.unwrap_or(0.05 * self.scale).max(0.0);
        if !(0.4..=2.5).contains(&self.scale) {
            let why = self.plan.unit.as_ref().map_or(String::new(), |finding| format!(", {}", finding.reason));
            let detail = format!("lengths look {} times what they should be{why}", short(self.scale));
            self.plan.issues.report(&codes::SCALE, Place::Document, detail);
        }
    }

    /// Walls, openings and faces of the wall lines; gives the rooms among the faces.
    fn derive_rooms(
        &mut self,
        lines: &WallLines,
        symbols: &Symbols,
        fitted: &mut Vec<Fitted>,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Vec<Candidate>, Interrupt> {
        let scale = self.scale;
        let frame = Frame::holding(
            lines.segments.iter().flat_map(|segment| [segment.0, segment.1]),
            Frame::STEP_M * scale.min(1.0),
        );
        let noding = Noding { tolerance: frame.steps(0.1 * self.tolerance), max_crossings: self.options.max_crossings };
        let noded = node_metres(&frame, &lines.segments, noding, checkpoint)?;
        if self.is_crowded(&noded) {
            return Ok(Vec::new());
        }
        let (thin, thick) = (self.options.min_wall_thickness_m * scale, lines.max_thickness.max(0.12 * scale));
        let net = Net::build(frame, noded);
        let (net, mending) = mend(net, self.tolerance, 0.1 * scale, (thin, thick), lines.double, noding, checkpoint)?;
        if self.is_crowded(&net.noded) {
            return Ok(Vec::new());
        }
        self.report_mending(&net, &mending);
        let measures = Measures { scale, max_thickness: thick, min_thickness: thin, double: lines.double };
        let loose = self.loose(frame, lines);
        let found = openings::fit(&net, &symbols.proposals, &loose, measures, self.options, checkpoint)?;
        let mut noded = self.close(&net, &found, symbols, lines, checkpoint)?;
        if self.is_crowded(&noded) {
            return Ok(Vec::new());
        }
        for (at, item) in &found.homeless {
            let detail = self.input.text(self.input.items[*item as usize].block).to_owned();
            self.report(&codes::HOMELESS, *at, detail, DiagnosticGeometry::Point(*at));
        }
        let mut graph = Graph::build(&noded, checkpoint)?;
        let speaking = labels::speaking_points(self.input, &self.roles, self.options);
        let mut judged = rooms::judge(&graph, &frame, lines, &speaking, scale, self.options, checkpoint)?;
        let texts = labels::room_texts(self.input, &self.roles, self.options);
        let search = Search {
            measures,
            reach: self.options.max_bare_gap_m * scale,
            min_area: self.options.min_room_area_m2 * scale * scale,
            max_crossings: self.options.max_crossings,
        };
        let necks = necks::find(&noded, &graph, frame, &judged, &texts, search, checkpoint)?;
        let mut assumed = Vec::new();
        if !necks.is_empty() {
            noded = self.close_necks(&noded, &necks, &frame, checkpoint)?;
            if self.is_crowded(&noded) {
                return Ok(Vec::new());
            }
            graph = Graph::build(&noded, checkpoint)?;
            judged = rooms::judge(&graph, &frame, lines, &speaking, scale, self.options, checkpoint)?;
            assumed = self.assumed(necks, &loose);
        }
        if !noded.stable {
            self.plan.issues.report(&codes::UNSTABLE, Place::Document, format!("{} edges", noded.edges.len()));
        }
        let free = self.report_leftovers(&graph, &frame);
        self.plan.counts.faces = judged.len() as u64;
        let shown = found.fitted.iter().filter(|one| one.kind == super::OpeningKind::Window && one.source.is_some());
        let shown = if lines.named { shown.count() } else { 0 };
        let mut glazed = rooms::glaze(&graph, &frame, &mut judged, thick, lines.double, shown, scale);
        if lines.double {
            glazed.extend(rooms::inlaid(&graph, &frame, &judged, self.unknown_pieces(lines), thick, scale));
        }
        let mut derived = Vec::new();
        for (number, face) in judged.iter().enumerate() {
            if face.kind == FaceKind::Room {
                derived.push(Candidate {
                    polygon: rooms::polygon(&graph, &frame, number as u32),
                    origin: RoomOrigin::Derived,
                    source: None,
                    confidence: face.confidence,
                    reason: face.note.to_owned(),
                    words: None,
                });
                continue;
            }
            *self.plan.counts.discarded_faces.entry(face.kind.reason()).or_default() += 1;
            if matches!(face.kind, FaceKind::Sliver | FaceKind::SheetFrame) {
                let area = rooms::polygon(&graph, &frame, number as u32);
                let at = area.point_inside();
                let detail = format!("{}: {:.3} m², {:.3} m wide", face.note, face.area, face.width);
                self.report(&codes::FACE_DISCARDED, at, detail, DiagnosticGeometry::Area(area));
            }
        }
        let walls = walls::find(&graph, &frame, &judged, thick, scale, &free, checkpoint)?;
        self.plan.walls = walls.walls;
        self.plan.wall_areas = walls.areas;
        self.plan.counts.wall_length_used_m = walls.used_length;
        self.plan.level_outline = walls::outline(&graph, &frame);
        *fitted = found.fitted;
        fitted.extend(assumed);
        for window in glazed {
            let middle = window.line[0].midpoint(window.line[1]);
            let known = fitted.iter().any(|opening| {
                let [a, b] = opening.line;
                // The leaf of a sliding door in its pocket looks like a window beside it.
                let pocket = opening.kind == super::OpeningKind::SlidingDoor
                    && a.distance(middle).min(b.distance(middle)) < 0.65 * a.distance(b)
                    && (0.6..1.35).contains(&(window.line[0].distance(window.line[1]) / a.distance(b)));
                pocket || a.midpoint(b).distance(middle) < 0.5 * a.distance(b).max(0.3 * scale)
            });
            if !known {
                fitted.push(Fitted {
                    kind: super::OpeningKind::Window,
                    line: window.line,
                    depth: Some(window.depth),
                    closings: Vec::new(),
                    hinges: Vec::new(),
                    swing: None,
                    source: None,
                    confidence: 0.75,
                    reason: format!("{} strips side by side in a wall", window.strips),
                });
            }
        }
        Ok(derived)
    }

    fn choose(&self, symbols: &Symbols, faces: Faces, checkpoint: &Checkpoint<'_>) -> Result<WallLines, Interrupt> {
        lines::choose(self.input, &self.roles, &symbols.taken, faces, self.scale, self.options, checkpoint)
    }

    /// Where hardly a room between pairs of lines holds a text that rooms have, the pairs were windows or details, and walls may be
    /// drawn as single lines: taken so if the rooms between those hold many more. `found` are the rooms between the pairs, and
    /// `before` is the plan before anything was derived.
    fn single_lines(
        &mut self,
        symbols: &Symbols,
        found: &[Candidate],
        before: Plan,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Option<Reading>, Interrupt> {
        let mut speaking = labels::speaking_points(self.input, &self.roles, self.options);
        if speaking.len() < 2 {
            speaking = self.words();
        }
        let pace = Pace::new(checkpoint);
        let (held, _) = told(found, &speaking, &pace)?;
        if speaking.len() < 2 || 4 * held >= speaking.len() {
            return Ok(None);
        }
        let lines = self.choose(symbols, Faces::Single, checkpoint)?;
        if lines.segments.is_empty() || lines.segments.len() as u64 > self.options.max_segments {
            return Ok(None);
        }
        let paired = std::mem::replace(&mut self.plan, before);
        self.plan.counts.wall_segments = lines.segments.len() as u64;
        self.plan.counts.wall_length_m = lines.segments.iter().map(|(a, b, _)| a.distance(*b)).sum();
        let mut fitted = Vec::new();
        let rooms = self.derive_rooms(&lines, symbols, &mut fitted, checkpoint)?;
        let (told, inside) = told(&rooms, &speaking, &pace)?;
        // Where one room holds many such texts, it is a table or a frame.
        if told < 2 || 3 * told < rooms.len() || told <= 2 * held || 4 * told < inside {
            self.plan = paired;
            return Ok(None);
        }
        Ok(Some(Reading { lines, fitted, rooms }))
    }

    /// Where words stand that may name rooms.
    fn words(&self) -> Vec<Point> {
        let texts = self.input.texts.iter().zip(&self.roles.texts);
        let words = texts.filter(|(text, role)| {
            labels::may_label(**role) && text.value.chars().filter(|c| c.is_alphabetic()).count() >= 3
        });
        words.map(|(text, _)| text.middle).collect()
    }

    /// Reports lines that cross too often to be noded.
    fn is_crowded(&mut self, noded: &Noded) -> bool {
        if noded.crowded {
            let limit = self.options.max_crossings;
            self.plan.issues.report(&codes::CROWDED, Place::Document, format!("`plan.max_crossings` = {limit}"));
        }
        noded.crowded
    }

    /// Wall lines with the lines that close openings, noded; without small loose pieces that no name calls walls.
    fn close(
        &self,
        net: &Net,
        found: &Openings,
        symbols: &Symbols,
        lines: &WallLines,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Noded, Interrupt> {
        let mut segments = net.noded.segments();
        let mut add = |a: Point, b: Point, marks: u8| {
            let segment = Segment { a: net.frame.grid(a), b: net.frame.grid(b), marks };
            if segment.a != segment.b {
                segments.push(segment);
            }
        };
        for opening in &found.fitted {
            for (a, b) in &opening.closings {
                add(*a, *b, CLOSING);
            }
            // Jambs: walls of two faces may be drawn open at their ends.
            let [from, to] = opening.line;
            let along = (to - from) / from.distance(to).max(f64::MIN_POSITIVE);
            let mut sides: Vec<(f64, Point, Point)> = opening
                .closings
                .iter()
                .map(|(a, b)| (along.cross(*a - from), *a, *b))
                .map(|(off, a, b)| if along.dot(b - a) >= 0.0 { (off, a, b) } else { (off, b, a) })
                .collect();
            sides.sort_by(|p, q| p.0.total_cmp(&q.0));
            for pair in sides.windows(2) {
                let ((_, a, b), (_, c, d)) = (pair[0], pair[1]);
                for (p, q) in [(a, c), (b, d)] {
                    let square = along.dot(q - p).abs() < 0.1 * self.scale;
                    if square && p.distance(q) <= 1.3 * lines.max_thickness + 0.05 * self.scale {
                        add(p, q, WALL | lines::MENDING);
                    }
                }
            }
        }
        // Glazing that stands for a wall of its own.
        let homeless: Vec<u32> = found.homeless.iter().map(|(_, item)| *item).collect();
        for proposal in &symbols.proposals {
            if homeless.contains(&proposal.item) && self.roles.items[proposal.item as usize] == Role::Window {
                for (a, b) in
                    proposal.members.iter().flat_map(|item| self.input.segments(&self.input.items[*item as usize]))
                {
                    add(a, b, WALL | GLASS);
                }
            }
        }
        let noding = Noding { tolerance: 1.5, max_crossings: self.options.max_crossings };
        let mut noded = node(&segments, noding, checkpoint)?;
        if !lines.named {
            drop_small(&mut noded, net.frame.steps(2.6 * self.scale));
        }
        Ok(noded)
    }

    /// The same with closings across necks: those as wide as an opening close one, narrower ones mend a wall.
    fn close_necks(
        &self,
        noded: &Noded,
        necks: &[Neck],
        frame: &Frame,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Noded, Interrupt> {
        let mut segments = noded.segments();
        for neck in necks {
            let marks = if self.is_opening(neck) { CLOSING } else { WALL | lines::MENDING };
            let closings = neck.closings.iter().map(|(a, b)| Segment { a: frame.grid(*a), b: frame.grid(*b), marks });
            segments.extend(closings.filter(|segment| segment.a != segment.b));
        }
        let noding = Noding { tolerance: 1.0, max_crossings: self.options.max_crossings };
        node(&segments, noding, checkpoint)
    }

    fn is_opening(&self, neck: &Neck) -> bool {
        let ([a, b], _) = neck.middle();
        a.distance(b) >= self.options.min_opening_width_m * self.scale
    }

    /// The openings that texts tell, reported.
    fn assumed(&mut self, necks: Vec<Neck>, loose: &Loose) -> Vec<Fitted> {
        let mut openings = Vec::new();
        for neck in necks {
            let (line, depth) = neck.middle();
            let [a, b] = line;
            let (first, second) = &neck.texts;
            let detail = format!("{} m between {first} and {second}", short(a.distance(b)));
            if !self.is_opening(&neck) {
                self.plan.counts.closed_gaps += 1;
                self.fixed(&codes::GAP_CLOSED, a, detail, DiagnosticGeometry::Line(vec![a, b]));
                continue;
            }
            self.report(&codes::NECK, a.midpoint(b), detail, DiagnosticGeometry::Line(vec![a, b]));
            let slides = loose.slides(a, b, 0.5 * depth.unwrap_or(0.0) + 0.12 * self.scale);
            openings.push(Fitted {
                kind: if slides { super::OpeningKind::SlidingDoor } else { super::OpeningKind::Gap },
                line,
                depth,
                closings: neck.closings,
                hinges: Vec::new(),
                swing: None,
                source: None,
                confidence: 0.4,
                reason: format!("narrowest way between {first} and {second}"),
            });
        }
        openings
    }

    /// Lines that are no walls, for telling windows from gaps.
    fn loose(&self, frame: Frame, lines: &WallLines) -> Loose {
        let long = |(a, b): &(Point, Point)| a.distance(*b) >= 0.3 * self.scale;
        // An item may be wall in part: a window is often one path with the faces of the wall beside it.
        let mut pieces: Vec<(Point, Point)> = lines.dropped.iter().copied().filter(long).collect();
        for (number, item) in self.input.items.iter().enumerate() {
            let role = self.roles.items[number];
            let seen = lines.looked_at[number] || lines.used[number] || lines.treads[number];
            if matches!(role, Role::Unknown | Role::Window) && !seen {
                pieces.extend(self.input.segments(item).filter(long));
            }
        }
        let mut panels = Vec::new();
        for (number, item) in self.input.items.iter().enumerate() {
            let role = self.roles.items[number];
            if matches!(role, Role::Unknown | Role::Door | Role::Wall) {
                panels.extend(lines::panel(self.input, item, self.scale));
            }
        }
        Loose::build(frame, pieces, panels)
    }

    /// Straight pieces of unknown role, without layers of walls and the middle lines of walls as wide as they are.
    fn unknown_pieces(&self, lines: &WallLines) -> impl Iterator<Item = (Point, Point)> {
        let items = self.input.items.iter().zip(&self.roles.items).zip(lines.used.iter().zip(&lines.layers));
        let unknown = items.filter(|((_, role), (_, layer))| **role == Role::Unknown && !**layer);
        let drawn = unknown.filter(|((item, _), (used, _))| !(**used && lines::is_wide(item, self.scale)));
        drawn.flat_map(|((item, _), _)| self.input.segments(item))
    }

    fn report_mending(&mut self, net: &Net, mending: &Mending) {
        self.plan.counts.snapped_points = net.noded.snapped;
        self.plan.counts.duplicates = net.noded.duplicates;
        self.plan.counts.closed_gaps = mending.closed.len() as u64;
        self.plan.counts.overshoots = mending.overshoots.len() as u64;
        self.plan.issues.add(&codes::DUPLICATE, net.noded.duplicates, Place::Document, "pieces merged");
        for (a, b) in &mending.closed {
            let detail = format!("{} m to {}", short(a.distance(*b)), at(*b));
            self.fixed(&codes::GAP_CLOSED, *a, detail, DiagnosticGeometry::Line(vec![*a, *b]));
        }
        for (a, b) in &mending.overshoots {
            self.fixed(
                &codes::OVERSHOOT,
                *a,
                format!("{} m", short(a.distance(*b))),
                DiagnosticGeometry::Line(vec![*a, *b]),
            );
        }
        for (a, b) in &mending.open {
            let detail = format!("{} m to {}", short(a.distance(*b)), at(*b));
            self.report(&codes::GAP_OPEN, *a, detail, DiagnosticGeometry::Line(vec![*a, *b]));
        }
    }

    /// Reports dangles and bridges; gives those long enough to be free-standing walls.
    fn report_leftovers(&mut self, graph: &Graph, frame: &Frame) -> Vec<Vec<Point>> {
        let mut free = Vec::new();
        self.plan.counts.dangles = graph.dangles.len() as u64;
        for dangle in &graph.dangles {
            let chain: Vec<Point> = dangle.chain.iter().map(|point| frame.metres(*point)).collect();
            let (Some(&first), Some(&last)) = (chain.first(), chain.last()) else { continue };
            let length = path_length(&chain, false);
            self.report(
                &codes::DANGLE,
                first,
                format!("{} m, from {} to {}", short(length), at(first), at(last)),
                DiagnosticGeometry::Line(chain.clone()),
            );
            if length > 0.3 * self.scale {
                free.push(chain);
            }
        }
        for (a, b) in &graph.bridges {
            let (a, b) = (frame.metres(*a), frame.metres(*b));
            self.report(&codes::BRIDGE, a, span(a, b), DiagnosticGeometry::Line(vec![a, b]));
        }
        free
    }

    /// Joins drawn and derived rooms, sorts and numbers them.
    fn settle(
        &mut self,
        lines: &WallLines,
        mut drawn: Vec<Candidate>,
        derived: Vec<Candidate>,
        outline: Outline,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<(), Interrupt> {
        if drawn.is_empty()
            && !lines.named
            && self.options.geometry
            && self.options.room_polygons != RoomPolygons::Ignore
        {
            let fills = rooms::fills(self.input, &self.roles, self.scale, self.options, checkpoint)?;
            let mut sources: Vec<u64> =
                fills.iter().filter_map(|fill| fill.source.as_ref()).map(|source| source.ordinal).collect();
            sources.dedup();
            if sources.len() >= 3 && derived.len() * 2 < fills.len() {
                drawn = fills;
            }
        }
        self.check_overlaps(&drawn, checkpoint)?;
        let had_derived = !derived.is_empty();
        let (mut candidates, agreement) = rooms::join(drawn, derived, self.scale);
        let Agreement { matched: _, differing } = agreement;
        for (place, stated, measured) in differing {
            let detail = format!("drawn {stated:.2} m², between walls {measured:.2} m²");
            self.report(&codes::DRAWN_DIFFERS, place, detail, DiagnosticGeometry::Point(place));
        }
        let mut keyed: Vec<(Point, Candidate)> =
            candidates.drain(..).map(|room| (room.polygon.point_inside(), room)).collect();
        keyed.sort_by(|p, q| q.0.y.total_cmp(&p.0.y).then(p.0.x.total_cmp(&q.0.x)));
        self.plan.rooms = keyed
            .into_iter()
            .enumerate()
            .map(|(number, (label_point, room))| {
                let (room_number, name) = room.words.as_deref().map(reading::from_words).unwrap_or_default();
                Room {
                    index: number as u32,
                    area_m2: room.polygon.area(),
                    perimeter_m: room.polygon.perimeter(),
                    polygon: room.polygon,
                    label_point,
                    number: room_number,
                    name,
                    stated_area_m2: None,
                    texts: Vec::new(),
                    usage: None,
                    origin: room.origin,
                    source: room.source,
                    view: None,
                    confidence: room.confidence,
                    reason: room.reason,
                }
            })
            .collect();
        if outline.drawn && !outline.parts.is_empty() {
            self.plan.level_outline = outline.parts;
        } else {
            let parts = std::mem::take(&mut self.plan.level_outline);
            let most = self.options.max_crossings;
            self.plan.level_outline = outline::around_rooms(parts, &self.plan.rooms, most, checkpoint)?;
        }
        if self.plan.rooms.is_empty() && lines.named && !had_derived {
            self.plan.issues.report(
                &codes::NO_ROOMS,
                Place::Document,
                format!("{} wall segments", lines.segments.len()),
            );
        }
        Ok(())
    }

    fn check_overlaps(&mut self, drawn: &[Candidate], checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        use geo::{Area, BooleanOps};
        let locator = Locator::build(drawn.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon)));
        let mut found = Vec::new();
        for (number, room) in drawn.iter().enumerate() {
            checkpoint()?;
            let Some((low, high)) = room.polygon.bounds() else { continue };
            let area = room.polygon.area();
            for other in locator.in_box(low, high) {
                let other = other as usize;
                if other <= number || found.len() >= 1000 {
                    continue;
                }
                let mate = &drawn[other].polygon;
                let Some((mate_low, mate_high)) = mate.bounds() else { continue };
                let wide = high.x.min(mate_high.x) - low.x.max(mate_low.x);
                let tall = high.y.min(mate_high.y) - low.y.max(mate_low.y);
                let smaller = area.min(mate.area());
                if wide <= 0.0 || tall <= 0.0 || wide * tall < 0.01 * smaller {
                    continue;
                }
                let shared = as_geo(&room.polygon).intersection(&as_geo(mate)).unsigned_area();
                if shared > 0.01 * smaller && shared < 0.98 * smaller {
                    found.push((room.polygon.point_inside(), shared));
                }
            }
        }
        for (place, shared) in found {
            self.report(&codes::OVERLAP, place, format!("{shared:.2} m²"), DiagnosticGeometry::Point(place));
        }
        Ok(())
    }

    fn report(&mut self, code: &'static Code, at: Point, detail: impl Into<String>, geometry: DiagnosticGeometry) {
        let detail = detail.into();
        self.keep(code, &detail, geometry);
        self.plan.issues.report(code, Place::Position { x: at.x, y: at.y }, detail);
    }

    fn fixed(&mut self, code: &'static Code, at: Point, detail: impl Into<String>, geometry: DiagnosticGeometry) {
        let detail = detail.into();
        self.keep(code, &detail, geometry);
        self.plan.issues.fixed(code, Place::Position { x: at.x, y: at.y }, detail);
    }

    fn keep(&mut self, code: &'static Code, detail: &str, geometry: DiagnosticGeometry) {
        if self.options.diagnostics {
            self.plan.diagnostics.push(Diagnostic { code: code.id, detail: detail.to_owned(), geometry });
        }
    }
}

/// How many of the rooms hold one of the points, and how many points they hold.
fn told(rooms: &[Candidate], points: &[Point], pace: &Pace<'_>) -> Result<(usize, usize), Interrupt> {
    let locator = Locator::build(rooms.iter().enumerate().map(|(number, room)| (number as u32, &room.polygon)));
    let mut told = vec![false; rooms.len()];
    let mut inside = 0;
    for point in points {
        let holding = locator.holding(*point, pace)?;
        inside += usize::from(!holding.is_empty());
        for number in holding {
            told[number as usize] = true;
        }
    }
    Ok((told.into_iter().filter(|told| *told).count(), inside))
}

fn as_geo(polygon: &Polygon) -> geo::Polygon<f64> {
    let ring = |points: &[Point]| geo::LineString::from(points.iter().map(|p| (p.x, p.y)).collect::<Vec<_>>());
    geo::Polygon::new(ring(&polygon.shell), polygon.holes.iter().map(|hole| ring(hole)).collect())
}

/// A length for people: four figures.
fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (3.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn at(point: Point) -> String {
    format!("({:.4}, {:.4})", point.x, point.y)
}

fn span(a: Point, b: Point) -> String {
    format!("from {} to {}", at(a), at(b))
}
