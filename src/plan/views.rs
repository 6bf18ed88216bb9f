//! The drawings on a sheet: which of them are plans, and of which floors.
//!
//! A model space often holds floors, elevations, sections, details, legends and the title block side by side. Their ink is
//! divided by gaps ([`super::clusters`]); titles ([`super::titles`]) stand below or above what they name, or large within it.
//! A drawing that its title calls something else than a plan is left out of the search for rooms, unless doors, room
//! outlines or room labels in it contradict. Without a title only shape may say so (it stands on a ground line, its
//! levels are marked one above the other, it is a title block), and only beside a drawing that is a plan by what is in it. All else
//! stays: a room too many is seen, a room too few is not.

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};
use serde::Serialize;

use super::classify::Roles;
use super::clusters::{Cluster, Clusters, Ink, Piece, smallest_around};
use super::input::{Drawn, Input, Item};
use super::signs::{self, Signs};
use super::symbols::Symbols;
use super::titles::{Title, Titles, ViewKind};
use super::{PlanOptions, Role};
use crate::drawing::{Point, Vec2};
use crate::format::{Checkpoint, Interrupt, Pace};
use crate::place::level::{Level, Levels};

/// A drawing on a sheet that holds several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    /// 0-based index in [`super::Plan::views`]; what rooms refer to.
    pub index: u32,
    /// What it is.
    pub kind: ViewKind,
    /// Its title as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The floor its title names: 0 is the ground floor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_level: Option<i32>,
    /// Name of the floor as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_name: Option<String>,
    /// Left, bottom, right, top; metres.
    pub bbox: [f64; 4],
    /// Rooms in it.
    pub rooms: u64,
    /// How sure the kind is, 0 to 1.
    pub confidence: f64,
    /// Why.
    pub reason: String,
}

/// The drawings of a sheet.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    /// Empty where the sheet holds one drawing, or nothing tells several apart.
    pub views: Vec<View>,
    /// There was too much ink to divide it.
    pub too_much: bool,
    /// By cluster.
    view_of: Vec<Option<u32>>,
    clusters: Option<Clusters>,
    /// Clusters that are drawings of their own.
    drawings: Vec<usize>,
}

impl Sheet {
    /// The view that a place on its lines lies in; else the smallest one around it.
    pub(crate) fn view_at(&self, on_lines: &[Point], inside: Point) -> Option<u32> {
        let clusters = self.clusters.as_ref()?;
        let on_line = on_lines.iter().find_map(|point| self.view_of[clusters.at(*point)? as usize]);
        on_line.or_else(|| self.view_of[smallest_around(clusters, &self.drawings, clusters.place(inside))?])
    }

    /// Marks what lies in drawings without rooms, so that nothing is looked for in it.
    pub(crate) fn leave_out(&self, input: &Input, roles: &mut Roles, symbols: &mut Symbols) {
        let Some(clusters) = &self.clusters else { return };
        let view = |cluster: u32| self.view_of.get(cluster as usize).copied().flatten();
        let left_out = |view: Option<u32>| view.is_some_and(|view| !self.views[view as usize].kind.has_rooms());
        if !(0..self.views.len() as u32).any(|view| left_out(Some(view))) {
            return;
        }
        for (role, cluster) in roles.items.iter_mut().zip(&clusters.of_item) {
            if left_out(view(*cluster)) {
                *role = Role::Sheet;
            }
        }
        for (role, text) in roles.texts.iter_mut().zip(&input.texts) {
            if left_out(self.view_at(&[text.middle], text.middle)) {
                *role = Role::Sheet;
            }
        }
        symbols.proposals.retain(|proposal| {
            !left_out(clusters.of_item.get(proposal.item as usize).and_then(|cluster| view(*cluster)))
        });
    }
}

/// A title and where it stands.
#[derive(Debug, Clone)]
struct Placed {
    title: Title,
    text: String,
    height: f64,
    distance: f64,
    inside: bool,
}

/// A sheet as one gap divides it: its parts, which of them are drawings, and titles by part.
struct Division {
    clusters: Clusters,
    drawings: Vec<usize>,
    placed: Vec<Vec<Placed>>,
}

