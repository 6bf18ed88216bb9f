//! The parent's side: a [`Kernel`] that hands units to a child and says how the child ended.

use std::collections::VecDeque;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;

use super::ProcessLimits;
use super::frame::{self, Reply, Request, Setup};
use crate::document::DocumentSettings;
use crate::failure::{Failure, FailureKind, Stage};
use crate::kernel::{Extraction, Kernel, KernelContext};
use crate::spool::{SpoolSettings, Spooled};
use crate::unit::Unit;

/// How often a waiting parent looks at deadline and cancellation.
const WATCH_INTERVAL: Duration = Duration::from_millis(20);

/// The end of what a child said on its standard error.
const STDERR_TAIL: usize = 4 << 10;

/// Runs units in a child process; see the [module documentation](super).
///
/// The child is started with the first unit and kept while it lives. Dropping the kernel ends it.
pub struct ProcessKernel {
    command: Box<dyn Fn() -> Command>,
    settings: serde_json::Value,
    limits: ProcessLimits,
    spool: SpoolSettings,
    document_memory: u64,
    child: Option<Running>,
}

struct Running {
    process: Child,
    to: BufWriter<ChildStdin>,
    from: BufReader<ChildStdout>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
}

impl ProcessKernel {
    /// A kernel whose children are started by `command` and run [`super::serve`] with `settings`.
    #[must_use]
    pub fn new(
        command: impl Fn() -> Command + 'static,
        settings: serde_json::Value,
        limits: ProcessLimits,
        spool: SpoolSettings,
    ) -> Self {
        let document_memory = DocumentSettings::default().memory_bytes;
        Self { command: Box::new(command), settings, limits, spool, document_memory, child: None }
    }

    /// The same with documents of more bytes than that mapped by the child instead of held in its memory.
    #[must_use]
    pub fn with_document_memory(mut self, bytes: u64) -> Self {
        self.document_memory = bytes;
        self
    }

    fn start(&self) -> io::Result<Running> {
        let mut process = (self.command)()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C goes to the parent alone, which decides what becomes of running units.
            .process_group(0)
            .spawn()?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(to), Some(from), Some(stderr)) = pipes else {
            return Err(io::Error::other("a child without pipes"));
        };
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let stderr_reader = std::thread::Builder::new().name("child-stderr".to_owned()).spawn({
            let tail = Arc::clone(&tail);
            move || keep_tail(stderr, &tail)
        })?;
        let mut running = Running {
            process,
            to: BufWriter::with_capacity(256 << 10, to),
            from: BufReader::with_capacity(256 << 10, from),
            stderr: tail,
            stderr_reader: Some(stderr_reader),
        };
        let setup = Setup {
            limits: self.limits,
            settings: self.settings.clone(),
            spool_memory_bytes: self.spool.memory_bytes,
            spool_max_bytes: self.spool.max_bytes,
            document_memory_bytes: self.document_memory,
        };
        frame::write_header(&mut running.to, &setup)?;
        Ok(running)
    }
}

impl Kernel for ProcessKernel {
    fn extract(&mut self, unit: &Unit, bytes: Bytes, cx: &KernelContext) -> Result<Extraction, Failure> {
        cx.checkpoint()?;
        let mut running = match self.child.take() {
            Some(running) => running,
            None => self.start().map_err(|error| {
                let message = format!("cannot start a process for the kernel: {error}");
                Failure::new(FailureKind::Io, Stage::Parse, message).transient()
            })?,
        };
        let (done, stopped) = (AtomicBool::new(false), Mutex::new(None));
        let pid = rustix::process::Pid::from_child(&running.process);
        let outcome = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    if let Err(failure) = cx.check_now() {
                        *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
                        // The child is not reaped before this thread has ended, so the number is still its own.
                        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                        return;
                    }
                    std::thread::park_timeout(WATCH_INTERVAL);
                }
            });
            let outcome = exchange(&mut running, unit, &bytes, cx);
            done.store(true, Ordering::Release);
            watcher.thread().unpark();
            outcome
        });
        let stopped = stopped.into_inner().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(Ok(extraction)) if stopped.is_none() => {
                self.child = Some(running);
                Ok(extraction)
            }
            // The child says so itself and lives on, unless it panicked or ran out of memory.
            Ok(Err(failure)) if stopped.is_none() => {
                if !matches!(failure.kind, FailureKind::Panicked | FailureKind::OutOfMemory) {
                    self.child = Some(running);
                } else if let Some(last) = running.end().last_words {
                    let message = format!("{}: {last}", failure.message);
                    return Err(Failure { message, ..failure });
                }
                Err(failure)
            }
            Ok(_) => {
                running.end();
                Err(stopped.unwrap_or_else(|| cx.timed_out()))
            }
            Err(broken) => {
                let end = running.end();
                Err(stopped.unwrap_or_else(|| died(&end, &broken)))
            }
        }
    }
}

