//! Signed statements of how a ledger stood: what a chain cannot give.
//!
//! Whoever can write a ledger can write it anew, chain and all, or cut it at the end of a line. A checkpoint says "so many lines with this root",
//! signed with ed25519 in the form of C2SP `tlog-checkpoint` (a signed note). Kept where the writer of the ledger cannot reach it, it finds both. The key
//! must not be readable by whoever works on the units.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::tree::{Hash, Tree, leaf, path, root_from_path};
use super::walk::walk_lines;
use super::{Fault, LEDGER, LedgerError, RunHeader};
use crate::unit::{RunId, UnitId};

/// The file of checkpoints beside the ledger.
pub const CHECKPOINTS: &str = "ledger.ckpt";

/// A note or a key that is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoteError(String);

impl NoteError {
    pub(crate) fn changed() -> Self {
        Self("the statement is not the one that was signed".to_owned())
    }
}

fn wrong<T>(what: impl Into<String>) -> Result<T, NoteError> {
    Err(NoteError(what.into()))
}

/// Signs checkpoints. Its text is a secret; `Debug` does not show it.
#[derive(Clone)]
pub struct Signer {
    name: String,
    key: SigningKey,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The algorithm byte of ed25519 in a signed note.
const ED25519: u8 = 1;

impl Signer {
    /// A fresh key. The name says whose it is: no spaces, no plus.
    ///
    /// # Errors
    ///
    /// When the name has a space or a plus, or is empty.
    pub fn generate(name: &str) -> Result<Self, NoteError> {
        // Each random UUID holds 122 bits of the system's generator; four of them fill a seed.
        let mut seed = Sha256::new();
        for _ in 0..4 {
            seed.update(Uuid::new_v4().as_bytes());
        }
        Ok(Self { name: check_name(name)?, key: SigningKey::from_bytes(&seed.finalize().into()) })
    }

    /// Reads `PRIVATE+KEY+name+id+base64`, the usual text of a key for signed notes.
    ///
    /// # Errors
    ///
    /// When the text is no such key. The error does not repeat it.
    pub fn from_text(text: &str) -> Result<Self, NoteError> {
        let text = text.trim().strip_prefix("PRIVATE+KEY+");
        let parts: Vec<_> = text.unwrap_or_default().splitn(3, '+').collect();
        let [name, id, key] = parts[..] else { return wrong("not a private key for signed notes") };
        let decoded = BASE64.decode(key).unwrap_or_default();
        let Some((&ED25519, seed)) = decoded.split_first() else { return wrong("not an ed25519 private key") };
        let Ok(seed) = <[u8; 32]>::try_from(seed) else { return wrong("an ed25519 key has 32 bytes") };
        let signer = Self { name: check_name(name)?, key: SigningKey::from_bytes(&seed) };
        if id != crate::hex::encode(&signer.verifier().id()) {
            return wrong("the id of the private key is not its own");
        }
        Ok(signer)
    }

    /// The text that [`Signer::from_text`] reads. A secret.
    #[must_use]
    pub fn to_secret_text(&self) -> String {
        let key = [&[ED25519][..], &self.key.to_bytes()].concat();
        format!("PRIVATE+KEY+{}+{}+{}", self.name, crate::hex::encode(&self.verifier().id()), BASE64.encode(key))
    }

    /// What checks its signatures.
    #[must_use]
    pub fn verifier(&self) -> Verifier {
        Verifier { name: self.name.clone(), key: self.key.verifying_key() }
    }

    /// A signed note over a text; the text must end with a line feed.
    #[must_use]
    pub fn sign(&self, text: &str) -> String {
        let signature = self.key.sign(text.as_bytes()).to_bytes();
        let signed = [&self.verifier().id()[..], &signature].concat();
        format!("{text}\n— {} {}\n", self.name, BASE64.encode(signed))
    }
}

/// Checks signatures. Its text may be given to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    name: String,
    key: VerifyingKey,
}

impl Verifier {
    /// Reads `name+id+base64`, the usual text of a public key for signed notes.
    ///
    /// # Errors
    ///
    /// When the text is no such key.
    pub fn from_text(text: &str) -> Result<Self, NoteError> {
        let parts: Vec<_> = text.trim().splitn(3, '+').collect();
        let [name, id, key] = parts[..] else { return wrong("not a public key for signed notes: name+id+base64") };
        let decoded = BASE64.decode(key).unwrap_or_default();
        let Some((&ED25519, bytes)) = decoded.split_first() else { return wrong("not an ed25519 public key") };
        let Ok(bytes) = <[u8; 32]>::try_from(bytes) else { return wrong("an ed25519 key has 32 bytes") };
        let key = VerifyingKey::from_bytes(&bytes).map_err(|error| NoteError(error.to_string()))?;
        let verifier = Self { name: check_name(name)?, key };
        if id != crate::hex::encode(&verifier.id()) {
            return wrong("the id of the public key is not its own");
        }
        Ok(verifier)
    }

