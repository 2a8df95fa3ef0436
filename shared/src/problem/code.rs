//! The codes of problems. Each is a row of a table, which tells everything about it in one place; a
//! crate has its own table ([`problem_codes!`](crate::problem_codes)).

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The kind of a problem. Clients switch on [`Code::as_str`], never on the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code(&'static Row);

/// A row of a table of codes.
#[derive(PartialEq, Eq)]
pub struct Row {
    slug: &'static str,
    status: u16,
    title: &'static str,
    about: &'static str,
    cure: &'static str,
    retry: Retry,
    type_base: &'static str,
    challenge: Option<&'static str>,
    member: &'static [(&'static str, &'static str)],
    header: Option<(&'static str, &'static str)>,
}

/// The advice on sending a request that met a problem again as it is.
///
/// Why: docs/decisions/edge.md, "A problem says itself whether to retry".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request is refused again.
    Never,
    /// Later it may pass.
    Later,
    /// The client has to read something again first.
    AfterRead,
}

impl Retry {
    /// Returns the value of the member `retry` of a problem.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Later => "later",
            Self::AfterRead => "after_read",
        }
    }
}

/// Defines a table of codes: a constant for each row, and `TABLE` with all of them, by rising status.
#[macro_export]
macro_rules! problem_codes {
    ($($name:ident = $row:expr;)+) => {
        $(
            #[allow(missing_docs, reason = "the row explains it")]
            pub const $name: $crate::problem::Code = $crate::problem::Code::of(&$row);
        )+
        /// Every code of this table once, by rising status.
        pub const TABLE: &[$crate::problem::Code] = &[$($name),+];
    };
}

impl Row {
    /// Returns a row. `slug` is the name of the code, `about` says when the problem happens, `cure` what
    /// a client does about it. The texts have no character that JSON escapes. The status decides
    /// whether to retry: later for 429, 500 and 503, and never for others.
    pub const fn new(
        slug: &'static str,
        status: u16,
        title: &'static str,
        about: &'static str,
        cure: &'static str,
    ) -> Self {
        let retry = match status {
            429 | 500 | 503 => Retry::Later,
            _ => Retry::Never,
        };
        Self {
            slug,
            status,
            title,
            about,
            cure,
            retry,
            type_base: "/problems/",
            challenge: None,
            member: &[],
            header: None,
        }
    }

    /// Returns the same row with other advice on retries than its status gives.
    #[must_use]
    pub const fn retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// Returns the same row with a registered type (RFC 9457, section 4.2) in place of our own page.
    #[must_use]
    pub const fn type_base(self, type_base: &'static str) -> Self {
        Self { type_base, ..self }
    }

    /// Returns the same row with the challenge of a 401 that is not about an API key.
    #[must_use]
    pub const fn challenge(self, challenge: &'static str) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// Returns the same row with examples of the members that its problems have, in JSON.
    #[must_use]
    pub const fn members(self, member: &'static [(&'static str, &'static str)]) -> Self {
        Self { member, ..self }
    }

    /// Returns the same row with an example of a header that its problems have.
    #[must_use]
    pub const fn header(self, name: &'static str, value: &'static str) -> Self {
        Self { header: Some((name, value)), ..self }
    }
}

impl Code {
    /// Returns the code of a row.
    pub const fn of(row: &'static Row) -> Self {
        Self(row)
    }

    /// Returns the name of the code: lower-case words with hyphens.
    pub const fn as_str(self) -> &'static str {
        self.0.slug
    }

    /// Returns the HTTP status.
    pub const fn status(self) -> u16 {
        self.0.status
    }

    /// Returns the title, which is the same for every problem of this code.
    pub const fn title(self) -> &'static str {
        self.0.title
    }

    /// Returns when the problem happens: the cause on the page `/problems/{code}`.
    pub const fn about(self) -> &'static str {
        self.0.about
    }

    /// Returns what a client does about the problem.
    pub const fn cure(self) -> &'static str {
        self.0.cure
    }

    /// Returns whether the same request can be sent again.
    pub const fn retry(self) -> Retry {
        self.0.retry
    }

    /// Returns examples of the extension members of its problems, in JSON.
    pub const fn example_members(self) -> &'static [(&'static str, &'static str)] {
        self.0.member
    }

    /// Returns an example of the header of its problems, if they have one.
    pub const fn example_header(self) -> Option<(&'static str, &'static str)> {
        match self.0.header {
            None if matches!(self.0.status, 429 | 503) => Some(("retry-after", "5")),
            header => header,
        }
    }

    /// Returns the problem's `type` up to its name: our own pages, relative to the address that was
    /// called, or IANA's types where one is registered (draft-ietf-httpapi-ratelimit-headers).
    pub(crate) const fn type_base(self) -> &'static str {
        self.0.type_base
    }

    /// Returns the value of `WWW-Authenticate` for a 401, which RFC 9110, section 11.6.1, demands.
    /// Returns `None` for any other status.
    pub(crate) fn challenge(self) -> Option<Cow<'static, str>> {
        match (self.0.status, self.0.challenge) {
            (401, Some(challenge)) => Some(challenge.into()),
            (401, None) => {
                Some(format!(r#"ApiKey realm="tools", header="X-API-Key", error="{}""#, self.0.slug).into())
            }
            _ => None,
        }
    }
}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.slug.hash(state);
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.slug)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(status: u16, with: fn(Row) -> Row) -> Code {
        Code::of(Box::leak(Box::new(with(Row::new("a-b", status, "A", "when", "do")))))
    }

    #[test]
    fn status_decides_advice_and_example() {
        let later = Some(("retry-after", "5"));
        for (status, retry, header) in [
            (404, Retry::Never, None),
            (429, Retry::Later, later),
            (500, Retry::Later, None),
            (503, Retry::Later, later),
        ] {
            let code = code(status, |row| row);
            assert_eq!((code.retry(), code.example_header()), (retry, header), "{status}");
            assert_eq!((code.type_base(), code.example_members()), ("/problems/", [].as_slice()));
            assert_eq!((code.challenge(), format!("{code:?}")), (None, "a-b".to_owned()));
        }
    }

    #[test]
    fn row_has_what_it_is_given_in_place_of_what_its_status_gives() {
        let code = code(401, |row| {
            row.retry(Retry::AfterRead)
                .type_base("https://iana.example/")
                .challenge("Basic")
                .members(&[("limit", "1")])
                .header("allow", "GET")
        });
        assert_eq!((code.retry(), code.type_base()), (Retry::AfterRead, "https://iana.example/"));
        assert_eq!((code.challenge(), code.example_header()), (Some("Basic".into()), Some(("allow", "GET"))));
        assert_eq!(code.example_members(), [("limit", "1")]);
    }

    /// They are written into JSON and pages as they are.
    #[test]
    fn texts_of_every_code_need_no_escapes() {
        for code in crate::problem::codes::TABLE {
            for text in [code.title(), code.about(), code.cure()] {
                assert_eq!(serde_json::to_string(text).unwrap(), format!("\"{text}\""), "{code:?}");
                assert!(text.len() > 3, "{code:?}: {text}");
            }
        }
    }
}
