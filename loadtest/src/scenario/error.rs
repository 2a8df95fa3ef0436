//! The reasons why a scenario is invalid.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a scenario is invalid.
#[derive(Debug, Error)]
pub(crate) enum ScenarioError {
    /// There is no scenario with this name.
    #[error("unknown scenario `{name}`: expected a file, or one of {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names of the built-in scenarios.
        known: String,
    },
    /// The file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a scenario.
    #[error("scenario {name}: {source}")]
    Syntax {
        /// The name or path.
        name: String,
        /// The cause.
        source: Box<toml::de::Error>,
    },
    /// Scenarios extend each other in a circle.
    #[error("scenario {0} extends itself")]
    Circle(String),
}
