//! Bytes → FeatureCollection: the whole conversion in one screen, with no I/O of its own.
//!
//! [`Converter::convert`] is the way of one document or page; it needs no engine, only a place to write to.
//! [`PlanKernel`] is the same as a [`Kernel`] of the engine: a unit's bytes in, an extraction with the facts of its
//! ledger line out.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use plan2geo_actors::{
    Extraction, Failure, FailureKind, Kernel, KernelContext, Spool, SpoolSettings, Spooled, Stage, Unit,
};
use sha2::{Digest, Sha256};

use crate::drawing::expand::{ExpandError, ExpandOptions, Flattening, expand};
use crate::drawing::{Drawing, SourceFormat};
use crate::format::sniff::{self, Sniffed};
use crate::format::{self, Checkpoint, Interrupt, Limits, ReadError, ReadOptions, Readers};
use crate::issue::{Issues, Place};
use crate::memory::{self, Meter};
use crate::output::geojson::{FeatureWriter, HEAD_ROOM, LevelFacts, head, interrupted};
use crate::output::metadata::{Counts, GENERATOR, Georeference, Metadata, SCHEMA};
use crate::output::{Frame, OutputOptions};
use crate::place::level;
use crate::plan::{self, PlanOptions};

/// Metres in one drawing unit for a document, by its name; `None` where the user states nothing.
pub type UnitOverride = Arc<dyn Fn(&str) -> Option<f64> + Send + Sync>;

/// Bytes of an external reference, by the name of the document that refers to it and the path it states.
pub type ExternalResolver = Arc<dyn Fn(&str, &str) -> Option<Bytes> + Send + Sync>;

/// Bytes of a document (of a PDF the whole, not the page) from which on the memory of its reader is given back to the
/// system as soon as it is read. Below it peak memory was measured the same either way (docs/performance.md).
const GIVE_BACK_FROM: usize = 64 << 10;

/// How documents are converted.
#[derive(Clone, Default)]
pub struct ConvertOptions {
    /// Budgets of reading and expanding.
    pub limits: Limits,
    /// Bytes one conversion may hold beside those of its document; see [`crate::memory`].
    pub memory: Option<u64>,
    /// Text encoding instead of the declared one.
    pub encoding: Option<String>,
    /// Units of length that the user states.
    pub units: Option<UnitOverride>,
    /// Refuse instead of repair.
    pub strict: bool,
    /// A PDF page with nothing but a picture is an empty drawing instead of an error.
    pub raster_only_as_empty: bool,
    /// Where external references come from.
    pub external: Option<ExternalResolver>,
    /// How curves become points.
    pub flattening: Flattening,
    /// How rooms, walls, openings and labels are found.
    pub plan: PlanOptions,
    /// What is written.
    pub output: OutputOptions,
}

/// What is known of a document beside its bytes.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    /// Its name, as the source names it; goes into the output.
    pub name: &'a str,
    /// Page or sheet from 1; 0 is taken as 1.
    pub page: u32,
    /// Ordinal of the floor.
    pub floor_level: Option<i32>,
    /// Name of the floor.
    pub level_name: Option<&'a str>,
    /// See [`Unit::trace_id`].
    pub trace_id: Option<String>,
    /// See [`Unit::request_id`].
    pub request_id: Option<&'a str>,
}

/// A finished conversion.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The FeatureCollection.
    pub output: Spooled,
    /// What the document was.
    pub format: SourceFormat,
    /// See [`crate::drawing::hash`].
    pub topology_hash: String,
    /// Number of features.
    pub features: u64,
    /// Number of shapes after expansion.
    pub entities: u64,
    /// Derived rooms.
    pub rooms: u64,
    /// All problems.
    pub issues: Issues,
    /// Characters of a PDF page.
    pub chars: Option<u64>,
    /// Text of a PDF page in reading order.
    pub text: Option<String>,
}

