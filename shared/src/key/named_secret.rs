//! Named secrets of a key, and the secret that a text holds.

use serde::{Deserialize, Serialize};

use super::former_secret::{self, FormerSecret};
use super::{Scopes, SecretHash, SecretId};
use crate::time::UnixMillis;

/// A secret of a key beside its own: with a name, scopes, and perhaps an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSecret {
    /// Its public name, which stays the same.
    pub id: SecretId,
    /// The name that the holder gave it; empty in a record that has left the edge.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The scopes that it has.
    pub scopes: Scopes,
    /// Its hash.
    pub hash: SecretHash,
    /// The secret it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerSecret>,
    /// The moment it was made.
    pub created_at: UnixMillis,
    /// From when on it is refused; `None` is not before its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixMillis>,
}

/// A secret of a key that a text has proved to hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldSecret<'a> {
    /// The named secret; `None` is the key's own.
    pub(crate) named: Option<&'a NamedSecret>,
    /// Whether it was replaced by a rotation, and is in its grace period.
    pub(crate) is_former: bool,
}

impl NamedSecret {
    /// The most named secrets of a key.
    pub const MAX: usize = 10;

    /// Returns whether the text with this hash is of this secret.
    pub(super) fn held_by(&self, hash: &SecretHash, now: UnixMillis) -> Option<HeldSecret<'_>> {
        let is_former = former_secret::matches(&self.hash, self.former, hash, now)?;
        Some(HeldSecret { named: Some(self), is_former })
    }
}

impl HeldSecret<'_> {
    /// Returns what the secret may do: the key's own may do everything.
    pub(crate) fn scopes(self) -> Scopes {
        self.named.map_or(Scopes::ALL, |named| named.scopes)
    }

    /// Returns the moment from which it is refused, although its key is not.
    pub(crate) fn ends_at(self) -> Option<UnixMillis> {
        self.named.and_then(|named| named.expires_at)
    }

    /// Returns true if it is refused, although its key is not.
    pub(super) fn has_expired(self, now: UnixMillis) -> bool {
        self.ends_at().is_some_and(|at| at <= now)
    }
}
