//! Secrets that a rotation has replaced.

use serde::{Deserialize, Serialize};

use super::SecretHash;
use crate::time::UnixMillis;

/// The secret before the last rotation, while its grace lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerSecret {
    /// Its hash.
    pub hash: SecretHash,
    /// The moment from which it is refused.
    pub until: UnixMillis,
}

impl FormerSecret {
    /// Returns a secret that was replaced `now`, if it has a grace period.
    pub(crate) fn within(hash: SecretHash, grace_ms: u64, now: UnixMillis) -> Option<Self> {
        (grace_ms > 0).then(|| Self { hash, until: now.plus(grace_ms) })
    }
}

/// Compares a hash with that of a secret and of the one it replaced. Returns whether it is the latter;
/// `None` if it is neither.
pub(super) fn matches(
    current: &SecretHash,
    former: Option<FormerSecret>,
    hash: &SecretHash,
    now: UnixMillis,
) -> Option<bool> {
    if current.matches(hash) {
        return Some(false);
    }
    former.filter(|former| now < former.until && former.hash.matches(hash)).map(|_| true)
}
