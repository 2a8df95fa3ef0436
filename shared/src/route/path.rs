//! Paths in their segments.
//!
//! Why: docs/decisions/edge.md, "A path with percent-encoding is refused".

use super::refusal::{malformed, unknown_route};
use crate::problem::Problem;

/// The most segments that a route has.
const MAX_SEGMENTS: usize = 6;

/// The segments of a path from the first on.
pub type Segments<'a> = [Option<&'a str>; MAX_SEGMENTS];

/// A well-formed path: segments of letters, digits and `-._~`, with single slashes between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path<'a> {
    text: &'a str,
    segments: Segments<'a>,
}

impl<'a> Path<'a> {
    /// Parses a path.
    ///
    /// # Errors
    /// Returns `path-malformed` for one that another parser might normalize into something else, and
    /// `route-unknown` for one that is deeper than every route.
    pub fn parse(text: &'a str) -> Result<Self, Problem> {
        let inner = text.strip_prefix('/').ok_or_else(|| malformed("the path does not begin with `/`"))?;
        let mut segments = [None; MAX_SEGMENTS];
        if inner.is_empty() {
            return Ok(Self { text, segments });
        }
        let mut is_too_deep = false;
        for (number, segment) in inner.split('/').enumerate() {
            check_segment(segment)?;
            match segments.get_mut(number) {
                Some(place) => *place = Some(segment),
                None => is_too_deep = true,
            }
        }
        if is_too_deep { Err(unknown_route()) } else { Ok(Self { text, segments }) }
    }

    /// Returns the path as it is written.
    pub const fn as_str(self) -> &'a str {
        self.text
    }

    /// Returns the segments from the first on; none for `/`.
    pub const fn segments(self) -> Segments<'a> {
        self.segments
    }
}

/// Refuses a segment that another parser might normalize into something else.
fn check_segment(segment: &str) -> Result<(), Problem> {
    let unreserved = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    match segment {
        "" => Err(malformed("the path has an empty segment; write single slashes and none at the end")),
        "." | ".." => Err(malformed("the path has a dot segment")),
        _ if segment.bytes().all(unreserved) => Ok(()),
        _ if segment.contains('%') => Err(malformed("the path is percent-encoded; no route needs that")),
        _ if segment.contains('\\') => Err(malformed("the path has a backslash")),
        _ => Err(malformed("the path has a character other than letters, digits and -._~")),
    }
}
