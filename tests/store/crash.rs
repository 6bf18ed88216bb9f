//! Batches from store to store, killed by SIGKILL at every step of the protocol and at random moments, and resumed.
//!
//! The program is the real one. The proxy between it and the server knows where each request stands, so it can kill the
//! program before the server has seen a put, after the server has done it but before the program hears of it, in the
//! middle of a body, or between the parts of a large upload. After each kill the books and the bucket are looked at: what was
//! recorded is still recorded, whole, and neither read nor put again.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plan2geo_actors::ledger::{Event, read, verify};
use sha2::{Digest, Sha256};

use super::{PLAN, Proxy, Seen, Server, Step, TO_STORE, program, send};
use crate::support::Folder;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    /// The first bytes of an object, to tell its format.
    Look,
    Read,
    /// An output that is there already is compared.
    Compare,
    Put,
    /// The steps of a large upload.
    Begin,
    Part,
    Complete,
    Other,
}

fn kind(seen: &Seen) -> Kind {
    let target = seen.target.as_str();
    match seen.method.as_str() {
        "GET" if target.contains("list-type=") => Kind::List,
        "GET" if target.contains("/in/") && seen.ranged => Kind::Look,
        "GET" if target.contains("/in/") => Kind::Read,
        "GET" if target.contains("/out/") => Kind::Compare,
        "PUT" if target.contains("partNumber=") => Kind::Part,
        "PUT" => Kind::Put,
        "POST" if target.contains("uploadId=") => Kind::Complete,
        "POST" if target.contains("uploads") => Kind::Begin,
        _ => Kind::Other,
    }
}

/// Where the program is killed.
#[derive(Debug, Clone, Copy)]
enum At {
    /// When the nth request of a kind has come so far.
    Point(Kind, Step, usize),
    /// When the nth request, whatever it is for, has come so far; some microseconds later.
    Request(usize, Step, u64),
}

/// Kills once.
struct Trigger {
    at: At,
    passed: AtomicUsize,
    pulled: AtomicBool,
    /// The process to be killed; 0 until it is known.
    pid: AtomicU32,
}

impl Trigger {
    fn step(&self, seen: &Seen, step: Step) -> bool {
        let (hit, later) = match self.at {
            At::Point(of, at, _) => (of == kind(seen) && at == step, 0),
            At::Request(_, at, later) => (at == step, later),
        };
        let (At::Point(_, _, nth) | At::Request(nth, ..)) = self.at;
        if hit && self.passed.fetch_add(1, Ordering::SeqCst) + 1 == nth {
            std::thread::sleep(Duration::from_micros(later));
            self.kill();
        }
        self.pulled.load(Ordering::SeqCst)
    }

    fn kill(&self) {
        let pid = loop {
            match self.pid.load(Ordering::SeqCst) {
                0 => std::thread::yield_now(),
                pid => break pid,
            }
        };
        self.pulled.store(true, Ordering::SeqCst);
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}

/// Requests that were made for a unit: reads of its document and puts of its output.
type Requests = Arc<Mutex<BTreeMap<String, usize>>>;

/// One batch, followed through its kills.
struct Batch<'s> {
    server: &'s Server,
    proxy: &'s Proxy,
    folder: Folder,
    units: usize,
    known: BTreeSet<String>,
    requests: Requests,
    kills: usize,
}

impl<'s> Batch<'s> {
    /// A batch of the given documents, always at the same place, so that the outputs are the same bytes.
    fn new(server: &'s Server, proxy: &'s Proxy, documents: &[(String, String)]) -> Self {
        for key in outputs(server) {
            assert_eq!(send(server.port, "DELETE", &format!("/plans/out/{key}"), &[], b"").status, 204);
        }
        for (name, text) in documents {
            server.put(&format!("in/{name}"), text.as_bytes());
        }
        let folder = Folder::new();
        folder.write("batch.toml", format!("{TO_STORE}[audit]\nrotate_bytes = \"2KiB\"\n"));
        let (known, requests) = (BTreeSet::new(), Requests::default());
        Self { server, proxy, folder, units: documents.len(), known, requests, kills: 0 }
    }

