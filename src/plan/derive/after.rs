//! What follows once the rooms are known: their texts, the drawings and floors they lie in, their uses, the openings between them,
//! and what each layer was taken for. Which shapes are rooms is decided before.

use super::*;

impl Work<'_> {
    pub(super) fn label(&mut self, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        let mut leaders = Vec::new();
        for item in &self.input.items {
            if self.input.text(item.entity).to_ascii_uppercase().contains("LEADER") {
                let points = self.input.points_of(item);
                if let (Some(first), Some(last)) = (points.first(), points.last()) {
                    leaders.push((*first, *last));
                    leaders.push((*last, *first));
                }
            }
        }
        self.plan.counts.texts = self.input.texts.len() as u64;
        let Labelling { labels, orphans, conflicts, misstated, sides, bad_pattern } = labels::assign(
            self.input,
            &self.roles,
            &mut self.plan.rooms,
            &leaders,
            self.scale,
            self.options,
            checkpoint,
        )?;
        self.plan.labels = labels;
        if let Some(reason) = bad_pattern {
            self.plan.issues.report(&codes::BAD_PATTERN, Place::Document, reason);
        }
        for (place, text) in orphans {
            self.report(&codes::ORPHAN, place, text, DiagnosticGeometry::Point(place));
        }
        for (room, numbers) in conflicts {
            let place = self.plan.rooms[room as usize].label_point;
            self.report(&codes::CONFLICT, place, numbers, DiagnosticGeometry::Point(place));
        }
        if let Some(found) = units::by_areas(&self.plan.rooms, &sides, self.input) {
            self.plan.unit = Some(found);
        }
        for (room, stated) in misstated {
            let room = &self.plan.rooms[room as usize];
            let (place, detail) =
                (room.label_point, format!("written {stated:.2} m², measured {:.2} m²", room.area_m2));
            self.report(&codes::MISSTATED, place, detail, DiagnosticGeometry::Point(place));
        }
        let unlabelled: Vec<Point> = self
            .plan
            .rooms
            .iter()
            .filter(|room| room.number.is_none() && room.name.is_none())
            .map(|room| room.label_point)
            .collect();
        self.plan.counts.labelled_rooms = (self.plan.rooms.len() - unlabelled.len()) as u64;
        for place in unlabelled {
            self.report(&codes::UNLABELLED, place, "", DiagnosticGeometry::Point(place));
        }
        Ok(())
    }

    /// Joins rooms to the drawings on the sheet, and reports these.
    pub(super) fn views(&mut self) {
        if self.sheet.too_much {
            let detail = format!("more than {} cells of a quarter of the gap", super::super::clusters::MOST_CELLS);
            self.plan.issues.report(&codes::SHEET_TOO_LARGE, Place::Document, detail);
        }
        let mut views = std::mem::take(&mut self.sheet.views);
        if views.is_empty() {
            return;
        }
        for room in &mut self.plan.rooms {
            room.view = self.sheet.view_at(&room.polygon.shell, room.label_point);
            if let Some(view) = room.view.and_then(|view| views.get_mut(view as usize)) {
                view.rooms += 1;
            }
        }
        let mut floors: Vec<(Option<i32>, &str)> = Vec::new();
        for view in &views {
            let [left, low, right, high] = view.bbox;
            if !view.kind.has_rooms() {
                let corners = [(left, low), (right, low), (right, high), (left, high)];
                let shell = corners.map(|(x, y)| Point::new(x, y)).to_vec();
                let place = shell[0].midpoint(shell[2]);
                let title = view.title.as_deref().map_or(String::new(), |title| format!(" `{title}`"));
                let detail =
                    format!("{}{title} from {} to {}: {}", view.kind.as_str(), at(shell[0]), at(shell[2]), view.reason);
                self.report(
                    &codes::NO_PLAN,
                    place,
                    detail,
                    DiagnosticGeometry::Area(Polygon { shell, holes: Vec::new() }),
                );
            } else if let Some(name) = &view.level_name {
                floors.push((view.floor_level, name));
            }
        }
        floors.sort_unstable();
        let several = floors.windows(2).any(|pair| match (pair[0].0, pair[1].0) {
            (Some(p), Some(q)) => p != q,
            _ => pair[0].1 != pair[1].1,
        });
        if several {
            let names: Vec<&str> = floors.iter().map(|(_, name)| *name).collect();
            self.plan.issues.report(&codes::SEVERAL_FLOORS, Place::Document, names.join(", "));
        }
        self.plan.views = views;
    }

    /// Stairs and shafts by what is drawn in a room.
    pub(super) fn usages(&mut self, lines: &WallLines, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        let pace = Pace::new(checkpoint);
        let rooms = &self.plan.rooms;
        let locator = Locator::build(rooms.iter().map(|room| (room.index, &room.polygon)));
        let mut seen: BTreeMap<(u32, &'static str), u32> = BTreeMap::new();
        for (number, item) in self.input.items.iter().enumerate() {
            let usage = match self.roles.items[number] {
                Role::Stair => "stairs",
                Role::Shaft => "elevator",
                Role::Unknown if lines.treads[number] => "stairs",
                _ => continue,
            };
            let Some((low, high)) = self.input.bounds(item) else { continue };
            let middle = low.midpoint(high);
            for room in locator.holding(middle, &pace)? {
                *seen.entry((room, usage)).or_default() += 1;
            }
        }
        for ((room, usage), count) in seen {
            let room = &mut self.plan.rooms[room as usize];
            if room.usage.is_none() && (count >= 3 || usage == "elevator") {
                room.usage = Some(usage);
            }
        }
        Ok(())
    }

    pub(super) fn openings(&mut self, fitted: Vec<Fitted>, checkpoint: &Checkpoint<'_>) -> Result<(), Interrupt> {
        let mut openings: Vec<Opening> = fitted
            .into_iter()
            .map(|opening| {
                let [mut a, mut b] = opening.line;
                if (b.x, b.y) < (a.x, a.y) {
                    std::mem::swap(&mut a, &mut b);
                }
                let source = opening.source.map(|(item, group)| {
                    let item = &self.input.items[item as usize];
                    let ordinal = self.input.groups.get(group as usize).map_or(item.ordinal, |group| group.ordinal);
                    SourceRef {
                        layer: self.input.layers[item.layer as usize].name.clone(),
                        entity: self.input.text(item.entity).to_owned(),
                        identity: item.identity,
                        ordinal,
                    }
                });
                let block = opening
                    .source
                    .map(|(item, _)| self.input.items[item as usize].block)
                    .filter(|block| *block != NONE)
                    .map(|block| self.input.text(block).to_owned());
                Opening {
                    index: 0,
                    kind: opening.kind,
                    line: [a, b],
                    width_m: a.distance(b),
                    depth_m: opening.depth,
                    hinges: opening.hinges,
                    swing: opening.swing,
                    sides: [Side::Unknown; 2],
                    block,
                    source,
                    confidence: opening.confidence,
                    reason: opening.reason,
                }
            })
            .collect();
        openings.sort_by(|p, q| {
            let (a, b) = (p.line[0].midpoint(p.line[1]), q.line[0].midpoint(q.line[1]));
            b.y.total_cmp(&a.y).then(a.x.total_cmp(&b.x)).then(p.width_m.total_cmp(&q.width_m))
        });
        let (rooms, outline) = (&self.plan.rooms, &self.plan.level_outline);
        adjacency::sides(&mut openings, rooms, outline, self.scale, &Pace::new(checkpoint))?;
        // A gap in a wall that no room touches is no opening of the plan.
        openings.retain(|opening| {
            opening.source.is_some() || opening.sides.iter().any(|side| matches!(side, Side::Room(_)))
        });
        for (number, opening) in openings.iter_mut().enumerate() {
            opening.index = number as u32;
        }
        for opening in &openings {
            let place = opening.line[0].midpoint(opening.line[1]);
            if !opening.sides.iter().any(|side| matches!(side, Side::Room(_))) {
                self.report(&codes::BLIND, place, "", DiagnosticGeometry::Point(place));
            } else if opening.confidence < 0.6 {
                self.report(&codes::UNSURE_OPENING, place, opening.reason.clone(), DiagnosticGeometry::Point(place));
            }
        }
        self.plan.adjacency = adjacency::graph(&openings, &self.plan.rooms);
        self.plan.openings = openings;
        for room in self.plan.adjacency.unreachable.clone() {
            let room = &self.plan.rooms[room as usize];
            let (place, detail) =
                (room.label_point, room.number.clone().or_else(|| room.name.clone()).unwrap_or_default());
            self.report(&codes::UNREACHABLE, place, detail, DiagnosticGeometry::Point(place));
        }
        Ok(())
    }

    /// Classes of layers, with what geometry adds.
    pub(super) fn classes(&mut self, lines: &WallLines) {
        let mut layers = std::mem::take(&mut self.roles.layers);
        let mut wall_length = vec![0.0; layers.len()];
        let mut text_count = vec![0u64; layers.len()];
        for (number, item) in self.input.items.iter().enumerate() {
            if lines.used[number] {
                wall_length[item.layer as usize] += self.input.segments(item).map(|(a, b)| a.distance(b)).sum::<f64>();
            }
        }
        for text in &self.input.texts {
            text_count[text.layer as usize] += 1;
        }
        for (number, layer) in layers.iter_mut().enumerate() {
            if layer.role != Role::Unknown {
                continue;
            }
            let share = if layer.length_m > 0.0 { wall_length[number] / layer.length_m } else { 0.0 };
            if share > 0.5 && !lines.named {
                let part = (100.0 * share).round();
                layer.suggestion = Some(Role::Wall);
                layer.confidence = 0.5 * share.min(1.0);
                layer.source = ClassSource::Geometry;
                layer.reason = format!("{part} % of its length looks like walls");
            } else if text_count[number] * 2 > layer.shapes {
                layer.suggestion = Some(Role::Label);
                layer.confidence = 0.3;
                layer.source = ClassSource::Geometry;
                layer.reason = "most of it is text".to_owned();
            }
            let suggestion = match layer.suggestion {
                Some(role) => format!("; perhaps {}", format!("{role:?}").to_lowercase()),
                None => String::new(),
            };
            let detail = format!("`{}`: {} shapes, {:.1} m{suggestion}", layer.layer, layer.shapes, layer.length_m);
            self.plan.issues.report(&codes::UNMAPPED, Place::Document, detail);
        }
        self.plan.classes = classify::sorted_layers(layers);
    }
}
