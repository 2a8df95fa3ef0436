//! Request methods, and the `Allow` header that lists them (RFC 9110, sections 9.1 and 10.2.1).

use std::fmt;

/// A request method that some route takes. Any other is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are RFC 9110's")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

impl Method {
    pub(crate) const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Options];

    /// Returns the method as it is sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Returns the method that `token` names, or `None` for one that no route takes. Methods are
    /// case-sensitive (RFC 9110, section 9.1).
    #[must_use]
    pub fn parse(token: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == token)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the value of `Allow` for a path with these methods. Every path takes `OPTIONS` too.
///
/// ```
/// use shared::method::{Method, allow};
///
/// assert_eq!(allow(&[Method::Get, Method::Post]), "GET, POST, OPTIONS");
/// ```
#[must_use]
pub fn allow(methods: &[Method]) -> String {
    let mut names = methods.iter().map(|method| method.as_str()).collect::<Vec<_>>();
    names.push(Method::Options.as_str());
    names.join(", ")
}
