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
    /// What it is to a hosted agent that has it by OAuth; `None` for a secret that its holder made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
}

/// A named secret of a hosted agent: its text is a token that the agent renews.
///
/// Why: docs/decisions/portal.md, "A connected agent is a named secret".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// The holder has agreed, and the agent has a code and no token. The secret has no text yet.
    Code {
        /// From when on the code is refused.
        until: UnixMillis,
    },
    /// The agent has a token.
    Token {
        /// From when on the token is refused. The agent may renew it.
        until: UnixMillis,
    },
}

impl Connection {
    /// Returns the moment from which its code or token is refused.
    pub const fn until(self) -> UnixMillis {
        match self {
            Self::Code { until } | Self::Token { until } => until,
        }
    }
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

    /// Returns true if its code was never used, and is refused by now.
    pub(crate) fn has_lapsed(&self, now: UnixMillis) -> bool {
        matches!(self.connection, Some(Connection::Code { until }) if until <= now)
    }

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
        let named = self.named?;
        // A token ends before the connection, which renews it.
        named.connection.map(Connection::until).into_iter().chain(named.expires_at).min()
    }

    /// Returns true if it is refused, although its key is not.
    pub(super) fn has_expired(self, now: UnixMillis) -> bool {
        self.ends_at().is_some_and(|at| at <= now)
    }
}
