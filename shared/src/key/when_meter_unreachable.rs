//! The fate of a paid key's calls while its meter is out of reach.

use serde::{Deserialize, Serialize};

/// The choice between availability and exactness while the meter is out of reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenMeterUnreachable {
    /// Calls continue on the local budget (fail open, with a bound). Free keys have none.
    #[default]
    Continue,
    /// Calls are refused (fail closed): never more than the limit.
    Refuse,
}

impl WhenMeterUnreachable {
    /// Returns true for the default, which is not stored.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
