//! A converted plan as a picture: SVG, and PNG with the feature `png`.
//!
//! [`draw`] takes the GeoJSON that this program writes and gives an SVG of it: rooms tinted apart, walls,
//! openings, labels, what was found wrong at its place, a scale bar. [`Show::Drawing`] draws the entities alone, in
//! their own colours, which is how the drawing looked before. The same input gives the same bytes. [`to_png`]
//! renders that SVG; its letters depend on the fonts of the machine.
//!
//! Pictures are for looking at, not for measuring: coordinates are rounded to a hundredth of a pixel, and lines of
//! walls without thickness have a fixed width. Longitudes and latitudes are drawn in an equirectangular
//! projection about the middle of the plan.

use std::fmt::Write as _;
use std::io;

use serde::Deserialize;
use serde::de::{self, SeqAccess, Visitor};

use crate::drawing::{Point, Rect};

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Show {
    /// Rooms, walls, openings and labels over the entities in grey.
    #[default]
    Plan,
    /// The entities in their own colours.
    Drawing,
}

/// How a picture is made.
#[derive(Debug, Clone)]
pub struct PreviewOptions {
    /// Width in pixels, 100 to 10,000.
    pub width: u32,
    /// What it shows.
    pub show: Show,
    /// Whether rooms and texts are labelled.
    pub labels: bool,
    /// Whether problems with a place are marked.
    pub issues: bool,
}

impl Default for PreviewOptions {
    fn default() -> Self {
        Self { width: 1200, show: Show::Plan, labels: true, issues: true }
    }
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// The input is no FeatureCollection.
    #[error("not a GeoJSON FeatureCollection: {0}")]
    NotGeoJson(#[from] serde_json::Error),
    /// The SVG could not be rendered.
    #[error("the picture cannot be rendered: {0}")]
    Render(String),
}

/// Draws a FeatureCollection as SVG.
///
/// # Errors
/// When `geojson` is not one.
pub fn draw(geojson: impl io::Read, options: &PreviewOptions) -> Result<String, PreviewError> {
    let mut collection: Collection = serde_json::from_reader(io::BufReader::new(geojson))?;
    if collection.kind != "FeatureCollection" {
        let error: serde_json::Error = de::Error::custom(format!("its type is `{}`", collection.kind));
        return Err(error.into());
    }
    collection.project();
    Ok(Picture::new(&collection, options).finish(&collection))
}

/// Renders an SVG of [`draw`] as PNG. Letters need a font: without one on the machine, they are missing.
///
/// # Errors
/// When the picture does not fit into memory.
#[cfg(feature = "png")]
pub fn to_png(svg: &str) -> Result<Vec<u8>, PreviewError> {
    use resvg::{tiny_skia, usvg};
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    let family = |wanted: &str| fonts.faces().any(|face| face.families.iter().any(|(name, _)| name == wanted));
    let known = ["Liberation Sans", "DejaVu Sans", "Noto Sans", "Arial", "Helvetica"].into_iter().find(|f| family(f));
    let first = || fonts.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    if let Some(name) = known.map(str::to_owned).or_else(first) {
        fonts.set_sans_serif_family(name);
    }
    let failed = |error: &dyn std::fmt::Display| PreviewError::Render(error.to_string());
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size().to_int_size();
    let mut pixels = tiny_skia::Pixmap::new(size.width(), size.height()).ok_or_else(|| failed(&"it is too large"))?;
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| failed(&error))
}

#[derive(Debug, Deserialize)]
struct Collection {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    features: Vec<Feature>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    source: Option<String>,
    level_name: Option<String>,
    crs: Option<String>,
    issues: std::collections::BTreeMap<String, Tally>,
}

#[derive(Debug, Deserialize)]
struct Tally {
    #[serde(default)]
    severity: String,
    #[serde(default)]
    samples: Vec<Sample>,
}

#[derive(Debug, Deserialize)]
struct Sample {
    #[serde(default)]
    at: Option<At>,
}

