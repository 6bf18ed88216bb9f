//! `plan2geo preview FILE -o OUT.svg`: a picture of a converted plan, or of a drawing that is converted for it.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;

use super::{CliError, Overrides, convert, exit, print};
use crate::format::Limits;
use crate::preview::{self, PreviewError, PreviewOptions, Show};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plan2geo preview out/A/L02.dxf.geojson -o L02.svg
  plan2geo preview A/L02.dxf -o L02.png --width 2000
  plan2geo preview A/L02.dxf -o before.png --show drawing")]
pub(crate) struct Arguments {
    /// A GeoJSON file this program wrote, or a drawing.
    file: PathBuf,
    /// Where the picture goes, by its ending .svg or .png; `-` is SVG on standard output.
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Width of the picture in pixels.
    #[arg(long, default_value_t = 1200, value_parser = clap::value_parser!(u32).range(100..=10_000))]
    width: u32,
    /// What the picture shows.
    #[arg(long, value_enum, default_value_t)]
    show: Show,
    /// Leave out texts and room labels.
    #[arg(long)]
    no_labels: bool,
    /// Do not mark problems.
    #[arg(long)]
    no_issues: bool,
    /// Page of a document that has pages, counted from 1.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
    /// A configuration whose keys hold here too, but for where drawings come from and go to.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, CliError> {
    let options = PreviewOptions {
        width: arguments.width,
        show: arguments.show,
        labels: !arguments.no_labels,
        issues: !arguments.no_issues,
    };
    let kind = Kind::of(&arguments.output)?;
    let bytes = convert::read(&arguments.file, Limits::default().document_bytes)?;
    let svg = if is_geojson(&bytes) {
        preview::draw(bytes.as_ref(), &options)
    } else {
        let config = arguments.overrides.load(arguments.config.as_deref())?;
        let converted = convert::convert(&arguments.file, bytes, arguments.page, &config, config.spool())?;
        preview::draw(converted.output.reader(), &options)
    };
    let svg = svg.map_err(|error| failed(&arguments.file, &error))?;
    let picture = match kind {
        Kind::Png => render(&svg).map_err(|error| failed(&arguments.file, &error))?,
        Kind::Svg | Kind::StandardOutput => svg.into_bytes(),
    };
    if kind == Kind::StandardOutput {
        print::bytes(picture.as_slice())?;
    } else {
        write(&arguments.output, &picture)?;
        print::line(&format!("{}: {} bytes", arguments.output.display(), picture.len()))?;
    }
    Ok(exit::ALL)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Svg,
    Png,
    StandardOutput,
}

impl Kind {
    fn of(output: &Path) -> Result<Self, CliError> {
        if output == Path::new("-") {
            return Ok(Self::StandardOutput);
        }
        let extension = output.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(CliError::usage(
                format!("`{}` does not say what picture it shall be", output.display()),
                "end the name of the output with .svg or .png",
            )),
        }
    }
}

/// The first character of a GeoJSON file is a brace, that of a drawing never.
fn is_geojson(bytes: &Bytes) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    text.trim_ascii_start().starts_with(b"{")
}

#[cfg(feature = "png")]
fn render(svg: &str) -> Result<Vec<u8>, PreviewError> {
    preview::to_png(svg)
}

#[cfg(not(feature = "png"))]
fn render(_: &str) -> Result<Vec<u8>, PreviewError> {
    Err(PreviewError::Render("this program was built without the feature `png`: write .svg instead".to_owned()))
}

fn failed(file: &Path, error: &PreviewError) -> CliError {
    CliError::failed(
        format!("no picture of {}: {error}", file.display()),
        "give a GeoJSON of this program, or a drawing",
    )
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    use std::io::Write as _;
    let written = File::create(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|error| CliError::file("write", path, &error))
}
