//! Object stores: batches against a real S3 protocol server (moto) behind a proxy that injects faults.
//!
//! The server is `moto_server` from PyPI (`pip install 'moto[s3,server]'`), found on `PATH` or named by `MOTO_SERVER`. Without it these tests say
//! so and pass: `.ci/run` installs it. The proxy is here: it sees every request, counts what runs at once, and misbehaves
//! by the name of the object, so each fault is the same in every run.

mod crash;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Folder;

const PLAN: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="10m" height="8m" viewBox="0 0 10000 8000"><path id="w" d="M0 0H10000V8000H0Z" fill="none" stroke="black"/></svg>"#;

/// A running server, with one bucket.
struct Server {
    process: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// `None` where moto is not installed.
    fn start() -> Option<Self> {
        let program = std::env::var_os("MOTO_SERVER").unwrap_or_else(|| "moto_server".into());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let started = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(process) = started else {
            println!("skipped: moto_server is not installed (pip install 'moto[s3,server]')");
            return None;
        };
        let server = Self { process, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "moto_server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(send(port, "PUT", "/plans", &[], b"").status, 200);
        Some(server)
    }

    fn put(&self, key: &str, body: &[u8]) {
        assert_eq!(send(self.port, "PUT", &format!("/plans/{key}"), &[], body).status, 200, "{key}");
    }

    fn get(&self, key: &str) -> Option<Vec<u8>> {
        let answer = send(self.port, "GET", &format!("/plans/{key}"), &[], b"");
        (answer.status == 200).then_some(answer.body)
    }
}

struct Answer {
    status: u16,
    head: Vec<(String, String)>,
    body: Vec<u8>,
}

/// One request on a connection of its own.
fn send(port: u16, method: &str, target: &str, head: &[(String, String)], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut request = format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for (name, value) in head {
        if !["host", "connection", "content-length", "expect"].contains(&name.as_str()) {
            request += &format!("{name}: {value}\r\n");
        }
    }
    if !head.iter().any(|(name, _)| name == "authorization") {
        // moto looks at who asks and not at the signature.
        request += "Authorization: AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, \
                    SignedHeaders=host, Signature=0\r\n";
    }
    request += &format!("Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(request.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(bytes.len());
    let text = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let mut lines = text.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok()).unwrap_or(0);
    let head =
        lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Answer { status, head: head.collect(), body: bytes.get(at + 4..).unwrap_or_default().to_vec() }
}

/// Stands between the program and the server.
#[derive(Default)]
struct Faults {
    /// Requests for whole objects by key, in all.
    reads: Mutex<BTreeMap<String, usize>>,
    active: AtomicUsize,
    peak: AtomicUsize,
    stopped: AtomicBool,
    /// Is told of every step of every request.
    watch: Mutex<Option<Watch>>,
}

/// Answers whether the connection is to be dropped at this step.
type Watch = Arc<dyn Fn(&Seen, Step) -> bool + Send + Sync>;

/// A request as the proxy sees it.
struct Seen {
    method: String,
    target: String,
    ranged: bool,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The server has not seen it yet.
    Arrived,
    /// The server has done it, the program has not heard of it.
    Done,
    /// The program has half of the answer.
    Half,
    /// The program has the answer.
    Answered,
}

struct Proxy {
    port: u16,
    faults: Arc<Faults>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.faults.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Proxy {
    fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let faults = Arc::new(Faults::default());
        let shared = Arc::clone(&faults);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || drop(shared.serve(stream, server)));
            }
        });
        Self { port, faults }
    }

    fn reads(&self, key: &str) -> usize {
        self.faults.reads.lock().unwrap().get(key).copied().unwrap_or(0)
    }
}

