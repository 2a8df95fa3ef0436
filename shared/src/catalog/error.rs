//! Why the description of a tool is not used.

use thiserror::Error;

/// Maximum size of a description that a tool publishes, in bytes.
pub const MAX_DESCRIPTION: usize = 256 * 1024;
/// Maximum size of what is kept of it, in bytes.
pub(super) const MAX_KEPT: usize = 64 * 1024;
/// Maximum number of actions.
pub(super) const MAX_ACTIONS: usize = 64;

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
    /// References go round in a circle, or open up into too much.
    #[error("the reference `{0}` opens up into too much")]
    Circle(String),
    /// It has no action.
    #[error("it has no GET or POST on a path `{0}/{{action}}`")]
    NoAction(String),
    /// It has too many actions.
    #[error("it has {0} actions, expected at most {MAX_ACTIONS}")]
    TooManyActions(usize),
    /// What is kept is too large.
    #[error("the actions and their schemas have {0} bytes, expected at most {MAX_KEPT}")]
    TooMuch(usize),
}
