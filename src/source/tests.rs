//! What the walk finds, in which order, and what it leaves out.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use plan2geo_actors::{RunId, UnitId};

use super::package::tests::zip;
use super::*;
use crate::config::Document;

const DXF: &str = "  0\nSECTION\n  2\nENTITIES\n  0\nENDSEC\n  0\nEOF\n";
const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\"/>";

struct Tree {
    dir: tempfile::TempDir,
    settings: String,
    left_out: Vec<PathBuf>,
}

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self { dir: tempfile::tempdir().unwrap(), settings: String::new(), left_out: Vec::new() };
        for (name, text) in files {
            tree.write(name, text.as_bytes());
        }
        tree
    }

    fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut File::create(path).unwrap(), bytes).unwrap();
    }

    fn source(&self) -> DrawingFiles {
        let document = Document { name: "t".into(), text: self.settings.as_str().into(), folder: PathBuf::new() };
        let config = Config::from_documents(vec![document]).unwrap();
        DrawingFiles::new(self.dir.path().to_owned(), &config, self.left_out.clone())
    }

    /// Findings (or their failures) and what was left out.
    fn scan(&self) -> (Vec<(String, String)>, BTreeMap<String, u64>) {
        let source = self.source();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let found: Vec<Found> = runtime.block_on(source.scan().map(Result::unwrap).collect());
        let ids: Vec<UnitId> = found.iter().map(Found::id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        let shown = found
            .into_iter()
            .map(|found| {
                let what = found.failure.map_or(found.format, |failure| format!("! {}", failure.kind));
                (found.doc_id, what)
            })
            .collect();
        (shown, source.skipped().left_out)
    }
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

fn counts(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
    all.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
}

fn read(source: &DrawingFiles, found: Found) -> Result<Bytes, Failure> {
    let unit = Unit::from_found(found, RunId::random(), None);
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(source.read(&unit))
}

fn found(source: &DrawingFiles) -> Vec<Found> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(source.scan().map(Result::unwrap).collect())
}

/// R129: nested folders, in the order of the bytes of the whole path.
#[test]
fn folders_sort_as_if_their_names_ended_with_a_slash() {
    let tree = Tree::new(&[("a/c.dxf", DXF), ("a-b.dxf", DXF), ("a.dxf", DXF), ("b/x/y.svg", SVG), ("a0.svg", SVG)]);
    let (found, _) = tree.scan();
    assert_eq!(
        found,
        pairs(&[("a-b.dxf", "dxf"), ("a.dxf", "dxf"), ("a/c.dxf", "dxf"), ("a0.svg", "svg"), ("b/x/y.svg", "svg")])
    );
}

#[test]
fn formats_are_told_by_bytes_and_strangers_are_counted() {
    let tree = Tree::new(&[
        ("a.svg", DXF),
        ("plan", SVG),
        ("broken.dxf", "not a drawing at all"),
        ("empty.dwg", ""),
        ("empty.txt", ""),
        ("notes.txt", "text"),
        ("more.txt", "text"),
        ("README", "text"),
        (".hidden.dxf", DXF),
        (".git/x.dxf", DXF),
        ("__MACOSX/a.dxf", DXF),
    ]);
    let (found, skipped) = tree.scan();
    assert_eq!(
        found,
        pairs(&[("a.svg", "dxf"), ("broken.dxf", "! malformed"), ("empty.dwg", "! empty"), ("plan", "svg")])
    );
    assert_eq!(
        skipped,
        counts(&[
            (".txt files", 2),
            ("__MACOSX folders", 1),
            ("empty files", 1),
            ("files of no known kind", 1),
            ("hidden files", 1),
            ("hidden folders", 1),
        ])
    );
    let source = tree.source();
    self::found(&source);
    assert_eq!(source.skipped().extension_disagrees, 1);
}

#[test]
fn globs_choose_and_levels_come_from_the_path() {
    let mut tree = Tree::new(&[("A/L02.dxf", DXF), ("A/L03.svg", SVG), ("B/old/L01.dxf", DXF), ("B/EG.dxf", DXF)]);
    tree.settings = "[source]\ninclude = [\"**/*.dxf\"]\nexclude = [\"**/old\"]\n".to_owned();
    let source = tree.source();
    let found = found(&source);
    let levels: Vec<_> =
        found.iter().map(|found| (found.doc_id.as_str(), found.floor_level, found.level_name.as_deref())).collect();
    assert_eq!(levels, [("A/L02.dxf", Some(2), Some("L02")), ("B/EG.dxf", Some(0), Some("EG"))]);
    assert_eq!(source.skipped().left_out, counts(&[("excluded by globs", 1), ("excluded folders", 1)]));
    assert_eq!(found[0].size, DXF.len() as u64);
}