    /// Runs until the end or until it is killed; gives the exit code, or `None` if it was killed.
    fn attempt(&mut self, at: Option<At>) -> Option<i32> {
        let trigger = at.map(|at| {
            let (passed, pulled) = (AtomicUsize::new(0), AtomicBool::new(false));
            Arc::new(Trigger { at, passed, pulled, pid: AtomicU32::new(0) })
        });
        let (watched, requests, before) = (trigger.clone(), Arc::clone(&self.requests), requests_of(&self.requests));
        *self.proxy.faults.watch.lock().unwrap() = Some(Arc::new(move |seen, step| {
            if step == Step::Arrived && matches!(kind(seen), Kind::Read | Kind::Put | Kind::Complete) {
                *requests.lock().unwrap().entry(unit_of(seen)).or_default() += 1;
            }
            watched.as_ref().is_some_and(|trigger| trigger.step(seen, step))
        }));
        let mut run = program(&self.folder, self.proxy);
        run.args(["run", "batch.toml", "--quiet"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = run.spawn().unwrap();
        if let Some(trigger) = &trigger {
            trigger.pid.store(child.id(), Ordering::SeqCst);
        }
        let ended = child.wait_with_output().unwrap();
        *self.proxy.faults.watch.lock().unwrap() = None;
        let killed = ended.status.signal() == Some(9);
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(killed || matches!(ended.status.code(), Some(0 | 3)), "{at:?}: {} {told}", ended.status);
        self.kills += usize::from(killed);
        self.look(&before);
        ended.status.code()
    }

    /// What must hold after every attempt.
    fn look(&mut self, before: &BTreeMap<String, usize>) {
        let requests = requests_of(&self.requests);
        for unit in &self.known {
            assert_eq!(requests.get(unit), before.get(unit), "{unit} was recorded and is done again");
        }
        let run = self.folder.join("state/latest");
        if !run.join("manifest.jsonl").is_file() {
            assert!(self.known.is_empty());
            return;
        }
        let proof = verify(&run).unwrap();
        assert!(proof.is_sound(), "{:?}", proof.faults);
        // A torn last line is no record; a resume moves it aside.
        let records: Vec<_> = read(&run).unwrap().filter_map(Result::ok).collect();
        for record in records.iter().filter(|record| record.event == Event::Extracted) {
            let stored = self.output(record.output.as_ref().unwrap());
            let digest = stored.map(|bytes| digest(&bytes));
            assert_eq!(digest, record.output_sha256, "a recorded output is whole: {}", record.doc_id);
        }
        let now: BTreeSet<_> = records.iter().map(|record| record.doc_id.clone()).collect();
        assert_eq!(now.len(), records.len(), "one line a unit");
        assert!(now.is_superset(&self.known), "a recorded outcome was lost");
        self.known = now;
    }

    fn output(&self, name: &str) -> Option<Vec<u8>> {
        self.server.get(&format!("out/{name}"))
    }

    /// The last attempt runs to its end; the bucket then holds exactly the outputs that the ledger claims.
    fn finish(mut self) -> Finished {
        let code = self.attempt(None).unwrap();
        let run = self.folder.join("state/latest");
        let proof = verify(&run).unwrap();
        assert!(proof.is_complete(), "{proof:?}");
        assert_eq!(proof.enumerated as usize, self.units);
        let broken = proof.dead_letters;
        assert_eq!(code, if broken == 0 { 0 } else { 3 });
        let names = outputs(self.server);
        assert_eq!(names.len() as u64, proof.extracted, "{names:?}");
        let outputs = names.into_iter().map(|name| {
            let bytes = self.output(&name).unwrap();
            (name, digest(&bytes))
        });
        Finished { outputs: outputs.collect(), kills: self.kills }
    }
}

/// The names of all outputs in the bucket.
fn outputs(server: &Server) -> Vec<String> {
    let listing = send(server.port, "GET", "/plans?list-type=2&prefix=out/", &[], b"").body;
    let listing = String::from_utf8(listing).unwrap();
    let keys = listing.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
    keys.map(|key| key.strip_prefix("out/").unwrap().to_owned()).collect()
}

/// What a batch came to: its outputs by name with their digests, which are the same however often it was killed.
struct Finished {
    outputs: BTreeMap<String, String>,
    kills: usize,
}

fn requests_of(requests: &Requests) -> BTreeMap<String, usize> {
    requests.lock().unwrap().clone()
}

/// The document a request is about: `…/in/A/L02.svg` and `…/out/A/L02.svg.geojson` are of `A/L02.svg`.
fn unit_of(seen: &Seen) -> String {
    let path = seen.target.split('?').next().unwrap();
    let name = path.split_once("/in/").or_else(|| path.split_once("/out/")).unwrap().1;
    name.trim_end_matches(".geojson").to_owned()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sound drawings in two formats, and a broken one.
fn small() -> Vec<(String, String)> {
    let mut documents: Vec<_> =
        (0..9).map(|n| (format!("A/L0{n}.svg"), PLAN.replace("10000V", &format!("9{n}00V")))).collect();
    documents.push(("B/L01.dxf".to_owned(), crate::support::dxf_rectangle(4.0, 3.0)));
    documents.push(("B/broken.dxf".to_owned(), "no drawing at all".to_owned()));
    documents
}

// R4, R5, R77, R100, R103, R108, R114, R168: at each step of each kind of request, at its first and a later one.
#[test]
fn killed_at_every_step_of_the_protocol() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port);
    let undisturbed = Batch::new(&server, &proxy, &small()).finish();
    assert_eq!(undisturbed.outputs.len(), 10);
    let points = [
        [
            At::Point(Kind::List, Step::Done, 2),
            At::Point(Kind::Look, Step::Arrived, 5),
            At::Point(Kind::Read, Step::Done, 1),
        ],
        [
            At::Point(Kind::Look, Step::Half, 1),
            At::Point(Kind::Read, Step::Half, 3),
            At::Point(Kind::Read, Step::Answered, 2),
        ],
        [
            At::Point(Kind::Put, Step::Arrived, 1),
            At::Point(Kind::Put, Step::Arrived, 3),
            At::Point(Kind::Put, Step::Arrived, 2),
        ],
        [
            At::Point(Kind::Put, Step::Done, 1),
            At::Point(Kind::Compare, Step::Arrived, 1),
            At::Point(Kind::Put, Step::Done, 3),
        ],
        [
            At::Point(Kind::Put, Step::Done, 2),
            At::Point(Kind::Compare, Step::Half, 1),
            At::Point(Kind::Put, Step::Answered, 3),
        ],
        [
            At::Point(Kind::Put, Step::Answered, 1),
            At::Point(Kind::Put, Step::Answered, 2),
            At::Point(Kind::Put, Step::Done, 4),
        ],
    ];
    for points in points {
        let mut batch = Batch::new(&server, &proxy, &small());
        for at in points {
            batch.attempt(Some(at));
        }
        assert_eq!(batch.kills, points.len(), "{points:?}");
        assert_eq!(batch.finish().outputs, undisturbed.outputs);
    }
}

// R4, R100, R114: a large output is put in parts; whole or absent all the same.
#[test]
fn killed_between_the_parts_of_a_large_output() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port);
    // A label of nine million letters: an output of two parts that is quickly made.
    let label = "label ".repeat(1_500_000);
    let large = PLAN.replace("</svg>", &format!("<text x=\"1\" y=\"1\">{label}</text></svg>"));
    let documents = [("large.svg".to_owned(), large)];
    let undisturbed = Batch::new(&server, &proxy, &documents).finish();
    let mut batch = Batch::new(&server, &proxy, &documents);
    let points = [
        (Kind::Begin, Step::Arrived),
        (Kind::Begin, Step::Done),
        (Kind::Part, Step::Arrived),
        (Kind::Part, Step::Done),
        (Kind::Complete, Step::Arrived),
        (Kind::Complete, Step::Done),
    ];
    for (kind, step) in points {
        assert_eq!(batch.attempt(Some(At::Point(kind, step, 1))), None, "killed at {kind:?} {step:?}");
        // Complete or invisible, never a part of it.
        let there = batch.output("large.svg.geojson").map(|bytes| digest(&bytes));
        let completed = (kind, step) == (Kind::Complete, Step::Done);
        assert_eq!(there.as_ref(), completed.then_some(&undisturbed.outputs["large.svg.geojson"]));
    }
    let reads = requests_of(&batch.requests);
    let finished = batch.finish();
    assert_eq!((finished.outputs, finished.kills), (undisturbed.outputs, points.len()));
    assert!(reads["large.svg"] > 0);
}

// R100, R114: after a random request, a random moment later, until the batch is done, and with another batch again.
#[test]
fn killed_at_random_moments() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port);
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut kills = 0;
    while kills < 24 {
        let mut batch = Batch::new(&server, &proxy, &small());
        loop {
            let step = [Step::Arrived, Step::Done, Step::Half, Step::Answered][random(4) as usize];
            let at = At::Request(1 + random(16) as usize, step, random(8000));
            if batch.attempt(Some(at)).is_some() {
                break;
            }
        }
        kills += batch.finish().kills;
    }
}
