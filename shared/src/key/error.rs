//! The errors of a key, and the problems that clients get for them.
//!
//! Why: docs/decisions/keys.md, "Errors of `shared` carry no text of keys, secrets or bodies".

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Scope;
use crate::problem::{Problem, codes};

/// An error of a text that is not a key, or of a key that may not be used.
///
/// It holds nothing of the text, because that may be a secret with one character wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "lowercase")]
#[error("{}", self.as_str())]
pub enum KeyError {
    /// The request has no key.
    Missing,
    /// Prefix, length, alphabet or checksum is wrong: a typo.
    Malformed,
    /// Forged, or unknown, or another secret than the key's. Clients must not be able to
    /// distinguish these.
    Invalid,
    /// The whole secret is right, but the key has expired.
    Expired,
    /// The whole secret is right, but the key is revoked.
    Revoked,
    /// The whole secret is right, but the key is switched off.
    Disabled,
    /// The whole secret is right, and it lacks a scope.
    OutOfScope(Scope),
}

impl KeyError {
    /// Returns what is wrong and what to do, as clients see it. Refusals come in floods, so that it
    /// is not formatted.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "send your API key in the header X-API-Key",
            Self::Malformed => {
                "the text in X-API-Key is not a key: prefix, length or checksum is wrong; copy it again"
            }
            Self::Invalid => "the API key is not valid",
            Self::Expired => "the API key has expired",
            Self::Revoked => "the API key is revoked",
            Self::Disabled => "the API key is disabled",
            Self::OutOfScope(_) => "the secret lacks a scope",
        }
    }
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        let code = match error {
            KeyError::Missing => codes::KEY_MISSING,
            KeyError::Malformed => codes::KEY_MALFORMED,
            KeyError::Invalid => codes::KEY_INVALID,
            KeyError::Expired => codes::KEY_EXPIRED,
            KeyError::Revoked => codes::KEY_REVOKED,
            KeyError::Disabled => codes::KEY_DISABLED,
            KeyError::OutOfScope(scope) => return scope_missing(scope),
        };
        Self::new(code, error.as_str())
    }
}

fn scope_missing(scope: Scope) -> Problem {
    let scope = scope.to_string();
    let detail =
        format!("this secret lacks the scope {scope}; a secret with `keys` and that scope can add it");
    Problem::new(codes::SCOPE_MISSING, detail).with_member("scope", scope)
}
