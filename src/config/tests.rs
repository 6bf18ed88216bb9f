//! What the configuration says to people who write it.

use super::check::Machine;
use super::machine::MemoryLimit;
use super::*;

fn document(text: &str) -> Document {
    Document { name: "plan2geo.toml".to_owned(), text: text.into(), folder: "/etc/plan2geo".into() }
}

fn machine(cores: u32, memory: u64) -> Machine {
    Machine { cores, memory: Some(MemoryLimit { bytes: memory, from: "cgroup" }) }
}

fn load(text: &str) -> Result<Config, ConfigErrors> {
    Config::on_machine(vec![document(text)], &machine(4, 8 << 30))
}

fn errors(text: &str) -> Vec<(String, Option<usize>)> {
    load(text).unwrap_err().0.into_iter().map(|error| (error.message.clone(), error.line())).collect()
}

#[test]
fn the_smallest_configuration_is_enough() {
    let config = load("[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n").unwrap();
    assert_eq!(config.source.location.unwrap().to_string(), "/etc/plan2geo/plans");
    assert_eq!(config.output.unwrap().to_string(), "/etc/plan2geo/out");
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
}

/// R137, R138, R158: queue 2 × slots; R139: threads by cores and memory.
#[test]
fn defaults_follow_from_the_machine() {
    let config = load("").unwrap();
    assert_eq!((config.limits.threads, config.limits.slots, config.limits.queue), (4, 8, 16));
    let text = "[limits]\nmemory_budget = \"2GB\"\nmemory_per_drawing = \"700MB\"\n";
    assert_eq!(load(text).unwrap().limits.threads, 2);
    let tiny = Config::on_machine(vec![document("")], &machine(4, 128 << 20)).unwrap();
    assert_eq!(tiny.limits.threads, 1);
}

/// R82, R83: limits are positive integers, and a boolean is none.
#[test]
fn limits_that_are_no_positive_integers_are_refused_with_path_and_line() {
    for (value, got) in [("true", "true"), ("2.5", "2.5"), ("\"2\"", "\"2\""), ("0", "0"), ("-1", "-1")] {
        assert_eq!(
            errors(&format!("[limits]\nslots = {value}\n")),
            [(format!("limits.slots must be a positive integer, got {got}"), Some(2))]
        );
    }
    assert_eq!(errors("[limits]\nqueue = 0\n").len(), 1);
    assert_eq!(errors("[limits]\nslots = 99999999999\n").len(), 1);
}

#[test]
fn all_errors_come_at_once_in_the_order_of_the_text() {
    let text = "[limits]\nslosts = 3\nqueue = true\nunit_deadline = \"soon\"\nentities = 0\n\n[run]\non_error = \"isolat\"\n\n[levls]\n";
    let found = load(text).unwrap_err();
    let shown: Vec<_> = found
        .0
        .iter()
        .map(|error| (error.path.as_str(), error.line().unwrap_or(0), error.remedy.clone().unwrap_or_default()))
        .collect();
    assert_eq!(
        shown,
        [
            ("limits.slosts", 2, "did you mean `limits.slots`?".to_owned()),
            ("limits.queue", 3, "for example queue = 8".to_owned()),
            ("limits.unit_deadline", 4, String::new()),
            ("run.on_error", 8, "did you mean \"isolate\"?".to_owned()),
            ("levls", 10, "did you mean `levels`?".to_owned()),
        ],
        "{found}"
    );
    assert!(found.0[2].message.contains("a time such as \"30s\""));
    assert!(found.0[3].message.contains("one of \"isolate\", \"fail_fast\", got \"isolat\""), "{}", found.0[3].message);
}

#[test]
fn what_a_schema_cannot_say_is_found_as_well_and_at_once() {
    let text = r#"
[run]
deadline = "tomorrow"
[source]
location = "plans"
include = ["**/*.dxf", "a{"]
[output]
location = "plans"
[limits]
slots = 8
[retry]
first_wait = "1m"
[[levels.rules]]
pattern = "("
[curves]
chord_error_m = -1.0
"#;
    let found = load(text).unwrap_err();
    let paths: Vec<_> = found.0.iter().map(|error| (error.path.as_str(), error.line())).collect();
    assert_eq!(
        paths,
        [
            ("output.location", Some(8)),
            ("source.include[1]", Some(6)),
            ("run.deadline", Some(3)),
            ("levels.rules[0].pattern", Some(14)),
            ("curves.chord_error_m", Some(16)),
            ("retry.longest_wait", None),
        ],
        "{found}"
    );
}