/// Finds the drawings on the sheet. `scale` is a true metre in metres of the drawing.
pub(crate) fn find(
    input: &Input,
    roles: &Roles,
    symbols: &Symbols,
    scale: f64,
    options: &PlanOptions,
    checkpoint: &Checkpoint<'_>,
) -> Result<Sheet, Interrupt> {
    let pace = Pace::new(checkpoint);
    let gap = options.sheet_gap_m.unwrap_or(GAP_M * scale);
    if !options.sheets || gap.is_nan() || gap <= 0.0 || input.items.is_empty() {
        return Ok(Sheet::default());
    }
    let kinds = ink_kinds(input, roles);
    let ink = Ink::of(pieces(input, &kinds, InkKind::Drawn), &pace)?;
    let (globs, _) = super::names::compile_globs(&options.titles);
    let globs = globs.into_iter().map(|(kind, _, glob)| (kind, glob)).collect();
    let titles = Titles::new(globs, Levels::new(&options.levels).ok());
    let read: Vec<(usize, Title)> = (0..input.texts.len())
        .filter(|number| input.texts[*number].height > 0.0 && roles.texts[*number] != Role::Dimension)
        .filter_map(|number| titles.read(&input.texts[number].value).map(|title| (number, title)))
        .collect();

    // Drawings that stand close may need a smaller gap: titles that contradict each other tell.
    let mut best: Option<(usize, Division)> = None;
    for part in [1.0, 0.5, 0.25] {
        let Some(clusters) = ink.split(input.items.len(), part * gap, &pace)? else {
            return Ok(Sheet { too_much: !ink.is_empty(), ..Sheet::default() });
        };
        let drawings: Vec<usize> =
            (0..clusters.list.len()).filter(|number| is_drawing(&clusters.list[*number], scale)).collect();
        if drawings.len() > MOST_DRAWINGS {
            break;
        }
        let placed = assign(input, &clusters, &drawings, &read, scale);
        let conflicts = placed.iter().filter(|titles| Verdict::of(titles).is_conflict).count();
        if best.as_ref().is_none_or(|known| conflicts < known.0) {
            best = Some((conflicts, Division { clusters, drawings, placed }));
        }
        if conflicts == 0 {
            break;
        }
    }
    let Some((_, Division { clusters, drawings, placed })) = best else { return Ok(Sheet::default()) };
    let endless: Vec<Piece> = pieces(input, &kinds, InkKind::Endless).collect();
    let signs = signs::find(input, roles, symbols, (&clusters, &drawings), (ink.pieces(), &endless), scale, &pace)?;
    Ok(judge(clusters, drawings, &placed, &signs, scale))
}

/// Gap between drawings, true metres: more than a door or a path leaves open within a plan.
const GAP_M: f64 = 1.5;

/// No sheet holds more drawings than this: what falls into more parts is one plan, or a pattern.
const MOST_DRAWINGS: usize = 200;

/// What an item is to the parts of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InkKind {
    Drawn,
    /// A construction line without end.
    Endless,
    /// Frames, dimensions and the like.
    Aside,
}

fn ink_kinds(input: &Input, roles: &Roles) -> Vec<InkKind> {
    let kind = |(item, role): (&Item, &Role)| {
        let entity = input.text(item.entity).to_ascii_uppercase();
        let aside = matches!(role, Role::Sheet | Role::Dimension | Role::Grid) || entity.contains("LEADER");
        let picture = matches!(entity.as_str(), "VIEWPORT" | "IMAGE" | "WIPEOUT");
        let pattern = item.drawn == Drawn::Lines && entity == "HATCH";
        match entity.as_str() {
            "XLINE" | "RAY" => InkKind::Endless,
            _ if aside || picture || pattern => InkKind::Aside,
            _ => InkKind::Drawn,
        }
    };
    input.items.iter().zip(&roles.items).map(kind).collect()
}

/// The pieces of a kind, item by item.
fn pieces<'a>(input: &'a Input, kinds: &'a [InkKind], kind: InkKind) -> impl Iterator<Item = Piece> + Clone + 'a {
    let items = (0..).zip(&input.items).zip(kinds).filter(move |(_, own)| **own == kind);
    items.flat_map(|((number, item), _)| input.segments(item).filter(|(a, b)| a != b).map(move |(a, b)| (a, b, number)))
}

/// Large enough for a drawing of its own.
fn is_drawing(cluster: &Cluster, scale: f64) -> bool {
    let size = cluster.size();
    cluster.pieces >= 6 && size.x.max(size.y) >= 2.0 * scale && size.x.min(size.y) >= 0.8 * scale
}

