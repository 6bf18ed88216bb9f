//! Budgets of reading and expanding one document. Every declared size in a file is distrusted.
//!
//! Each limit is a key below `[limits]` of the configuration; the error of a limit names key and number.
//! [`Pace`] turns work done into looks at the checkpoint, which knows the deadline and the memory held.

use std::cell::Cell;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Checkpoint, Interrupt};

/// Budgets of one document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Entities in the model and all blocks together, before expansion.
    pub entities: u64,
    /// Stored path points, before expansion.
    pub vertices: u64,
    /// Shapes after blocks, arrays and `use` are expanded.
    pub expanded_shapes: u64,
    /// Vertices after blocks are expanded and curves are flattened.
    pub expanded_vertices: u64,
    /// Crossings of lines that are resolved within one area, or between an area and its clip. An area with more keeps
    /// its lines, and an issue says so.
    pub crossings: u64,
    /// Levels of blocks in blocks, `use` in `use`, forms in forms.
    pub block_depth: u32,
    /// Levels of nested XML elements.
    pub element_depth: u32,
    /// Bytes after decompression (`.dxf.gz`, `.svgz`, PDF and DWG streams).
    pub decompressed_bytes: u64,
    /// Bytes of one string (a text, a name, a path's data).
    pub string_bytes: u64,
    /// Bytes of a document.
    pub document_bytes: u64,
    /// Pages of a document.
    pub pages: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entities: 20_000_000,
            vertices: 200_000_000,
            expanded_shapes: 20_000_000,
            expanded_vertices: 500_000_000,
            crossings: 250_000,
            block_depth: 64,
            element_depth: 4_096,
            decompressed_bytes: 512 << 20,
            string_bytes: 16 << 20,
            document_bytes: 4 << 30,
            pages: 100_000,
        }
    }
}

/// Looks at a checkpoint by work done: loops report their steps, whatever a step is of, and every so many the
/// checkpoint is called. A step should take nanoseconds to a microsecond.
pub struct Pace<'a> {
    checkpoint: &'a Checkpoint<'a>,
    left: Cell<usize>,
}

impl<'a> Pace<'a> {
    /// Steps between two looks.
    const EVERY: usize = 1 << 14;

    /// Over `checkpoint`, which is called after the first few thousand steps.
    pub fn new(checkpoint: &'a Checkpoint<'a>) -> Self {
        Self { checkpoint, left: Cell::new(Self::EVERY) }
    }

    /// Counts one step.
    ///
    /// # Errors
    /// [`Interrupt`] of the checkpoint.
    #[inline]
    pub fn step(&self) -> Result<(), Interrupt> {
        self.steps(1)
    }

    /// Counts steps.
    ///
    /// # Errors
    /// [`Interrupt`] of the checkpoint.
    #[inline]
    pub fn steps(&self, steps: usize) -> Result<(), Interrupt> {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => self.look(),
        }
    }

    #[cold]
    fn look(&self) -> Result<(), Interrupt> {
        self.left.set(Self::EVERY);
        (self.checkpoint)()
    }
}

impl Pace<'static> {
    /// Never ends anything.
    pub fn free() -> Self {
        Self::new(&|| Ok(()))
    }
}

impl std::fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pace").field("left", &self.left).finish_non_exhaustive()
    }
}
