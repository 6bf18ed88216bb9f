//! A bounded pool over an iterator: two workers, three references waiting, whatever the length of the list.
//!
//! `cargo run -p plan2geo-actors --example bounded_pool`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use plan2geo_actors::{BoundedError, consume_bounded};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoundedError<String>> {
    // References, not bodies: what they stand for is fetched by the handler, when a worker is ready for it.
    let references = (1..=8).map(|nth| {
        println!("took       record-{nth}");
        format!("record-{nth}")
    });
    let handle = async |reference: String| {
        tokio::time::sleep(Duration::from_millis(50)).await;
        println!("handled    {reference}");
        // An `Err` here would stop the whole pool and come out of it.
        Ok::<_, String>(())
    };
    let consumed = consume_bounded(references, handle, 2, 3).await?;
    println!("{} handled, at most {} at one time", consumed.handled, consumed.peak_active);
    Ok(())
}