/// A text by its number, its title, and the nearest drawing it would stand below, and above, with the distance.
type Outside<'a> = (usize, &'a Title, [Option<(f64, usize)>; 2]);

/// Titles by cluster.
fn assign(
    input: &Input,
    clusters: &Clusters,
    drawings: &[usize],
    read: &[(usize, Title)],
    scale: f64,
) -> Vec<Vec<Placed>> {
    let mut placed: Vec<Vec<Placed>> = vec![Vec::new(); clusters.list.len()];
    let median = median_height(input);
    let mut put = |cluster: usize, number: usize, title: &Title, distance: f64, inside: bool| {
        let text = &input.texts[number];
        let (value, height) = (text.value.clone(), text.height);
        placed[cluster].push(Placed { title: title.clone(), text: value, height, distance, inside });
    };
    let mut outside: Vec<Outside<'_>> = Vec::new();
    for (number, title) in read {
        let text = &input.texts[*number];
        if text.height < 0.99 * median {
            continue;
        }
        let place = clusters.place(text.middle);
        if let Some(cluster) = smallest_around(clusters, drawings, place) {
            if text.height >= 1.3 * median || title.certain || title.bare_floor {
                put(cluster, *number, title, 0.0, true);
            }
            continue;
        }
        // The reading direction, as a quarter turn.
        let reading = clusters.turned(text.direction);
        let level = reading.x.abs() >= reading.y.abs();
        let up = if level { reading.x.signum() } else { -reading.y.signum() };
        let axis = |v: Vec2| if level { (v.x, v.y) } else { (v.y, v.x) };
        let (along, across) = axis(place);
        let mut sides = [None, None];
        for &drawing in drawings {
            let cluster = &clusters.list[drawing];
            let ((left, low), (right, high)) = (axis(cluster.low), axis(cluster.high));
            let rim = 0.25 * (right - left);
            if !(left - rim..=right + rim).contains(&along) {
                continue;
            }
            let reach = (0.5 * (high - low)).max(8.0 * text.height + 3.0 * scale);
            let (below, above) = if up > 0.0 { (low - across, across - high) } else { (across - high, low - across) };
            for (side, distance) in [below, above].into_iter().enumerate() {
                let nearest = sides[side].is_none_or(|(known, _)| distance < known);
                if (0.0..=reach).contains(&distance) && nearest {
                    sides[side] = Some((distance, drawing));
                }
            }
        }
        outside.push((*number, title, sides));
    }
    // A sheet has its titles below its drawings or above them.
    let matched = |side: usize| {
        let mut found: Vec<(usize, f64)> = outside
            .iter()
            .filter_map(|(.., sides)| sides[side].map(|(distance, drawing)| (drawing, distance)))
            .collect();
        found.sort_by(|p, q| p.0.cmp(&q.0).then(p.1.total_cmp(&q.1)));
        let total: f64 = found.iter().map(|(_, distance)| distance).sum();
        found.dedup_by_key(|(drawing, _)| *drawing);
        (found.len(), total)
    };
    let (below, above) = (matched(0), matched(1));
    let usual = usize::from(above.0 > below.0 || (above.0 == below.0 && above.1 < below.1));
    let taken: Vec<usize> = outside.iter().filter_map(|(.., sides)| Some(sides[usual]?.1)).collect();
    for (number, title, sides) in outside {
        let other = sides[1 - usual].filter(|(_, drawing)| !taken.contains(drawing));
        if let Some((distance, drawing)) = sides[usual].or(other) {
            put(drawing, number, title, distance, false);
        }
    }
    for titles in &mut placed {
        titles.sort_by(|p, q| {
            let bare = |placed: &Placed| (placed.title.bare_floor, placed.inside);
            q.title
                .certain
                .cmp(&p.title.certain)
                .then(bare(p).cmp(&bare(q)))
                .then(q.height.total_cmp(&p.height))
                .then(p.distance.total_cmp(&q.distance))
                .then_with(|| p.text.cmp(&q.text))
        });
    }
    placed
}

fn median_height(input: &Input) -> f64 {
    let mut heights: Vec<f64> = input.texts.iter().map(|text| text.height).filter(|height| *height > 0.0).collect();
    heights.sort_by(f64::total_cmp);
    heights.get(heights.len() / 2).copied().unwrap_or(0.0)
}

