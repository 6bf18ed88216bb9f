//! Budgets of reading and expanding one document. Every declared size in a file is distrusted.
//!
//! Each limit is a key below `[limits]` of the configuration; the error of a limit names key and number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
            block_depth: 64,
            element_depth: 4_096,
            decompressed_bytes: 512 << 20,
            string_bytes: 16 << 20,
            document_bytes: 4 << 30,
            pages: 100_000,
        }
    }
}