/// A place of an issue; only positions can be drawn.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum At {
    Position { x: f64, y: f64 },
    Elsewhere(de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
struct Feature {
    geometry: Option<Geometry>,
    #[serde(default)]
    properties: Option<Properties>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Properties {
    class: String,
    part: Option<String>,
    name: Option<String>,
    number: Option<String>,
    room_name: Option<String>,
    area_m2: Option<f64>,
    label_point: Option<Position>,
    thickness_m: Option<f64>,
    width_m: Option<f64>,
    height_m: Option<f64>,
    rotation: Option<f64>,
    colour: Option<String>,
    code: Option<String>,
    /// The room a text belongs to.
    room: Option<de::IgnoredAny>,
    visible: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "coordinates")]
enum Geometry {
    Point(Position),
    MultiPoint(Vec<Position>),
    LineString(Vec<Position>),
    MultiLineString(Vec<Vec<Position>>),
    Polygon(Vec<Vec<Position>>),
    MultiPolygon(Vec<Vec<Vec<Position>>>),
    #[serde(other)]
    Other,
}

/// The first two numbers of a position.
#[derive(Debug, Clone, Copy)]
struct Position(Point);

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'de> Visitor<'de> for Numbers {
            type Value = Position;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a position: two numbers or more")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Position, A::Error> {
                let mut next = |index| numbers.next_element()?.ok_or_else(|| de::Error::invalid_length(index, &self));
                let (x, y) = (next(0)?, next(1)?);
                while numbers.next_element::<de::IgnoredAny>()?.is_some() {}
                Ok(Position(Point::new(x, y)))
            }
        }
        deserializer.deserialize_seq(Numbers)
    }
}

impl Collection {
    /// Longitudes and latitudes → metres about the middle of the plan.
    fn project(&mut self) {
        let is_local = self.metadata.crs.as_deref().is_none_or(|crs| crs.contains("local"));
        if is_local {
            return;
        }
        let Some(bounds) = bounds_of(self.features.iter()) else { return };
        if bounds.x0 < -181.0 || bounds.x1 > 181.0 || bounds.y0 < -91.0 || bounds.y1 > 91.0 {
            return;
        }
        /// Metres in a degree of latitude (WGS 84 mean).
        const DEGREE: f64 = 111_195.0;
        let middle = bounds.center();
        let along = DEGREE * middle.y.to_radians().cos();
        let map = |p: &mut Position| p.0 = Point::new((p.0.x - middle.x) * along, (p.0.y - middle.y) * DEGREE);
        for feature in &mut self.features {
            if let Some(geometry) = &mut feature.geometry {
                geometry.each_mut(&map);
            }
            if let Some(point) = feature.properties.as_mut().and_then(|properties| properties.label_point.as_mut()) {
                map(point);
            }
        }
    }
}

impl Geometry {
    fn each_mut(&mut self, map: &impl Fn(&mut Position)) {
        match self {
            Self::Point(point) => map(point),
            Self::MultiPoint(points) | Self::LineString(points) => points.iter_mut().for_each(map),
            Self::MultiLineString(lines) | Self::Polygon(lines) => lines.iter_mut().flatten().for_each(map),
            Self::MultiPolygon(polygons) => polygons.iter_mut().flatten().flatten().for_each(map),
            Self::Other => {}
        }
    }

    /// All lines or rings, and whether they are rings; points are lines of one point.
    fn paths(&self) -> (Vec<&[Position]>, bool) {
        match self {
            Self::Point(point) => (vec![std::slice::from_ref(point)], false),
            Self::MultiPoint(points) => (points.iter().map(std::slice::from_ref).collect(), false),
            Self::LineString(points) => (vec![points], false),
            Self::MultiLineString(lines) => (lines.iter().map(Vec::as_slice).collect(), false),
            Self::Polygon(rings) => (rings.iter().map(Vec::as_slice).collect(), true),
            Self::MultiPolygon(polygons) => (polygons.iter().flatten().map(Vec::as_slice).collect(), true),
            Self::Other => (Vec::new(), false),
        }
    }
}

fn bounds_of<'a>(features: impl Iterator<Item = &'a Feature>) -> Option<Rect> {
    features.filter_map(|feature| extent(feature.geometry.as_ref()?)).reduce(|a, b| a.union(b))
}

