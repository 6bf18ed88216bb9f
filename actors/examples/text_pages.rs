//! A batch of text pages, as a records office has them: each page extracted or named, and a ledger that proves it.
//!
//! `cargo run -p plan2geo-actors --example text_pages`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::io::Write;

use bytes::Bytes;
use plan2geo_actors::testkit::{DirectorySink, ScriptedSource};
use plan2geo_actors::*;

/// Puts each word on a line.
struct Words;
impl Kernel for Words {
    fn extract(&mut self, _: &Unit, page: Bytes, cx: &KernelContext) -> Result<Extraction, Failure> {
        let broken = |kind| move |why: String| Failure::new(kind, Stage::Parse, why);
        let text = std::str::from_utf8(&page).map_err(|why| broken(FailureKind::Malformed)(why.to_string()))?;
        let mut output = cx.spool();
        for word in text.split_whitespace() {
            cx.checkpoint()?;
            writeln!(output, "{word}").map_err(|why| broken(FailureKind::Io)(why.to_string()))?;
        }
        let output = output.finish().map_err(|why| broken(FailureKind::Io)(why.to_string()))?;
        Ok(Extraction::new(output).with_fact("chars", text.chars().count()))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pages =
        (0..20).flat_map(|doc| (1..=5).map(move |page| Found::new(format!("request/{doc:02}"), page, "box-7", "text")));
    let source = ScriptedSource::of(pages.collect()).reading(|unit| {
        Box::pin(async move {
            Ok(match unit.id().to_string().as_str() {
                "request/07 page 3" => Bytes::from_static(b"\xff is not UTF-8"),
                name => Bytes::from(format!("this is {name}")),
            })
        })
    });
    let place = tempfile::tempdir()?;
    let config = EngineConfig::new(place.path().join("books"));
    let sink = DirectorySink::new(place.path().join("out"));
    let run = Engine::new(config, source, sink, || Words).run()?;
    println!("{} = {} + {}", run.enumerated, run.extracted, run.dead_letters);
    let proof = verify(&place.path().join("books"))?;
    println!("proved: {}", proof.is_complete());
    Ok(())
}
