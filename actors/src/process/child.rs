//! The child's side: reads units from standard input, runs the kernel, answers on standard output.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::frame::{self, Reply, Request, Setup};
use crate::document::{DocumentSettings, DocumentWriter};
use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel::{Extraction, Kernel, KernelContext, Signal};
use crate::spool::SpoolSettings;

/// Serves units until the parent closes the pipe. `make` gets the settings that the parent was made with.
///
/// Nothing else may write to standard output in this process.
///
/// # Errors
///
/// When the pipe breaks in the middle of a frame, or `make` refuses the settings.
pub fn serve<K: Kernel>(make: impl FnOnce(serde_json::Value) -> Result<K, String>) -> io::Result<()> {
    serve_on(io::stdin().lock(), io::stdout().lock(), make)
}

/// [`serve`] on any pair of pipes, for a program that keeps its standard output for itself.
///
/// # Errors
///
/// As [`serve`].
pub fn serve_on<K: Kernel>(
    from: impl Read,
    to: impl Write,
    make: impl FnOnce(serde_json::Value) -> Result<K, String>,
) -> io::Result<()> {
    let mut from = BufReader::with_capacity(256 << 10, from);
    let mut to = BufWriter::with_capacity(256 << 10, to);
    let Some(mut setup) = frame::read_header::<Setup>(&mut from)? else { return Ok(()) };
    confine(&setup)?;
    let spool = SpoolSettings {
        memory_bytes: setup.spool_memory_bytes,
        max_bytes: setup.spool_max_bytes,
        ..SpoolSettings::default()
    };
    let mut kernel = make(setup.settings.take()).map_err(io::Error::other)?;
    while let Some(request) = frame::read_header::<Request>(&mut from)? {
        let Some(len) = frame::read_len(&mut from)? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let bytes = match document(&mut from, len, &setup) {
            Ok(bytes) => bytes,
            Err(error) => {
                // What is left of the document would be taken for the next request, so this child ends here.
                answer(&mut to, Err(failure_of_document(len, &error)))?;
                return Ok(());
            }
        };
        allow_cpu_time(setup.limits.cpu_seconds)?;
        let cx = KernelContext::new(request.time_left, spool.clone(), Signal::default());
        let outcome = catch_unwind(AssertUnwindSafe(|| kernel.extract(&request.unit, bytes, &cx)));
        let Ok(outcome) = outcome else {
            // The kernel's state is unknown now: the parent starts another child.
            let message = "the kernel panicked in its process; its log line names the place";
            answer(&mut to, Err(Failure::new(FailureKind::Panicked, Stage::Parse, message)))?;
            return Ok(());
        };
        answer(&mut to, outcome)?;
    }
    Ok(())
}

/// The document that follows a request. A mapped one takes address space and no memory, so the limit is raised by its size.
fn document(from: &mut impl Read, len: u64, setup: &Setup) -> io::Result<Bytes> {
    let settings = DocumentSettings { memory_bytes: setup.document_memory_bytes, directory: None };
    let mapped = if len > settings.memory_bytes { len } else { 0 };
    limit(Resource::As, setup.limits.memory_bytes.map(|bytes| bytes.saturating_add(mapped)))?;
    let mut writer = DocumentWriter::new(&settings, len)?;
    if io::copy(&mut from.take(len), &mut writer)? < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    writer.finish()
}

fn failure_of_document(len: u64, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::OutOfMemory => {
            let message = format!("a document of {len} bytes does not fit the memory limit of the process");
            Failure::new(FailureKind::OutOfMemory, Stage::Parse, message)
        }
        _ => Failure::from_io(Stage::Parse, "the document in the child process", error),
    }
}

fn answer(to: &mut impl Write, outcome: Result<Extraction, Failure>) -> io::Result<()> {
    match outcome {
        Err(failure) => frame::write_header(to, &Reply::Failed(failure))?,
        Ok(extraction) => {
            let suffixes = extraction.attachments.iter().map(|(suffix, _)| suffix.clone()).collect();
            frame::write_header(to, &Reply::Extracted { suffixes, facts: extraction.facts })?;
            let attachments = extraction.attachments.iter().map(|(_, spooled)| spooled);
            for spooled in std::iter::once(&extraction.output).chain(attachments) {
                to.write_all(&spooled.len().to_le_bytes())?;
                io::copy(&mut spooled.reader(), to)?;
            }
        }
    }
    to.flush()
}

fn confine(setup: &Setup) -> io::Result<()> {
    // A child whose parent was killed must not go on.
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    limit(Resource::Core, Some(0))?;
    limit(Resource::As, setup.limits.memory_bytes)?;
    limit(Resource::Nofile, setup.limits.open_files)
}

fn limit(resource: Resource, value: Option<u64>) -> io::Result<()> {
    let Some(value) = value else { return Ok(()) };
    let maximum = getrlimit(resource).maximum;
    let value = maximum.map_or(value, |maximum| value.min(maximum));
    Ok(setrlimit(resource, Rlimit { current: Some(value), maximum })?)
}

/// The limit of the system counts over the whole life of a process: it is raised before each unit.
fn allow_cpu_time(seconds: Option<u64>) -> io::Result<()> {
    let Some(seconds) = seconds else { return Ok(()) };
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = u64::try_from(used.tv_sec).unwrap_or(0);
    limit(Resource::Cpu, Some(used.saturating_add(seconds).saturating_add(1)))
}