fn extent(geometry: &Geometry) -> Option<Rect> {
    let points = geometry.paths().0.into_iter().flatten().filter(|point| point.0.is_finite());
    points.map(|point| Rect::from_points(point.0, point.0)).reduce(|a, b| a.union(b))
}

/// Pixels around the plan.
const MARGIN: f64 = 28.0;
/// Pixels below the plan, for the scale bar and the legend.
const FOOTER: f64 = 56.0;

/// Marks of problems that are kept apart from each other.
const MOST_PROBLEMS: usize = 2_000;

/// Layers of the picture, from the bottom up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Ground,
    Room,
    Entity,
    Wall,
    Opening,
    Text,
    Label,
    Problem,
}

const NUM_LEVELS: usize = 8;

struct Picture<'o> {
    options: &'o PreviewOptions,
    /// Metres → pixels.
    scale: f64,
    origin: Point,
    width: f64,
    height: f64,
    levels: [String; NUM_LEVELS],
    num_rooms: u32,
    num_walls: u32,
    num_doors: u32,
    num_windows: u32,
    num_problems: u32,
    /// Where problems are marked, pixels.
    problems: Vec<Point>,
    has_bodies: bool,
}

impl<'o> Picture<'o> {
    fn new(collection: &Collection, options: &'o PreviewOptions) -> Self {
        let is_derived = |feature: &&Feature| matches!(class_of(feature), "level" | "room");
        let derived = bounds_of(collection.features.iter().filter(is_derived));
        let all = bounds_of(collection.features.iter().filter(|feature| is_visible(feature)));
        // Far strays would make the plan a dot.
        let bounds = match (options.show, derived, all) {
            (Show::Plan, Some(plan), Some(all)) => {
                let reach = 0.15 * plan.width().max(plan.height());
                plan.inflate(reach, reach).intersect(all)
            }
            (_, _, all) => all.unwrap_or(Rect::new(0.0, 0.0, 1.0, 1.0)),
        };
        let side = bounds.width().max(bounds.height()).max(1e-6);
        let (wide, high) = (bounds.width().max(side / 50.0), bounds.height().max(side / 50.0));
        let width = f64::from(options.width.clamp(100, 10_000));
        let room = (width - 2.0 * MARGIN).max(10.0);
        // No higher than one and a half times its width.
        let scale = (room / wide).min(1.5 * width / high);
        let height = (high * scale + 2.0 * MARGIN + FOOTER).ceil();
        let free = (room - wide * scale) / 2.0;
        let centre = bounds.center();
        Self {
            options,
            scale,
            origin: Point::new(
                MARGIN + free + wide * scale / 2.0 - centre.x * scale,
                MARGIN + high * scale / 2.0 + centre.y * scale,
            ),
            width,
            height,
            levels: Default::default(),
            num_rooms: 0,
            num_walls: 0,
            num_doors: 0,
            num_windows: 0,
            num_problems: 0,
            problems: Vec::new(),
            has_bodies: collection.features.iter().any(|f| class_of(f) == "wall" && part_of(f) == "body"),
        }
    }

    fn at(&self, point: Position) -> Point {
        Point::new(self.origin.x + point.0.x * self.scale, self.origin.y - point.0.y * self.scale)
    }

    fn level(&mut self, level: Level) -> &mut String {
        &mut self.levels[level as usize]
    }

    fn finish(mut self, collection: &Collection) -> String {
        for feature in collection.features.iter().filter(|feature| is_visible(feature)) {
            let (Some(geometry), Some(properties)) = (&feature.geometry, &feature.properties) else { continue };
            match (self.options.show, properties.class.as_str()) {
                (Show::Plan, "level") => self.path(Level::Ground, geometry, "fill=\"#faf7f0\" stroke=\"none\""),
                (Show::Plan, "room") => self.room(geometry, properties),
                (Show::Plan, "wall") => self.wall(geometry, properties),
                (Show::Plan, "door" | "window" | "opening") => self.opening(geometry, properties),
                (Show::Plan, "diagnostic") => self.diagnostic(geometry, properties),
                (_, "line" | "area" | "point" | "symbol" | "label") => self.entity(geometry, properties),
                _ => {}
            }
        }
        if self.options.issues && self.options.show == Show::Plan {
            // Notes are many, and nothing has to be done about them.
            for (code, tally) in collection.metadata.issues.iter().filter(|(_, tally)| tally.severity != "note") {
                for sample in &tally.samples {
                    if let Some(At::Position { x, y }) = sample.at {
                        self.problem(Position(Point::new(x, y)), code);
                    }
                }
            }
        }
        self.assemble(&collection.metadata)
    }