/// One unit there and back. The outer error is a broken pipe: the child is dead or mad.
fn exchange(
    running: &mut Running,
    unit: &Unit,
    bytes: &Bytes,
    cx: &KernelContext,
) -> io::Result<Result<Extraction, Failure>> {
    let sent = send(&mut running.to, &Request { unit: unit.clone(), time_left: cx.remaining() }, bytes);
    let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
    // A child that could not take the document has answered and gone: its answer is in the pipe although ours broke.
    let reply = frame::read_header::<Reply>(&mut running.from)?;
    let reply = match (reply, sent) {
        (Some(reply), _) => reply,
        (None, Err(error)) => return Err(error),
        (None, Ok(())) => return Err(ended()),
    };
    let (suffixes, facts) = match reply {
        Reply::Failed(failure) => return Ok(Err(failure)),
        Reply::Extracted { suffixes, facts } => (suffixes, facts),
    };
    let output = spooled(running, cx)?;
    let mut attachments = Vec::new();
    for suffix in suffixes {
        attachments.push((suffix, spooled(running, cx)?));
    }
    Ok(Ok(Extraction { output, attachments, facts }))
}

fn send(to: &mut impl Write, request: &Request, bytes: &[u8]) -> io::Result<()> {
    frame::write_header(to, request)?;
    frame::write(to, bytes)?;
    to.flush()
}

fn spooled(running: &mut Running, cx: &KernelContext) -> io::Result<Spooled> {
    let len = frame::read_len(&mut running.from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut spool = cx.spool();
    let copied = io::copy(&mut (&mut running.from).take(len), &mut spool)?;
    if copied < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    spool.finish()
}

fn died(end: &End, broken: &io::Error) -> Failure {
    const SIGKILL: i32 = 9;
    const SIGXCPU: i32 = 24;
    let last_words = end.last_words.as_deref();
    let words = last_words.map_or(String::new(), |words| format!(": {words}"));
    if end.killed && matches!(broken.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        // Not the child broke off: what it said could not be kept.
        return Failure::from_io(Stage::Write, "the output", broken);
    }
    let (kind, message) = match (end.status, last_words) {
        _ if end.killed => (FailureKind::Crashed, format!("the process broke off the exchange ({broken}){words}")),
        (_, Some(text)) if text.contains("memory allocation") => {
            (FailureKind::OutOfMemory, format!("the process exceeded its memory limit{words}"))
        }
        (Some(status), _) => match (status.signal(), status.code()) {
            (Some(SIGXCPU), _) => (FailureKind::Timeout, "the process exceeded its processor time".to_owned()),
            (Some(SIGKILL), _) => (
                FailureKind::OutOfMemory,
                "the process was killed from outside, most likely for want of memory".to_owned(),
            ),
            (Some(signal), _) => (FailureKind::Crashed, format!("the process ended by signal {signal}{words}")),
            (None, Some(code)) => (FailureKind::Crashed, format!("the process ended with exit code {code}{words}")),
            (None, None) => (FailureKind::Crashed, format!("the process ended{words}")),
        },
        (None, _) => (FailureKind::Crashed, format!("the process was lost{words}")),
    };
    Failure::new(kind, Stage::Parse, message)
}

/// How a child ended.
struct End {
    status: Option<ExitStatus>,
    /// It lived on and was killed by its parent.
    killed: bool,
    /// The last lines it wrote to its standard error.
    last_words: Option<String>,
}

fn keep_tail(mut stderr: ChildStderr, tail: &Mutex<VecDeque<u8>>) {
    let mut chunk = [0; 1024];
    while let Ok(read) = stderr.read(&mut chunk) {
        if read == 0 {
            return;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(chunk.iter().take(read));
        let surplus = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..surplus);
    }
}

impl Running {
    /// Ends the child, if it lives, and reaps it.
    fn end(mut self) -> End {
        self.reap()
    }

    fn reap(&mut self) -> End {
        // A child that has said its last word ends by itself; one that has not is killed.
        let mut status = self.process.try_wait().ok().flatten();
        for _ in 0..50 {
            if status.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
            status = self.process.try_wait().ok().flatten();
        }
        let killed = status.is_none();
        if killed {
            let _ = self.process.kill();
            status = self.process.wait().ok();
        }
        if let Some(reader) = self.stderr_reader.take() {
            let _ = reader.join();
        }
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text =
            String::from_utf8_lossy(tail.as_slices().0).into_owned() + &String::from_utf8_lossy(tail.as_slices().1);
        let told = |line: &&str| !line.trim().is_empty() && !line.starts_with("note:");
        let last: Vec<&str> = text.lines().filter(told).rev().take(2).collect();
        let words = last.into_iter().rev().map(str::trim).collect::<Vec<_>>().join("; ");
        End { status, killed, last_words: (!words.is_empty()).then_some(words) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.stderr_reader.is_some() {
            let _ = self.process.kill();
            self.reap();
        }
    }
}

impl std::fmt::Debug for ProcessKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessKernel").field("limits", &self.limits).field("running", &self.child.is_some()).finish()
    }
}
