//! The last good description of a tool.

use std::sync::Arc;

use shared::catalog::ToolDescription;
use transport::clock::Monotonic;

/// The last good description of a tool, and the result of the last read. It outlives the configuration.
#[derive(Debug, Default)]
pub(super) struct LastDescription {
    /// The path that it was read at.
    pub(super) path: String,
    /// The time of the next read; `None` if it is due.
    pub(super) next: Option<Monotonic>,
    pub(super) good: Option<Arc<ToolDescription>>,
    /// Why the last read failed, if it did.
    pub(super) error: Option<String>,
}
