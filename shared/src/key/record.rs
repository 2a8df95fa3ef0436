//! The stored record of a key. It holds the SHA-256 of the secret, and never the secret itself.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::former_secret::{self, FormerSecret};
use super::named_secret::{HeldSecret, NamedSecret};
use super::{
    BiolinkPlan, KeyError, KeyId, Scope, Scopes, SecretHash, SecretId, VerifiedKey, WhenMeterUnreachable,
};
use crate::json;
use crate::policy::{LOCAL_BUDGET_PART, LimitOverrides, Policy};
use crate::tier::Tier;
use crate::time::UnixMillis;

/// The person a key was issued to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyHolder {
    /// The holder's e-mail address.
    pub email: String,
    /// The holder's name.
    pub name: String,
}

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state", try_from = "StoredStatus")]
pub enum KeyStatus {
    /// It may.
    Active,
    /// Switched off, and may be switched on again.
    Disabled,
    /// Ended for good.
    Revoked {
        /// The moment of revocation.
        at: UnixMillis,
    },
}

/// A status as it is stored. serde's own reader of a tagged enum buffers each of its fields.
#[derive(Deserialize)]
struct StoredStatus {
    state: StoredState,
    at: Option<UnixMillis>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredState {
    Active,
    Disabled,
    Revoked,
}

impl TryFrom<StoredStatus> for KeyStatus {
    type Error = &'static str;

    fn try_from(stored: StoredStatus) -> Result<Self, Self::Error> {
        match stored.state {
            StoredState::Active => Ok(Self::Active),
            StoredState::Disabled => Ok(Self::Disabled),
            StoredState::Revoked => {
                let at = stored.at.ok_or("the moment of revocation is missing")?;
                Ok(Self::Revoked { at })
            }
        }
    }
}

impl KeyStatus {
    /// Returns the status in one word, as clients see it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Revoked { .. } => "revoked",
        }
    }
}

/// All that is stored about a key, as versioned JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Counts the changes; the higher one is the newer. Issuing writes 1.
    pub version: u64,
    /// The key's public name.
    pub id: KeyId,
    /// The tier.
    pub tier: Tier,
    /// The key's own limits, in place of its tier's.
    #[serde(default)]
    pub limits: LimitOverrides,
    /// Whether the key may be used.
    pub status: KeyStatus,
    /// Hash of the key's own secret, which has every scope.
    pub secret: SecretHash,
    /// The secret it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerSecret>,
    /// Its named secrets, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<NamedSecret>,
    /// The holder; `None` in a provisional record, and once the holder was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<KeyHolder>,
    /// The plan of the bio-link product.
    #[serde(default)]
    pub biolink_plan: BiolinkPlan,
    /// The fate of calls while the key's meter is out of reach.
    #[serde(default, skip_serializing_if = "WhenMeterUnreachable::is_default")]
    pub when_meter_unreachable: WhenMeterUnreachable,
    /// The bio-link account that the key was issued into; `None` is the key's own account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<KeyId>,
    /// The moment of issuing.
    pub issued_at: UnixMillis,
    /// From when on it is refused; `None` is never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<UnixMillis>,
}

/// An error of a stored text that is not a key record. It names the place and never quotes the
/// text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("stored key record cannot be read beyond byte {position}")]
pub struct RecordError {
    /// The number of bytes that were read.
    pub position: usize,
}

impl KeyRecord {
    /// Returns the provisional record of a key whose own cannot be read yet: what its MAC proves,
    /// at version 0, so that any stored record is newer. It refuses a named secret, for which only a
    /// stored record can vouch.
    pub const fn provisional(key: &VerifiedKey) -> Self {
        Self {
            version: 0,
            id: key.id,
            tier: key.issued_tier,
            limits: LimitOverrides::NONE,
            status: KeyStatus::Active,
            secret: key.secret,
            former: None,
            secrets: Vec::new(),
            holder: None,
            biolink_plan: BiolinkPlan::None,
            when_meter_unreachable: WhenMeterUnreachable::Continue,
            account: None,
            issued_at: key.issued_at,
            expires_at: None,
        }
    }