#[test]
fn a_key_in_the_wrong_section_is_shown_its_place() {
    let found = load("[run]\nslots = 3\n").unwrap_err();
    assert_eq!(found.0[0].remedy.as_deref(), Some("did you mean `limits.slots`?"));
}

#[test]
fn broken_toml_is_an_error_with_its_line() {
    let found = load("[limits]\nslots = = 3\n").unwrap_err();
    assert_eq!(found.0[0].line(), Some(2));
    assert!(found.0[0].message.starts_with("not valid TOML"));
}

#[test]
fn errors_are_shown_with_line_and_caret() {
    let shown = load("[limits]\nslots = true\n").unwrap_err().render(false);
    assert!(shown.contains("limits.slots must be a positive integer, got true"), "{shown}");
    assert!(shown.contains("plan2geo.toml:2:9"), "{shown}");
    assert!(shown.contains("slots = true"), "{shown}");
    assert!(shown.contains("──"), "{shown}");
    assert!(shown.contains("1 error in the configuration"), "{shown}");
}

/// R137, R159, R160.
#[test]
fn a_queue_out_of_proportion_is_warned_of() {
    let warnings = |text: &str| -> Vec<String> {
        load(text).unwrap().warnings.into_iter().map(|warning| warning.message).collect()
    };
    assert_eq!(
        warnings("[limits]\nslots = 8\nqueue = 7\n"),
        ["limits.queue (7) is below limits.slots (8): slots starve when listing is slow"]
    );
    assert_eq!(
        warnings("[limits]\nslots = 8\nqueue = 65\n"),
        ["limits.queue (65) is above 8 × limits.slots (8): it hides backpressure and adds no speed"]
    );
    assert_eq!(warnings("[limits]\nslots = 8\nqueue = 64\n"), Vec::<String>::new());
}

/// R48, R139, R143: the sum of all limits against the budget, the budget against the container.
#[test]
fn memory_that_is_not_there_is_warned_of() {
    let config = load("[limits]\nthreads = 64\nslots = 64\n").unwrap();
    assert_eq!(config.memory_sum().conversion, 64 * (256 << 20));
    assert!(config.warnings[0].message.contains("add up to"), "{:?}", config.warnings);
    let config = load("[limits]\nmemory_budget = \"16GiB\"\n").unwrap();
    assert!(config.warnings[0].message.contains("exceeds what the cgroup grants"), "{:?}", config.warnings);
}

/// R139: what becomes of a drawing does not hang on how many are converted at once, and the defaults fit into small containers.
#[test]
fn a_drawing_may_take_the_same_whatever_the_number_of_threads() {
    let of = |text: &str, memory: u64| Config::on_machine(vec![document(text)], &machine(8, memory)).unwrap();
    for memory in [512 << 20, 1 << 30, 8 << 30, 64 << 30] {
        let config = of("", memory);
        assert!(config.warnings.is_empty(), "{memory}: {:?}", config.warnings);
        for threads in [1, 2, 8] {
            let other = of(&format!("[limits]\nthreads = {threads}\n"), memory);
            assert_eq!(other.limits.memory_per_drawing, config.limits.memory_per_drawing);
        }
    }
    assert_eq!(of("", 8 << 30).limits.memory_per_drawing, 1 << 30);
}

#[test]
fn broken_patterns_of_plans_are_errors_of_the_configuration() {
    let text = "[plan.layers]\nwall = [\"A-WALL*\", \"4_[fr\"]\n[plan.titles]\nlegend = [\"{\"]\n";
    let found = errors(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].0.contains("plan.layers.wall[1] is no glob") && found[0].1 == Some(2), "{found:?}");
    assert!(found[1].0.contains("plan.titles.legend[0] is no glob"), "{found:?}");
}

/// R56, R150.
#[test]
fn more_slots_than_connections_are_refused_and_the_default_keeps_below() {
    let found = errors("[source]\nmax_connections = 4\n[limits]\nslots = 5\n");
    assert_eq!(found, [("limits.slots must not exceed source.max_connections (4), got 5".to_owned(), Some(4))]);
    assert_eq!(load("[source]\nmax_connections = 4\n").unwrap().limits.slots, 4);
}

