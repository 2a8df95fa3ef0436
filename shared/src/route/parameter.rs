//! The parameters of paths.

use super::malformed_id::malformed_id;
use super::refusal::unknown_tool;
use crate::key::{KeyId, SecretId};
use crate::problem::Problem;
use crate::status::incident::IncidentId;
use crate::tool::Tool;

/// A value that a segment of a path has.
pub trait Parameter: Sized {
    /// Reads the segment.
    ///
    /// # Errors
    /// Returns `route-unknown` or `tool-unknown`, which says what is wrong with it.
    fn read(segment: &str) -> Result<Self, Problem>;
}

impl Parameter for Tool {
    fn read(segment: &str) -> Result<Self, Problem> {
        segment.parse().map_err(|_| unknown_tool(segment))
    }
}

macro_rules! ids {
    ($($id:ident $owner:literal,)+) => {
        $(impl Parameter for $id {
            fn read(segment: &str) -> Result<Self, Problem> {
                let example = || Self::new([0; Self::BYTES]).to_string();
                Self::parse(segment).ok_or_else(|| malformed_id(segment, $owner, &example()))
            }
        })+
    };
}

ids! {
    KeyId "a key",
    SecretId "a secret",
    IncidentId "an incident",
}
