//! The host of the pages for people.

use crate::docs_page::DocsPage;

/// The shell that serves the pages for people. It decides what they can lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The edge, which serves everything.
    Edge,
    /// A proxy in direct mode: tools, keys, their reference and the console. It has no bio-link pages and no
    /// status page.
    Direct,
}

impl Host {
    /// Returns true if it serves this page of the reference.
    pub fn serves(self, page: DocsPage) -> bool {
        self == Self::Edge || !page.is_of_edge()
    }
}