    /// `M…L…Z` of a geometry, vertices that fall on the same spot left out.
    fn data(&self, geometry: &Geometry) -> String {
        let (paths, closed) = geometry.paths();
        let mut data = String::new();
        for path in paths {
            let mut last = None;
            for point in path {
                let at = self.at(*point);
                let spot = (hundredths(at.x), hundredths(at.y));
                if last == Some(spot) {
                    continue;
                }
                data.push(if last.is_none() { 'M' } else { 'L' });
                number(&mut data, spot.0);
                data.push(' ');
                number(&mut data, spot.1);
                last = Some(spot);
            }
            if closed && last.is_some() {
                data.push('Z');
            }
        }
        data
    }

    fn path(&mut self, level: Level, geometry: &Geometry, style: &str) {
        let data = self.data(geometry);
        if data.contains('L') {
            let out = self.level(level);
            // Writing into a string cannot fail, here and below.
            let _ = writeln!(out, "<path d=\"{data}\" {style}/>");
        }
    }

    fn room(&mut self, geometry: &Geometry, properties: &Properties) {
        let (fill, stroke) = tint(self.num_rooms);
        self.num_rooms += 1;
        self.path(Level::Room, geometry, &format!("fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"0.8\""));
        let Some(at) = properties.label_point.filter(|_| self.options.labels) else { return };
        let area = properties.area_m2.unwrap_or(0.0);
        let title = properties.number.as_deref().or(properties.name.as_deref()).unwrap_or("");
        let name = properties.room_name.as_deref().filter(|name| *name != title).unwrap_or("");
        let lines = [title, name].into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>();
        // A letter is about six tenths of the font size wide; nine tenths of the room are for its label.
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0).max(7);
        let across = extent(geometry).map_or(0.0, |bounds| bounds.width()) * self.scale * 0.9;
        let size = (0.16 * area.max(0.0).sqrt() * self.scale).min(15.0).min(across / (0.6 * longest as f64));
        if size < 4.0 {
            return;
        }
        let at = self.at(at);
        let mut y = at.y - size * 0.55 * lines.len() as f64 + size * 0.35;
        for (index, line) in lines.iter().enumerate() {
            let weight = if index == 0 { " font-weight=\"bold\"" } else { "" };
            self.label(Level::Label, Point::new(at.x, y), size, line, &format!("fill=\"#222\"{weight}"));
            y += size * 1.1;
        }
        let area = format!("{area:.1} m²");
        self.label(Level::Label, Point::new(at.x, y), size * 0.8, &area, "fill=\"#666\"");
    }

    /// A text centred on a point, with a light edge so that it can be read on lines.
    fn label(&mut self, level: Level, at: Point, size: f64, text: &str, style: &str) {
        let out = self.level(level);
        let _ = write!(out, "<text x=\"");
        number(out, hundredths(at.x));
        out.push_str("\" y=\"");
        number(out, hundredths(at.y));
        let _ = write!(out, "\" font-size=\"{size:.1}\" text-anchor=\"middle\" {style}>");
        escape(out, text, 60);
        out.push_str("</text>\n");
    }

    fn wall(&mut self, geometry: &Geometry, properties: &Properties) {
        if properties.part.as_deref() == Some("body") {
            self.path(
                Level::Wall,
                geometry,
                "fill=\"#3f3f46\" fill-rule=\"evenodd\" stroke=\"#3f3f46\" stroke-width=\"0.4\"",
            );
            return;
        }
        self.num_walls += 1;
        if self.has_bodies && properties.thickness_m.is_some() {
            return;
        }
        let width = properties.thickness_m.map_or(1.8, |thickness| (thickness * self.scale).clamp(1.2, 60.0));
        let style = format!("fill=\"none\" stroke=\"#3f3f46\" stroke-width=\"{width:.2}\" stroke-linecap=\"square\"");
        self.path(Level::Wall, geometry, &style);
    }

    fn opening(&mut self, geometry: &Geometry, properties: &Properties) {
        let style = match properties.class.as_str() {
            "door" => {
                self.num_doors += 1;
                "stroke=\"#c2410c\" stroke-width=\"3\""
            }
            "window" => {
                self.num_windows += 1;
                "stroke=\"#0284c7\" stroke-width=\"3\""
            }
            _ => "stroke=\"#a8a29e\" stroke-width=\"2\" stroke-dasharray=\"4 3\"",
        };
        self.path(Level::Opening, geometry, &format!("fill=\"none\" {style}"));
    }

    fn diagnostic(&mut self, geometry: &Geometry, properties: &Properties) {
        if !self.options.issues {
            return;
        }
        let style =
            "fill=\"#dc2626\" fill-opacity=\"0.12\" stroke=\"#dc2626\" stroke-width=\"1.2\" stroke-dasharray=\"3 2\"";
        self.path(Level::Problem, geometry, style);
        if let Some(at) = geometry.paths().0.first().and_then(|path| path.first()).copied() {
            self.problem(at, properties.code.as_deref().unwrap_or(""));
        }
    }

    /// A ring with the code of a problem; its place in metres is in the title.
    fn problem(&mut self, at: Position, code: &str) {
        let spot = self.at(at);
        // The same place is marked once, and codes do not lie on each other.
        let near = |reach: f64| {
            move |other: &Point| (other.x - spot.x).abs() < 4.0 * reach && (other.y - spot.y).abs() < reach
        };
        if self.problems.iter().any(near(1.0)) {
            return;
        }
        let has_room = !self.problems.iter().any(near(10.0));
        self.num_problems += 1;
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(spot);
        }
        let out = self.level(Level::Problem);
        let _ = write!(
            out,
            "<g><title>{code} at {:.2}, {:.2}</title><circle cx=\"{:.2}\" cy=\"{:.2}\" r=\"5\" fill=\"none\" stroke=\"#dc2626\" \
             stroke-width=\"1.5\"/>",
            at.0.x, at.0.y, spot.x, spot.y,
        );
        if has_room {
            let _ = write!(
                out,
                "<text x=\"{:.2}\" y=\"{:.2}\" font-size=\"8\" fill=\"#dc2626\">",
                spot.x + 7.0,
                spot.y - 3.0
            );
            escape(out, code, 12);
            out.push_str("</text>");
        }
        out.push_str("</g>\n");
    }

    fn entity(&mut self, geometry: &Geometry, properties: &Properties) {
        let drawing = self.options.show == Show::Drawing;
        let colour = properties.colour.as_deref().filter(|colour| drawing && is_colour(colour)).unwrap_or("#a1a1aa");
        // White is what CAD draws on black paper.
        let ink = if is_light(colour) { "#3f3f46" } else { colour };
        let style = match geometry {
            Geometry::Point(at) => {
                self.point(*at, properties, ink);
                return;
            }
            Geometry::Polygon(_) | Geometry::MultiPolygon(_) if drawing => {
                format!(
                    "fill=\"{colour}\" fill-opacity=\"0.35\" fill-rule=\"evenodd\" stroke=\"{ink}\" stroke-width=\"0.7\""
                )
            }
            Geometry::Polygon(_) | Geometry::MultiPolygon(_) => {
                "fill=\"#71717a\" fill-opacity=\"0.06\" fill-rule=\"evenodd\" stroke=\"#d4d4d8\" stroke-width=\"0.6\""
                    .to_owned()
            }
            _ => {
                let width = properties.width_m.map_or(0.8, |width| (width * self.scale).clamp(0.8, 12.0));
                let (ink, width) = if drawing { (ink, width) } else { ("#c4c4cc", 0.6) };
                format!("fill=\"none\" stroke=\"{ink}\" stroke-width=\"{width:.2}\"")
            }
        };
        self.path(Level::Entity, geometry, &style);
    }

    fn point(&mut self, at: Position, properties: &Properties, ink: &str) {
        let spot = self.at(at);
        let drawing = self.options.show == Show::Drawing;
        let name = properties.name.as_deref().unwrap_or("");
        if properties.class == "label" && !name.is_empty() {
            // Capital height → font size.
            let size = (properties.height_m.unwrap_or(0.0) / 0.7 * self.scale).min(40.0);
            // What names a room is written into it.
            let is_told = !drawing && properties.room.is_some();
            if !self.options.labels || size < 3.0 || is_told {
                return;
            }
            let ink = if drawing { ink } else { "#b4b4bb" };
            let turn = -properties.rotation.unwrap_or(0.0);
            let out = self.level(Level::Text);
            let _ = write!(out, "<text transform=\"translate({:.2} {:.2})", spot.x, spot.y);
            if turn != 0.0 {
                let _ = write!(out, " rotate({turn:.2})");
            }
            let _ = write!(out, "\" font-size=\"{size:.1}\" fill=\"{ink}\">");
            escape(out, name, 80);
            out.push_str("</text>\n");
        } else if properties.class != "symbol" {
            let out = self.level(Level::Entity);
            let _ = writeln!(out, "<circle cx=\"{:.2}\" cy=\"{:.2}\" r=\"1.2\" fill=\"{ink}\"/>", spot.x, spot.y);
        }
    }

    fn assemble(self, metadata: &Metadata) -> String {
        let (width, height) = (self.width, self.height);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\">\n<title>"
        );
        let source = metadata.source.as_deref().unwrap_or("plan");
        escape(&mut svg, source, 200);
        svg.push_str("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
        // The plan may reach beyond its frame; the footer stays free.
        let frame = height - FOOTER;
        let _ = writeln!(svg, "<clipPath id=\"frame\"><rect width=\"{width}\" height=\"{frame}\"/></clipPath>");
        const NAMES: [&str; NUM_LEVELS] =
            ["level", "rooms", "entities", "walls", "openings", "texts", "labels", "problems"];
        for (name, content) in NAMES.iter().zip(&self.levels).filter(|(_, content)| !content.is_empty()) {
            let edge =
                if *name == "labels" { " stroke=\"#fff\" stroke-width=\"2\" paint-order=\"stroke\"" } else { "" };
            let _ = writeln!(svg, "<g id=\"{name}\" clip-path=\"url(#frame)\" stroke-linejoin=\"round\"{edge}>");
            svg.push_str(content);
            svg.push_str("</g>\n");
        }
        self.footer(&mut svg, metadata, source);
        svg.push_str("</svg>\n");
        svg
    }

    fn footer(&self, svg: &mut String, metadata: &Metadata, source: &str) {
        let base = self.height - FOOTER + 22.0;
        let length = bar_length(self.width * 0.2 / self.scale);
        let end = MARGIN + length * self.scale;
        let _ = writeln!(
            svg,
            "<g id=\"footer\" font-size=\"11\" fill=\"#52525b\">\n<path d=\"M{MARGIN} {:.2}V{base:.2}H{end:.2}V{:.2}\" fill=\"none\" \
             stroke=\"#52525b\" stroke-width=\"1.2\"/>\n<text x=\"{:.2}\" y=\"{:.2}\">{}</text>",
            base - 6.0,
            base - 6.0,
            end + 6.0,
            base,
            bar_text(length)
        );
        let _ = write!(svg, "<text x=\"{MARGIN}\" y=\"{:.2}\">", base + 20.0);
        escape(svg, source, 100);
        if let Some(level) = metadata.level_name.as_deref().filter(|level| !level.is_empty()) {
            svg.push_str(" · ");
            escape(svg, level, 40);
        }
        if self.options.show == Show::Plan {
            let _ = write!(
                svg,
                " · {} rooms · {} wall pieces · {} doors · {} windows",
                self.num_rooms, self.num_walls, self.num_doors, self.num_windows
            );
            if self.num_problems > 0 {
                let _ = write!(svg, " · <tspan fill=\"#dc2626\">{} places to check</tspan>", self.num_problems);
            }
        }
        svg.push_str("</text>\n</g>\n");
    }
}

