//! The end of a body that the kernel moves.

use std::io;
use std::task::{Context, Poll};

use crate::pipe::Pipe;

/// A connection whose bytes the kernel can move into a pipe and out of it.
pub(crate) trait SpliceEnd {
    /// Moves up to `max` bytes from the connection into an empty pipe. Returns their number, or 0 at
    /// the end of the connection.
    fn poll_fill(&self, pipe: &mut Pipe, max: u64, context: &mut Context<'_>) -> Poll<io::Result<usize>>;

    /// Moves bytes from a pipe into the connection. Returns their number.
    fn poll_drain(&self, pipe: &mut Pipe, context: &mut Context<'_>) -> Poll<io::Result<usize>>;
}