    /// Whose key it is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn id(&self) -> [u8; 4] {
        let digest: Hash = Sha256::new()
            .chain_update(&self.name)
            .chain_update(b"\n")
            .chain_update([ED25519])
            .chain_update(self.key.as_bytes())
            .finalize()
            .into();
        [digest[0], digest[1], digest[2], digest[3]]
    }

    /// The text of a note, if one of its signatures is by this key.
    ///
    /// # Errors
    ///
    /// When the note is malformed or not signed by this key.
    pub fn open<'n>(&self, note: &'n str) -> Result<&'n str, NoteError> {
        let Some((text, signatures)) = note.rsplit_once("\n\n") else {
            return wrong("a signed note has an empty line");
        };
        // The text ends with the first of the two line feeds.
        let text = &note[..=text.len()];
        for line in signatures.lines() {
            let Some((name, signed)) = line.strip_prefix("— ").and_then(|line| line.split_once(' ')) else {
                return wrong("a signature begins with a dash and a name");
            };
            let signed = BASE64.decode(signed).unwrap_or_default();
            if name != self.name || signed.get(..4) != Some(&self.id()[..]) {
                continue;
            }
            let Ok(signature) = Signature::from_slice(&signed[4..]) else { return wrong("a signature has 64 bytes") };
            return match self.key.verify_strict(text.as_bytes(), &signature) {
                Ok(()) => Ok(text),
                Err(_) => wrong(format!("the signature by {name} is false")),
            };
        }
        wrong(format!("not signed by {}", self.name))
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = [&[ED25519][..], self.key.as_bytes()].concat();
        write!(f, "{}+{}+{}", self.name, crate::hex::encode(&self.id()), BASE64.encode(key))
    }
}

fn check_name(name: &str) -> Result<String, NoteError> {
    if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+') {
        return wrong("the name of a key is a word without a plus");
    }
    Ok(name.to_owned())
}

/// How a ledger stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which ledger: `plan2geo-actors/ledger/<run>`.
    pub origin: String,
    /// How many lines.
    pub size: u64,
    /// The root of the tree over them.
    pub root: Hash,
}

/// The origin of a run's checkpoints.
#[must_use]
pub fn origin(run: RunId) -> String {
    format!("plan2geo-actors/ledger/{run}")
}

impl Checkpoint {
    /// The signed note.
    #[must_use]
    pub fn sign(&self, signer: &Signer) -> String {
        signer.sign(&format!("{}\n{}\n{}\n", self.origin, self.size, BASE64.encode(self.root)))
    }

    /// Reads a signed note.
    ///
    /// # Errors
    ///
    /// When it is malformed or not signed by that key.
    pub fn open(note: &str, verifier: &Verifier) -> Result<Self, NoteError> {
        let text = verifier.open(note)?;
        let mut lines = text.lines();
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return wrong("a checkpoint has three lines");
        };
        let Ok(size) = size.parse() else { return wrong("the size of a checkpoint is a number") };
        match BASE64.decode(root).ok().and_then(|root| Hash::try_from(root).ok()) {
            Some(root) => Ok(Self { origin: origin.to_owned(), size, root }),
            None => wrong("the root of a checkpoint has 32 bytes"),
        }
    }
}

/// When a run makes checkpoints of its ledger. The last one is made when the run ends.
#[derive(Debug, Clone)]
pub struct CheckpointSettings {
    /// Who signs.
    pub signer: Signer,
    /// At most so often.
    pub every: Duration,
    /// A file elsewhere that each is appended to as well, out of reach of whoever can write the ledger.
    pub also: Option<PathBuf>,
}

/// Makes checkpoints for the writer of a ledger.
#[derive(Debug)]
pub(crate) struct Notary {
    settings: CheckpointSettings,
    path: PathBuf,
    origin: String,
    tree: Tree,
    last: Option<(std::time::Instant, u64)>,
}

impl Notary {
    /// `tree` is over the lines that are there already.
    pub(crate) fn new(settings: CheckpointSettings, directory: &Path, run: RunId, tree: Tree) -> Self {
        Self { settings, path: directory.join(CHECKPOINTS), origin: origin(run), tree, last: None }
    }

    pub(crate) fn add(&mut self, line: &[u8]) {
        self.tree.push(leaf(line));
    }

