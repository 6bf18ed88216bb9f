//! External references: blocks whose content is another drawing.
//!
//! The bytes come through [`ReadOptions::external`](crate::format::ReadOptions::external) by the path the drawing
//! states; nothing is opened here. The other drawing is read as a whole and joined into the block, its layers and
//! blocks renamed `REFERENCE|NAME` as CAD programs do. References inside references are followed to a depth; one
//! that leads back to itself is reported.

use bytes::Bytes;

use super::codes;
use super::reader::Reader;
use crate::drawing::BlockId;
use crate::format::{ReadError, ReadOptions, dwg};
use crate::issue::Place;

/// References inside references are followed so far.
const MAX_DEPTH: usize = 16;

impl Reader<'_, '_> {
    /// Fills the blocks that stand for other drawings.
    pub(super) fn resolve_external(&mut self, path: &mut Vec<String>) -> Result<(), ReadError> {
        let references: Vec<(BlockId, String, String)> = self
            .out
            .drawing()
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(index, block)| {
                let name = self.out.drawing().string(block.name).to_owned();
                block.external.clone().map(|file| (BlockId::at(index), name, file))
            })
            .collect();
        for (block, name, file) in references {
            // A reference that was bound into the file has its content already.
            if self.out.drawing().block(block).is_some_and(|block| !block.items.is_empty()) {
                continue;
            }
            if let Err(reason) = self.resolve_one(block, &name, &file, path)? {
                self.issues.report(
                    &codes::EXTERNAL_MISSING,
                    Place::Document,
                    format!("`{file}` of block `{name}`: {reason}"),
                );
            }
        }
        Ok(())
    }

    /// Fills one block. The inner error says why that was not possible; the outer one ends the whole reading.
    fn resolve_one(
        &mut self,
        block: BlockId,
        name: &str,
        file: &str,
        path: &mut Vec<String>,
    ) -> Result<Result<(), String>, ReadError> {
        let Some(external) = &self.options.external else { return Ok(Err("no place to look for it".to_owned())) };
        if path.len() >= MAX_DEPTH {
            return Ok(Err(format!("nested deeper than {MAX_DEPTH} references")));
        }
        if path.iter().any(|outer| outer.eq_ignore_ascii_case(file)) {
            return Ok(Err("leads back to itself".to_owned()));
        }
        let Some(bytes) = external(file) else { return Ok(Err("not found".to_owned())) };
        path.push(file.to_owned());
        let read = self.read_external(&bytes, path);
        path.pop();
        match read {
            Ok(read) => {
                self.issues.merge(read.issues);
                self.out.absorb(read.drawing, block, name)?;
                Ok(Ok(()))
            }
            Err(error @ (ReadError::Interrupted(_) | ReadError::Limit { .. })) => Err(error),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn read_external(&self, bytes: &Bytes, path: &mut Vec<String>) -> Result<crate::format::Read, ReadError> {
        if bytes.starts_with(b"AC1") {
            // A drawing database cannot reach further references through this way.
            let options = ReadOptions { limits: self.options.limits.clone(), ..ReadOptions::default() };
            return dwg::read(bytes, &options, self.checkpoint());
        }
        super::read_nested(bytes, self.options, self.checkpoint(), path)
    }
}