#[cfg(unix)]
#[test]
fn odd_names_are_read_like_any_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let tree = Tree::new(&[("a b#1%20.dxf", DXF), ("ü/ñ.dxf", DXF)]);
    tree.write(std::ffi::OsStr::from_bytes(b"caf\xe9/l\xff.dxf"), DXF.as_bytes());
    let source = tree.source();
    let all = found(&source);
    assert_eq!(
        all.iter().map(|found| found.doc_id.as_str()).collect::<Vec<_>>(),
        ["a b#1%20.dxf", "caf\u{fffd}E9/l\u{fffd}FF.dxf", "ü/ñ.dxf"]
    );
    for found in all {
        assert_eq!(read(&source, found).unwrap(), DXF);
    }
}

/// R129: loops end, links out of the source and broken ones are dead letters.
#[cfg(unix)]
#[test]
fn links_are_followed_inside_and_accounted_for_outside() {
    use std::os::unix::fs::symlink;
    let outside = Tree::new(&[("x.dxf", DXF)]);
    let mut tree = Tree::new(&[("a/b/plan.dxf", DXF), ("real/L1.dxf", DXF)]);
    let root = tree.dir.path().to_owned();
    symlink("..", root.join("a/b/loop")).unwrap();
    symlink("real", root.join("same")).unwrap();
    symlink("real/L1.dxf", root.join("file.dxf")).unwrap();
    symlink("nowhere", root.join("broken")).unwrap();
    symlink(outside.dir.path(), root.join("out")).unwrap();
    symlink(outside.dir.path().join("x.dxf"), root.join("out.dxf")).unwrap();
    let (found, _) = tree.scan();
    assert_eq!(
        found,
        pairs(&[
            ("a/b/loop/", "! unreadable"),
            ("a/b/plan.dxf", "dxf"),
            ("broken", "! unreadable"),
            ("file.dxf", "dxf"),
            ("out.dxf", "! unreadable"),
            ("out/", "! unreadable"),
            ("real/L1.dxf", "dxf"),
            ("same/L1.dxf", "dxf"),
        ])
    );
    tree.settings = "[source]\nlinks = \"follow\"\n".to_owned();
    assert!(tree.scan().0.contains(&("out/x.dxf".to_owned(), "dxf".to_owned())));
    tree.settings = "[source]\nlinks = \"skip\"\n".to_owned();
    let (found, skipped) = tree.scan();
    assert_eq!(found, pairs(&[("a/b/plan.dxf", "dxf"), ("real/L1.dxf", "dxf")]));
    assert_eq!(skipped, counts(&[("symbolic links", 6)]));
}

#[cfg(unix)]
#[test]
fn a_pipe_is_never_opened() {
    let tree = Tree::new(&[("a.dxf", DXF)]);
    let path = tree.dir.path().join("pipe.dxf");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    if made.is_ok_and(|status| status.success()) {
        let (found, skipped) = tree.scan();
        assert_eq!(found, pairs(&[("a.dxf", "dxf")]));
        assert_eq!(skipped, counts(&[("devices, pipes and sockets", 1)]));
    }
}

#[test]
fn outputs_inside_the_source_are_none_of_it() {
    let mut tree = Tree::new(&[("a.dxf", DXF), ("out/a.dxf.geojson", "{}"), ("out/copy.dxf", DXF)]);
    tree.left_out = vec![tree.dir.path().join("out"), tree.dir.path().join("not-there")];
    let (found, skipped) = tree.scan();
    assert_eq!(found, pairs(&[("a.dxf", "dxf")]));
    assert_eq!(skipped, counts(&[("the output folder", 1)]));
}