/// What the titles of one cluster come to.
struct Verdict<'a> {
    title: Option<&'a Placed>,
    /// They contradict each other.
    is_conflict: bool,
    /// Floors that are marked and name nothing.
    marks: bool,
}

impl<'a> Verdict<'a> {
    fn of(titles: &'a [Placed]) -> Self {
        let floors = |bare: bool| {
            let mut floors: Vec<Option<i32>> = titles
                .iter()
                .filter(|placed| placed.title.kind == ViewKind::Plan && placed.title.bare_floor == bare)
                .filter_map(|placed| placed.title.floor.as_ref().map(|floor| floor.ordinal))
                .collect();
            floors.sort_unstable();
            floors.dedup();
            floors.len()
        };
        let marks = floors(true) >= 2;
        let speaking = || titles.iter().filter(|placed| !placed.title.bare_floor);
        let mut kinds: Vec<ViewKind> = speaking().map(|placed| placed.title.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if let Some(certain) = titles.first().filter(|placed| placed.title.certain) {
            return Self { title: Some(certain), is_conflict: false, marks };
        }
        // Legends and details beside a plan are named next to it.
        let beside = |kind: &ViewKind| matches!(kind, ViewKind::Legend | ViewKind::Detail | ViewKind::Perspective);
        let is_conflict = kinds.iter().filter(|kind| !beside(kind)).count() >= 2 || floors(false) >= 2;
        let title = match () {
            () if is_conflict => None,
            () => speaking()
                .find(|placed| kinds.len() == 1 || !beside(&placed.title.kind))
                .or_else(|| titles.first().filter(|_| !marks && kinds.is_empty())),
        };
        Self { title, is_conflict, marks }
    }
}

/// Kinds of all drawings; no views where there is but one plan, or nothing tells drawings apart.
fn judge(clusters: Clusters, drawings: Vec<usize>, placed: &[Vec<Placed>], signs: &[Signs], scale: f64) -> Sheet {
    let verdicts: Vec<Verdict<'_>> = placed.iter().map(|titles| Verdict::of(titles)).collect();
    let is_plan = |number: usize| {
        signs[number].is_plan() || verdicts[number].title.is_some_and(|placed| placed.title.kind == ViewKind::Plan)
    };
    let plans = drawings.iter().filter(|number| is_plan(**number)).count();
    let widest = drawings.iter().map(|number| clusters.list[*number].size().hypot()).fold(0.0, f64::max);
    let judged: Vec<(ViewKind, f64, String)> = drawings
        .iter()
        .map(|&number| {
            let (cluster, signs) = (&clusters.list[number], &signs[number]);
            let setting = Setting {
                alone: drawings.len() == 1,
                beside_plan: plans > usize::from(is_plan(number)),
                share: cluster.size().hypot() / widest.max(f64::MIN_POSITIVE),
                walls: signs.named_walls / cluster.length.max(f64::MIN_POSITIVE),
            };
            kind_of(&verdicts[number], signs, setting, scale)
        })
        .collect();
    // What nothing is known of is part of the drawing around it: a core within its building, a window within its wall.
    let takes = |other: &usize| !matches!(judged[*other].0, ViewKind::Unknown | ViewKind::Site | ViewKind::Roof);
    let boxes = (0..drawings.len()).filter(takes).map(|other| {
        let Cluster { low, high, .. } = &clusters.list[drawings[other]];
        GeomWithData::new(Rectangle::from_corners([low.x, low.y], [high.x, high.y]), other)
    });
    let boxes = RTree::bulk_load(boxes.collect());
    let around = |number: usize| -> Option<usize> {
        let own = &clusters.list[number];
        let size = |other: usize| clusters.list[drawings[other]].size().hypot();
        boxes
            .locate_in_envelope_intersecting(AABB::from_point([own.low.x, own.low.y]))
            .map(|entry| entry.data)
            .filter(|other| drawings[*other] != number && clusters.list[drawings[*other]].holds(own.high, 0.0))
            .min_by(|p, q| size(*p).total_cmp(&size(*q)).then(p.cmp(q)))
    };
    let is_known = |place: usize| judged[place].0 != ViewKind::Unknown || verdicts[drawings[place]].title.is_some();
    let within: Vec<Option<usize>> = (0..clusters.list.len())
        .map(|number| match drawings.binary_search(&number) {
            Ok(place) if is_known(place) => None,
            Ok(_) => around(number),
            Err(_) => around(number).filter(|_| !signs[number].is_plan()),
        })
        .collect();
    let mut views = Vec::new();
    let mut view_of = vec![None; clusters.list.len()];
    for (place, &number) in drawings.iter().enumerate().filter(|(_, number)| within[**number].is_none()) {
        let (kind, confidence, reason) = judged[place].clone();
        let title = verdicts[number].title.filter(|placed| placed.title.kind == kind || kind == ViewKind::Unknown);
        let floor: Option<&Level> = title.and_then(|placed| placed.title.floor.as_ref());
        let (low, high) = clusters.list[number].corners;
        view_of[number] = Some(views.len() as u32);
        views.push(View {
            index: views.len() as u32,
            kind,
            title: title.map(|placed| placed.text.clone()),
            floor_level: floor.and_then(|floor| floor.ordinal),
            level_name: floor.and_then(|floor| floor.name.clone()),
            bbox: [low.x, low.y, high.x, high.y].map(|value| (value * 1e4).round() / 1e4),
            rooms: 0,
            confidence,
            reason,
        });
    }
    for (number, outer) in within.iter().enumerate() {
        if let Some(outer) = outer {
            view_of[number] = view_of[drawings[*outer]];
        }
    }
    let left_out = views.iter().any(|view| !view.kind.has_rooms());
    let told = views.len() >= 2 && views.iter().any(|view| view.title.is_some());
    if left_out || told {
        Sheet { views, too_much: false, view_of, clusters: Some(clusters), drawings }
    } else {
        Sheet::default()
    }
}

/// What is around a drawing.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// It is the only drawing of the sheet.
    alone: bool,
    /// Another drawing of the sheet is a plan by its title or by what is in it.
    beside_plan: bool,
    /// Its size beside the largest drawing.
    share: f64,
    /// Share of its lines that names call walls.
    walls: f64,
}

