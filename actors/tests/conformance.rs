//! The suites of `testkit::conformance` let sound implementations pass and name what is wrong with others.

use bytes::Bytes;
use plan2geo_actors::testkit::{DirectorySink, MemorySink, ScriptedKernel, ScriptedSource, conformance, numbered};
use plan2geo_actors::{Extraction, Failure, FailureKind, Found, Spooled, Stage};

use crate::support::done;

#[tokio::test]
async fn sound_implementations_pass() {
    let none: Vec<String> = Vec::new();
    let mut found: Vec<_> = (0..5).map(numbered).collect();
    let failure = Failure::new(FailureKind::Unreadable, Stage::Scan, "closed");
    found.push(Found::unreadable("z", "z", failure));
    assert_eq!(conformance::source(&ScriptedSource::of(found)).await, none);
    let place = tempfile::tempdir().unwrap();
    assert_eq!(conformance::sink(&DirectorySink::new(place.path().join("out"))).await, none);
    // Nothing was stored outside the root.
    let beside: Vec<_> = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(beside, ["out"]);
    assert_eq!(conformance::sink(&MemorySink::default()).await, none);
    let long = vec![b'x'; 5000];
    let kernel = ScriptedKernel::new(|_, bytes, cx| {
        cx.checkpoint()?;
        done(bytes)
    });
    assert_eq!(conformance::kernel(kernel.factory(), &[("text", b"short"), ("text", &long)]), none);
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let mut found = vec![numbered(2), numbered(1)];
    found[1].size = 9;
    found[0].location = "s3://bucket/key?X-Amz-Signature=abc".to_owned();
    let wrong = conformance::source(&ScriptedSource::of(found)).await.join("\n");
    for what in ["stands before", "may hold a secret", "listed with 9 bytes, read 8"] {
        assert!(wrong.contains(what), "{wrong}");
    }
    let calls = std::sync::atomic::AtomicU32::new(0);
    let restless = ScriptedKernel::new(move |_, _: &Bytes, _| {
        let nth = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok(Extraction::new(Spooled::from_bytes(nth.to_string())))
    });
    let wrong = conformance::kernel(restless.factory(), &[("text", &[b'x'; 5000])]).join("\n");
    assert!(wrong.contains("gave two outcomes") && wrong.contains("told to give up"), "{wrong}");
}