    /// Reads a stored record.
    ///
    /// # Errors
    /// Returns an error if the text is not one.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        json::from_str(text).map_err(|error| RecordError { position: error.position() })
    }

    /// Returns the record as it is stored.
    pub fn to_json(&self) -> String {
        // A record is plain strings and numbers, which always serialize; an empty text would read
        // as a fault.
        json::to_string(self).unwrap_or_default()
    }

    /// Checks that `key` may be used.
    ///
    /// # Errors
    /// Returns [`KeyError::Invalid`] for another secret. Only a caller with a whole secret of
    /// this key learns that it is revoked, disabled or expired.
    pub fn check(&self, key: &VerifiedKey, now: UnixMillis) -> Result<(), KeyError> {
        self.hold(key, now).map(drop)
    }

    /// Checks that `key` may be used for what needs a `scope`. This is the one rule of scopes.
    ///
    /// # Errors
    /// As [`KeyRecord::check`], and [`KeyError::OutOfScope`].
    pub fn permit(&self, key: &VerifiedKey, scope: Option<Scope>, now: UnixMillis) -> Result<(), KeyError> {
        let scopes = self.hold(key, now)?.scopes();
        match scope.filter(|scope| !scopes.contains(*scope)) {
            Some(missing) => Err(KeyError::OutOfScope(missing)),
            None => Ok(()),
        }
    }

    /// Returns what the secret may do: nothing if it may not be used.
    pub fn scopes(&self, key: &VerifiedKey, now: UnixMillis) -> Scopes {
        self.hold(key, now).map_or(Scopes::NONE, HeldSecret::scopes)
    }

    /// Returns the secret that the text of `key` holds.
    ///
    /// # Errors
    /// As [`KeyRecord::check`].
    pub(crate) fn hold(&self, key: &VerifiedKey, now: UnixMillis) -> Result<HeldSecret<'_>, KeyError> {
        let held = self.find(key, now).filter(|_| self.id == key.id).ok_or(KeyError::Invalid)?;
        match self.status {
            KeyStatus::Revoked { .. } => Err(KeyError::Revoked),
            KeyStatus::Disabled => Err(KeyError::Disabled),
            KeyStatus::Active if self.expires_at.is_some_and(|at| at <= now) => Err(KeyError::Expired),
            // After the key's own state: a revoked key says so, whatever its secret.
            KeyStatus::Active if held.has_expired(now) => Err(KeyError::Expired),
            KeyStatus::Active => Ok(held),
        }
    }

    /// Returns the named secret that the text of `key` is of, for logs. `None` is the key's own.
    pub fn secret_id(&self, key: &VerifiedKey) -> Option<SecretId> {
        // Most calls are made with the key's own, which need not be compared once more.
        if !key.is_named {
            return None;
        }
        self.named_secret(&key.secret)
    }

    /// Returns the named secret with this hash, for logs.
    pub(crate) fn named_secret(&self, hash: &SecretHash) -> Option<SecretId> {
        // A log names a secret in its grace whenever that ends.
        let held = self.secrets.iter().find_map(|secret| secret.held_by(hash, UnixMillis(0)))?;
        held.named.map(|named| named.id)
    }

    fn find(&self, key: &VerifiedKey, now: UnixMillis) -> Option<HeldSecret<'_>> {
        if key.is_named {
            return self.secrets.iter().find_map(|secret| secret.held_by(&key.secret, now));
        }
        let is_former = former_secret::matches(&self.secret, self.former, &key.secret, now)?;
        Some(HeldSecret { named: None, is_former })
    }

    /// Returns the record without its holder and the names of its secrets: what leaves the edge. No
    /// e-mail address and no name is needed to verify a key.
    pub fn public(&self) -> Self {
        let unnamed = |secret: &NamedSecret| NamedSecret { name: String::new(), ..secret.clone() };
        Self { holder: None, secrets: self.secrets.iter().map(unnamed).collect(), ..self.clone() }
    }

    /// Returns the record with the names that `known`, a record of the same key, has and this one lacks.
    #[must_use]
    pub fn named_as(mut self, known: &Self) -> Self {
        self.holder = self.holder.or_else(|| known.holder.clone());
        for secret in self.secrets.iter_mut().filter(|secret| secret.name.is_empty()) {
            let same = known.secrets.iter().find(|other| other.id == secret.id);
            same.into_iter().for_each(|other| secret.name.clone_from(&other.name));
        }
        self
    }

    /// Returns true if this record says anything that a verifier cannot learn from the key's text
    /// alone.
    pub fn says_more_than(&self, key: &VerifiedKey) -> bool {
        // The rights of a key where its text is verified do not depend on these. Whatever is added to
        // a record counts until it is named here.
        let &Self { version, biolink_plan, when_meter_unreachable, account, issued_at, .. } = self;
        let plain = Self::provisional(key);
        self.public() != Self { version, biolink_plan, when_meter_unreachable, account, issued_at, ..plain }
    }

    /// Returns the bio-link account of the key. Rotation keeps it.
    pub fn account(&self) -> KeyId {
        self.account.unwrap_or(self.id)
    }

    /// Returns true if the record is the one that issuing wrote. Only a meter writes later versions.
    pub const fn is_as_issued(&self) -> bool {
        self.version <= 1
    }

    /// Returns the key's limits.
    pub fn policy(&self) -> Policy {
        Policy::for_tier(self.tier).with(self.limits)
    }

    /// Returns the calls in any 60 seconds that all caches together may admit while the key's meter is
    /// out of reach. A provisional record has none, because the stored one may say so.
    pub(crate) fn local_budget(&self) -> u32 {
        match (self.tier, self.when_meter_unreachable) {
            (Tier::Free, _) | (_, WhenMeterUnreachable::Refuse) => 0,
            // The stored record may have been changed to refuse.
            (Tier::Pro | Tier::Enterprise, WhenMeterUnreachable::Continue) if self.version == 0 => 0,
            (Tier::Pro | Tier::Enterprise, WhenMeterUnreachable::Continue) => {
                self.policy().minute.get() / LOCAL_BUDGET_PART
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8) -> VerifiedKey {
        VerifiedKey {
            id: KeyId::new([1; 12]),
            is_named: false,
            issued_tier: Tier::Free,
            issued_at: UnixMillis(0),
            secret: SecretHash::of(&[secret; 16]),
        }
    }

    #[test]
    fn record_reads_back_from_its_stored_text() {
        let mut record = KeyRecord::provisional(&key(1));
        record.former = Some(FormerSecret { hash: SecretHash::of(&[2; 16]), until: UnixMillis(5) });
        record.status = KeyStatus::Revoked { at: UnixMillis(7) };
        assert_eq!(KeyRecord::from_json(&record.to_json()), Ok(record));
    }

    #[test]
    fn malformed_record_is_an_error_that_does_not_quote_it() {
        let error = KeyRecord::from_json(r#"{"version":1,"secret":"hush"}"#).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn state_of_a_key_is_shown_to_its_secret_only() {
        let revoked =
            KeyRecord { status: KeyStatus::Revoked { at: UnixMillis(0) }, ..KeyRecord::provisional(&key(1)) };
        assert_eq!(revoked.check(&key(1), UnixMillis(9)), Err(KeyError::Revoked));
        assert_eq!(revoked.check(&key(2), UnixMillis(9)), Err(KeyError::Invalid));
    }

    #[test]
    fn replaced_secret_works_until_its_grace_ends() {
        let mut record = KeyRecord::provisional(&key(1));
        record.former = Some(FormerSecret { hash: SecretHash::of(&[2; 16]), until: UnixMillis(100) });
        assert_eq!(record.check(&key(2), UnixMillis(99)), Ok(()));
        assert_eq!(record.check(&key(2), UnixMillis(100)), Err(KeyError::Invalid));
        assert_eq!(record.check(&key(1), UnixMillis(100)), Ok(()));
    }

    #[test]
    fn record_with_other_rights_says_more_than_the_text() {
        let plain = KeyRecord {
            version: 1,
            holder: Some(KeyHolder { email: "ada@example.com".to_owned(), name: "Ada".to_owned() }),
            biolink_plan: BiolinkPlan::Business,
            when_meter_unreachable: WhenMeterUnreachable::Refuse,
            issued_at: UnixMillis(59_999),
            ..KeyRecord::provisional(&key(1))
        };
        assert!(!plain.says_more_than(&key(1)));
        let own = LimitOverrides { day: std::num::NonZeroU32::new(5), ..LimitOverrides::NONE };
        for other in [
            KeyRecord { tier: Tier::Pro, ..plain.clone() },
            KeyRecord { limits: own, ..plain.clone() },
            KeyRecord { status: KeyStatus::Disabled, ..plain.clone() },
            KeyRecord { expires_at: Some(UnixMillis(9)), ..plain.clone() },
            KeyRecord { secret: SecretHash::of(&[2; 16]), ..plain.clone() },
        ] {
            assert!(other.says_more_than(&key(1)), "{other:?}");
        }
    }

    #[test]
    fn key_expires_at_the_set_moment() {
        let record = KeyRecord { expires_at: Some(UnixMillis(50)), ..KeyRecord::provisional(&key(1)) };
        assert_eq!(record.check(&key(1), UnixMillis(49)), Ok(()));
        assert_eq!(record.check(&key(1), UnixMillis(50)), Err(KeyError::Expired));
    }
}
