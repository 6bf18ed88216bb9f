//! Two hundred hostile drawings among sound ones, converted in child processes: each costs itself and nothing else.
//!
//! A third of them makes the child die in a way that no reader of this program is known to: overflows of the stack,
//! aborts, memory without end, loops without end, garbage on the pipe. For these the child is this test binary, started for
//! the test [`child`], whose kernel looks for a word in the drawing before it hands it to the real one. All others are
//! real attacks on the readers: bombs of compression, nesting, blocks and references, damaged and truncated files.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use plan2geo::config::{Config, RawConfig};
use plan2geo::kernel::PlanKernel;
use plan2geo::run::{Drawings, Outputs};
use plan2geo_actors::ledger::{Event, read, verify};
use plan2geo_actors::process::{ProcessKernel, ProcessLimits, serve_on};
use plan2geo_actors::{Engine, EngineConfig, Extraction, Failure, Kernel, KernelContext, Limits, Unit};

use super::PLAN;
use crate::support::{Folder, dxf, dxf_rectangle};

const CHILD: &str = "PLAN2GEO_HOSTILE_CHILD";

/// The real kernel, with weaknesses.
struct Weak(PlanKernel);

impl Kernel for Weak {
    fn extract(&mut self, unit: &Unit, bytes: Bytes, cx: &KernelContext) -> Result<Extraction, Failure> {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        let word = head.split_once("<!--attack:").and_then(|(_, rest)| rest.split_once("-->")).map(|(word, _)| word);
        match word {
            None => self.0.extract(unit, bytes, cx),
            Some("overflow") => panic!("{}", descend(1)),
            Some("abort") => std::process::abort(),
            Some("exit") => std::process::exit(0),
            Some("panic") => panic!("asked to"),
            Some("kill") => {
                let own = rustix::process::getpid();
                rustix::process::kill_process(own, rustix::process::Signal::ILL).unwrap();
                park()
            }
            Some("memory") => {
                let mut hoard: Vec<Vec<u8>> = Vec::new();
                loop {
                    hoard.push(vec![hoard.len() as u8; 8 << 20]);
                }
            }
            Some("garbage") => {
                let mut pipe = std::fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
                pipe.write_all(&[b'x'; 5000]).unwrap();
                park()
            }
            Some("hang") => park(),
            Some("spin") => loop {
                std::hint::spin_loop();
            },
            Some(other) => panic!("{other}"),
        }
    }
}

fn park() -> ! {
    loop {
        std::thread::park();
    }
}

#[expect(unconditional_recursion, reason = "the overflow is the test")]
fn descend(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    descend(depth + 1) + frame[0]
}

/// The child. Does nothing unless the test below starts it.
#[test]
#[ignore = "is started by the other test of this module"]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        // The harness prints to standard output; the pipe is descriptor 3.
        let pipe = std::fs::OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
        let served = serve_on(std::io::stdin().lock(), pipe, |settings| {
            let raw: RawConfig = serde_json::from_value(settings).map_err(|error| error.to_string())?;
            Ok(Weak(PlanKernel::new(raw.convert_options())))
        });
        std::process::exit(i32::from(served.is_err()));
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Bytes that look like noise and are the same every time.
fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Blocks that insert the next one ten times each: 10^`levels` shapes from a few lines.
pub(crate) fn block_bomb(levels: usize) -> String {
    let mut blocks = String::from("  0\nSECTION\n  2\nBLOCKS\n");
    for level in 0..levels {
        blocks += &format!("  0\nBLOCK\n  2\nb{level}\n 70\n0\n 10\n0\n 20\n0\n");
        for copy in 0..10 {
            if level + 1 == levels {
                blocks += &format!("  0\nLINE\n  8\n0\n 10\n{copy}\n 20\n0\n 11\n1\n 21\n1\n");
            } else {
                blocks += &format!("  0\nINSERT\n  8\n0\n  2\nb{}\n 10\n{copy}\n 20\n0\n", level + 1);
            }
        }
        blocks += "  0\nENDBLK\n";
    }
    blocks += "  0\nENDSEC\n";
    let insert = dxf(&[(0, "INSERT"), (8, "0"), (2, "b0"), (10, "0"), (20, "0")]);
    insert.replacen("  0\nSECTION\n  2\nENTITIES\n", &format!("{blocks}  0\nSECTION\n  2\nENTITIES\n"), 1)
}

/// `use` of `use` of `use`, ten times each.
fn use_bomb(levels: usize) -> String {
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9m\" height=\"9m\"><defs><path id=\"u0\" d=\"M0 0H9\"/>",
    );
    for level in 1..=levels {
        svg += &format!("<g id=\"u{level}\">");
        svg += &format!("<use href=\"#u{}\"/>", level - 1).repeat(10);
        svg += "</g>";
    }
    svg + &format!("</defs><use href=\"#u{levels}\"/></svg>")
}

fn array_bomb(columns: u32, rows: u32) -> String {
    let block = "  0\nSECTION\n  2\nBLOCKS\n  0\nBLOCK\n  2\nb\n 70\n0\n 10\n0\n 20\n0\n  0\nLINE\n  8\n0\n 10\n0\n 20\n0\n 11\n1\n 21\n1\n  0\nENDBLK\n  0\nENDSEC\n";
    let (columns, rows) = (columns.to_string(), rows.to_string());
    let insert = dxf(&[
        (0, "INSERT"),
        (8, "0"),
        (2, "b"),
        (10, "0"),
        (20, "0"),
        (70, &columns),
        (71, &rows),
        (44, "1"),
        (45, "1"),
    ]);
    insert.replacen("  0\nSECTION\n  2\nENTITIES\n", &format!("{block}  0\nSECTION\n  2\nENTITIES\n"), 1)
}

