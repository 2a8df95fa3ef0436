//! The scripts of pages.

use strum::VariantArray;

/// A script of a page of the host, in its own file because the pages' policy allows no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum Script {
    /// `GET /assets/docs.js`
    Docs,
}

impl Script {
    /// Every script once.
    pub const ALL: [Self; 1] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the script of a file name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|script| script.path().strip_prefix("/assets/") == Some(name))
    }

    /// Returns the path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Docs => "/assets/docs.js",
        }
    }
}