fn class_of(feature: &Feature) -> &str {
    feature.properties.as_ref().map_or("", |properties| &properties.class)
}

fn part_of(feature: &Feature) -> &str {
    feature.properties.as_ref().and_then(|properties| properties.part.as_deref()).unwrap_or("")
}

fn is_visible(feature: &Feature) -> bool {
    feature.properties.as_ref().is_none_or(|properties| properties.visible != Some(false))
}

fn hundredths(value: f64) -> i64 {
    // Saturates; what lies that far out is clipped.
    (value * 100.0).round() as i64
}

/// Writes hundredths as a decimal without trailing zeros.
fn number(out: &mut String, hundredths: i64) {
    let (whole, part) = (hundredths.unsigned_abs() / 100, hundredths.unsigned_abs() % 100);
    if hundredths < 0 {
        out.push('-');
    }
    let _ = match part {
        0 => write!(out, "{whole}"),
        part if part % 10 == 0 => write!(out, "{whole}.{}", part / 10),
        part => write!(out, "{whole}.{part:02}"),
    };
}

/// Characters of a text for XML, at most `most`; lines become spaces.
fn escape(out: &mut String, text: &str, most: usize) {
    for (index, character) in text.chars().enumerate() {
        if index == most {
            out.push('…');
            return;
        }
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            character => out.push(character),
        }
    }
}

