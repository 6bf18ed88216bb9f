//! Configurations as people meet them: through the program, with line and caret, and the files that are shipped.

use std::path::{Path, PathBuf};

use crate::support::Folder;

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(name)
}

/// Compares a shipped file with what the program prints; with `BLESS=1` writes it instead.
fn is_as_printed(name: &str, arguments: &[&str]) {
    let printed = Folder::new().run(arguments);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let path = shipped(name);
    if std::env::var_os("BLESS").is_some() {
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), printed.stdout.as_bytes()).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap();
    assert!(there == printed.stdout, "configs/{name} is stale: BLESS=1 cargo test --test main config");
}

#[test]
fn the_file_with_every_key_is_what_the_program_says() {
    is_as_printed("all-keys.toml", &["config", "keys"]);
}

#[test]
fn the_schema_is_what_the_program_says() {
    is_as_printed("schema.json", &["config", "schema"]);
}

/// R48, R55: every shipped configuration has an explicit, checked sum of its memory.
#[test]
fn shipped_configurations_have_no_errors_and_fit_the_schema() {
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(shipped("schema.json")).unwrap()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for name in ["minimal.toml", "samples.toml", "campus.toml", "strict.toml", "large-batch.toml", "all-keys.toml"] {
        let checked = Folder::new().run([Path::new("config"), Path::new("check"), &shipped(name)]);
        assert_eq!(checked.code, 0, "{name}: {}", checked.stderr);
        let table: toml::Table = std::fs::read_to_string(shipped(name)).unwrap().parse().unwrap();
        let value = serde_json::to_value(table).unwrap();
        let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

/// R82, R83, R91: with path, line, caret and remedy, all of them, exit 2, and nothing done.
#[test]
fn a_wrong_configuration_is_shown_with_lines_and_carets() {
    let folder = Folder::new();
    folder.write("plans/a.dxf", "x");
    folder.write(
        "c.toml",
        "[source]\nlocation = \"plans\"\n\n[output]\nlocation = \"out\"\n\n[limits]\nslots = true\nqeue = 4\n",
    );
    let run = folder.run(["run", "c.toml"]);
    assert_eq!(run.code, 2);
    for part in [
        "limits.slots must be a positive integer, got true",
        "c.toml:8:9",
        "slots = true",
        "unknown key `limits.qeue`",
        "did you mean `limits.queue`?",
        "2 errors in the configuration",
    ] {
        assert!(run.stderr.contains(part), "{part}\n{}", run.stderr);
    }
    assert!(!folder.join("out").try_exists().unwrap());
    assert_eq!(run.stdout, "");
    let as_json = folder.run(["config", "check", "c.toml", "--json"]);
    assert_eq!(as_json.code, 2);
    let found: serde_json::Value = serde_json::from_str(&as_json.stdout).unwrap();
    assert_eq!(found["errors"][0]["path"], "limits.slots");
    assert_eq!(found["errors"][1]["line"], 9);
}

#[test]
fn what_a_run_needs_and_what_is_not_there_are_errors_of_the_configuration() {
    let folder = Folder::new();
    folder.write("empty.toml", "");
    let run = folder.run(["run", "empty.toml"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("source.location is missing") && run.stderr.contains("output.location is missing"));

    let run = folder.run(["run", "nowhere.toml"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("cannot read the configuration nowhere.toml"), "{}", run.stderr);

    folder.write("c.toml", "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n");
    let run = folder.run(["run", "c.toml"]);
    assert_eq!(run.code, 2);
    for part in ["source.location cannot be read", "plans", "c.toml:2:12", "check the path"] {
        assert!(run.stderr.contains(part), "{part}\n{}", run.stderr);
    }
    assert!(!folder.join("out").try_exists().unwrap(), "nothing is made for a run that cannot begin");
}

/// R33, R130, R137, R158, R159, R160.
#[test]
fn defaults_and_warnings_are_shown() {
    let folder = Folder::new();
    let shown = folder.run(["config", "show", "--set", "limits.slots=5"]);
    assert!(shown.stdout.contains("slots = 5\n") && shown.stdout.contains("queue = 10\n"), "{}", shown.stdout);
    folder.write("c.toml", "[limits]\nslots = 4\nqueue = 10000\n");
    let checked = folder.run(["config", "check", "c.toml"]);
    assert_eq!(checked.code, 0);
    assert!(checked.stderr.contains("above 8 × limits.slots"), "{}", checked.stderr);
    assert!(checked.stdout.contains("no errors, 1 warning"), "{}", checked.stdout);
    assert_eq!(folder.run(["config", "check", "c.toml", "--deny-warnings"]).code, 2);
}

/// R74, R75: a secret in a location is refused and stands in no message.
#[test]
fn a_secret_in_a_location_is_refused_and_not_repeated() {
    let folder = Folder::new();
    folder.write("c.toml", "[source]\nlocation = \"https://user:hunter2@host/plans\"\n[output]\nlocation = \"out\"\n");
    let run = folder.run(["run", "c.toml"]);
    assert_eq!(run.code, 2);
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    assert!(run.stderr.contains("must not hold credentials"), "{}", run.stderr);
}
