//! Secrets that the meter has refused, so that a flood of them costs it nothing.

use crate::key::{KeyError, NamedSecret, SecretHash};
use crate::time::UnixMillis;

/// Time for which a refusal is cached, in milliseconds. It is short, because a key may be enabled
/// again.
const KEEP_MS: u64 = 5_000;

/// Maximum number of secrets of one key whose refusal is cached: its own, as many named ones as it can
/// have, and some that are revoked.
const MAX_SECRETS: usize = NamedSecret::MAX + 6;

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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn secret(number: u8) -> SecretHash {
        SecretHash::of(&[number; 16])
    }

    #[test]
    fn refusals_of_a_few_secrets_are_kept_for_five_seconds() {
        let mut refused = RefusedSecrets::default();
        let all = 0..20;
        for number in all.clone() {
            refused.insert(secret(number), KeyError::Invalid, NOW);
        }
        let found = |refused: &mut RefusedSecrets, at| {
            all.clone().filter(|number| refused.find(&secret(*number), at).is_some()).count()
        };
        assert_eq!(found(&mut refused, NOW.plus(4_999)), MAX_SECRETS);
        refused.insert(secret(0), KeyError::Revoked, NOW.plus(4_999));
        assert_eq!(refused.find(&secret(0), NOW.plus(4_999)), Some(KeyError::Revoked), "the latest reason");
        assert_eq!(found(&mut refused, NOW.plus(5_000)), 1);
        refused.clear();
        assert_eq!(found(&mut refused, NOW), 0);
    }

    #[test]
    fn ended_refusal_leaves_its_place_to_others() {
        let mut refused = RefusedSecrets::default();
        let last = u8::try_from(MAX_SECRETS).unwrap();
        for number in 0..last {
            refused.insert(secret(number), KeyError::Invalid, NOW.plus(u64::from(number) * 300));
        }
        refused.insert(secret(last), KeyError::Invalid, NOW.plus(5_000));
        let left = (0..=last).filter(|number| refused.find(&secret(*number), NOW.plus(5_000)).is_some());
        assert_eq!(left.collect::<Vec<_>>(), (1..=last).collect::<Vec<_>>());
    }
}