/// R75: and the secret is not repeated, not even by the line that holds it.
#[test]
fn secrets_in_locations_are_refused_and_not_shown() {
    let found = load("[source]\nlocation = \"https://host/x?sig=hunter2\"\n").unwrap_err();
    assert!(!found.render(false).contains("hunter2"));
    assert!(found.0[0].message.contains("line 2"));
}

#[test]
fn overrides_win_and_have_their_own_place() {
    let file = document("[limits]\nslots = 2\nqueue = 9\n[source]\nlocation = \"plans\"\n");
    let set = |text: &str| override_document(text);
    let documents =
        vec![file.clone(), set("limits.slots=4"), set("run.on_error=fail_fast"), set("source.location=here")];
    let config = Config::on_machine(documents, &machine(4, 8 << 30)).unwrap();
    assert_eq!((config.limits.slots, config.limits.queue), (4, 9));
    assert_eq!(config.run.on_error, OnError::FailFast);
    assert_eq!(config.source.location.unwrap().to_string(), "here");
    let found = Config::on_machine(vec![file, set("limits.slots=many")], &machine(4, 8 << 30)).unwrap_err();
    assert!(found.render(false).contains("limits.slots must be a positive integer, got \"many\""), "{found}");
    let found = Config::on_machine(vec![set("nonsense")], &machine(4, 8 << 30)).unwrap_err();
    assert!(found.0[0].message.starts_with("not valid TOML"), "{found}");
}

#[test]
fn the_effective_configuration_reads_back_to_itself() {
    let config =
        load("[limits]\nslots = 3\n[source]\nlocation = \"/plans\"\n[[levels.rules]]\npattern = \"x\"\nordinal = 3\n")
            .unwrap();
    let text = config.effective_toml();
    let again = Config::on_machine(vec![document(&text)], &machine(1, 1 << 30)).unwrap();
    assert_eq!(again.effective, config.effective);
}

#[test]
fn the_file_with_all_keys_is_the_default() {
    let config = load(&all_keys()).unwrap();
    assert_eq!(config.effective, load("").unwrap().effective);
    let commented: String = all_keys()
        .lines()
        .map(|line| {
            line.strip_prefix("# ")
                .filter(|rest| {
                    rest.split_once(" = ")
                        .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
                })
                .unwrap_or(line)
                .to_owned()
                + "\n"
        })
        .collect();
    load(&commented).unwrap();
}

/// What only serde finds has its place as well.
#[test]
fn a_role_that_does_not_exist_is_an_error_with_its_line() {
    let found = load("[plan.layers]\nwal = [\"A-WALL*\"]\n").unwrap_err();
    assert!(found.0[0].message.contains("unknown variant `wal`"), "{found}");
    assert_eq!(found.0[0].line(), Some(2), "{found}");
}

// R2
#[test]
fn a_deadline_is_a_time_in_either_form() {
    for text in ["\"2026-12-31T17:00:00-05:00\"", "2026-12-31T17:00:00-05:00"] {
        let config = load(&format!("[run]\ndeadline = {text}\n")).unwrap();
        assert_eq!(config.run.deadline.unwrap().to_string(), "2026-12-31T22:00:00Z", "{text}");
    }
    assert_eq!(errors("[run]\ndeadline = 2026-12-31\n").len(), 1, "a date alone is no moment");
}

#[test]
fn units_are_stated_by_glob_and_the_longest_decides() {
    let text = "[source.units]\n\"**/*.dxf\" = \"mm\"\n\"A/old/**/*.dxf\" = 0.0254\n[read]\nmetres_per_unit = 2\n";
    let units = load(text).unwrap().convert_options().units.unwrap();
    assert_eq!([units("A/x.dxf"), units("A/old/x.dxf"), units("x.svg")], [Some(0.001), Some(0.0254), Some(2.0)]);
    assert!(load("").unwrap().convert_options().units.is_none());
    let found = load("[source.units]\n\"a{\" = \"mm\"\n\"b\" = \"furlong\"\n").unwrap_err();
    assert_eq!(found.0[0].line(), Some(3), "{found}");
    assert!(found.0[0].message.contains("must be a positive number or one of \"mm\", \"cm\""), "{found}");
    let found = load("[source.units]\n\"a{\" = \"mm\"\n").unwrap_err();
    assert_eq!(found.0[0].line(), Some(2), "{found}");
}
