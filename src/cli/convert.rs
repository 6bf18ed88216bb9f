//! `plan2geo convert FILE -o OUT`: one drawing, without a ledger.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use clap::Args;
use plan2geo_actors::{Spool, SpoolSettings, Spooled};
use serde_json::json;
use uuid::Uuid;

use super::{CliError, Overrides, exit, print};
use crate::config::Config;
use crate::format::Interrupt;
use crate::kernel::{Converted, Converter, Document};
use crate::source::{doc_id_of, external};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plan2geo convert A/L02.dxf -o L02.geojson
  plan2geo convert set.pdf --page 3 -o - | jq .metadata
  plan2geo convert old.dxf -o old.geojson --set read.metres_per_unit=0.001")]
pub(crate) struct Arguments {
    /// The drawing; `-` reads standard input.
    file: PathBuf,
    /// Where the GeoJSON goes; `-` is standard output.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Page of a document that has pages, counted from 1.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
    /// A configuration whose keys hold here too, but for where drawings come from and go to.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print what was done as JSON (to standard error when the output goes to standard output).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    let config = arguments.overrides.load(arguments.config.as_deref())?;
    if is_same_file(&arguments.file, &arguments.output) {
        let message = format!("the output would overwrite the drawing {}", arguments.file.display());
        return Err(CliError::usage(message, "name another file with --output"));
    }
    let begun = Instant::now();
    if is_package(&arguments.file) {
        let message = format!("{} holds drawings and is none", arguments.file.display());
        return Err(CliError::usage(message, HOLDS_DRAWINGS));
    }
    let bytes = read(&arguments.file, config.limits.drawing.document_bytes)?;
    let to_stdout = arguments.output == Path::new("-");
    // Beside the output, a temporary file can become the output.
    let takes_a_file = std::fs::metadata(&arguments.output).map_or(true, |metadata| metadata.is_file());
    let directory = (!to_stdout && takes_a_file).then(|| folder_of(&arguments.output)).filter(|folder| folder.is_dir());
    let spool = SpoolSettings { directory: directory.map(Path::to_owned), ..config.spool() };
    let converted = convert(&arguments.file, bytes, arguments.page, &config, spool)?;
    if to_stdout {
        print::bytes(converted.output.reader())?;
    } else {
        write(&arguments.output, &converted.output)
            .map_err(|error| CliError::file("write", &arguments.output, &error))?;
    }
    let done = if arguments.json {
        let facts = json!({
            "source": arguments.file.display().to_string(),
            "output": arguments.output.display().to_string(),
            "format": converted.format.as_str(),
            "features": converted.features,
            "entities": converted.entities,
            "rooms": converted.rooms,
            "topology_hash": converted.topology_hash,
            "bytes": converted.output.len(),
            "issues": converted.issues,
            "ms": u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
        facts.to_string()
    } else {
        format!(
            "{}: {} features, {} rooms, {} issues",
            arguments.output.display(),
            converted.features,
            converted.rooms,
            converted.issues.total()
        )
    };
    if to_stdout || !arguments.json {
        print::error(&done);
    } else {
        print::line(&done)?;
    }
    Ok(exit::ALL)
}

/// What to do with a folder or package.
pub(crate) const HOLDS_DRAWINGS: &str =
    "name one drawing, or convert all of them with `plan2geo run` and this as `source.location`";

/// Whether a file is a package of drawings by its first bytes.
pub(crate) fn is_package(file: &Path) -> bool {
    let mut head = [0; 4];
    file.is_file() && File::open(file).and_then(|mut file| file.read_exact(&mut head)).is_ok() && head == *b"PK\x03\x04"
}

/// Whether both lead to one file that exists, by whatever name or link.
fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b && a.is_file())
}

