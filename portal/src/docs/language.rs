//! The languages of the examples.

use strum::VariantArray;

/// A language of the examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub(super) enum Language {
    Curl,
    JavaScript,
    Python,
    Rust,
    Go,
}

impl Language {
    pub(super) const ALL: [Self; 5] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the name for people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Go => "Go",
        }
    }

    /// Returns the name in classes and ids of the page's markup.
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Curl => "sh",
            Self::JavaScript => "js",
            Self::Python => "py",
            Self::Rust => "rs",
            Self::Go => "go",
        }
    }
}