    /// The lines added so far are durable.
    pub(crate) fn committed(&mut self, at_the_end: bool) -> Result<(), LedgerError> {
        let due = self
            .last
            .is_none_or(|(at, size)| size != self.tree.size() && (at_the_end || at.elapsed() >= self.settings.every));
        if !due || (self.last.is_none() && self.tree.size() == 0 && !at_the_end) {
            return Ok(());
        }
        let checkpoint = Checkpoint { origin: self.origin.clone(), size: self.tree.size(), root: self.tree.root() };
        let note = checkpoint.sign(&self.settings.signer);
        for path in std::iter::once(&self.path).chain(&self.settings.also) {
            append(path, &note).map_err(LedgerError::io(path))?;
        }
        self.last = Some((std::time::Instant::now(), checkpoint.size));
        Ok(())
    }
}

fn append(path: &Path, note: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(note.as_bytes())?;
    file.sync_data()
}

/// The notes in a file of checkpoints, in order. What was not finished at the end is left out.
///
/// # Errors
///
/// When the file cannot be read.
pub fn read_notes(path: &Path) -> Result<Vec<String>, LedgerError> {
    let text = std::fs::read_to_string(path).map_err(LedgerError::io(path))?;
    let mut notes = Vec::new();
    let mut note = String::new();
    for line in text.split_inclusive('\n') {
        note.push_str(line);
        if line.starts_with("— ") && line.ends_with('\n') {
            notes.push(std::mem::take(&mut note));
        }
    }
    Ok(notes)
}

/// What [`verify_checkpoints`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointVerification {
    /// Checkpoints that are signed and fit the ledger.
    pub good: u64,
    /// The most lines one of them covers.
    pub covered: u64,
    /// Lines in the ledger.
    pub lines: u64,
    /// What does not fit, such as a ledger that was cut or written anew.
    pub faults: Vec<Fault>,
}

/// Holds the ledger of a run against checkpoints of it, from a file beside it or kept elsewhere. Checkpoints of other runs are passed over.
///
/// # Errors
///
/// When a file cannot be read.
pub fn verify_checkpoints(
    directory: &Path,
    notes: &Path,
    verifier: &Verifier,
) -> Result<CheckpointVerification, LedgerError> {
    let run = header(directory)?.run_id;
    let mut faults = Vec::new();
    let mut wanted = Vec::new();
    for (nth, note) in read_notes(notes)?.iter().enumerate() {
        match Checkpoint::open(note, verifier) {
            Ok(checkpoint) if checkpoint.origin == origin(run) => wanted.push((checkpoint, nth as u64 + 1)),
            Ok(_) => {}
            Err(error) => {
                let what = format!("checkpoint {}: {error}", nth + 1);
                faults.push(Fault { path: notes.to_owned(), byte: 0, line: 0, what });
            }
        }
    }
    wanted.sort_by_key(|(checkpoint, _)| checkpoint.size);
    let mut tree = Tree::default();
    let (mut good, mut covered) = (0, 0);
    let mut next = wanted.into_iter().peekable();
    let mut hold = |tree: &Tree, next: &mut std::iter::Peekable<std::vec::IntoIter<(Checkpoint, u64)>>| {
        while let Some((checkpoint, nth)) = next.next_if(|(checkpoint, _)| checkpoint.size == tree.size()) {
            if checkpoint.root == tree.root() {
                (good, covered) = (good + 1, checkpoint.size);
            } else {
                let what = format!("its first {} lines are not those of checkpoint {nth}", checkpoint.size);
                faults.push(Fault { path: directory.join(LEDGER), byte: 0, line: 0, what });
            }
        }
    };
    hold(&tree, &mut next);
    let walked = walk_lines(directory, run, |_, line| {
        tree.push(leaf(line));
        hold(&tree, &mut next);
        None
    })?;
    for (checkpoint, nth) in next {
        let what = format!("it has {} lines and checkpoint {nth} saw {}", tree.size(), checkpoint.size);
        faults.push(Fault { path: directory.join(LEDGER), byte: 0, line: 0, what });
    }
    faults.extend(walked.faults);
    Ok(CheckpointVerification { good, covered, lines: walked.lines, faults })
}

fn header(directory: &Path) -> Result<RunHeader, LedgerError> {
    RunHeader::load(directory)?
        .ok_or_else(|| LedgerError::Mismatch { path: directory.to_owned(), what: "there is no run.json".to_owned() })
}

/// Shows that one line stands in a ledger, to somebody who has the public key and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InclusionProof {
    /// The signed checkpoint.
    pub checkpoint: String,
    /// The line, byte for byte.
    pub line: String,
    /// Digests from the line to the root, nearest first, in base64.
    pub path: Vec<String>,
    /// Number of the line.
    pub seq: u64,
}

