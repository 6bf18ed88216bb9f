//! Writing to standard output and standard error: a closed pipe is no reason to panic.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use super::CliError;

/// Writes text and a line break to standard output.
pub(crate) fn line(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()))
}

/// Writes bytes to standard output.
pub(crate) fn bytes(mut from: impl io::Read) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    written(io::copy(&mut from, &mut out).and_then(|_| out.flush()))
}

/// Writes a value as indented JSON to standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::failed(format!("cannot write JSON: {error}"), "report it: this is a fault"))?;
    line(&text)
}

/// Writes a line to standard error; if that is gone, there is nobody to tell.
pub(crate) fn error(text: &str) {
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "{text}");
}

fn written(result: io::Result<()>) -> Result<(), CliError> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => CliError::OutputClosed,
        _ => CliError::failed(format!("cannot write to standard output: {error}"), "check where it leads"),
    })
}

/// Whether standard error takes colours.
pub(crate) fn colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