/// The hostile drawings by name, with the kinds of dead letters they may become.
fn hostile() -> BTreeMap<String, (Vec<u8>, &'static [&'static str])> {
    let mut drawings: BTreeMap<String, (Vec<u8>, &[&str])> = BTreeMap::new();
    let mut add = |name: String, bytes: Vec<u8>, kinds: &'static [&'static str]| {
        assert!(drawings.insert(format!("x/{name}"), (bytes, kinds)).is_none());
    };
    let attacks: [(&str, usize, &[&str]); 9] = [
        ("overflow", 10, &["crashed"]),
        ("abort", 10, &["crashed"]),
        ("exit", 10, &["crashed"]),
        ("panic", 10, &["panicked"]),
        ("kill", 10, &["crashed"]),
        ("memory", 8, &["out_of_memory"]),
        ("garbage", 4, &["crashed"]),
        ("hang", 3, &["timeout"]),
        ("spin", 3, &["timeout"]),
    ];
    for (word, count, kinds) in attacks {
        for n in 0..count {
            add(format!("{word}{n}.svg"), PLAN.replacen('>', &format!("><!--attack:{word}-->"), 1).into(), kinds);
        }
    }
    for n in 0..12_usize {
        let blanks = vec![b' '; (20 << 20) + n];
        let svg = [PLAN.trim_end_matches("</svg>").as_bytes(), &blanks, b"</svg>"].concat();
        add(format!("bomb{n}.svgz"), gzip(&svg), &["limit"]);
        let drawing = dxf_rectangle(4.0, 3.0).replace("  0\nEOF\n", "");
        let comments = "999\ncomment\n".repeat((20 << 20) / 12 + n);
        add(format!("bomb{n}.dxf.gz"), gzip((drawing + &comments).as_bytes()), &["limit"]);
        let points = [(0, "POINT"), (8, "0"), (10, "0"), (20, "0")].repeat(5001 + n);
        add(format!("many{n}.dxf"), dxf(&points).into(), &["limit"]);
        add(format!("blocks{n}.dxf"), block_bomb(8 + n).into(), &["limit"]);
        add(format!("uses{n}.svg"), use_bomb(8 + n).into(), &["limit"]);
        add(format!("array{n}.dxf"), array_bomb(20_000 + n as u32, 30_000).into(), &["limit"]);
    }
    for n in 0..12_u64 {
        for (magic, name) in
            [("AC1027", "dwg"), ("%PDF-1.7\n", "pdf"), ("", "dxf"), ("", "svg"), ("\x1f\u{8b}", "svgz")]
        {
            let magic: Vec<u8> = magic.chars().map(|c| c as u8).collect();
            add(format!("noise{n}.{name}"), [magic, noise(n + 1, 3000)].concat(), &["malformed", "unsupported"]);
        }
    }
    drawings
}

// R3, R14, R50, R98, R132, R139, R142, R169: each is one dead letter, every sound drawing is done, and the books balance.
#[test]
fn two_hundred_hostile_drawings_cost_themselves_and_nothing_else() {
    let folder = Folder::new();
    let hostile = hostile();
    assert_eq!(hostile.len(), 200);
    for (name, (bytes, _)) in &hostile {
        folder.write(format!("plans/{name}"), bytes);
    }
    let sound = 20;
    for n in 0..sound {
        // One before, between and behind the others.
        folder.write(format!("plans/{}/L{n:02}.svg", ["a", "x", "z"][n % 3]), PLAN);
    }
    folder.write(
        "batch.toml",
        "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n[limits]\nprocess_memory = \"512MiB\"\n\
         decompressed_bytes = 16777216\nexpanded_shapes = 20000\nentities = 5000\n",
    );
    let config = Config::load(Some(&folder.join("batch.toml")), &[]).unwrap();
    let (source, output) = (config.source.location.as_ref().unwrap(), config.output.as_ref().unwrap());
    let drawings = Drawings::at(source, &config, std::slice::from_ref(output)).unwrap();
    let mut engine = EngineConfig::new(folder.join("run"));
    engine.limits = Limits { deadline: Some(Duration::from_secs(4)), threads: 4, ..Limits::for_slots(6) };
    let settings = serde_json::to_value(&config.effective).unwrap();
    let spool = config.spool();
    let kernel = move || {
        let command = || {
            let mut command = Command::new("sh");
            let serve = "exec \"$0\" --exact isolation::hostile::child --ignored --nocapture 3>&1 1>/dev/null";
            command.args(["-c", serve]).arg(std::env::current_exe().unwrap()).env(CHILD, "1");
            command
        };
        let limits = ProcessLimits { memory_bytes: Some(512 << 20), cpu_seconds: Some(20), open_files: Some(64) };
        ProcessKernel::new(command, settings.clone(), limits, spool.clone())
    };
    let summary = Engine::new(engine, drawings, Outputs::at(output).unwrap(), kernel).run().unwrap();

    let found: BTreeMap<String, String> = read(&folder.join("run"))
        .unwrap()
        .map(Result::unwrap)
        .map(|record| {
            let extracted = record.event == Event::Extracted;
            let ended = if extracted { "extracted".to_owned() } else { record.kind().unwrap().to_string() };
            (record.doc_id, ended)
        })
        .collect();
    let wrong: Vec<_> = hostile
        .iter()
        .filter(|(name, (_, kinds))| !kinds.contains(&found[*name].as_str()))
        .map(|(name, (_, kinds))| format!("{name}: {} instead of {kinds:?}", found[name]))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((summary.enumerated, summary.dead_letters, summary.extracted), (200 + sound as u64, 200, sound as u64));
    assert_eq!(summary.exit_code(), 3);
    assert!(verify(&folder.join("run")).unwrap().is_complete());
}
