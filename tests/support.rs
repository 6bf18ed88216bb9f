//! What tests share: a fresh folder each, the built program, and runs of it; small drawings as text and, in
//! [`sketch`], as strokes.

pub(crate) mod sketch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder that is made for one test and removed when it ends.
#[allow(dead_code, reason = "used by the modules")]
pub(crate) struct Folder {
    dir: tempfile::TempDir,
}

#[allow(dead_code, reason = "each helper is used by some of the modules")]
impl Folder {
    /// A fresh, empty folder.
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The path of something in it.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, making the folders above it.
    pub(crate) fn write(&self, name: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), bytes.as_ref()).unwrap();
        path
    }

    /// Reads a text file.
    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        std::fs::read_to_string(self.join(name)).unwrap()
    }

    /// The program, to be run in this folder, without colours and without what the environment may set.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plan2geo"));
        command
            .current_dir(self.path())
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG")
            .env_remove("PLAN2GEO_LOG")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program with arguments.
    pub(crate) fn run<I, S>(&self, arguments: I) -> Outcome
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        Outcome::from(self.program().args(arguments).output().unwrap())
    }
}

/// How a run of the program ended.
#[derive(Debug)]
#[allow(dead_code, reason = "used by the modules")]
pub(crate) struct Outcome {
    /// Exit code; -1 if a signal ended it.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A sound ASCII DXF of the given entities (group code and value pairs, `LINE` and so on), in metres.
#[allow(dead_code, reason = "used by some of the modules")]
pub(crate) fn dxf(entities: &[(i32, &str)]) -> String {
    let head: &[(i32, &str)] = &[
        (0, "SECTION"),
        (2, "HEADER"),
        (9, "$ACADVER"),
        (1, "AC1015"),
        (9, "$INSUNITS"),
        (70, "6"),
        (0, "ENDSEC"),
        (0, "SECTION"),
        (2, "ENTITIES"),
    ];
    let tail: &[(i32, &str)] = &[(0, "ENDSEC"), (0, "EOF")];
    let mut text = String::new();
    for (code, value) in head.iter().chain(entities).chain(tail) {
        text.push_str(&format!("{code:>3}\n{value}\n"));
    }
    text
}

/// A DXF with one closed rectangle on layer `A-ROOM`, its lower left corner at the origin.
#[allow(dead_code, reason = "used by some of the modules")]
pub(crate) fn dxf_rectangle(width: f64, height: f64) -> String {
    let (w, h) = (width.to_string(), height.to_string());
    dxf(&[
        (0, "LWPOLYLINE"),
        (8, "A-ROOM"),
        (90, "4"),
        (70, "1"),
        (10, "0"),
        (20, "0"),
        (10, &w),
        (20, "0"),
        (10, &w),
        (20, &h),
        (10, "0"),
        (20, &h),
    ])
}

/// An SVG with one rectangle, in millimetres.
#[allow(dead_code, reason = "used by some of the modules")]
pub(crate) fn svg_rectangle(width: f64, height: f64) -> String {
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}mm" height="{height}mm" viewBox="0 0 {width} {height}"><rect x="0" y="0" width="{width}" height="{height}" fill="none" stroke="#000"/></svg>"##
    )
}

/// A converted drawing as JSON.
pub(crate) fn collection(converted: plan2geo::kernel::Converted) -> serde_json::Value {
    let mut text = Vec::new();
    std::io::copy(&mut converted.output.reader(), &mut text).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Areas of the rooms in it, square metres, ascending.
pub(crate) fn room_areas(collection: &serde_json::Value) -> Vec<f64> {
    let features = collection["features"].as_array().unwrap();
    let rooms = features.iter().filter(|feature| feature["properties"]["class"] == "room");
    let mut areas: Vec<f64> = rooms.map(|room| room["properties"]["area_m2"].as_f64().unwrap()).collect();
    areas.sort_by(f64::total_cmp);
    areas
}
