//! Changes of a key's named secrets.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::nested;
use crate::key::{Connection, FormerSecret, NamedSecret, Scope, Scopes, SecretHash, SecretId};
use crate::time::UnixMillis;

/// Time for which the token that was renewed stays good, in milliseconds.
const GRACE_MS: u64 = 60_000;

/// A change of one named secret. Absent fields stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretChange {
    /// Nothing: whether the caller may make a secret with these scopes and this expiry is checked.
    Check {
        /// The scopes.
        scopes: Scopes,
        /// The expiry; `None` is not before the key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<UnixMillis>,
    },
    /// A new one.
    Add(NamedSecret),
    /// Another name, scopes or expiry.
    Patch {
        /// Which one.
        id: SecretId,
        /// The name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The scopes, all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        scopes: Option<Scopes>,
        /// The expiry; the inner `None` is not before the key.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "nested")]
        expires_at: Option<Option<UnixMillis>>,
    },
    /// A new secret in its place. The one in use stays good for `grace_ms`.
    Rotate {
        /// Which one.
        id: SecretId,
        /// The new secret's hash.
        hash: SecretHash,
        /// Grace period of the old secret, in milliseconds.
        grace_ms: u64,
    },
    /// A new text for a connected agent, which presents its code or refresh token. One that was used before is in other
    /// hands too, so it ends the connection.
    Exchange {
        /// Which one.
        id: SecretId,
        /// The hash of the secret that the code or token renews.
        from: SecretHash,
        /// The new secret's hash.
        to: SecretHash,
        /// From when on the new text is refused.
        until: UnixMillis,
    },
    /// Ended for good. The record forgets it.
    Revoke {
        /// Which one.
        id: SecretId,
    },
}

/// The reason for which a [`SecretChange`] cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum SecretError {
    /// The key has no such secret.
    #[error("the key has no named secret with this id")]
    Unknown,
    /// The name is another one's.
    #[error("another secret of the key has this name")]
    NameTaken,
    /// The key has as many as a key can have.
    #[error("the key has {} named secrets, which is the most; revoke one first", NamedSecret::MAX)]
    TooMany,
    /// It would last longer than the secret that makes the change.
    #[error(
        "the secret that asks for this ends at {}, and what it makes, changes or rotates must not end later; set expires_at",
        .until.to_rfc3339()
    )]
    Outlives {
        /// The end of the secret that makes the change.
        until: UnixMillis,
    },
}

impl SecretChange {
    /// Returns the scopes that a secret must have to make this change: `keys`, those that the changed
    /// secret has, and those that it gets. So no secret hands out what it lacks.
    pub(super) fn needs(&self, secrets: &[NamedSecret]) -> Scopes {
        let of = |id: &SecretId| {
            secrets.iter().find(|secret| secret.id == *id).map_or(Scopes::NONE, |secret| secret.scopes)
        };
        let others = match self {
            Self::Check { scopes, .. } => *scopes,
            Self::Add(secret) => secret.scopes,
            // The present scopes too: a narrow secret must not take away what a wider one may do.
            Self::Patch { id, scopes, .. } => of(id).and(scopes.unwrap_or(Scopes::NONE)),
            Self::Rotate { id, .. } | Self::Exchange { id, .. } | Self::Revoke { id } => of(id),
        };
        // A secret may hand on only what it may do itself, or it could make one that may do more.
        others.with(Scope::Keys)
    }

    /// Returns true if what it makes, changes or gives a new text to ends after `until`. A secret that ends then
    /// could otherwise continue as another one.
    pub(super) fn outlives(&self, secrets: &[NamedSecret], until: UnixMillis) -> bool {
        // A secret without an end outlives each that has one.
        let is_later = |end: Option<UnixMillis>| end.is_none_or(|end| until < end);
        let of =
            |id: &SecretId| secrets.iter().find(|secret| secret.id == *id).map(|secret| secret.expires_at);
        match self {
            Self::Check { expires_at, .. } => is_later(*expires_at),
            Self::Add(secret) => is_later(secret.expires_at),
            Self::Patch { id, expires_at, .. } => {
                of(id).is_some_and(|end| is_later(expires_at.unwrap_or(end)))
            }
            Self::Rotate { id, .. } => of(id).is_some_and(is_later),
            Self::Exchange { .. } | Self::Revoke { .. } => false,
        }
    }

