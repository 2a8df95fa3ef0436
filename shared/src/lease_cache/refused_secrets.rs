//! Secrets that the meter has refused, so that a flood of them costs it nothing.

use crate::key::{KeyError, SecretHash};
use crate::time::UnixMillis;

/// Time for which a refusal is cached, in milliseconds. It is short, because a key may be enabled
/// again.
const KEEP_MS: u64 = 5_000;

/// Maximum number of secrets of one key whose refusal is cached: the current one, the former one,
/// and some more.
const MAX_SECRETS: usize = 4;

/// A cache of refused secrets, each with the reason and the end of its entry.
#[derive(Debug, Default)]
pub(super) struct RefusedSecrets(Vec<(SecretHash, KeyError, UnixMillis)>);

impl RefusedSecrets {
    pub(super) fn insert(&mut self, secret: SecretHash, error: KeyError, now: UnixMillis) {
        self.0.retain(|&(other, _, until)| other != secret && now < until);
        self.0.truncate(MAX_SECRETS - 1);
        self.0.push((secret, error, now.plus(KEEP_MS)));
    }

    /// Returns the reason for which the secret was refused lately, or `None` if it was not.
    pub(super) fn find(&mut self, secret: &SecretHash, now: UnixMillis) -> Option<KeyError> {
        self.0.retain(|&(_, _, until)| now < until);
        self.0.iter().find(|(other, _, _)| other == secret).map(|&(_, error, _)| error)
    }

    /// Drops every entry, because no `until` means anything once the clock went back.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
