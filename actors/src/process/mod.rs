//! Process isolation: a kernel that lives in a child process, so that a crash costs one unit.
//!
//! A thread cannot be shielded from a stack overflow, from an allocation that fails, or from the OOM killer: each
//! ends the process. [`ProcessKernel`] is a [`Kernel`](crate::Kernel) like any other to the pool, but drives a
//! child over its standard input and output; the child runs [`serve`] around the real kernel, under limits of
//! memory, processor time and open files that it sets for itself before it reads a byte.
//!
//! However the child ends, the unit it worked on becomes exactly one dead letter (`crashed`, `out_of_memory`, `timeout`,
//! `cancelled`), and the next unit gets a fresh child. A deadline kills: no cooperation is needed. The event loop never
//! waits for a child; a thread of the pool does.
//!
//! The protocol (`frame`) is private to one build: parent and child are the same program.

mod child;
mod frame;
mod parent;

use serde::{Deserialize, Serialize};

pub use child::{serve, serve_on};
pub use parent::ProcessKernel;

/// What a child may use. `None` leaves what the parent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessLimits {
    /// Address space in bytes. A program needs some hundred MB of it before its first unit.
    pub memory_bytes: Option<u64>,
    /// Processor time of one unit in seconds, rounded up to whole seconds by the system.
    pub cpu_seconds: Option<u64>,
    /// Open files.
    pub open_files: Option<u64>,
}

#[cfg(test)]
mod tests;
