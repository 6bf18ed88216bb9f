//! `run.isolation = "process"`: children convert, and whatever kills one costs one drawing.

#[cfg(target_os = "linux")]
pub(crate) mod hostile;

use serde_json::Value;

use crate::support::Folder;

const PLAN: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" width="10m" height="8m" viewBox="0 0 10000 8000"><path d="M0 0H10000V8000H0Z" fill="none" stroke="black"/></svg>"#;

fn run(folder: &Folder, isolation: &str, more: &[&str]) -> (i32, Vec<Value>) {
    let mut program = folder.program();
    program.args(["run", "batch.toml", "--fresh", "--quiet", "--set", &format!("run.isolation={isolation}")]);
    for set in more {
        program.args(["--set", set]);
    }
    let output = program.output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    let ledger = std::fs::read_to_string(folder.join("out/_plan2geo/latest/ledger.jsonl"));
    let ledger = ledger.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (code, ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn batch() -> Folder {
    let folder = Folder::new();
    folder.write("batch.toml", "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n[limits]\nthreads = 2\n");
    for number in 0..6 {
        folder.write(format!("plans/L{number:02}.svg"), PLAN);
    }
    folder.write("plans/broken.dxf", "no drawing at all");
    folder
}

fn outputs(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let mut outputs: Vec<_> = std::fs::read_dir(folder.join("out"))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()))
        .collect();
    outputs.sort();
    outputs
}

// R50, R132, R163: the same bytes come from children as from threads.
#[test]
fn processes_give_the_bytes_that_threads_give() {
    let folder = batch();
    let (code, ledger) = run(&folder, "thread", &[]);
    let by_threads = outputs(&folder);
    let (again, by_process) = run(&folder, "process", &[]);
    assert_eq!((code, ledger.len()), (again, by_process.len()));
    assert_eq!(by_threads, outputs(&folder));
    let events = |ledger: &[Value]| {
        let mut events: Vec<_> = ledger
            .iter()
            .map(|line| format!("{} {} {}", line["doc_id"], line["event"], line["error"]["kind"]))
            .collect();
        events.sort();
        events
    };
    assert_eq!(events(&ledger), events(&by_process));
}

// R3, R139: a drawing that needs more memory than it may have is one dead letter, and the rest is done.
#[test]
fn memory_is_bounded_drawing_by_drawing() {
    let folder = batch();
    // A sparse file: a head of SVG and 300 MB that cost no disk, more than a child may have.
    let huge = folder.write("plans/huge.svg", PLAN.replace("</svg>", ""));
    std::fs::File::options().write(true).open(huge).unwrap().set_len(300 << 20).unwrap();
    // Held in memory and not mapped.
    let small = ["limits.process_memory=320MiB", "limits.document_memory=1GiB"];
    let (code, ledger) = run(&folder, "process", &small);
    assert_eq!(code, 3);
    assert_eq!(ledger.len(), 8);
    let huge = ledger.iter().find(|line| line["doc_id"] == "huge.svg").unwrap();
    assert_eq!(huge["error"]["kind"], "out_of_memory", "{}", huge["error"]);
    let extracted = ledger.iter().filter(|line| line["event"] == "EXTRACTED").count();
    assert_eq!(extracted, 6);
}
