//! What a lease cache holds of the local budget.

use serde::{Deserialize, Serialize};

/// What a cache holds of the local budget, as it reports it with each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u32, u32)", into = "(u32, u32)")]
pub struct HeldShare {
    /// The sequence number of the request whose response brought the share; 0 means none.
    pub heard: u32,
    /// The larger one of the share and the calls of the last 60 seconds that were admitted on it.
    pub calls: u32,
}

impl HeldShare {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl From<(u32, u32)> for HeldShare {
    fn from((heard, calls): (u32, u32)) -> Self {
        Self { heard, calls }
    }
}

impl From<HeldShare> for (u32, u32) {
    fn from(HeldShare { heard, calls }: HeldShare) -> Self {
        (heard, calls)
    }
}
