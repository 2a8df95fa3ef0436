//! The result of authentication.

use shared::grant::Grant;
use shared::key::{KeyId, SecretId};
use shared::problem::Problem;
use shared::tier::Tier;

use direct::Charged;

/// The key of an authenticated call, and the decision of its quota.
pub(super) struct Admitted {
    pub(super) key_id: KeyId,
    /// The named secret that calls, in direct mode.
    pub(super) secret_id: Option<SecretId>,
    pub(super) tier: Tier,
    /// Where the call is counted, in direct mode. `None` if it is denied.
    pub(super) charged: Option<Charged>,
    /// The problem of a call that is denied.
    pub(super) denied: Option<Problem>,
}

impl From<Grant> for Admitted {
    fn from(Grant { key_id, secret_id, tier, .. }: Grant) -> Self {
        Self { key_id, secret_id, tier, charged: None, denied: None }
    }
}