/// Proves the terminal line of a unit against a new checkpoint signed now. Holds 32 bytes a line.
///
/// # Errors
///
/// When the books cannot be read or are damaged, or the unit has no line.
pub fn prove(directory: &Path, unit: &UnitId, signer: &Signer) -> Result<InclusionProof, LedgerError> {
    let run = header(directory)?.run_id;
    let mut leaves = Vec::new();
    let mut found = None;
    let walked = walk_lines(directory, run, |envelope, line| {
        if envelope.doc_id == unit.doc_id.as_str() && envelope.page == unit.page.get() {
            found = Some((leaves.len(), String::from_utf8_lossy(line).into_owned()));
        }
        leaves.push(leaf(line));
        None
    })?;
    if let Some(fault) = walked.faults.into_iter().next() {
        return Err(LedgerError::Damaged { path: fault.path, byte: fault.byte, line: fault.line, what: fault.what });
    }
    let Some((index, line)) = found else {
        let what = format!("{unit} has no line in the ledger");
        return Err(LedgerError::Mismatch { path: directory.to_owned(), what });
    };
    let mut tree = Tree::default();
    leaves.iter().for_each(|leaf| tree.push(*leaf));
    let checkpoint = Checkpoint { origin: origin(run), size: tree.size(), root: tree.root() };
    let path = path(&leaves, index).iter().map(|hash| BASE64.encode(hash)).collect();
    Ok(InclusionProof { checkpoint: checkpoint.sign(signer), line, path, seq: index as u64 })
}

impl InclusionProof {
    /// Checks the proof, offline. Returns the checkpoint it leads to.
    ///
    /// # Errors
    ///
    /// When the checkpoint is not signed by that key, or the line does not lead to its root.
    pub fn check(&self, verifier: &Verifier) -> Result<Checkpoint, NoteError> {
        let checkpoint = Checkpoint::open(&self.checkpoint, verifier)?;
        let mut path = Vec::with_capacity(self.path.len());
        for text in &self.path {
            match BASE64.decode(text).ok().and_then(|hash| Hash::try_from(hash).ok()) {
                Some(hash) => path.push(hash),
                None => return wrong("a digest of the path has 32 bytes"),
            }
        }
        let root = root_from_path(leaf(self.line.as_bytes()), self.seq, checkpoint.size, &path);
        if root != Some(checkpoint.root) {
            return wrong("the line does not lead to the root of the checkpoint");
        }
        Ok(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_their_text_and_errors_do_not_repeat_them() {
        let signer = Signer::generate("records.example").unwrap();
        let secret = signer.to_secret_text();
        assert_eq!(Signer::from_text(&secret).unwrap().verifier(), signer.verifier());
        let public = signer.verifier().to_string();
        assert_eq!(Verifier::from_text(&public).unwrap(), signer.verifier());
        // PRIVATE+KEY+name+hash+key: base64 may hold further signs of plus.
        let key = secret.splitn(5, '+').last().unwrap();
        assert!(key.len() > 40 && !format!("{signer:?}").contains(key));
        let broken = secret.replacen("PRIVATE", "PRIVATF", 1);
        assert!(!Signer::from_text(&broken).unwrap_err().to_string().contains("records"));
        assert!(Signer::generate("two words").is_err());
        assert!(Verifier::from_text(&public.replacen("records", "recordz", 1)).is_err());
    }

    /// The example key and note of Go's `sumdb/note`, the reference for the format.
    #[test]
    fn notes_of_the_reference_are_understood() {
        let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let text =
            "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
        let note = format!(
            "{text}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
        );
        assert_eq!(Verifier::from_text(key).unwrap().open(&note), Ok(text));
        let changed = note.replacen("answer", "Answer", 1);
        assert!(Verifier::from_text(key).unwrap().open(&changed).unwrap_err().to_string().contains("is false"));
    }

    #[test]
    fn a_checkpoint_survives_its_note() {
        let signer = Signer::generate("k").unwrap();
        let checkpoint = Checkpoint { origin: "o".to_owned(), size: 7, root: [9; 32] };
        let note = checkpoint.sign(&signer);
        assert_eq!(Checkpoint::open(&note, &signer.verifier()), Ok(checkpoint));
        let other = Signer::generate("k").unwrap().verifier();
        assert!(Checkpoint::open(&note, &other).is_err());
        assert!(Checkpoint::open(&note.replacen("\n7\n", "\n8\n", 1), &signer.verifier()).is_err());
    }
}