/// Why a document was not converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The bytes are none of the formats.
    #[error("not a floor plan that can be read: {what}")]
    Unrecognized {
        /// What it is instead.
        what: String,
    },
    /// It could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The expanded drawing grew past a limit.
    #[error("{what} exceeds `limits.{key}` = {limit}")]
    Limit {
        /// What grew.
        what: &'static str,
        /// Key below `limits`.
        key: &'static str,
        /// Its value.
        limit: u64,
    },
    /// The output could not be written.
    #[error("the output could not be spooled: {0}")]
    Spool(io::Error),
}

impl From<io::Error> for ConvertError {
    fn from(error: io::Error) -> Self {
        match interrupted(&error) {
            Some(interrupt) => interrupt.clone().into(),
            None => Self::Spool(error),
        }
    }
}

impl From<Interrupt> for ConvertError {
    fn from(interrupt: Interrupt) -> Self {
        Self::Read(interrupt.into())
    }
}

impl From<ExpandError<io::Error>> for ConvertError {
    fn from(error: ExpandError<io::Error>) -> Self {
        match error {
            ExpandError::Limit { what, key, limit } => Self::Limit { what, key, limit },
            ExpandError::Interrupted(interrupt) => interrupt.into(),
            ExpandError::Emit(error) => error.into(),
        }
    }
}

impl ConvertError {
    /// The kind of a dead letter.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Unrecognized { .. } => FailureKind::Unsupported,
            Self::Read(error) => FailureKind::from_name(error.kind()).unwrap_or(FailureKind::Malformed),
            Self::Limit { .. } => FailureKind::Limit,
            Self::Spool(error) if error.kind() == io::ErrorKind::FileTooLarge => FailureKind::Limit,
            Self::Spool(error) if error.kind() == io::ErrorKind::StorageFull => FailureKind::DiskFull,
            Self::Spool(_) => FailureKind::Io,
        }
    }
}

/// Converts documents, one after the other; keeps open what the next one may need (a PDF and its pages).
#[derive(Default)]
pub struct Converter {
    options: ConvertOptions,
    readers: Readers,
    /// The PDF whose page came last, with its digest: comparing bytes is an order of magnitude quicker than
    /// digesting them, and a document of 500 pages comes 500 times.
    last_pdf: Option<(Bytes, String)>,
}

impl Converter {
    /// With these options.
    pub fn new(options: ConvertOptions) -> Self {
        Self { options, readers: Readers::default(), last_pdf: None }
    }