/// Case B66, and what a package may hold beside drawings.
#[test]
fn packages_are_folders_of_drawings() {
    let tree = Tree::new(&[("pkg.zip.dxf", DXF), ("a.zip!/x.dxf", DXF)]);
    let bytes = zip(&[
        ("top/", b"", false),
        ("top/L02.dxf", DXF.as_bytes(), true),
        ("top/sub/L03.svg", SVG.as_bytes(), false),
        ("top/manifest.json", b"{}", true),
        ("top/.DS_Store", b"x", false),
        ("__MACOSX/top/._L02.dxf", b"x", false),
        ("inner.zip", b"PK", false),
        ("../evil.dxf", DXF.as_bytes(), false),
        ("empty.dxf", b"", false),
    ]);
    tree.write("pkg.zip", &bytes);
    tree.write("a.zip", &zip(&[("x.dxf", DXF.as_bytes(), true)]));
    tree.write("broken.zip", b"PK\x03\x04 and then nothing");
    let (found, skipped) = tree.scan();
    assert_eq!(
        found,
        pairs(&[
            ("a.zip!/x.dxf", "dxf"),
            ("a.zip\u{fffd}21/x.dxf", "dxf"),
            ("broken.zip!/", "! malformed"),
            ("pkg.zip!/../evil.dxf", "! unreadable"),
            ("pkg.zip!/empty.dxf", "! empty"),
            ("pkg.zip!/top/L02.dxf", "dxf"),
            ("pkg.zip!/top/sub/L03.svg", "svg"),
            ("pkg.zip.dxf", "dxf"),
        ])
    );
    assert_eq!(
        skipped,
        counts(&[(".json files", 1), ("__MACOSX folders", 1), ("hidden files", 1), ("packages in packages", 1)])
    );
    let source = tree.source();
    for found in self::found(&source).into_iter().filter(|found| found.failure.is_none()) {
        let expected = if found.format == "dxf" { DXF } else { SVG };
        assert_eq!(read(&source, found).unwrap(), expected);
    }
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_a_dead_letter() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::process::geteuid().is_root() {
        return; // root reads everything
    }
    let tree = Tree::new(&[("a.dxf", DXF), ("b/c.dxf", DXF)]);
    for name in ["a.dxf", "b"] {
        std::fs::set_permissions(tree.dir.path().join(name), std::fs::Permissions::from_mode(0o000)).unwrap();
    }
    let (found, _) = tree.scan();
    std::fs::set_permissions(tree.dir.path().join("b"), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found, pairs(&[("a.dxf", "! unreadable"), ("b/", "! unreadable")]));
}

#[test]
fn a_file_that_vanished_or_changed_after_listing_is_told() {
    let tree = Tree::new(&[("a.dxf", DXF), ("b.dxf", DXF), ("c.dxf", DXF)]);
    let source = tree.source();
    let mut all = found(&source).into_iter();
    std::fs::remove_file(tree.dir.path().join("a.dxf")).unwrap();
    tree.write("b.dxf", b"  0\nSECTION\n  2\nHEADER\n");
    assert_eq!(read(&source, all.next().unwrap()).unwrap_err().kind, FailureKind::Vanished);
    assert_eq!(read(&source, all.next().unwrap()).unwrap_err().kind, FailureKind::Changed);
    assert_eq!(read(&source, all.next().unwrap()).unwrap(), DXF);
}

#[test]
fn a_source_that_is_not_there_is_an_error() {
    let tree = Tree::new(&[]);
    let document = Document { name: "t".into(), text: "".into(), folder: PathBuf::new() };
    let config = Config::from_documents(vec![document]).unwrap();
    let source = DrawingFiles::new(tree.dir.path().join("nowhere"), &config, Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let found: Vec<_> = runtime.block_on(source.scan().collect());
    assert!(matches!(found.as_slice(), [Err(SourceError::List { .. })]));
}

/// Case B66: the package alone is named, not the folder it lies in.
#[test]
fn one_file_or_package_is_a_source() {
    let tree = Tree::new(&[("a.dxf", DXF), ("b.dxf", DXF)]);
    tree.write("p.zip", &zip(&[("top/L02.dxf", DXF.as_bytes(), true)]));
    let document = Document { name: "t".into(), text: "".into(), folder: PathBuf::new() };
    let config = Config::from_documents(vec![document]).unwrap();
    for (root, expected) in [("a.dxf", "a.dxf"), ("p.zip", "p.zip!/top/L02.dxf")] {
        let source = DrawingFiles::new(tree.dir.path().join(root), &config, Vec::new());
        let mut all = found(&source);
        assert_eq!(all.iter().map(|found| found.doc_id.as_str()).collect::<Vec<_>>(), [expected]);
        assert_eq!(read(&source, all.remove(0)).unwrap(), DXF);
    }
}

/// R11: the first finding comes before the rest is looked at, and memory does not grow with the tree.
#[test]
fn listing_is_lazy() {
    let tree = Tree::new(&[("a/1.dxf", DXF), ("b/2.dxf", DXF)]);
    let source = tree.source();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut scan = source.scan();
    let first = runtime.block_on(scan.next()).unwrap().unwrap();
    assert_eq!(first.doc_id, "a/1.dxf");
    tree.write("b/3.dxf", DXF.as_bytes());
    let rest: Vec<_> = runtime.block_on(scan.map(|found| found.unwrap().doc_id).collect());
    assert_eq!(rest, ["b/2.dxf", "b/3.dxf"]);
}