    /// Changes the secrets of a key. The same change again changes nothing more.
    ///
    /// # Errors
    /// Returns why it cannot be made.
    pub(super) fn apply(&self, secrets: &mut Vec<NamedSecret>, now: UnixMillis) -> Result<(), SecretError> {
        match self {
            Self::Check { .. } => Ok(()),
            Self::Add(added) => add(secrets, added, now),
            Self::Patch { id, name, scopes, expires_at } => {
                if let Some(name) = name {
                    check_name(secrets, name, *id)?;
                }
                let secret = find(secrets, *id)?;
                secret.name = name.clone().unwrap_or_else(|| secret.name.clone());
                secret.scopes = scopes.unwrap_or(secret.scopes);
                secret.expires_at = expires_at.unwrap_or(secret.expires_at);
                Ok(())
            }
            Self::Rotate { id, hash, grace_ms } => {
                let secret = find(secrets, *id)?;
                // A repeated message must not make the new secret its own former one, and lose the
                // old.
                if secret.hash != *hash {
                    secret.former = FormerSecret::within(secret.hash, *grace_ms, now);
                    secret.hash = *hash;
                    // Whoever rotates it has its text from now on, and not the agent.
                    secret.connection = None;
                }
                Ok(())
            }
            Self::Exchange { id, from, to, until } => exchange(secrets, *id, (from, to), *until, now),
            Self::Revoke { id } => {
                find(secrets, *id)?;
                secrets.retain(|secret| secret.id != *id);
                Ok(())
            }
        }
    }
}

fn add(secrets: &mut Vec<NamedSecret>, added: &NamedSecret, now: UnixMillis) -> Result<(), SecretError> {
    // A message may arrive twice.
    if secrets.iter().any(|secret| secret.id == added.id) {
        return Ok(());
    }
    // An agent that never took its token must not take the place of one that does.
    secrets.retain(|secret| !secret.has_lapsed(now));
    if added.connection.is_none() {
        check_name(secrets, &added.name, added.id)?;
    }
    if secrets.len() >= NamedSecret::MAX {
        return Err(SecretError::TooMany);
    }
    // An agent that connects again names itself as before.
    let others = (2..=NamedSecret::MAX + 1).map(|number| format!("{} {number}", added.name));
    let is_free = |name: &String| check_name(secrets, name, added.id).is_ok();
    let name =
        std::iter::once(added.name.clone()).chain(others).find(is_free).ok_or(SecretError::NameTaken)?;
    secrets.push(NamedSecret { name, ..added.clone() });
    Ok(())
}

/// Gives a connected agent a new text, or ends its connection if what it presents was used before.
fn exchange(
    secrets: &mut Vec<NamedSecret>,
    id: SecretId,
    (from, to): (&SecretHash, &SecretHash),
    until: UnixMillis,
    now: UnixMillis,
) -> Result<(), SecretError> {
    let secret = find(secrets, id)?;
    let connection = secret.connection.ok_or(SecretError::Unknown)?;
    // A message may arrive twice.
    if secret.hash == *to {
        return Ok(());
    }
    if secret.hash != *from || secret.has_lapsed(now) {
        secrets.retain(|secret| secret.id != id);
        return Ok(());
    }
    secret.former = match connection {
        Connection::Code { .. } => None,
        // Calls that the agent has begun with it must not fail.
        Connection::Token { until } => {
            Some(FormerSecret { hash: *from, until: until.min(now.plus(GRACE_MS)) })
        }
    };
    secret.hash = *to;
    secret.connection = Some(Connection::Token { until });
    Ok(())
}

fn check_name(secrets: &[NamedSecret], name: &str, id: SecretId) -> Result<(), SecretError> {
    let is_taken = secrets.iter().any(|secret| secret.id != id && secret.name == name);
    if is_taken { Err(SecretError::NameTaken) } else { Ok(()) }
}

fn find(secrets: &mut [NamedSecret], id: SecretId) -> Result<&mut NamedSecret, SecretError> {
    secrets.iter_mut().find(|secret| secret.id == id).ok_or(SecretError::Unknown)
}