    /// Converts one document, or one page of it. Its bytes are let go as soon as they are read.
    ///
    /// # Errors
    /// See [`ConvertError`]; what is merely wrong with a drawing is an issue of the output instead.
    pub fn convert(
        &mut self,
        document: &Document<'_>,
        bytes: Bytes,
        spool: Spool,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<Converted, ConvertError> {
        let mut issues = Issues::new();
        let format = recognize(document.name, &bytes, &mut issues)?;
        let sha256 = self.digest(format, &bytes);
        let options = &self.options;
        let meter = Meter::start(options.memory);
        let checkpoint: &Checkpoint<'_> = &|| {
            checkpoint()?;
            meter.check()
        };
        level::report(document.name, document.floor_level, document.level_name, &mut issues);

        let page = document.page.max(1);
        let read =
            self.readers.read(format, &sha256, &bytes, page, &options.read_options(document.name), checkpoint)?;
        let size = bytes.len();
        drop(bytes);
        // What a reader needed beside the drawing is many times its bytes, and free now; what comes next needs less.
        if size >= GIVE_BACK_FROM {
            memory::give_back();
        }
        let chars = read.chars();
        let mut drawing = read.drawing;
        issues.merge(read.issues);

        let expansion = options.expansion();
        let mut plan = options.derived(&drawing, &expansion, checkpoint)?;
        // Templates leave wrong units behind. Where the plan leaves no doubt, the drawing is taken in its true unit.
        if let Some((finding, units)) =
            plan.unit.take().and_then(|finding| finding.replaces(&drawing.units).map(|units| (finding, units)))
        {
            let (metres, before) = (units.metres_per_unit, &drawing.units);
            let detail =
                format!("1 unit = {metres} m {}, {} m by {}", finding.reason, before.metres_per_unit, before.from);
            issues.fixed(&plan::codes::UNIT_REPLACED, Place::Document, detail);
            drawing.units = units;
            plan = options.derived(&drawing, &expansion, checkpoint)?;
        }
        let drawing = &drawing;

        let mut spool = spool.before_head(HEAD_ROOM);
        let frame = Frame::for_units(&drawing.units);
        let mut writer = FeatureWriter::new(&mut spool, drawing, &options.flattening, &options.output, &frame)
            .with_effort(checkpoint, options.limits.crossings);
        let level = LevelFacts { floor_level: document.floor_level, level_name: document.level_name };
        writer.derived(&plan, level)?;
        let report = expand(drawing, &expansion, checkpoint, &mut |shape| writer.shape(shape))?;
        let (_, summary) = writer.finish()?;
        issues.merge(plan.issues);
        issues.merge(report.issues);
        issues.merge(summary.issues.clone());

        let metadata = Metadata {
            schema: SCHEMA,
            source: document.name,
            page: (format == SourceFormat::Pdf || page > 1).then_some(page),
            source_format: format.as_str(),
            source_version: drawing.version.as_deref(),
            application: drawing.application.as_deref(),
            source_sha256: sha256,
            floor_level: document.floor_level,
            level_name: document.level_name,
            trace_id: document.trace_id.clone(),
            request_id: document.request_id,
            topology_hash: summary.topology_hash.clone(),
            units: &drawing.units,
            crs: &frame.crs,
            georeference: drawing.georeference.as_ref().and_then(|stated| Georeference::of(stated, &drawing.units)),
            counts: Counts {
                features: summary.features,
                classes: &summary.classes,
                read: &drawing.census,
                shapes: &report.by_entity,
                shapes_by_layer: &report.by_layer,
                hidden: &report.hidden,
                clipped: report.clipped,
                dropped: summary.dropped,
                omitted: summary.omitted,
                unsupported: &drawing.unsupported,
                other_sheets: &drawing.other_sheets,
                vertices: summary.vertices,
                chars,
                plan: options.plan.enabled.then_some(&plan.counts),
            },
            layers: &plan.classes,
            views: &plan.views,
            adjacency: (!plan.rooms.is_empty()).then_some(&plan.adjacency),
            issues: &issues,
            generator: GENERATOR,
        };
        let head = head(&metadata, &summary, spool.len())?;
        let output = spool.finish_behind(head)?;
        Ok(Converted {
            output,
            format,
            topology_hash: summary.topology_hash,
            features: summary.features,
            entities: report.shapes,
            rooms: plan.rooms.len() as u64,
            issues,
            chars,
            text: read.text,
        })
    }
}

impl Converter {
    fn digest(&mut self, format: SourceFormat, bytes: &Bytes) -> String {
        if format != SourceFormat::Pdf {
            return hex(&Sha256::digest(bytes));
        }
        match &self.last_pdf {
            Some((last, digest)) if last == bytes => digest.clone(),
            _ => {
                let digest = hex(&Sha256::digest(bytes));
                self.last_pdf = Some((bytes.clone(), digest.clone()));
                digest
            }
        }
    }
}

impl ConvertOptions {
    fn read_options(&self, name: &str) -> ReadOptions {
        let external = self.external.clone().map(|resolve| {
            let name = name.to_owned();
            Rc::new(move |path: &str| resolve(&name, path)) as Rc<format::ExternalReferences>
        });
        ReadOptions {
            limits: self.limits.clone(),
            encoding: self.encoding.clone(),
            metres_per_unit: self.units.as_ref().and_then(|units| units(name)),
            strict: self.strict,
            raster_only_as_empty: self.raster_only_as_empty,
            external,
        }
    }

    /// The plan of a drawing, in its unit.
    fn derived(
        &self,
        drawing: &Drawing,
        expansion: &ExpandOptions,
        checkpoint: &Checkpoint<'_>,
    ) -> Result<plan::Plan, ConvertError> {
        let mut input = plan::Input::new(&self.plan);
        if self.plan.enabled {
            expand(drawing, expansion, checkpoint, &mut |shape| {
                input.push(shape, drawing);
                Ok::<_, io::Error>(())
            })?;
        }
        Ok(plan::derive(&input, &self.plan, checkpoint)?)
    }