impl Faults {
    fn serve(&self, mut stream: TcpStream, server: u16) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 16 << 10];
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            let read = stream.read(&mut chunk)?;
            if read == 0 {
                return Ok(());
            }
            bytes.extend_from_slice(&chunk[..read]);
        };
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = text.lines();
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let head: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let value = |name: &str| head.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        let length: usize = value("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while bytes.len() < end + 4 + length {
            let read = stream.read(&mut chunk)?;
            bytes.extend_from_slice(&chunk[..read]);
        }
        let body = &bytes[end + 4..];
        let key = target.trim_start_matches("/plans/").split('?').next().unwrap_or_default().to_owned();
        let whole = method == "GET" && value("range").is_none() && target.starts_with("/plans/") && key.contains('.');
        let seen = Seen { method: method.to_owned(), target: target.to_owned(), ranged: value("range").is_some() };
        if self.drops(&seen, Step::Arrived) {
            return Ok(());
        }
        let mut count = 0;
        if whole {
            let active = self.active.fetch_add(1, Ordering::SeqCst) + 1;
            self.peak.fetch_max(active, Ordering::SeqCst);
            let mut reads = self.reads.lock().unwrap();
            let reads = reads.entry(key.clone()).or_default();
            *reads += 1;
            count = *reads;
        }
        let done = self.answer(&mut stream, server, &seen, &head, body, whole.then_some((key.as_str(), count)));
        if whole {
            self.active.fetch_sub(1, Ordering::SeqCst);
        }
        done
    }

    fn drops(&self, seen: &Seen, step: Step) -> bool {
        let watch = self.watch.lock().unwrap().clone();
        watch.is_some_and(|watch| watch(seen, step))
    }

    fn answer(
        &self,
        stream: &mut TcpStream,
        server: u16,
        seen: &Seen,
        head: &[(String, String)],
        body: &[u8],
        whole: Option<(&str, usize)>,
    ) -> std::io::Result<()> {
        let (key, count) = whole.unwrap_or(("", 0));
        if key.contains("always503") || (key.contains("slowdown") && count <= 2) {
            let error = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code></Error>";
            let head = format!(
                "HTTP/1.1 503 Slow Down\r\nRetry-After: 0\r\nConnection: close\r\nContent-Length: {}",
                error.len()
            );
            return stream.write_all(format!("{head}\r\n\r\n{error}").as_bytes());
        }
        if key.contains("changed") && count == 1 {
            // Somebody writes between listing and reading.
            assert_eq!(send(server, "PUT", &seen.target, &[], PLAN.replace("10000V", "9000V").as_bytes()).status, 200);
        }
        let answer = send(server, &seen.method, &seen.target, head, body);
        if self.drops(seen, Step::Done) {
            return Ok(());
        }
        let mut text = format!("HTTP/1.1 {} Answer\r\nConnection: close\r\n", answer.status);
        for (name, value) in answer.head.iter().filter(|(name, _)| name != "connection") {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{text}\r\n").as_bytes())?;
        if key.contains("truncated") && count == 1 {
            return stream.write_all(&answer.body[..answer.body.len() / 2]);
        }
        if key.contains("drip") {
            for piece in answer.body.chunks(16) {
                stream.write_all(piece)?;
                std::thread::sleep(Duration::from_millis(1));
            }
            return Ok(());
        }
        let (first, rest) = answer.body.split_at(answer.body.len() / 2);
        stream.write_all(first)?;
        if self.drops(seen, Step::Half) {
            return Ok(());
        }
        stream.write_all(rest)?;
        stream.flush()?;
        self.drops(seen, Step::Answered);
        Ok(())
    }
}

/// The program with the credentials and the endpoint it finds in its environment.
fn program(folder: &Folder, proxy: &Proxy) -> Command {
    let mut program = folder.program();
    program
        .env("AWS_ACCESS_KEY_ID", "AKIASECRETID")
        .env("AWS_SECRET_ACCESS_KEY", "verysecretkey")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", proxy.port))
        .env("AWS_ALLOW_HTTP", "true");
    program
}

/// Runs a batch of the bucket through the proxy; gives exit code, standard error and the ledger.
fn run(folder: &Folder, proxy: &Proxy, config: &str) -> (i32, String, Vec<Value>) {
    folder.write("batch.toml", config);
    let output = program(folder, proxy).args(["run", "batch.toml"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let latest = folder.join("state/latest/ledger.jsonl");
    let ledger = std::fs::read_to_string(latest).unwrap_or_default();
    let ledger = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output.status.code().unwrap_or(-1), told, ledger)
}

const TO_STORE: &str = "[run]\nstate = \"state\"\n[source]\nlocation = \"s3://plans/in\"\n[output]\nlocation = \"s3://plans/out\"\n\
[limits]\nslots = 3\nthreads = 2\n[retry]\nfirst_wait = \"1ms\"\n";

fn outcome<'a>(ledger: &'a [Value], doc_id: &str) -> &'a Value {
    let lines: Vec<&Value> = ledger.iter().filter(|line| line["doc_id"] == doc_id).collect();
    assert_eq!(lines.len(), 1, "one terminal line for {doc_id}");
    lines[0]
}