/// The bytes of a drawing: a regular file, or standard input, of at most `most` bytes. Folders, pipes and devices are
/// refused before anything is read, for they may never end.
pub(crate) fn read(file: &Path, most: u64) -> Result<Bytes, CliError> {
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes)
    } else {
        let kind = std::fs::metadata(file).map_err(|error| CliError::file("read", file, &error))?.file_type();
        if kind.is_dir() {
            let message = format!("{} holds drawings and is none", file.display());
            return Err(CliError::usage(message, HOLDS_DRAWINGS));
        }
        if !kind.is_file() {
            let message = format!("cannot read {}: it is no regular file", file.display());
            let remedy = "name a file, or hand the drawing over on standard input and write `-`";
            return Err(CliError::failed(message, remedy));
        }
        File::open(file).and_then(|file| {
            let size = file.metadata()?.len().min(most);
            bytes.reserve_exact(usize::try_from(size).unwrap_or(0));
            file.take(most.saturating_add(1)).read_to_end(&mut bytes)
        })
    };
    read.map_err(|error| CliError::file("read", file, &error))?;
    if bytes.len() as u64 > most {
        let message =
            format!("cannot read {}: it has more bytes than `limits.document_bytes` = {most}", file.display());
        return Err(CliError::failed(message, "raise the limit if the drawing is trusted"));
    }
    Ok(Bytes::from(bytes))
}

pub(crate) fn convert(
    file: &Path,
    bytes: Bytes,
    page: u32,
    config: &Config,
    spool: SpoolSettings,
) -> Result<Converted, CliError> {
    let name = name_of(file);
    let level = config.levels.of(&doc_id_of(file));
    let trace_name = format!("{name}\0{page}");
    let document = Document {
        name: &name,
        page,
        floor_level: level.ordinal,
        level_name: level.name.as_deref(),
        trace_id: Some(Uuid::new_v5(&config.trace_namespace(), trace_name.as_bytes()).to_string()),
        request_id: config.run.request_id.as_deref(),
    };
    let allowed = config.limits.unit_deadline;
    let begun = Instant::now();
    let checkpoint = || if begun.elapsed() > allowed { Err(Interrupt::Deadline) } else { Ok(()) };
    let mut options = config.convert_options();
    let folders = &config.effective.source.external_references;
    if let Some(units) = options.units.take() {
        let document = place_in_source(file, config);
        options.units = Some(Arc::new(move |_: &str| units(&document)));
    }
    options.external = external::resolver(root_of(file), folders, config.limits.drawing.document_bytes);
    let conversion = AssertUnwindSafe(|| {
        // No books are kept of this output, so nobody asks for its digest.
        let spool = SpoolSettings { digest: false, ..spool };
        Converter::new(options).convert(&document, bytes, Spool::new(spool), &checkpoint)
    });
    match catch_unwind(conversion) {
        Ok(Ok(converted)) => Ok(converted),
        Ok(Err(error)) => {
            let message = format!("cannot convert {}: {error}", file.display());
            Err(CliError::failed(message, error.kind().remedy()))
        }
        Err(_) => {
            let message = format!("cannot convert {}: the conversion panicked", file.display());
            Err(CliError::failed(message, "this is a fault in plan2geo: please report it with the file"))
        }
    }
}

/// The name in the output: the path as it was written, unless it leads up or begins at the root of this machine.
fn name_of(file: &Path) -> String {
    if is_plain(file) { doc_id_of(file) } else { doc_id_of(Path::new(file.file_name().unwrap_or_default())) }
}

/// The path by which the globs of `[source.units]` know a file: below the location of the source, if it lies there.
pub(crate) fn place_in_source(file: &Path, config: &Config) -> String {
    let inside = config.source.location.as_ref().and_then(|location| {
        let root = location.directory()?.canonicalize().ok()?;
        Some(file.canonicalize().ok()?.strip_prefix(root).ok()?.to_owned())
    });
    inside.map_or_else(|| name_of(file), |path| doc_id_of(&path))
}

/// The folder the name in the output is relative to.
fn root_of(file: &Path) -> PathBuf {
    if is_plain(file) { PathBuf::from(".") } else { file.parent().map(Path::to_owned).unwrap_or_default() }
}

/// Whether a path leads down from the working directory.
fn is_plain(file: &Path) -> bool {
    file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whole or absent: temporary file in the same folder, sync, rename. What is no regular file is written in place.
fn write(path: &Path, spooled: &Spooled) -> io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let mut file = File::options().write(true).open(path)?;
        spooled.copy_to(&mut file)?;
        return file.flush();
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "its folder does not exist"));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".plan2geo-{}-{name}", std::process::id()));
    let result = spooled.save(&temporary).and_then(|()| std::fs::rename(&temporary, path));
    if result.is_err() {
        // The error counts, not one of removing what it left.
        let _ = std::fs::remove_file(&temporary);
    }
    result
}
