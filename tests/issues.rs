//! `docs/issues.md` lists every issue code; it is written by `BLESS=1 cargo test issues` and checked here.

use std::fmt::Write as _;
use std::path::PathBuf;

use plan2geo::issue::{Severity, all_codes};

fn page() -> String {
    let mut page = String::from(
        "# Issue codes\n\n\
         What can be wrong with an input without ending its unit. Every output names its issues with a count and the first places in\n\
         `metadata.issues`; the run report adds them up. A code never changes its meaning. Fatal problems are dead letters instead: their kinds\n\
         are in [operations.md](operations.md).\n\n\
         This page is generated: `BLESS=1 cargo test issues`.\n\n\
         | code | weight | what happened | what to do |\n|---|---|---|---|\n",
    );
    let mut codes = all_codes();
    codes.sort_by_key(|code| code.id);
    for code in codes {
        let weight = match code.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        writeln!(page, "| `{}` | {weight} | {} | {} |", code.id, code.title, code.remedy).unwrap();
    }
    page
}

#[test]
fn the_list_of_issue_codes_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/issues.md");
    let expected = page();
    if std::env::var_os("BLESS").is_some() {
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), expected.as_bytes()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written, expected, "run BLESS=1 cargo test issues");
}
