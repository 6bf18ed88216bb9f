//! The commands one by one: help, arguments, exit codes, pipes.

use std::process::Stdio;

use serde_json::Value;

use crate::support::{Folder, Outcome, dxf, dxf_rectangle, svg_rectangle};

/// Every command and subcommand, as the help lists them.
fn commands() -> Vec<Vec<String>> {
    fn below(folder: &Folder, path: Vec<String>, into: &mut Vec<Vec<String>>) {
        let help = folder.run(path.iter().map(String::as_str).chain(["--help"]));
        assert_eq!(help.code, 0, "{path:?}: {}", help.stderr);
        let listed = help.stdout.split("Commands:\n").nth(1).unwrap_or_default();
        let names = listed.lines().take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
        for name in names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
            let mut path = path.clone();
            path.push(name.to_owned());
            below(folder, path, into);
        }
        into.push(path);
    }
    let mut all = Vec::new();
    below(&Folder::new(), Vec::new(), &mut all);
    all
}

#[test]
fn every_command_has_help_and_those_that_take_files_have_examples() {
    let folder = Folder::new();
    let all = commands();
    for expected in ["run", "convert", "inspect", "config check", "audit verify", "dead replay"] {
        assert!(all.iter().any(|path| path.join(" ") == expected), "{expected} is not in {all:?}");
    }
    for path in all {
        let help = folder.run(path.iter().map(String::as_str).chain(["--help"])).stdout;
        let is_leaf = !help.contains("Commands:\n");
        let takes_files = help.lines().any(|line| line.starts_with("Arguments:"));
        assert!(!(is_leaf && takes_files) || help.contains("Examples:"), "{path:?} has no examples\n{help}");
    }
}

#[test]
fn wrong_arguments_end_with_two_and_say_what_is_right() {
    let folder = Folder::new();
    for arguments in [&["rnu"][..], &["run"], &["run", "c.toml", "--sett", "x"], &["convert", "x.dxf"], &[]] {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}");
        assert!(!ended.stderr.is_empty());
    }
    assert!(folder.run(["inspcet"]).stderr.contains("inspect"));
    assert_eq!(folder.run(["--version"]).code, 0);
    assert_eq!(folder.run(["--log", "=,=", "config", "show"]).code, 2);
}

