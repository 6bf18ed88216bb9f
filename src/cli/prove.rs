//! `plan2geo audit keygen|prove|check`: signatures over ledgers, and proofs of single lines that need no ledger.

use std::path::{Path, PathBuf};

use clap::Args;
use plan2geo_actors::UnitId;
use plan2geo_actors::ledger::checkpoint::{
    CheckpointVerification, InclusionProof, Signer, Verifier, prove, verify_checkpoints,
};
use serde_json::json;

use super::{CliError, exit, print, run_directory};
use crate::run::{signing_key, write_whole};

/// The variable that holds the key unless another is named.
pub(super) const KEY_VARIABLE: &str = "PLAN2GEO_SIGNING_KEY";

#[derive(Debug, Args)]
pub(crate) struct Keygen {
    /// Whose key it is: a word such as `records-office`.
    name: String,
    /// Where the private key goes (mode 0600); without it, it is printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Prove {
    /// The directory of a run, an output directory, or a configuration.
    run: PathBuf,
    /// The drawing, as listed.
    doc: String,
    /// Its page, counted from 1.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,
    /// The variable of the environment that holds the signing key.
    #[arg(long, default_value = KEY_VARIABLE, value_name = "VARIABLE")]
    key_env: String,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The proof, as `audit prove` printed it.
    proof: PathBuf,
    /// The public key, or a file that holds it.
    #[arg(long, value_name = "KEY")]
    key: String,
}

fn key_error(error: &dyn std::fmt::Display) -> CliError {
    CliError::failed(error.to_string(), "see `plan2geo audit keygen`")
}

/// The signing key, which must be there.
pub(super) fn signer(variable: &str) -> Result<Signer, CliError> {
    signing_key(variable)?.ok_or_else(|| {
        CliError::usage(
            format!("the variable {variable} is not set: there is no key to sign with"),
            "make a key with `plan2geo audit keygen NAME` and put it into the environment",
        )
    })
}

/// A public key, from its text or from a file.
pub(super) fn verifier(key: &str) -> Result<Verifier, CliError> {
    let text = std::fs::read_to_string(key).unwrap_or_else(|_| key.to_owned());
    Verifier::from_text(&text).map_err(|error| key_error(&error))
}

pub(crate) fn keygen(arguments: &Keygen) -> Result<u8, CliError> {
    let signer = Signer::generate(&arguments.name).map_err(|error| key_error(&error))?;
    let secret = signer.to_secret_text();
    match &arguments.out {
        Some(path) => write_secret(path, &secret).map_err(|error| CliError::file("write", path, &error))?,
        None => print::line(&secret)?,
    }
    print::error(&format!("public key (give it to whoever verifies): {}", signer.verifier()));
    print::error(&format!("private key: keep it secret, set it as {KEY_VARIABLE} for runs that sign"));
    Ok(exit::ALL)
}

/// A new file that only its owner can read.
fn write_secret(path: &Path, secret: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    writeln!(file, "{secret}")?;
    file.sync_all()
}

pub(crate) fn prove_unit(arguments: &Prove) -> Result<u8, CliError> {
    let directory = run_directory(&arguments.run)?;
    let signer = signer(&arguments.key_env)?;
    let page = std::num::NonZeroU32::new(arguments.page).unwrap_or(std::num::NonZeroU32::MIN);
    let unit = UnitId { doc_id: arguments.doc.clone(), page };
    print::json(&prove(&directory, &unit, &signer)?)?;
    Ok(exit::ALL)
}

pub(crate) fn check(arguments: &Check) -> Result<u8, CliError> {
    let text = std::fs::read(&arguments.proof).map_err(|error| CliError::file("read", &arguments.proof, &error))?;
    let proof: InclusionProof = serde_json::from_slice(&text).map_err(|error| {
        CliError::failed(format!("{} is no proof: {error}", arguments.proof.display()), "see `plan2geo audit prove`")
    })?;
    match proof.check(&verifier(&arguments.key)?) {
        Ok(checkpoint) => {
            let size = checkpoint.size;
            print::line(&format!("good: line {} of {size} in {}\n{}", proof.seq, checkpoint.origin, proof.line))?;
            Ok(exit::ALL)
        }
        Err(error) => {
            print::line(&format!("NOT GOOD: {error}"))?;
            Ok(exit::NOT_RECONCILED)
        }
    }
}

/// Holds a ledger against checkpoints of it.
pub(super) fn checkpoints(directory: &Path, notes: &Path, key: &str) -> Result<CheckpointVerification, CliError> {
    Ok(verify_checkpoints(directory, notes, &verifier(key)?)?)
}

/// The shape of what was found, for machines.
pub(super) fn as_json(found: &CheckpointVerification) -> serde_json::Value {
    json!({ "good": found.good, "covered": found.covered, "lines": found.lines, "faults": found.faults })
}

/// Writes a document beside what it is about.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    write_whole(path, bytes).map_err(|error| CliError::file("write", path, &error))
}
