//! Whole batches through the program: what a user starts, what is left on disk, what the exit code says.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Folder, Outcome, dxf_rectangle, svg_rectangle};

const CONFIG: &str = "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n[limits]\nthreads = 2\n";

/// `count` sound drawings in two formats and two buildings.
fn sound(folder: &Folder, count: usize) {
    for n in 0..count {
        let (width, height) = (4.0 + n as f64 / 10.0, 3.0);
        if n % 2 == 0 {
            folder.write(format!("plans/A/L{n:03}.dxf"), dxf_rectangle(width, height));
        } else {
            folder.write(format!("plans/B/L{n:03}.svg"), svg_rectangle(width * 100.0, height * 100.0));
        }
    }
}

fn run(folder: &Folder, more: &[&str]) -> Outcome {
    folder.write("c.toml", CONFIG);
    folder.run(["run", "c.toml"].iter().chain(more))
}

fn ledger(folder: &Folder) -> Vec<Value> {
    let text = folder.read("out/_plan2geo/latest/ledger.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// All outputs below `out`, without the state of runs.
fn outputs(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    outputs_in(&folder.join("out"))
}

fn outputs_in(root: &Path) -> BTreeMap<String, Vec<u8>> {
    walkdir::WalkDir::new(root)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "_plan2geo")
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let name = entry.path().strip_prefix(root).unwrap().display().to_string();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// R7, R8, R14, R22, R24, R43, R120, R133, R148, R155, R165, R167: sound, broken and foreign files in one batch.
#[test]
fn a_batch_with_broken_drawings_reconciles_and_names_them() {
    let folder = Folder::new();
    sound(&folder, 12);
    folder.write("plans/A/broken.dxf", "this is no drawing");
    folder.write("plans/A/empty.svg", "");
    folder.write("plans/B/scan.dwg", b"AC1009 and nothing behind it");
    folder.write("plans/B/header.dxf", "  0\nSECTION\n  2\nHEADER\n  9\n$ACADVER\n  1\nAC10");
    folder.write("plans/notes.txt", "not a plan");
    folder.write("plans/.hidden.dxf", dxf_rectangle(1.0, 1.0));
    let ended = run(&folder, &[]);
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    for part in
        ["enumerated", "A/broken.dxf", "A/empty.svg", "1 .txt files", "1 hidden files", "complete with dead letters"]
    {
        assert!(ended.stdout.contains(part), "{part}\n{}", ended.stdout);
    }

    let lines = ledger(&folder);
    let mut terminal: BTreeMap<(String, u64), u32> = BTreeMap::new();
    for line in &lines {
        let id = (line["doc_id"].as_str().unwrap().to_owned(), line["page"].as_u64().unwrap());
        *terminal.entry(id).or_default() += 1;
    }
    assert_eq!(terminal.len(), 16, "every drawing is enumerated");
    assert!(terminal.values().all(|count| *count == 1), "{terminal:?}");
    for line in &lines {
        match line["event"].as_str().unwrap() {
            "EXTRACTED" => {
                let output: Value =
                    serde_json::from_slice(&outputs(&folder)[line["output"].as_str().unwrap()]).unwrap();
                let metadata = &output["metadata"];
                assert_eq!(metadata["trace_id"], line["trace_id"]);
                assert_eq!(metadata["topology_hash"], line["topology_hash"]);
                assert_eq!(metadata["floor_level"], line["floor_level"]);
                assert_eq!(metadata["source_format"], line["format"]);
            }
            "DEAD_LETTER" => {
                let error = &line["error"];
                assert!(
                    error["kind"].is_string() && error["stage"].is_string() && error["message"].is_string(),
                    "{line}"
                );
                assert!(line["location"].is_string() && line["trace_id"].is_string(), "{line}");
            }
            other => panic!("{other}"),
        }
    }

    let verified = folder.run(["audit", "verify", "out", "--outputs", "out"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
    assert!(verified.stdout.contains("sound and complete"), "{}", verified.stdout);
    let report: Value = serde_json::from_str(&folder.read("out/_plan2geo/latest/report.json")).unwrap();
    assert_eq!(report["exit_code"], 3);
    assert_eq!(report["summary"]["enumerated"], 16);
    assert!(folder.read("out/_plan2geo/latest/report.html").contains("<svg"));
    assert!(folder.read("out/_plan2geo/latest/config.toml").contains("threads = 2"));

    let listed = folder.run(["dead", "list", "c.toml"]);
    assert!(listed.stdout.contains("A/empty.svg") && listed.stdout.contains("to do:"), "{}", listed.stdout);
    let shown = folder.run(["dead", "show", "out", "A/empty.svg"]);
    assert!(shown.stdout.contains("\"empty\""), "{}", shown.stdout);
    let shown = folder.run(["audit", "show", "out", "--doc", "A/L000.dxf"]);
    assert!(shown.stdout.contains("EXTRACTED") && shown.stdout.contains("A/L000.dxf.geojson"), "{}", shown.stdout);
}

/// R90: nothing to do is done at once, and reconciled.
#[test]
fn an_empty_source_is_done_and_reconciled() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.join("plans")).unwrap();
    let ended = run(&folder, &["--json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["summary"]["enumerated"], 0);
    assert_eq!(summary["summary"]["reconciled"], true);
}

/// The bytes of outputs depend on drawings and settings alone: not on threads, on a resume, or on the run.
#[test]
fn outputs_are_the_same_bytes_whatever_the_threads() {
    let one = Folder::new();
    let many = Folder::new();
    for folder in [&one, &many] {
        sound(folder, 16);
    }
    assert_eq!(run(&one, &["--set", "limits.threads=1"]).code, 0);
    assert_eq!(run(&many, &["--set", "limits.threads=4", "--set", "limits.queue=3"]).code, 0);
    let first = outputs(&one);
    assert_eq!(first.len(), 16);
    assert!(first == outputs(&many));
    assert_eq!(run(&one, &["--fresh"]).code, 0);
    assert!(first == outputs(&one), "a fresh run gives the same bytes");
}

/// A finished batch run again does only what is new or changed, and leaves the rest untouched.
#[test]
fn a_finished_batch_run_again_does_only_what_changed() {
    let folder = Folder::new();
    sound(&folder, 8);
    assert_eq!(run(&folder, &[]).code, 0);
    let before = std::fs::metadata(folder.join("out/A/L000.dxf.geojson")).unwrap().modified().unwrap();
    folder.write("plans/A/L002.dxf", dxf_rectangle(99.0, 1.0));
    folder.write("plans/C/L1.dxf", dxf_rectangle(2.0, 2.0));
    std::fs::remove_file(folder.join("plans/B/L001.svg")).unwrap();
    let explained = run(&folder, &["--explain"]);
    assert!(explained.stdout.contains("A/L000.dxf: carried over"), "{}", explained.stdout);
    assert!(explained.stdout.contains("A/L002.dxf: runs: changed"), "{}", explained.stdout);
    assert!(explained.stdout.contains("C/L1.dxf: runs: new"), "{}", explained.stdout);
    let ended = run(&folder, &["--json"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["summary"]["enumerated"], 8);
    assert_eq!(summary["summary"]["vanished"], 1);
    assert_eq!(summary["summary"]["stages"]["parse"]["count"], 2, "only the changed and the new one are converted");
    assert_eq!(std::fs::metadata(folder.join("out/A/L000.dxf.geojson")).unwrap().modified().unwrap(), before);
}

/// Settings that would change outputs are refused with the difference, and accepted with `--fresh`.
#[test]
fn other_settings_are_refused_with_the_difference() {
    let folder = Folder::new();
    sound(&folder, 2);
    assert_eq!(run(&folder, &[]).code, 0);
    let ended = run(&folder, &["--set", "curves.chord_error_m=0.5"]);
    assert_eq!(ended.code, 1);
    for part in ["curves.chord_error_m: 0.01 → 0.5", "--fresh"] {
        assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr);
    }
    assert_eq!(run(&folder, &["--set", "limits.slots=7"]).code, 0, "how much at once changes no output");
    assert_eq!(run(&folder, &["--set", "curves.chord_error_m=0.5", "--fresh"]).code, 0);
}

/// R86: the first failure ends the run; everything enumerated is accounted for.
#[test]
fn fail_fast_ends_at_the_first_failure_and_still_reconciles() {
    let folder = Folder::new();
    sound(&folder, 4);
    folder.write("plans/0.dxf", "broken");
    let ended = run(&folder, &["--set", "run.on_error=fail_fast", "--json"]);
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let count = |key: &str| summary["summary"][key].as_u64().unwrap();
    assert_eq!(count("enumerated"), count("extracted") + count("dead_letters"));
    assert_eq!(summary["summary"]["reconciled"], true);
}

/// Mended drawings are replayed as a run of their own; both runs balance.
#[test]
fn dead_letters_are_replayed() {
    let folder = Folder::new();
    sound(&folder, 4);
    folder.write("plans/x.dxf", "broken");
    folder.write("plans/y.dxf", "broken");
    folder.write("plans/z.dxf", "");
    assert_eq!(run(&folder, &[]).code, 3);
    folder.write("plans/x.dxf", dxf_rectangle(2.0, 2.0));
    std::fs::remove_file(folder.join("plans/z.dxf")).unwrap();
    let replayed = folder.run(["dead", "replay", "c.toml", "--json"]);
    assert_eq!(replayed.code, 3, "{}", replayed.stderr);
    let summary: Value = serde_json::from_str(&replayed.stdout).unwrap();
    let summary = &summary["summary"];
    assert_eq!(
        (&summary["enumerated"], &summary["extracted"], &summary["dead_letters"]),
        (&3.into(), &1.into(), &2.into())
    );
    assert_eq!(summary["by_kind"], serde_json::json!({ "malformed": 1, "vanished": 1 }));
    assert!(outputs(&folder).contains_key("x.dxf.geojson"));
    assert_eq!(folder.run(["audit", "verify", "c.toml"]).code, 0);
    // The run keeps its dead letters; what became of them since is said.
    let listed = folder.run(["dead", "list", "out"]).stdout;
    for line in ["1 of them extracted by a replay since", "x.dxf (extracted since)"] {
        assert!(listed.contains(line), "{line}\n{listed}");
    }
    assert!(listed.lines().any(|line| line.trim() == "y.dxf"), "{listed}");
    let machine: Value = serde_json::from_str(&folder.run(["dead", "list", "out", "--json"]).stdout).unwrap();
    let since: u64 = machine.as_array().unwrap().iter().map(|cause| cause["extracted_since"].as_u64().unwrap()).sum();
    assert_eq!(since, 1, "{machine}");
    let shown = folder.run(["dead", "show", "out", "x.dxf"]);
    assert!(shown.stderr.contains("a replay has extracted it since"), "{}", shown.stderr);
    // A replay of the replay counts as well.
    folder.write("plans/y.dxf", dxf_rectangle(2.0, 2.0));
    let replay = std::fs::read_dir(folder.join("out/_plan2geo")).unwrap().flatten().map(|entry| entry.path());
    let latest = std::fs::canonicalize(folder.join("out/_plan2geo/latest")).unwrap();
    let replay = replay.filter(|path| path.is_dir()).find(|path| path.canonicalize().unwrap() != latest).unwrap();
    folder.run(["dead", "replay", "c.toml", "--of", replay.to_str().unwrap()]);
    assert!(folder.run(["dead", "list", "out"]).stdout.contains("2 of them extracted by a replay since"));
}

/// Messages that differ in names and numbers only are one cause; what the signs in it stand for is told, and one message is
/// shown as it is.
#[test]
fn causes_show_a_message_word_by_word() {
    let folder = Folder::new();
    for (name, number) in [("a", "7"), ("b", "1204")] {
        folder.write(format!("plans/{name}.dxf"), format!("AutoCAD Binary DXF\r\n\x1a\0 {number} of something"));
    }
    assert_eq!(run(&folder, &[]).code, 3);
    let dead: Vec<Value> = ledger(&folder);
    let messages: Vec<&str> = dead.iter().map(|line| line["error"]["message"].as_str().unwrap()).collect();
    let listed = folder.run(["dead", "list", "out"]).stdout;
    assert!(listed.starts_with("2 × malformed"), "{listed}");
    assert!(listed.lines().next().unwrap().contains('#'), "{listed}");
    assert!(messages.iter().any(|message| listed.contains(&format!("such as: {message}\n"))), "{listed}\n{messages:?}");
    let help = folder.run(["dead", "list", "--help"]).stdout;
    assert!(help.contains("`#` stands for any number"), "{help}");
}

/// A run slow enough to be interrupted: `count` drawings, a few starts a second.
fn slow_run(folder: &Folder, count: usize) -> Child {
    sound(folder, count);
    folder.write("c.toml", CONFIG);
    folder
        .program()
        .args(["run", "c.toml", "--json", "--set", "limits.starts_per_second=20"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the run has recorded something, so that it is in the middle of its work.
fn wait_for_a_line(folder: &Folder) {
    wait_for_a_line_in(&folder.join("out/_plan2geo"));
}

fn wait_for_a_line_in(state: &Path) {
    let ledger = state.join("latest/ledger.jsonl");
    let begun = Instant::now();
    while std::fs::metadata(&ledger).map_or(0, |metadata| metadata.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run records nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
}

/// After an interrupted run: the same command goes on, and every drawing has one line and one output.
fn goes_on(folder: &Folder, count: usize) {
    let ended = run(folder, &["--json"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["summary"]["resumed"], true);
    assert_eq!(summary["summary"]["enumerated"], count);
    assert_eq!(summary["summary"]["extracted"], count);
    assert_eq!(outputs(folder).len(), count);
    let verified = folder.run(["audit", "verify", "out", "--outputs", "out"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
}

/// R5, R93, R114, R135, R168: SIGTERM drains, exit 130, no half output, and the next run does the rest.
#[cfg(unix)]
#[test]
fn a_terminated_run_drains_and_is_gone_on_with() {
    let folder = Folder::new();
    let child = slow_run(&folder, 60);
    wait_for_a_line(&folder);
    signal(&child, "TERM");
    let ended = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["summary"]["reconciled"], true);
    assert!(summary["summary"]["enumerated"].as_u64().unwrap() < 60);
    assert_eq!(summary["summary"]["dead_letters"], 0, "draining finishes what was begun");
    assert!(ended.stderr.contains("draining"), "{}", ended.stderr);
    for (name, bytes) in outputs(&folder) {
        assert!(name.ends_with(".geojson"), "{name}");
        serde_json::from_slice::<Value>(&bytes).unwrap();
    }
    goes_on(&folder, 60);
}

/// A second signal gives up what runs; it is accounted for, and the next run makes it good.
#[cfg(unix)]
#[test]
fn a_second_signal_aborts_and_is_accounted_for() {
    let folder = Folder::new();
    let child = slow_run(&folder, 60);
    wait_for_a_line(&folder);
    signal(&child, "INT");
    signal(&child, "TERM");
    let ended = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let count = |key: &str| summary["summary"][key].as_u64().unwrap();
    assert_eq!(count("enumerated"), count("extracted") + count("dead_letters"));
    // What was given up is done by the same command, in a run of its own: a run has one line a drawing.
    let again = run(&folder, &["--json"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(outputs(&folder).len(), 60);
    assert_eq!(folder.run(["audit", "verify", "out", "--outputs", "out"]).code, 0);
    let summary: Value = serde_json::from_str(&again.stdout).unwrap();
    let done_before = count("extracted");
    assert!(summary["summary"]["stages"]["parse"]["count"].as_u64().unwrap() <= 60 - done_before);
}

/// R5, R108, R168: a killed run loses nothing and does nothing twice.
#[cfg(unix)]
#[test]
fn a_killed_run_is_gone_on_with() {
    let folder = Folder::new();
    let mut child = slow_run(&folder, 40);
    wait_for_a_line(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    let verified = folder.run(["audit", "verify", "out"]);
    assert_eq!(verified.code, 1, "sound and unfinished\n{}", verified.stdout);
    goes_on(&folder, 40);
}

/// R12, R100: a ledger in segments is one ledger: gone on with, verified and proved across them; closed ones are read-only.
#[cfg(unix)]
#[test]
fn a_ledger_in_segments_is_one_ledger() {
    let folder = Folder::new();
    let rotate = ["--set", "audit.rotate_bytes=4KiB"];
    sound(&folder, 40);
    folder.write("c.toml", CONFIG);
    let key = folder.run(["audit", "keygen", "records-office"]);
    let signing = key.stdout.trim().to_owned();
    let public = key.stderr.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    let mut slow = folder.program();
    slow.args(["run", "c.toml", "--set", "limits.starts_per_second=20"]).args(rotate);
    let mut child = slow.env("PLAN2GEO_SIGNING_KEY", &signing).stdout(Stdio::null()).spawn().unwrap();
    let run = folder.join("out/_plan2geo/latest");
    let begun = Instant::now();
    let segments = || {
        let names = std::fs::read_dir(&run).into_iter().flatten().flatten();
        let mut names: Vec<_> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("ledger.") && name.ends_with(".jsonl") && name != "ledger.jsonl");
        names
    };
    while segments().len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60), "no segment is closed");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = folder.program().args(["run", "c.toml"]).args(rotate).env("PLAN2GEO_SIGNING_KEY", &signing).output();
    assert_eq!(ended.unwrap().status.code(), Some(0));
    assert!(segments().len() > 2);
    for name in segments() {
        assert!(std::fs::metadata(run.join(&name)).unwrap().permissions().readonly(), "{name}");
    }
    let checkpoints = run.join("ledger.ckpt").display().to_string();
    let verify = ["audit", "verify", "out", "--outputs", "out", "--checkpoints", &checkpoints, "--key", &public];
    let verified = folder.run(verify);
    assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    // Of the first segment, of the last one, and of the open file, which is empty when a segment was closed at the very end.
    let lines =
        [segments().into_iter().min().unwrap(), segments().into_iter().max().unwrap(), "ledger.jsonl".to_owned()]
            .map(|segment| std::fs::read_to_string(run.join(segment)).unwrap().lines().next_back().map(str::to_owned));
    for line in lines.into_iter().flatten() {
        let line: Value = serde_json::from_str(&line).unwrap();
        let mut prove = folder.program();
        prove.args(["audit", "prove", "out", line["doc_id"].as_str().unwrap()]).env("PLAN2GEO_SIGNING_KEY", &signing);
        let proof = Outcome::from(prove.output().unwrap());
        assert_eq!(proof.code, 0, "{}", proof.stderr);
        folder.write("proof.json", &proof.stdout);
        let checked = folder.run(["audit", "check", "proof.json", "--key", &public]);
        assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    }
}

/// A second program on the same state is refused, naming the first.
#[cfg(unix)]
#[test]
fn a_second_run_on_one_state_is_refused() {
    let folder = Folder::new();
    let mut child = slow_run(&folder, 60);
    wait_for_a_line(&folder);
    let second = folder.run(["run", "c.toml"]);
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains(&format!("in use by process {}", child.id())), "{}", second.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A second program on the same output is refused too, wherever the two keep their state; what it is told names the first.
#[cfg(unix)]
#[test]
fn a_second_run_on_one_output_is_refused() {
    let folder = Folder::new();
    let mut child = slow_run(&folder, 60);
    wait_for_a_line(&folder);
    let mine = folder.join("mine").display().to_string();
    let other = format!("run.state={mine}");
    for command in [vec!["run", "c.toml"], vec!["dead", "replay", "c.toml", "--of", "out"]] {
        let second = folder.run(command.into_iter().chain(["--set", &other]));
        assert_eq!(second.code, 1);
        let told = format!("out is in use by process {}", child.id());
        assert!(second.stderr.contains(&told) && second.stderr.contains("output.location"), "{}", second.stderr);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The other way round: the first one keeps its state elsewhere, the second below the output.
    let mut first = folder.program();
    first.args(["run", "c.toml", "--set", &other, "--set", "limits.starts_per_second=20"]);
    let mut child = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_a_line_in(&folder.join("mine"));
    let second = run(&folder, &[]);
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains(&format!("is in use by process {}", child.id())), "{}", second.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(run(&folder, &["--fresh"]).code, 0, "whoever was killed holds nothing");
}

/// What a killed run left half written goes when the next one begins, also of drawings that are never done again; the count
/// is told. After a run that ended in order nothing is looked for.
#[cfg(unix)]
#[test]
fn leftovers_of_a_killed_run_are_removed() {
    let folder = Folder::new();
    let mut child = slow_run(&folder, 40);
    wait_for_a_line(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    let half = || outputs(&folder).into_keys().filter(|name| !name.ends_with(".geojson")).count();
    // The kill may have left some; these are as one in the middle of a store leaves them, of drawings that are gone when the
    // next run begins.
    let trace = ledger(&folder)[0]["trace_id"].as_str().unwrap().to_owned();
    let left = [format!("out/A/.{trace}.part"), format!("out/A/.{trace}.part.link"), format!("out/.{trace}.0.part")];
    let leave = || left.iter().for_each(|name| drop(folder.write(name, "{")));
    leave();
    let count = half();
    assert!(count >= 3);
    std::fs::remove_dir_all(folder.join("plans/A")).unwrap();
    let again = run(&folder, &["--fresh", "--json"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
    let summary: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(summary["leftovers_removed"], count);
    assert_eq!(half(), 0);
    leave();
    let clean = run(&folder, &[]);
    assert_eq!(clean.code, 0, "{}", clean.stderr);
    assert!(!clean.stderr.contains("half-written"), "{}", clean.stderr);
    assert_eq!(half(), 3);
    folder.write("out/_plan2geo/lock", "process 1, begun and killed");
    let told = run(&folder, &[]).stderr;
    assert!(told.contains("removed 3 half-written files that a killed run left in the output"), "{told}");
}

/// R3, R139: a drawing that would take more than the run may have is given up, and the run goes on.
#[cfg(target_os = "linux")]
#[test]
fn the_run_keeps_within_its_memory() {
    let folder = Folder::new();
    sound(&folder, 12);
    // A million shapes from a kilobyte, padded so that it is the largest drawing.
    let bomb = crate::isolation::hostile::block_bomb(6).replace("  0\nEOF\n", &"999\ncomment\n".repeat(5000));
    folder.write("plans/A/bomb.dxf", bomb + "  0\nEOF\n");
    let ended =
        run(&folder, &["--json", "--set", "limits.memory_budget=128MiB", "--set", "limits.memory_per_drawing=1GiB"]);
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let summary = &summary["summary"];
    assert_eq!(summary["by_kind"], serde_json::json!({ "out_of_memory": 1 }), "{summary}");
    assert_eq!(summary["extracted"], 12);
    let dead = ledger(&folder).into_iter().find(|line| line["event"] == "DEAD_LETTER").unwrap();
    assert_eq!(dead["doc_id"], "A/bomb.dxf");
    assert!(dead["error"]["message"].as_str().unwrap().contains("its budget is 134217728"), "{dead}");
}

/// R124, R131, R149: files are opened a few at a time, whatever the size of the batch.
#[cfg(unix)]
#[test]
fn sixty_four_open_files_are_enough() {
    let folder = Folder::new();
    sound(&folder, 10_000);
    folder.write("c.toml", CONFIG);
    let program = env!("CARGO_BIN_EXE_plan2geo");
    let script = format!("ulimit -n 64 && exec {program} run c.toml --json");
    let output = std::process::Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).output();
    let ended = Outcome::from(output.unwrap());
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["summary"]["extracted"], 10_000);
    assert!(summary["summary"]["open_files"].as_u64().unwrap() < 64);
}

/// A clock that is set back while a batch runs changes neither its end nor the order of the ledger.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_clock_that_goes_backwards_is_harmless() {
    let folder = Folder::new();
    sound(&folder, 60);
    folder.write("c.toml", CONFIG);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/clock/backwards.c");
    let library = folder.path().join("backwards.so");
    let compiled =
        std::process::Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).args([source, "-ldl"]).status();
    assert!(compiled.unwrap().success());
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_plan2geo"));
    let output =
        program.args(["run", "c.toml", "--json"]).env("LD_PRELOAD", &library).current_dir(folder.path()).output();
    let ended = Outcome::from(output.unwrap());
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(folder.run(["audit", "verify", "out/_plan2geo/latest"]).code, 0);
    let ledger = std::fs::read_to_string(folder.path().join("out/_plan2geo/latest/ledger.jsonl")).unwrap();
    let lines = ledger.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let times: Vec<String> = lines.filter_map(|line| line["ts"].as_str().map(str::to_owned)).collect();
    assert!(times.len() >= 60 && times.is_sorted(), "{times:?}");
    // From the first step back on the ledger stands still, until the clock has caught up.
    assert_eq!(times.last(), times.get(times.len() - 10), "{times:?}");
}

/// R136: with `--log info` one line a drawing says which thread had it and what came out.
#[test]
fn each_drawing_is_logged_with_its_thread() {
    let folder = Folder::new();
    sound(&folder, 2);
    folder.write("plans/broken.dxf", "  0\nSECTION\n  2\nENTITIES\n  0\nLI");
    folder.write("plans/none.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>");
    let ended = run(&folder, &["--quiet", "--log", "info", "--log-json"]);
    let lines = ended.stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let parsed: Vec<Value> = lines.filter(|line| line["fields"]["worker"].is_string()).collect();
    assert_eq!(parsed.len(), 4, "{}", ended.stderr);
    for line in &parsed {
        assert!(line["fields"]["worker"].as_str().unwrap().starts_with("parser-"), "{line}");
        assert!(line["fields"]["entities"].is_u64() || line["fields"]["failure"].is_string(), "{line}");
    }
    let of = |name: &str| parsed.iter().find(|line| line["fields"]["unit"] == name).unwrap();
    assert_eq!(of("A/L000.dxf")["fields"]["entities"], 1);
}

/// Where outputs cannot be made at all nothing is begun, and the message says where and what to do.
#[test]
fn an_output_that_cannot_be_made_is_told_before_anything_is_read() {
    let folder = Folder::new();
    sound(&folder, 2);
    folder.write("file", "not a folder");
    let ended = run(&folder, &["--set", "output.location=file/out"]);
    assert_eq!(ended.code, 1, "{}", ended.stdout);
    for part in ["cannot write to the output directory file/out", "output.location"] {
        assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr);
    }
}

/// A small file system of its own, or nothing where mounting is not allowed.
#[cfg(target_os = "linux")]
struct SmallDisk(std::path::PathBuf);

#[cfg(target_os = "linux")]
impl SmallDisk {
    fn mount(at: std::path::PathBuf, options: &str) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(&at)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !mounted {
            let note = "not checked: mounting a tmpfs is not allowed here\n";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes());
        }
        mounted.then_some(Self(at))
    }
}

#[cfg(target_os = "linux")]
impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

/// A full disk: every drawing accounted for, no half output, and once there is room the next run does the rest.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    let folder = Folder::new();
    sound(&folder, 200);
    let Some(disk) = SmallDisk::mount(folder.join("out"), "size=400k") else { return };
    folder.write("c.toml", CONFIG);
    let more = ["--json", "--set", "run.state=state"];
    let ended = run(&folder, &more);
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let summary = &summary["summary"];
    assert_eq!(summary["cause"]["cause"], "breaker", "{summary}");
    assert!(summary["by_kind"]["disk_full"].as_u64().unwrap() > 0);
    assert_eq!(summary["reconciled"], true);
    for (name, bytes) in outputs(&folder) {
        assert!(name.ends_with(".geojson"), "{name}");
        serde_json::from_slice::<Value>(&bytes).unwrap();
    }
    let grown = std::process::Command::new("mount").args(["-o", "remount,size=64m"]).arg(&disk.0).status().unwrap();
    assert!(grown.success());
    let again = run(&folder, &more);
    assert_eq!(again.code, 0, "what found no room is done by the same command\n{}", again.stderr);
    assert_eq!(outputs(&folder).len(), 200);
    assert_eq!(folder.run(["audit", "verify", "state", "--outputs", "out"]).code, 0);
}

/// A full disk below the ledger ends the run: nothing may be claimed that cannot be recorded.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_below_the_ledger_ends_the_run() {
    let folder = Folder::new();
    sound(&folder, 400);
    let Some(_disk) = SmallDisk::mount(folder.join("state"), "size=100k") else { return };
    let ended = run(&folder, &["--set", "run.state=state"]);
    assert_eq!(ended.code, 1, "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("No space left"), "{}\n{}", ended.stdout, ended.stderr);
}

/// A read-only place, also for root.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_output_is_told() {
    let folder = Folder::new();
    sound(&folder, 2);
    let Some(disk) = SmallDisk::mount(folder.join("out"), "size=400k") else { return };
    let remounted = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap();
    assert!(remounted.success());
    let ended = run(&folder, &[]);
    assert_eq!(ended.code, 1);
    for part in ["cannot write to the output directory", "Read-only file system", "output.location"] {
        assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr);
    }
}

/// A state that cannot be written to is told before anything is read: exit 1, nothing stored.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_state_is_told() {
    let folder = Folder::new();
    sound(&folder, 2);
    let Some(disk) = SmallDisk::mount(folder.join("state"), "size=400k") else { return };
    let remounted = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap();
    assert!(remounted.success());
    let ended = run(&folder, &["--set", "run.state=state"]);
    assert_eq!(ended.code, 1);
    for part in ["cannot keep the state of the run in", "Read-only file system", "run.state"] {
        assert!(ended.stderr.contains(part), "{part}\n{}", ended.stderr);
    }
    assert!(outputs(&folder).is_empty());
}

/// R50, R163: in child processes the same bytes come out.
#[cfg(unix)]
#[test]
fn child_processes_give_the_same_outputs() {
    let threads = Folder::new();
    let processes = Folder::new();
    for folder in [&threads, &processes] {
        sound(folder, 10);
        folder.write("plans/broken.dxf", "broken");
    }
    assert_eq!(run(&threads, &[]).code, 3);
    let ended = run(&processes, &["--set", "run.isolation=process"]);
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    assert!(outputs(&threads) == outputs(&processes));
}

/// The processes of the children that convert for a run.
#[cfg(target_os = "linux")]
fn kernels_of(child: &Child) -> Vec<String> {
    let mut kernels = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap() {
        let children = std::fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        kernels.extend(children.split_whitespace().map(str::to_owned));
    }
    kernels
}

/// A child may have as many files open as its key says.
#[cfg(target_os = "linux")]
#[test]
fn open_files_of_a_child_are_limited_by_their_key() {
    let folder = Folder::new();
    sound(&folder, 40);
    folder.write("c.toml", CONFIG);
    let keys = ["limits.starts_per_second=20", "limits.threads=1", "run.isolation=process"];
    let mut program = folder.program();
    program.args(["run", "c.toml", "--quiet", "--set", "limits.process_open_files=23"]);
    program.args(keys.iter().flat_map(|key| ["--set", key])).stdout(Stdio::null());
    let mut child = program.spawn().unwrap();
    // Whoever has converted a drawing has its limits.
    wait_for_a_line(&folder);
    let kernels = kernels_of(&child);
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", kernels[0])).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    assert_eq!(files.split_whitespace().nth(3), Some("23"), "{files}");
}

/// R132, R169: a child that dies costs one drawing; it is named, another child goes on, and the books balance.
#[cfg(target_os = "linux")]
#[test]
fn a_child_that_dies_costs_one_drawing() {
    let folder = Folder::new();
    sound(&folder, 40);
    folder.write("c.toml", CONFIG);
    let set = ["--set", "limits.starts_per_second=20", "--set", "limits.threads=1", "--set", "run.isolation=process"];
    let child = folder
        .program()
        .args(["run", "c.toml", "--json"])
        .args(set)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_a_line(&folder);
    let kernels = kernels_of(&child);
    assert_eq!(kernels.len(), 1, "one thread, one child");
    assert!(std::process::Command::new("kill").args(["-s", "ABRT", &kernels[0]]).status().unwrap().success());
    let ended = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    let summary = &summary["summary"];
    assert_eq!(summary["by_kind"], serde_json::json!({ "crashed": 1 }), "{summary}");
    assert_eq!(summary["extracted"], 39);
    assert_eq!(folder.run(["audit", "verify", "out"]).code, 0);
}

/// R2, R36, R161: request and deadline stand in every line and in the report, which says who waited for whom.
#[test]
fn request_deadline_and_verdict_are_reported() {
    let folder = Folder::new();
    sound(&folder, 12);
    let set = ["--set", "run.request_id=REQ-77", "--set", "run.deadline=2020-01-01T00:00:00Z"];
    let ended = run(&folder, &set);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    for line in ledger(&folder) {
        assert_eq!(line["request_id"], "REQ-77");
    }
    let report: Value = serde_json::from_str(&folder.read("out/_plan2geo/latest/report.json")).unwrap();
    assert_eq!(report["deadline"]["met"], false);
    assert!(report["summary"]["verdict"].is_string());
    assert_eq!(
        report["summary"]["extracted"].as_u64().unwrap() + report["summary"]["dead_letters"].as_u64().unwrap(),
        12
    );
}

/// Case B66: a package with one top folder is read like any folder; `__MACOSX` and hidden files are left out.
#[test]
fn a_package_is_a_folder_of_drawings() {
    let folder = Folder::new();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases/66_top_folder.zip");
    folder.write("plans/package.zip", std::fs::read(case).unwrap());
    let ended = run(&folder, &["--json"]);
    assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
    let summary: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(summary["summary"]["extracted"], 1);
    assert!(summary["skipped"]["left_out"]["__MACOSX folders"].as_u64().unwrap() > 0, "{}", summary["skipped"]);
    let outputs = outputs(&folder);
    let (name, _) = outputs.iter().next().unwrap();
    assert!(name.starts_with("package.zip!/"), "{name}");
}

/// Units stated by glob and references to other drawings reach the conversion, in a thread and in a child process alike.
#[cfg(unix)]
#[test]
fn units_and_references_of_the_configuration_reach_the_conversion() {
    use crate::support::dxf;
    let reference = "  0\nSECTION\n  2\nBLOCKS\n  0\nBLOCK\n  2\nbase\n 70\n4\n 10\n0\n 20\n0\n  3\nbase\n  1\nC:\\x\\BASE.dxf\n  0\nENDBLK\n  0\nENDSEC\n";
    let insert = dxf(&[(0, "INSERT"), (8, "0"), (2, "base"), (10, "1"), (20, "0")]);
    let host =
        insert.replacen("  0\nSECTION\n  2\nENTITIES\n", &format!("{reference}  0\nSECTION\n  2\nENTITIES\n"), 1);
    for isolation in ["thread", "process"] {
        let folder = Folder::new();
        folder.write("plans/A/L02.dxf", &host);
        folder.write("plans/xref/base.dxf", dxf_rectangle(4.0, 3.0));
        let isolation = format!("run.isolation={isolation}");
        let set = [
            "--set",
            "source.external_references=['xref']",
            "--set",
            "source.units={'xref/*'='mm'}",
            "--set",
            &isolation,
        ];
        let ended = run(&folder, &set);
        assert_eq!(ended.code, 0, "{}\n{}", ended.stdout, ended.stderr);
        let outputs = outputs(&folder);
        let with_reference: Value = serde_json::from_slice(&outputs["A/L02.dxf.geojson"]).unwrap();
        assert_eq!(with_reference["bbox"], serde_json::json!([1, 0, 5, 3]), "{}", with_reference["metadata"]["issues"]);
        let base: Value = serde_json::from_slice(&outputs["xref/base.dxf.geojson"]).unwrap();
        assert_eq!(base["metadata"]["units"]["metres_per_unit"], 0.001);
    }
}
