//! `docs/requirements.md` tells of every requirement R1 to R169 which test proves it, or why it waits.
//!
//! Tests cite rows in a comment right above them (`// R16, R121`). Here the table is held against the code: a row
//! cannot name a test that does not exist, a citation cannot be missing from the table, and a row without a test
//! must say why. `BLESS=1 cargo test requirements` writes the column of tests anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const NUM_ROWS: u32 = 169;

/// A test function and the rows it cites, by row.
type Citations = BTreeMap<u32, BTreeSet<String>>;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                rust_files(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// `R16`, `R121` and ranges `R16–R19` or `R16-R19` in a comment.
fn rows_in(comment: &str) -> Vec<u32> {
    let mut rows = Vec::new();
    let mut range_from = None;
    for token in comment.replace(['–', '-'], " - ").split(|c: char| c.is_whitespace() || ",;.:()".contains(c)) {
        if token == "-" {
            range_from = rows.last().copied();
            continue;
        }
        let number = token.strip_prefix('R').and_then(|digits| digits.parse::<u32>().ok());
        if let Some(row) = number.filter(|row| (1..=NUM_ROWS).contains(row)) {
            rows.extend(range_from.take().into_iter().flat_map(|from| from + 1..row));
            rows.push(row);
        } else if !token.is_empty() {
            range_from = None;
        }
    }
    rows
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let rest = rest.strip_prefix("pub ").unwrap_or(rest);
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let rest = rest.strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

/// Every test with the rows cited in the comment above it, and the set of all tests.
fn citations() -> (Citations, BTreeSet<String>) {
    let mut files = Vec::new();
    for folder in ["src", "tests", "actors/src", "actors/tests"] {
        rust_files(&root().join(folder), &mut files);
    }
    files.sort();
    let (mut cited, mut tests) = (Citations::new(), BTreeSet::new());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/");
        let (mut rows, mut is_test) = (Vec::new(), false);
        for line in text.lines() {
            let line = line.trim();
            if line.starts_with("//") {
                rows.extend(rows_in(line));
            } else if line.starts_with("#[") {
                is_test |= line.contains("test]") || line.contains("test(");
            } else if let Some(function) = function_name(line) {
                // proptest! and friends write `#[test]` inside their macro as well, so it is seen above.
                if is_test {
                    let test = format!("{name}::{function}");
                    for row in rows.drain(..) {
                        cited.entry(row).or_default().insert(test.clone());
                    }
                    tests.insert(test);
                }
                (rows, is_test) = (Vec::new(), false);
            } else {
                (rows, is_test) = (Vec::new(), false);
            }
        }
    }
    (cited, tests)
}

struct Row {
    number: u32,
    requirement: String,
    tests: BTreeSet<String>,
    state: String,
}

fn table() -> (String, Vec<Row>) {
    let text = fs::read_to_string(root().join("docs/requirements.md")).unwrap();
    let (head, body) = text.split_once("|--:|---|---|---|\n").expect("the table has its head");
    let rows = body.lines().filter(|line| line.starts_with("| R")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, requirement, tests, state] = cells.as_slice() else { panic!("four cells expected: {line}") };
        Row {
            number: number.trim_start_matches("R").parse().unwrap(),
            requirement: (*requirement).to_owned(),
            tests: tests
                .split("<br>")
                .map(|test| test.trim_matches('`').to_owned())
                .filter(|test| !test.is_empty() && test != "–")
                .collect(),
            state: (*state).to_owned(),
        }
    });
    (head.to_owned() + "|--:|---|---|---|\n", rows.collect())
}

fn write_table(head: &str, rows: &[Row]) {
    let mut text = head.to_owned();
    for row in rows {
        let tests: Vec<String> = row.tests.iter().map(|test| format!("`{test}`")).collect();
        let tests = if tests.is_empty() { "–".to_owned() } else { tests.join("<br>") };
        text += &format!("| R{} | {} | {tests} | {} |\n", row.number, row.requirement, row.state);
    }
    let path = root().join("docs/requirements.md");
    let next = path.with_extension("md.new");
    let mut file = fs::File::create(&next).unwrap();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    fs::rename(next, path).unwrap();
}

#[test]
fn every_requirement_names_its_tests_or_the_reason_it_waits() {
    let (cited, tests) = citations();
    let (head, mut rows) = table();
    if std::env::var_os("BLESS").is_some() {
        for row in &mut rows {
            row.tests = cited.get(&row.number).cloned().unwrap_or_default();
            if !row.tests.is_empty() && row.state.starts_with("waits") {
                row.state = "proved".to_owned();
            } else if row.tests.is_empty() && row.state == "proved" {
                row.state = "waits: no test cites it".to_owned();
            }
        }
        write_table(&head, &rows);
    }
    let mut faults = Vec::new();
    let numbers: Vec<u32> = rows.iter().map(|row| row.number).collect();
    if numbers != (1..=NUM_ROWS).collect::<Vec<_>>() {
        faults.push(format!("rows must be R1 to R{NUM_ROWS}, each once and in order"));
    }
    for row in &rows {
        for test in &row.tests {
            if !tests.contains(test) {
                faults.push(format!("R{} names `{test}`, which is no test", row.number));
            }
        }
        for test in cited.get(&row.number).into_iter().flatten() {
            if !row.tests.contains(test) {
                faults.push(format!("`{test}` cites R{}, whose row does not name it", row.number));
            }
        }
        let (state, reason) = row.state.split_once(": ").unwrap_or((&row.state, ""));
        match state {
            "proved" if row.tests.is_empty() => faults.push(format!("R{} is proved by no test", row.number)),
            "proved" => {}
            "partly" | "waits" | "documented" if !reason.is_empty() => {}
            _ => faults.push(format!(
                "R{}: state `{}` is none of proved, partly: …, waits: …, documented: …",
                row.number, row.state
            )),
        }
    }
    assert!(faults.is_empty(), "BLESS=1 writes the column of tests anew\n{}", faults.join("\n"));
}

#[test]
fn citations_are_read_with_ranges() {
    assert_eq!(rows_in("// R16, R121"), [16, 121]);
    assert_eq!(rows_in("// R1–R4 and R9: the queue"), [1, 2, 3, 4, 9]);
    assert_eq!(rows_in("// a Reader of R2000 files"), [] as [u32; 0]);
}
