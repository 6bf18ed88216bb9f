//! One batch of all formats: drawings, documents of several pages, and broken ones of each.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::pdf::{Document, FONT};
use crate::support::{Folder, dxf_rectangle, svg_rectangle};

/// A document with a page for each content; an empty one is a page that holds only a scan.
fn pages(contents: &[&str]) -> Vec<u8> {
    let mut document = Document::new();
    let image = "/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8";
    let scan = document.stream(image, [0u8]);
    let pages: Vec<String> = contents
        .iter()
        .map(|content| {
            let content = if content.is_empty() { "q 200 0 0 400 0 0 cm /I Do Q" } else { content };
            let content = document.stream("", content);
            format!(
                "/MediaBox [0 0 200 400] /Contents {content} 0 R /Resources << {FONT} /XObject << /I {scan} 0 R >> >>"
            )
        })
        .collect();
    document.bytes(&pages).to_vec()
}

fn data(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// R14, R43, R120, R148: every page of every document ends once, as an output or by name.
#[test]
fn a_batch_of_all_formats_reconciles_page_by_page() {
    const WALLS: &str = "20 20 160 300 re S BT /F 10 Tf 50 100 Td (Room 101) Tj ET";
    let folder = Folder::new();
    folder.write("plans/A/L00.dxf", dxf_rectangle(8.0, 6.0));
    folder.write("plans/A/L01.dwg", data("dwg/block_visibility.dwg"));
    folder.write("plans/A/L02.svg", svg_rectangle(4000.0, 3000.0));
    folder.write("plans/B/set.pdf", pages(&[WALLS; 5]));
    folder.write("plans/B/scans.pdf", pages(&[WALLS, "", WALLS]));
    folder.write("plans/C/two.pdf", pages(&[WALLS, "10 10 m 100 100 l S"]));
    // broken ones
    folder.write("plans/D/cut.dwg", data("dwg/block_visibility.dwg").get(..400).unwrap());
    folder.write("plans/D/old.dwg", b"AC1009 and nothing behind it");
    folder.write("plans/D/locked.pdf", data("pdf/user_password.pdf"));
    folder.write("plans/D/no.pdf", "%PDF-1.7\nnothing");
    folder.write("plans/D/cut.svg", "<svg viewBox='0 0 10 10'><path d='M0 0 L5 5'/><path d='M");
    folder.write("plans/D/no.svg", "<svg");
    folder.write("c.toml", "[source]\nlocation = \"plans\"\n[output]\nlocation = \"out\"\n[limits]\nthreads = 2\n");

    let ended = folder.run(["run", "c.toml"]);
    assert_eq!(ended.code, 3, "{}\n{}", ended.stdout, ended.stderr);
    let mut found: BTreeMap<(String, u64), String> = BTreeMap::new();
    for line in folder.read("out/_plan2geo/latest/ledger.jsonl").lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(id) = line["doc_id"].as_str() else { continue };
        let kind = match line["event"].as_str().unwrap() {
            "EXTRACTED" => {
                let output = folder.read(format!("out/{}", line["output"].as_str().unwrap()));
                let output: Value = serde_json::from_str(&output).unwrap();
                assert_eq!(output["metadata"]["topology_hash"], line["topology_hash"]);
                assert_eq!(line["chars"].is_u64(), line["format"] == "pdf", "{line}");
                if line["format"] == "pdf" {
                    assert_eq!(output["metadata"]["page"], line["page"]);
                    assert_eq!(output["metadata"]["counts"]["chars"], line["chars"]);
                }
                "extracted".to_owned()
            }
            _ => line["error"]["kind"].as_str().unwrap().to_owned(),
        };
        let before = found.insert((id.to_owned(), line["page"].as_u64().unwrap()), kind);
        assert_eq!(before, None, "{line}");
    }
    let found: Vec<String> = found.iter().map(|((id, page), kind)| format!("{id} {page} {kind}")).collect();
    assert_eq!(
        found,
        [
            "A/L00.dxf 1 extracted",
            "A/L01.dwg 1 extracted",
            "A/L02.svg 1 extracted",
            "B/scans.pdf 1 extracted",
            "B/scans.pdf 2 raster_only",
            "B/scans.pdf 3 extracted",
            "B/set.pdf 1 extracted",
            "B/set.pdf 2 extracted",
            "B/set.pdf 3 extracted",
            "B/set.pdf 4 extracted",
            "B/set.pdf 5 extracted",
            "C/two.pdf 1 extracted",
            "C/two.pdf 2 extracted",
            "D/cut.dwg 1 malformed",
            "D/cut.svg 1 extracted",
            "D/locked.pdf 1 encrypted",
            "D/no.pdf 1 malformed",
            "D/no.svg 1 malformed",
            "D/old.dwg 1 unsupported",
        ]
    );
    let report: Value = serde_json::from_str(&folder.read("out/_plan2geo/latest/report.json")).unwrap();
    assert_eq!(report["summary"]["enumerated"], 19);
    let verified = folder.run(["audit", "verify", "out", "--outputs", "out"]);
    assert_eq!(verified.code, 0, "{}", verified.stdout);
}