/// Kind, confidence, reason.
fn kind_of(verdict: &Verdict<'_>, signs: &Signs, setting: Setting, scale: f64) -> (ViewKind, f64, String) {
    if let Some(placed) = verdict.title {
        let kind = placed.title.kind;
        let words = format!("its title is `{}`", placed.text);
        if kind.has_rooms() {
            return (kind, if placed.title.bare_floor { 0.7 } else { 0.9 }, words);
        }
        if placed.title.certain {
            return (kind, 1.0, format!("{words}, by `plan.titles`"));
        }
        // What a plan has beside it is much smaller than a plan.
        let beside = matches!(kind, ViewKind::Legend | ViewKind::Detail | ViewKind::Perspective);
        let weak = (placed.inside && setting.alone) || (beside && (setting.share > 0.6 || !setting.beside_plan));
        if weak || signs.contradicts(kind) {
            return (
                ViewKind::Unknown,
                0.5,
                format!("{words}, but rooms or doors are drawn, or it may name something beside"),
            );
        }
        return (kind, if setting.alone { 0.75 } else { 0.9 }, words);
    }
    let blocks = signs.title_block_words.len();
    if blocks >= 4 && signs.title_block_texts * 4 >= signs.texts && !signs.is_plan() && !setting.alone {
        return (ViewKind::TitleBlock, 0.8, format!("it holds {blocks} captions of a title block"));
    }
    let contradicted = signs.swings > 0 || signs.drawn_rooms > 0 || signs.usages > 0 || signs.areas > 0;
    if setting.beside_plan && !contradicted && setting.walls < 0.5 {
        if signs.ground_line {
            return (ViewKind::Elevation, 0.7, "it stands on a ground line, and nothing in it is of a plan".to_owned());
        }
        let mut heights = signs.level_marks.clone();
        heights.sort_by(f64::total_cmp);
        heights.dedup_by(|p, q| (*p - *q).abs() < 0.5 * scale);
        if heights.len() >= 3 || verdict.marks {
            return (
                ViewKind::Section,
                0.7,
                "levels are marked one above the other, and nothing in it is of a plan".to_owned(),
            );
        }
    }
    if signs.is_plan() {
        return (ViewKind::Plan, 0.8, "doors, rooms or room names are drawn in it".to_owned());
    }
    (ViewKind::Unknown, 0.5, "nothing tells what it is".to_owned())
}
