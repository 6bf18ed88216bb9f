//! `[plan]` of the configuration: what a user may tell about the drawings, and the tolerances of the derivation.
//!
//! Everything has a default that suits ordinary plans; lengths are metres of the drawing's own frame. Where a
//! drawing's unit is evidently wrong (doors 800 m wide) the defaults are scaled with it and an issue says so;
//! values set by the user are never scaled.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Role;
use super::titles::ViewKind;
use crate::place::level::LevelOptions;

/// What to do with closed polylines and polygons on room layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoomPolygons {
    /// They take precedence; where none is drawn, rooms are derived from walls.
    #[default]
    Prefer,
    /// Only drawn rooms are rooms.
    Only,
    /// Rooms are always derived from walls.
    Ignore,
}

/// How rooms, walls, openings and labels are found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlanOptions {
    /// Derive rooms, walls, openings and labels at all.
    pub enabled: bool,
    /// Roles of layers, as globs without regard to case (`wall = ["A-WALL*", "*|WAND"]`). They win over all tables.
    pub layers: BTreeMap<Role, Vec<String>>,
    /// Roles of blocks, as globs without regard to case. They win over the layer of the block's content.
    pub blocks: BTreeMap<Role, Vec<String>>,
    /// Classify by the shipped tables of layer and block names.
    pub names: bool,
    /// Classify by geometry where names say nothing.
    pub geometry: bool,
    /// Greatest gap or overshoot at wall ends that is closed, metres; also bounds the merging of end points (a tenth
    /// of it). Where walls are single lines, an end is run on over six times as much to the line ahead of it. Absent: 0.05 on a
    /// plan of ordinary size. 0 closes nothing and lists the gaps.
    pub snap_tolerance_m: Option<f64>,
    /// Thinnest wall drawn as two lines, metres.
    pub min_wall_thickness_m: f64,
    /// Thickest wall drawn as two lines, metres.
    pub max_wall_thickness_m: f64,
    /// Faces smaller than this are no rooms, square metres.
    pub min_room_area_m2: f64,
    /// Faces narrower than this (twice the area divided by the perimeter) are no rooms, metres.
    pub min_room_width_m: f64,
    /// Narrowest opening, metres.
    pub min_opening_width_m: f64,
    /// Widest opening that a door or window symbol may close, metres.
    pub max_opening_width_m: f64,
    /// Widest gap between two wall ends that is an opening without any symbol, metres; six tenths of it where a wall end
    /// faces the side of another wall. 0 turns bare gaps off.
    pub max_bare_gap_m: f64,
    /// Closed polylines and polygons on room layers.
    pub room_polygons: RoomPolygons,
    /// A regular expression that a whole text must match to be a room number. Absent: the built-in rules.
    pub room_number: Option<String>,
    /// Stated and measured area may differ by this part of the measured one.
    pub area_tolerance: f64,
    /// Keep every snap, dangle and discarded face as a diagnostic with its geometry (they are always counted).
    pub diagnostics: bool,
    /// Tell several drawings on one sheet apart (floors, elevations, sections, details, legends, the title block): rooms are made
    /// in plans only and know their floor.
    pub sheets: bool,
    /// Gap between two drawings on a sheet, metres; smaller ones are tried where titles contradict each other. Absent: 1.5 on a
    /// plan of ordinary size.
    pub sheet_gap_m: Option<f64>,
    /// Kinds of drawings on a sheet by their titles, as globs on the whole text without regard to case (`elevation = ["VISTA *"]`). They
    /// win over the table in `configs/sheets/titles.toml`.
    pub titles: BTreeMap<ViewKind, Vec<String>>,
    /// Names of floors in titles: `[levels]` of the configuration.
    #[serde(skip)]
    #[schemars(skip)]
    pub levels: LevelOptions,
    /// Wall segments of one drawing; beyond it nothing is derived and an issue says so.
    pub max_segments: u64,
    /// Crossings of the wall lines of one drawing; beyond it nothing is derived and an issue says so.
    pub max_crossings: u64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            enabled: true,
            layers: BTreeMap::new(),
            blocks: BTreeMap::new(),
            names: true,
            geometry: true,
            snap_tolerance_m: None,
            min_wall_thickness_m: 0.04,
            max_wall_thickness_m: 0.65,
            min_room_area_m2: 0.5,
            min_room_width_m: 0.45,
            min_opening_width_m: 0.45,
            max_opening_width_m: 6.0,
            max_bare_gap_m: 2.5,
            room_polygons: RoomPolygons::Prefer,
            room_number: None,
            area_tolerance: 0.05,
            diagnostics: false,
            sheets: true,
            sheet_gap_m: None,
            titles: BTreeMap::new(),
            levels: LevelOptions::default(),
            max_segments: 5_000_000,
            max_crossings: 1_000_000,
        }
    }
}
