//! The second path segment of a tool call, which the gateway forwards without knowing what it
//! means.

use std::fmt;

/// A checked action: 1 to 64 of `[A-Za-z0-9._~-]`, neither `.` nor `..`.
///
/// These are RFC 3986's unreserved characters, so an action needs no percent-encoding and no two
/// parsers can read it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action<'a>(&'a str);

impl<'a> Action<'a> {
    /// The longest action, in characters.
    pub const MAX_LEN: usize = 64;

    /// The pattern of an action, for schemas: neither `.` nor `..`, and without lookahead, which
    /// not every engine has.
    pub const PATTERN: &'static str = r"^(\.{0,2}[A-Za-z0-9_~-][A-Za-z0-9._~-]*|\.{3}[A-Za-z0-9._~-]*)$";

    /// Returns the action a path segment spells, or `None` when the segment is not one.
    pub fn parse(segment: &'a str) -> Option<Self> {
        let unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'~' | b'-');
        let well_formed = (1..=Self::MAX_LEN).contains(&segment.len()) && segment.bytes().all(unreserved);
        (well_formed && segment != "." && segment != "..").then_some(Self(segment))
    }

    /// Returns the action as it was written.
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

impl fmt::Display for Action<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pattern_matches_valid_actions_only(segment in Action::PATTERN.trim_matches(['^', '$'])) {
            prop_assert_eq!(Action::parse(&segment).is_some(), segment.len() <= Action::MAX_LEN);
        }
    }

    #[test]
    fn unreserved_characters_are_valid_up_to_the_limit() {
        for segment in ["generate", "a", "v2.1_x~y-z", "...", &"a".repeat(64)] {
            assert_eq!(Action::parse(segment).map(Action::as_str), Some(segment));
        }
    }

    #[test]
    fn ambiguous_segment_is_refused() {
        for segment in ["", ".", "..", "a%2Fb", "a b", "a;b", "ü", "a\\b", "a\0", &"a".repeat(65)] {
            assert_eq!(Action::parse(segment), None, "{segment:?}");
        }
    }
}
