//! The files of a host beside its API and its pages.

use strum::VariantArray;

/// A file that crawlers, browsers and security researchers look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
pub enum SiteRoute {
    /// `GET /robots.txt`
    Robots,
    /// `GET /favicon.ico`
    Favicon,
    /// `GET /.well-known/security.txt`
    SecurityTxt,
}

impl SiteRoute {
    /// Every route once.
    pub const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the path.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Robots => "/robots.txt",
            Self::Favicon => "/favicon.ico",
            Self::SecurityTxt => "/.well-known/security.txt",
        }
    }
}
