//! The invariants of `docs/architecture.md` that can be read off the source.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below `place` (a folder or a file), with its text up to its inline tests.
fn sources(place: &str) -> Vec<(String, String)> {
    let mut stack = vec![root().join(place)];
    let mut found = Vec::new();
    while let Some(path) = stack.pop() {
        if path.is_dir() {
            stack.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test_file(&path) {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            found.push((path.strip_prefix(root()).unwrap().display().to_string(), code.join("\n")));
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{place} has no sources");
    found
}

fn is_test_file(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == "tests" || stem.to_string_lossy().ends_with("_tests"))
}

fn assert_absent(places: &[&str], words: &[&str], reason: &str) {
    for place in places {
        for (file, code) in sources(place) {
            for word in words {
                assert!(!code.contains(word), "{file} names `{word}`: {reason}");
            }
        }
    }
}

// R147: where work runs is decided by what may do I/O.
#[test]
fn a_kernel_does_no_io() {
    assert_absent(
        &["src/kernel.rs", "src/format", "src/drawing", "src/plan", "src/place", "src/output"],
        &["std::fs", "std::net", "std::process", "tokio::"],
        "kernels do no I/O except through what they are handed",
    );
}

#[test]
fn the_engine_knows_no_drawings() {
    let manifest = fs::read_to_string(root().join("actors/Cargo.toml")).unwrap();
    for name in ["geo", "kurbo", "rstar", "quick-xml", "svgtypes", "hayro", "cadkit", "dxf", "geojson", "plan2geo."] {
        let named = manifest.lines().any(|line| line.starts_with(name));
        assert!(!named, "the engine depends on `{name}`");
    }
    assert_absent(
        &["actors/src"],
        &["geojson", "FeatureCollection", "\"dxf\"", "\"svg\"", "\"dwg\""],
        "the engine knows units, bytes and outcomes only",
    );
}

#[test]
fn only_format_knows_formats() {
    assert_absent(
        &["src/drawing", "src/plan", "src/place", "src/output", "src/kernel.rs"],
        &["quick_xml", "svgtypes", "simplecss", "hayro_interpret", "hayro_syntax", "cadkit_", "encoding_rs"],
        "formats end at the Drawing",
    );
}

#[test]
fn dependencies_point_one_way() {
    let core = ["src/format", "src/drawing", "src/plan", "src/place", "src/output"];
    assert_absent(
        &core,
        &["crate::cli", "crate::config", "crate::run", "crate::source", "crate::sink"],
        "the core knows no command line",
    );
    assert_absent(&["src/format"], &["crate::plan", "crate::place", "crate::output"], "a reader ends at the Drawing");
    assert_absent(&["src/drawing"], &["crate::plan", "crate::place", "crate::output"], "a drawing knows no plan");
    assert_absent(&["src/plan", "src/place"], &["crate::output"], "a plan knows no output");
}

#[test]
fn every_module_says_what_it_is_for() {
    for place in ["src", "actors/src", "tests", "benches"] {
        let mut stack = vec![root().join(place)];
        while let Some(path) = stack.pop() {
            if path.is_dir() {
                stack.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test_file(&path) {
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.starts_with("//!"), "{} does not open with what it is for", path.display());
            }
        }
    }
}

/// Tests are built with the features dev-dependencies ask for, the program is not: what only tests have must be asked for.
#[test]
fn patterns_may_name_classes_of_characters_in_the_program_too() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let regex = manifest.lines().find(|line| line.starts_with("regex = ")).unwrap();
    assert!(regex.contains("\"unicode\""), "without it no floor is told from a name: {regex}");
}
