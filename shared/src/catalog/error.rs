//! Why the description of a tool is not used.

use thiserror::Error;

use crate::bounded_json::{Bounds, Full};

/// Maximum size of a description that a tool publishes, in bytes.
pub const MAX_DESCRIPTION: usize = 256 * 1024;
/// What is kept of it at most. In the composed description, which readers refuse from the 128th level on, it
/// begins on the first.
pub const KEPT: Bounds = Bounds { bytes: 64 * 1024, values: 8 * 1024, levels: 64 };
/// Maximum number of actions.
pub const MAX_ACTIONS: usize = 64;

/// Members of a schema or a parameter whose texts calls repeat, so that none can be changed.
pub(super) const LITERAL: [&str; 6] = ["const", "default", "enum", "name", "pattern", "required"];

/// The reason why a description is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DescriptionError {
    /// It is longer than the limit.
    #[error("it has {0} bytes, expected at most {MAX_DESCRIPTION}")]
    TooLarge(usize),
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Json(String),
    /// It is not OpenAPI 3.
    #[error("`openapi` is `{0}`, expected 3.0.x or 3.1.x")]
    Version(String),
    /// A reference leads out of the description.
    #[error("the reference `{0}` does not lead to a component of the description")]
    Reference(String),
    /// References go round in a circle, or too deep.
    #[error("the reference `{0}` opens up into too much")]
    Circle(String),
    /// A name or a value that calls repeat has characters that no reader sees.
    #[error("`{0}` has characters that no reader sees, expected none in names and in `{LITERAL}`", LITERAL = LITERAL.join("`, `"))]
    Hidden(String),
    /// It has no action.
    #[error("it has no GET or POST on a path `{0}/{{action}}`")]
    NoAction(String),
    /// It has too many actions.
    #[error("it has {0} actions, expected at most {MAX_ACTIONS}")]
    TooManyActions(usize),
    /// What is kept of it is too large, from this part on.
    #[error("with {at}, the actions and their schemas have more than {}, expected at most that; `$ref` counts as what it leads to", bound(*.full))]
    TooMuch {
        /// The bound that is exceeded.
        full: Full,
        /// The action or schema with which it is.
        at: String,
    },
}

impl DescriptionError {
    /// Adds where it was found that there is no room, unless that is known.
    pub(super) fn at(self, place: impl FnOnce() -> String) -> Self {
        match self {
            Self::TooMuch { full, at } if at.is_empty() => Self::TooMuch { full, at: place() },
            other => other,
        }
    }
}

impl From<Full> for DescriptionError {
    fn from(full: Full) -> Self {
        Self::TooMuch { full, at: String::new() }
    }
}

/// Returns the beginning of a tool's text as a log may show it: on one line, and without a quotation mark that ends it.
pub(super) fn excerpt(text: &str, characters: usize) -> String {
    text.chars().take(characters).flat_map(char::escape_debug).collect()
}

fn bound(full: Full) -> String {
    match full {
        Full::Bytes => format!("{} bytes", KEPT.bytes),
        Full::Values => format!("{} values", KEPT.values),
        Full::Levels => format!("{} levels of objects and arrays", KEPT.levels),
    }
}