#[test]
fn convert_writes_a_whole_file_or_none() {
    let folder = Folder::new();
    folder.write("A/L02.dxf", dxf_rectangle(4.0, 3.0));
    let ended = folder.run(["convert", "A/L02.dxf", "-o", "out.geojson"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let output: Value = serde_json::from_str(&folder.read("out.geojson")).unwrap();
    assert_eq!(output["type"], "FeatureCollection");
    assert_eq!(output["metadata"]["source"], "A/L02.dxf");
    assert_eq!(output["metadata"]["floor_level"], 2);
    assert_eq!(output["metadata"]["level_name"], "L02");

    folder.write("bad.dxf", "no drawing");
    let ended = folder.run(["convert", "bad.dxf", "-o", "bad.geojson"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("cannot convert bad.dxf") && ended.stderr.contains("help:"), "{}", ended.stderr);
    assert!(!folder.join("bad.geojson").try_exists().unwrap());

    let ended = folder.run(["convert", "A/L02.dxf", "-o", "A/../A/L02.dxf"]);
    assert_eq!(ended.code, 2, "a drawing is never overwritten: {}", ended.stderr);
    assert_eq!(folder.read("A/L02.dxf"), dxf_rectangle(4.0, 3.0));

    let ended = folder.run(["convert", "nowhere.dxf", "-o", "x.geojson"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("cannot read nowhere.dxf"), "{}", ended.stderr);
    let ended = folder.run(["convert", "A/L02.dxf", "-o", "no/where/x.geojson"]);
    assert_eq!(ended.code, 1);
    assert!(ended.stderr.contains("cannot write no/where/x.geojson"), "{}", ended.stderr);
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "nothing temporary is left: {names:?}");
}

/// R135: large outputs grow in a nameless file in their folder. The bytes are those of an output kept in memory, and nothing is left.
#[test]
fn large_outputs_are_the_same_wherever_they_grow() {
    let folder = Folder::new();
    let lines: String = (1..=9_000).map(|n| format!("<path id='p{n}' d='M{n} 0L{n} {n}' stroke='#000'/>")).collect();
    folder.write("A/a.svg", format!("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9000 9000'>{lines}</svg>"));
    let (mut bytes, plain) = (Vec::new(), "plan.enabled=false");
    for memory in ["limits.output_memory=1KiB", "limits.output_memory=1MiB", "limits.output_memory=64MiB"] {
        let ended = folder.run(["convert", "A/a.svg", "-o", "out.geojson", "--set", memory, "--set", plain]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        bytes.push(folder.read("out.geojson"));
        let ended = folder.run(["convert", "A/a.svg", "-o", "-", "--set", memory, "--set", plain]);
        bytes.push(ended.stdout);
    }
    assert!(bytes[0].len() > 1 << 20 && bytes.iter().all(|other| *other == bytes[0]));
    assert_eq!(bytes[0].lines().next().map(str::len), Some((32 << 10) - 1));
    let output: Value = serde_json::from_str(&bytes[0]).unwrap();
    assert_eq!(output["features"].as_array().map(Vec::len), Some(9_000));

    folder.write(
        "b.toml",
        "[source]\nlocation = 'A'\n[output]\nlocation = 'out'\n[limits]\nmemory_per_drawing = '256MiB'\n",
    );
    for isolation in ["run.isolation=thread", "run.isolation=process"] {
        let ended = folder.run(["run", "b.toml", "-q", "--set", isolation, "--set", plain]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let output: Value = serde_json::from_str(&folder.read("out/a.svg.geojson")).unwrap();
        assert_eq!(output["features"].as_array().map(Vec::len), Some(9_000));
        std::fs::remove_dir_all(folder.join("out")).unwrap();
    }
    let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "nothing temporary is left: {names:?}");
}

#[test]
fn convert_reads_and_writes_pipes() {
    let folder = Folder::new();
    folder.write("a.svg", svg_rectangle(100.0, 50.0));
    let from_file = folder.run(["convert", "a.svg", "-o", "-"]);
    assert_eq!(from_file.code, 0, "{}", from_file.stderr);
    let output: Value = serde_json::from_str(&from_file.stdout).unwrap();
    assert_eq!(output["metadata"]["source_format"], "svg");
    let mut child = folder
        .program()
        .args(["convert", "-", "-o", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), svg_rectangle(100.0, 50.0).as_bytes()).unwrap();
    let piped = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(piped.code, 0, "{}", piped.stderr);
    let facts: Value = serde_json::from_str(&piped.stderr).unwrap();
    assert_eq!(facts["format"], "svg");
    assert_eq!(facts["topology_hash"], output["metadata"]["topology_hash"]);
}

/// A reader that goes away, such as `head`, is no reason to panic.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::new();
    let script = format!("{} config keys | true", env!("CARGO_BIN_EXE_plan2geo"));
    let output = std::process::Command::new("sh").arg("-c").arg(script).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn keys_are_set_on_convert() {
    let folder = Folder::new();
    folder.write("a.dxf", dxf_rectangle(4.0, 3.0));
    let ended = folder.run(["convert", "a.dxf", "-o", "-", "--set", "read.metres_per_unit=0.001"]);
    let output: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(output["metadata"]["units"]["metres_per_unit"], 0.001);
    let ended = folder.run(["convert", "a.dxf", "-o", "-", "--set", "read.metres_per_unit=-1"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("read.metres_per_unit must be a positive number, got -1"), "{}", ended.stderr);
}

/// Two rooms with a gap and nothing in it between them are two as long as the key lets a bare gap be so wide.
#[test]
fn bare_gaps_are_closed_up_to_their_key() {
    let folder = Folder::new();
    // Walls of 0.2 m; that between the rooms has a gap around its middle.
    let plan = |gap: f64| {
        let (low, high) = (2.2 - gap / 2.0, 2.2 + gap / 2.0);
        let mut walls = vec![[0.0, 0.0, 8.4, 0.0], [8.4, 0.0, 8.4, 4.4], [8.4, 4.4, 0.0, 4.4], [0.0, 4.4, 0.0, 0.0]];
        for (inner, outer) in [(4.1, 0.2), (4.3, 8.2)] {
            walls.extend([[outer, 0.2, outer, 4.2], [outer, 0.2, inner, 0.2], [outer, 4.2, inner, 4.2]]);
            walls.extend([[inner, 0.2, inner, low], [inner, high, inner, 4.2]]);
        }
        walls.extend([[4.1, low, 4.3, low], [4.1, high, 4.3, high]]);
        let ends: Vec<[String; 4]> = walls.iter().map(|wall| wall.map(|number| number.to_string())).collect();
        let line = |ends: &'_ [String; 4]| -> [(i32, String); 6] {
            let [x0, y0, x1, y1] = ends.clone();
            [(0, "LINE".into()), (8, "A-WALL".into()), (10, x0), (20, y0), (11, x1), (21, y1)]
        };
        let groups: Vec<(i32, String)> = ends.iter().flat_map(line).collect();
        dxf(&groups.iter().map(|(code, value)| (*code, value.as_str())).collect::<Vec<_>>())
    };
    let rooms = |gap: f64, key: &str| {
        folder.write("a.dxf", plan(gap));
        let set = format!("plan.max_bare_gap_m={key}");
        let ended = folder.run(["convert", "a.dxf", "-o", "a.geojson", "--json", "--set", &set]);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()["rooms"].as_u64().unwrap()
    };
    for (gap, key, expected) in [(0.9, "2.5", 2), (0.9, "0.8", 1), (0.9, "0", 1), (2.8, "2.5", 1), (2.8, "3.0", 2)] {
        assert_eq!(rooms(gap, key), expected, "a gap of {gap} m with {key}");
    }
}

/// What the keys of crossings bound is named with their number.
#[test]
fn crossings_are_bounded_by_their_keys() {
    let folder = Folder::new();
    let walls: String =
        (1..6).map(|n| format!("<path class='wall' stroke='#000' d='M{n}0 0V60M0 {n}0H60'/>")).collect();
    let star = "<polygon points='80,5 95,55 60,22 100,22 65,55'/>";
    folder.write("a.svg", format!("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 100 60'>{walls}{star}</svg>"));
    let named = |code: &str, more: &[&str]| {
        let ended = folder.run(["convert", "a.svg", "-o", "-"].iter().chain(more));
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let output: Value = serde_json::from_str(&ended.stdout).unwrap();
        output["metadata"]["issues"].to_string().contains(code)
    };
    for (code, key) in [("OUT007", "limits.crossings=1"), ("PLN008", "plan.max_crossings=1")] {
        assert!(!named(code, &[]), "{code}");
        assert!(named(code, &["--set", key]), "{code}");
    }
}

#[test]
fn inspect_shows_layers_entities_units_and_extent() {
    let folder = Folder::new();
    let text = dxf(&[
        (0, "LINE"),
        (8, "A-WALL"),
        (10, "0"),
        (20, "0"),
        (11, "5"),
        (21, "2"),
        (0, "CIRCLE"),
        (8, "A-COLS"),
        (10, "1"),
        (20, "1"),
        (40, "0.5"),
        (0, "OLE2FRAME"),
        (8, "0"),
    ]);
    folder.write("L02.dxf", text);
    let shown = folder.run(["inspect", "L02.dxf"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for part in ["DXF, version AC1015", "level 2 (L02)", "1 m a unit", "5.00 × 2.00 m", "A-WALL", "CIRCLE", "OLE2FRAME"]
    {
        assert!(shown.stdout.contains(part), "{part}\n{}", shown.stdout);
    }
    let as_json = folder.run(["inspect", "--json", "L02.dxf", "nowhere.dxf"]);
    assert_eq!(as_json.code, 1);
    let found: Value = serde_json::from_str(&as_json.stdout).unwrap();
    assert_eq!(found[0]["entities"]["LINE"], 1);
    assert_eq!(found[0]["unsupported"]["OLE2FRAME"], 1);
    let roles = |found: &Value| -> Vec<String> {
        let layers = found[0]["layers"].as_array().unwrap();
        layers.iter().map(|layer| format!("{} {} {}", layer["name"], layer["role"], layer["role_from"])).collect()
    };
    let by_names = roles(&found);
    for role in [r#""A-WALL" "wall" "name""#, r#""A-COLS" "column" "name""#, r#""0" "unknown" "none""#] {
        assert!(by_names.iter().any(|layer| layer == role), "{by_names:?}");
    }
    // The configuration wins, and what it says is shown.
    folder.write("c.toml", "[plan.layers]\ndoor = [\"A-C*\"]\n");
    let told = folder.run(["inspect", "L02.dxf", "--config", "c.toml"]).stdout;
    let row = told.lines().find(|line| line.contains("A-COLS")).unwrap();
    assert!(row.contains("door (`A-C*` in `plan.layers`)"), "{row}");
    let told = folder.run(["inspect", "--json", "L02.dxf", "--config", "c.toml", "--set", "plan.names=false"]).stdout;
    let by_config = roles(&serde_json::from_str(&told).unwrap());
    for role in [r#""A-WALL" "unknown" "none""#, r#""A-COLS" "door" "config""#] {
        assert!(by_config.iter().any(|layer| layer == role), "{by_config:?}");
    }
    assert_eq!(found[0]["extent"], serde_json::json!([0.0, 0.0, 5.0, 2.0]));
    assert!(found[1]["error"].as_str().unwrap().contains("No such file"));
}

#[test]
fn books_that_are_not_there_are_told() {
    let folder = Folder::new();
    for arguments in [&["audit", "verify", "."][..], &["audit", "show", "nowhere"], &["dead", "list", "."]] {
        let ended = folder.run(arguments);
        assert_eq!(ended.code, 2, "{arguments:?}");
        assert!(ended.stderr.contains("run in"), "{}", ended.stderr);
    }
}

/// R12, R59: a changed line of the ledger is found and named.
#[test]
fn audit_names_what_was_changed() {
    let folder = Folder::new();
    folder.write("plans/a.dxf", dxf_rectangle(4.0, 3.0));
    folder.write("plans/b.dxf", dxf_rectangle(5.0, 3.0));
    folder.write("c.toml", "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n");
    assert_eq!(folder.run(["run", "c.toml"]).code, 0);
    assert_eq!(folder.run(["audit", "verify", "out", "--outputs", "out"]).code, 0);
    folder.write("out/a.dxf.geojson", "{}");
    let ended = folder.run(["audit", "verify", "out", "--outputs", "out"]);
    assert_eq!(ended.code, 4);
    assert!(ended.stdout.contains("a.dxf.geojson is not what was stored"), "{}", ended.stdout);
    let ledger = folder.read("out/_plan2geo/latest/ledger.jsonl");
    folder.write("out/_plan2geo/latest/ledger.jsonl", ledger.replacen("EXTRACTED", "EXTRACTEd", 1));
    let ended = folder.run(["audit", "verify", "out"]);
    assert_eq!(ended.code, 4, "{}", ended.stdout);
    assert!(ended.stdout.contains("(line 1)") && ended.stdout.contains("NOT SOUND"), "{}", ended.stdout);
    let as_json = folder.run(["audit", "verify", "out", "--json"]);
    let found: Value = serde_json::from_str(&as_json.stdout).unwrap();
    assert_eq!(found["sound"], false);
}

/// A finished batch of two drawings and a broken one, its ledger signed by a fresh key; and the public key.
fn signed_batch() -> (Folder, String, String) {
    let folder = Folder::new();
    let made = folder.run(["audit", "keygen", "records-office"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let secret = made.stdout.trim().to_owned();
    let public = made.stderr.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert!(!public.contains("PRIVATE"));
    folder.write("plans/a.dxf", dxf_rectangle(4.0, 3.0));
    folder.write("plans/b.dxf", dxf_rectangle(5.0, 3.0));
    folder.write("plans/broken.dxf", "no drawing");
    folder.write(
        "c.toml",
        "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n[audit]\ncheckpoints_also = \"elsewhere.notes\"\n",
    );
    let ended = folder.program().args(["run", "c.toml"]).env("PLAN2GEO_SIGNING_KEY", &secret).output().unwrap();
    assert_eq!(Outcome::from(ended).code, 3);
    (folder, secret, public)
}

/// R12, R59: checkpoints kept elsewhere show that a ledger was cut; R74: the key stands in no file of the run.
#[test]
fn signed_checkpoints_hold_and_find_a_cut() {
    let (folder, secret, public) = signed_batch();
    let verify = ["audit", "verify", "out", "--checkpoints", "elsewhere.notes", "--key", &public];
    let good = folder.run(verify);
    assert_eq!(good.code, 0, "{}{}", good.stdout, good.stderr);
    assert!(good.stdout.contains("over 3 of 3 lines"), "{}", good.stdout);
    for entry in walkdir::WalkDir::new(folder.join("out")).into_iter().map(Result::unwrap) {
        if entry.file_type().is_file() {
            assert!(!String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(&secret));
        }
    }
    let ledger = folder.read("out/_plan2geo/latest/ledger.jsonl");
    let shorter: String = ledger.split_inclusive('\n').take(2).collect();
    folder.write("out/_plan2geo/latest/ledger.jsonl", shorter);
    let cut = folder.run(verify);
    assert_eq!(cut.code, 4);
    assert!(cut.stdout.contains("it has 2 lines and checkpoint"), "{}", cut.stdout);
}

#[test]
fn one_outcome_is_proved_without_the_ledger() {
    let (folder, secret, public) = signed_batch();
    let proof = folder.program().args(["audit", "prove", "out", "a.dxf"]).env("PLAN2GEO_SIGNING_KEY", &secret).output();
    let proof = Outcome::from(proof.unwrap());
    assert_eq!(proof.code, 0, "{}", proof.stderr);
    folder.write("proof.json", &proof.stdout);
    let good = folder.run(["audit", "check", "proof.json", "--key", &public]);
    assert_eq!(good.code, 0, "{}", good.stderr);
    assert!(good.stdout.contains("\"doc_id\":\"a.dxf\""), "{}", good.stdout);
    folder.write("proof.json", proof.stdout.replace("a.dxf", "b.dxf"));
    assert_eq!(folder.run(["audit", "check", "proof.json", "--key", &public]).code, 4);
    let without = folder.run(["audit", "prove", "out", "a.dxf"]);
    assert_eq!(without.code, 2);
    assert!(without.stderr.contains("PLAN2GEO_SIGNING_KEY is not set"), "{}", without.stderr);
}

/// R60: only a run that balances is certified, with every gap named.
#[test]
fn a_complete_run_is_certified_and_an_incomplete_one_is_not() {
    let (folder, secret, public) = signed_batch();
    let certify = || {
        let ended = folder.program().args(["certify", "out", "-o", "c"]).env("PLAN2GEO_SIGNING_KEY", &secret).output();
        Outcome::from(ended.unwrap())
    };
    let made = certify();
    assert_eq!(made.code, 0, "{}", made.stderr);
    let page = folder.read("c.html");
    assert!(page.contains("broken.dxf") && page.contains("malformed") && page.contains("records-office"));
    let check = ["certify", "c.json", "--check", "--key", &public];
    assert_eq!(folder.run(check).code, 0);
    folder.write("c.json", folder.read("c.json").replace("\"extracted\": 2", "\"extracted\": 3"));
    let forged = folder.run(check);
    assert_eq!(forged.code, 4);
    assert!(forged.stdout.contains("not the one that was signed"), "{}", forged.stdout);

    let run = std::fs::canonicalize(folder.join("out/_plan2geo/latest")).unwrap();
    let ledger = std::fs::read_to_string(run.join("ledger.jsonl")).unwrap();
    folder.write(run.join("ledger.jsonl"), ledger.split_inclusive('\n').take(2).collect::<String>());
    std::fs::remove_file(run.join("closed.json")).unwrap();
    let refused = certify();
    assert_eq!(refused.code, 4);
    assert!(refused.stderr.contains("unaccounted_pages:1"), "{}", refused.stderr);
}