fn is_colour(text: &str) -> bool {
    text.len() == 7 && text.starts_with('#') && text.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a line of this colour would be lost on white (luma of ITU-R BT.601).
fn is_light(colour: &str) -> bool {
    let channel = |at: usize| colour.get(at..at + 2).and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or(0);
    299 * channel(1) + 587 * channel(3) + 114 * channel(5) > 185 * 1000
}

/// Light fill and darker edge of the n-th room: hues a golden angle apart differ between neighbours.
fn tint(index: u32) -> (String, String) {
    let hue = (f64::from(index) * 137.508) % 360.0;
    (hsl(hue, 0.55, 0.87), hsl(hue, 0.35, 0.55))
}

fn hsl(hue: f64, saturation: f64, lightness: f64) -> String {
    let channel = |shift: f64| {
        let k = (shift + hue / 30.0) % 12.0;
        let a = saturation * lightness.min(1.0 - lightness);
        let value = lightness - a * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}

/// The largest of 1, 2, 5 × 10ⁿ metres that fits.
fn bar_length(most: f64) -> f64 {
    let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
    let power = 10f64.powf(most.log10().floor());
    [5.0, 2.0].into_iter().map(|step| step * power).find(|length| *length <= most).unwrap_or(power)
}

fn bar_text(metres: f64) -> String {
    if metres >= 1000.0 {
        format!("{} km", metres / 1000.0)
    } else if metres >= 0.999 {
        format!("{metres:.0} m")
    } else if metres >= 0.00999 {
        format!("{:.0} cm", metres * 100.0)
    } else {
        format!("{} mm", (metres * 1e6).round() / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = r##"{"type":"FeatureCollection","metadata":{"source":"A & B/L02.dxf","level_name":"L02","crs":"local-metres",
        "issues":{"LBL001":{"severity":"note","samples":[{"at":{"x":3,"y":1}}]},"ROM001":{"severity":"warning","samples":[{"at":{"x":1,"y":1},"detail":""},{"at":null},{"at":{"line":3}}]}}},"features":[
        {"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,5],[0,5],[0,0]]]},"properties":{"class":"level"}},
        {"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[0,0],[5,0],[5,5],[0,5],[0,0]]]},
         "properties":{"class":"room","number":"101","room_name":"Küche <1>","area_m2":25,"label_point":[2.5,2.5,0]}},
        {"type":"Feature","geometry":{"type":"LineString","coordinates":[[0,0],[10,0]]},"properties":{"class":"wall","thickness_m":0.2}},
        {"type":"Feature","geometry":{"type":"LineString","coordinates":[[1,0],[2,0]]},"properties":{"class":"door"}},
        {"type":"Feature","geometry":{"type":"LineString","coordinates":[[3,0],[4,1]]},"properties":{"class":"line","colour":"#ffffff"}},
        {"type":"Feature","geometry":{"type":"LineString","coordinates":[[3,0],[99,1]]},"properties":{"class":"line","visible":false}},
        {"type":"Feature","geometry":{"type":"Point","coordinates":[3,3]},"properties":{"class":"label","name":"A\nB","height_m":0.5,"rotation":90}},
        {"type":"Feature","geometry":null,"properties":null}]}"##;

    #[test]
    fn a_plan_has_rooms_walls_openings_labels_and_a_scale_bar() {
        let options = PreviewOptions { width: 556, ..PreviewOptions::default() };
        let svg = draw(PLAN.as_bytes(), &options).unwrap();
        for part in [
            "<title>A &amp; B/L02.dxf</title>",
            "<path d=\"M28 278L278 278L278 28L28 28L28 278Z\"",
            "font-weight=\"bold\">101</text>",
            "Küche &lt;1&gt;",
            "25.0 m²",
            "stroke-width=\"10.00\"",
            "ROM001 at 1.00, 1.00",
            "rotate(-90.00)\" font-size=\"35.7\" fill=\"#b4b4bb\">A B</text>",
            "1 rooms · 1 wall pieces · 1 doors · 0 windows",
            ">2 m</text>",
        ] {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
        assert_eq!(svg, draw(PLAN.as_bytes(), &options).unwrap());
    }

    #[test]
    fn a_drawing_has_its_colours_and_nothing_derived() {
        let options = PreviewOptions { show: Show::Drawing, ..PreviewOptions::default() };
        let svg = draw(PLAN.as_bytes(), &options).unwrap();
        assert!(svg.contains("stroke=\"#3f3f46\"") && !svg.contains("id=\"rooms\"") && !svg.contains("ROM001"));
    }

    #[test]
    fn degrees_are_drawn_upright() {
        let degrees = r#"{"type":"FeatureCollection","metadata":{"crs":"EPSG:4326"},"features":[{"type":"Feature","geometry":
            {"type":"Polygon","coordinates":[[[10,60],[10.002,60],[10.002,60.001],[10,60.001],[10,60]]]},"properties":{"class":"room"}}]}"#;
        let svg = draw(degrees.as_bytes(), &PreviewOptions { width: 556, ..PreviewOptions::default() }).unwrap();
        // At 60° north a degree of longitude is half as long.
        assert!(svg.contains("M28 528L528 528") || svg.contains("L528 "), "{svg}");
        assert!(svg.contains("height=\"612\"") || svg.contains("height=\"613\""), "{svg}");
    }

    #[test]
    fn what_is_no_plan_is_refused_and_an_empty_one_drawn() {
        assert!(draw(&b"[1,2]"[..], &PreviewOptions::default()).is_err());
        assert!(draw(&br#"{"type":"Topology","features":[]}"#[..], &PreviewOptions::default()).is_err());
        let empty = draw(&br#"{"type":"FeatureCollection","features":[]}"#[..], &PreviewOptions::default()).unwrap();
        assert!(empty.contains("0 rooms"));
    }

    #[test]
    fn bars_and_numbers() {
        for (most, expected) in
            [(7.3, "5 m"), (4.9, "2 m"), (1.0, "1 m"), (0.3, "20 cm"), (2100.0, "2 km"), (0.004, "2 mm")]
        {
            assert_eq!(bar_text(bar_length(most)), expected);
        }
        let mut out = String::new();
        for value in [-150, 7, 1200, -5] {
            number(&mut out, value);
            out.push(' ');
        }
        assert_eq!(out, "-1.5 0.07 12 -0.05 ");
    }

    #[cfg(feature = "png")]
    #[test]
    fn a_picture_is_rendered() {
        let svg = draw(PLAN.as_bytes(), &PreviewOptions { width: 200, ..PreviewOptions::default() }).unwrap();
        let png = to_png(&svg).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 500);
    }
}