// R4, R39, R74, R115, R119, R151: throttled, truncated, slow and changed objects; the books balance and no secret is written.
#[test]
fn a_batch_from_store_to_store_survives_the_faults_of_the_store() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port);
    for key in [
        "A/L01.svg",
        "A/L02-slowdown.svg",
        "A/L03-truncated.svg",
        "A/L04-drip.svg",
        "A/L05-changed.svg",
        "B/L01-always503.svg",
    ] {
        server.put(&format!("in/{key}"), PLAN.as_bytes());
    }
    server.put("in/A/empty.dxf", b"");
    server.put("in/A/package.zip", b"PK\x03\x04 and what follows");
    server.put("in/A/readme.md", b"not a plan");
    server.put("in/A/.hidden/L09.svg", PLAN.as_bytes());
    server.put("in/A/with%20percent%23.svg", PLAN.as_bytes());
    let folder = Folder::new();
    let (code, told, ledger) = run(&folder, &proxy, TO_STORE);
    assert_eq!(code, 3, "{told}");
    assert_eq!(ledger.len(), 9, "{told}");
    for doc_id in ["A/L01.svg", "A/L02-slowdown.svg", "A/L03-truncated.svg", "A/L04-drip.svg"] {
        let line = outcome(&ledger, doc_id);
        assert_eq!(line["event"], "EXTRACTED", "{line}");
        assert_eq!(line["output"], format!("{doc_id}.geojson"));
        let stored = server.get(&format!("out/{doc_id}.geojson")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&stored).unwrap()["type"], "FeatureCollection");
    }
    assert_eq!(outcome(&ledger, "A/L02-slowdown.svg")["attempts"], 3);
    assert_eq!(outcome(&ledger, "A/L03-truncated.svg")["attempts"], 2);
    assert_eq!(outcome(&ledger, "A/L05-changed.svg")["error"]["kind"], "changed");
    assert_eq!(outcome(&ledger, "A/empty.dxf")["error"]["kind"], "empty");
    let package = &outcome(&ledger, "A/package.zip")["error"];
    assert_eq!(package["kind"], "unsupported");
    assert!(package["message"].as_str().unwrap().contains("packages in object stores are not read"), "{package}");
    let throttled = outcome(&ledger, "B/L01-always503.svg");
    assert_eq!(throttled["error"]["kind"], "throttled");
    assert_eq!(throttled["attempts"], proxy.reads("in/B/L01-always503.svg"));
    assert!(proxy.faults.peak.load(Ordering::SeqCst) <= 3, "no more reads at once than slots");
    let written = format!("{ledger:?}{told}");
    for secret in ["AKIASECRETID", "verysecretkey", "X-Amz"] {
        assert!(!written.contains(secret), "{secret} was written");
    }
    let verified = folder.program().args(["audit", "verify", "state/latest"]).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

// R105 (documented): a store that cannot be reached ends the run before anything is enumerated, with its name.
#[test]
fn a_store_that_cannot_be_reached_is_named() {
    let folder = Folder::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let proxy = Proxy { port, faults: Arc::default() };
    let (code, told, ledger) = run(&folder, &proxy, TO_STORE);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("s3://plans/out") || told.contains("s3://plans/in"), "{told}");
    assert!(ledger.is_empty());
}

// R75: a URL with a signature is no lasting name.
#[test]
fn presigned_urls_are_refused_and_not_repeated() {
    let folder = Folder::new();
    folder.write(
        "batch.toml",
        "[source]\nlocation = \"https://bucket.example/plans?X-Amz-Signature=abcdef\"\n[output]\nlocation = \"out\"\n",
    );
    let output = folder.program().args(["run", "batch.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("abcdef"));
}