    fn expansion(&self) -> ExpandOptions {
        ExpandOptions {
            flattening: self.flattening,
            include_hidden: self.output.include_hidden,
            limits: self.limits.clone(),
        }
    }
}

/// Converts bytes in memory: for tests and programs that have one drawing in hand.
///
/// # Errors
/// See [`ConvertError`].
///
/// # Examples
/// ```
/// use plan2geo::kernel::{ConvertOptions, Document, convert};
///
/// let svg = r#"<svg xmlns="http://www.w3.org/2000/svg" width="10mm" height="10mm" viewBox="0 0 10 10"/>"#;
/// let document = Document { name: "empty.svg", ..Document::default() };
/// if let Ok(converted) = convert(svg.as_bytes(), &document, ConvertOptions::default()) {
///     assert_eq!(converted.features, 0);
/// }
/// ```
pub fn convert(
    bytes: impl Into<Bytes>,
    document: &Document<'_>,
    options: ConvertOptions,
) -> Result<Converted, ConvertError> {
    Converter::new(options).convert(document, bytes.into(), Spool::new(SpoolSettings::default()), &|| Ok(()))
}

/// Tells the format by the first bytes; the name is a hint.
fn recognize(name: &str, bytes: &Bytes, issues: &mut Issues) -> Result<SourceFormat, ConvertError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty.into());
    }
    let start = bytes.get(..sniff::PREFIX).unwrap_or(bytes);
    let Sniffed { format, extension_disagrees, other } = sniff::sniff(start, name);
    let Some(format) = format else {
        let what = other.unwrap_or("its first bytes are none of DXF, DWG, SVG or PDF").to_owned();
        return Err(ConvertError::Unrecognized { what });
    };
    if extension_disagrees {
        let detail = format!("{name} is {}", format.as_str());
        issues.report(&format::EXTENSION_DISAGREES, Place::Document, detail);
    }
    Ok(format)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The conversion as the engine's kernel. One on each pool thread.
pub struct PlanKernel {
    converter: Converter,
}

impl PlanKernel {
    /// With these options.
    pub fn new(options: ConvertOptions) -> Self {
        Self { converter: Converter::new(options) }
    }
}

impl Kernel for PlanKernel {
    fn extract(&mut self, unit: &Unit, bytes: Bytes, cx: &KernelContext) -> Result<Extraction, Failure> {
        let document = Document {
            name: &unit.doc_id,
            page: unit.page.get(),
            floor_level: unit.floor_level,
            level_name: unit.level_name.as_deref(),
            trace_id: Some(unit.trace_id.to_string()),
            request_id: unit.request_id.as_deref(),
        };
        let checkpoint = || {
            cx.checkpoint().map_err(|failure| match failure.kind {
                FailureKind::Timeout => Interrupt::Deadline,
                _ => Interrupt::Cancelled,
            })
        };
        let converted = match self.converter.convert(&document, bytes, cx.spool(), &checkpoint) {
            Ok(converted) => converted,
            Err(error) => {
                // The context words its own interruptions, with the time that was allowed.
                cx.checkpoint()?;
                return Err(Failure::new(error.kind(), Stage::Parse, error.to_string()));
            }
        };
        let mut extraction = Extraction::new(converted.output)
            .with_fact("topology_hash", converted.topology_hash)
            .with_fact("features", converted.features)
            .with_fact("entities", converted.entities)
            .with_fact("rooms", converted.rooms)
            .with_fact("issues", converted.issues.total());
        if !converted.issues.is_empty() {
            let codes: serde_json::Map<_, _> =
                converted.issues.iter().map(|(code, tally)| (code.to_owned(), tally.count.into())).collect();
            extraction = extraction.with_fact("issue_codes", codes);
        }
        if let Some(chars) = converted.chars {
            extraction = extraction.with_fact("chars", chars);
        }
        if self.converter.options.output.page_text
            && let Some(text) = converted.text
        {
            extraction.attachments.push((".txt".to_owned(), Spooled::from_bytes(text)));
        }
        Ok(extraction)
    }
}
