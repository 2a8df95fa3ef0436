//! Changes of the key's record, which only its meter makes.

use super::Meter;
use crate::key::{FormerSecret, KeyError, KeyRecord, KeyStatus, Scopes, VerifiedKey};
use crate::meter::{CallLog, Change, ChangeOutcome, SecretChange, SecretError};
use crate::time::UnixMillis;

/// Age up to which a key without a stored record is accepted by its MAC alone, in milliseconds: an
/// hour. KV may not show a record for a minute or more after it was written. Later than that, no
/// record means no key.
const PROVISIONAL_MS: u64 = 3_600_000;

/// The version after the one that issuing writes.
const FIRST_CHANGE: u64 = 2;

impl Meter {
    /// Takes over a record that is newer than its own.
    pub(super) fn adopt(&mut self, record: Option<&KeyRecord>) {
        let newer = |record: &&KeyRecord| self.record.as_ref().is_none_or(|own| own.version < record.version);
        if let Some(record) = record.filter(newer) {
            // It was read from KV, so it need not be written there.
            self.stored_version = self.stored_version.max(record.version);
            self.record = Some(record.clone());
        }
    }

    /// Gives a young key that no store shows yet the record that its MAC proves, which the text of a
    /// named secret does not.
    pub(super) fn adopt_provisional(&mut self, key: &VerifiedKey, now: UnixMillis) {
        if self.record.is_none() && !key.is_named && now.since(key.issued_at) <= PROVISIONAL_MS {
            self.record = Some(KeyRecord::provisional(key));
        }
    }

    /// Changes the record.
    // Rare, and 5 KB: inlined, it makes what handles every message 9 KB, which V8 optimizes first in a new isolate.
    #[inline(never)]
    pub(super) fn change(
        &mut self,
        by: Option<&VerifiedKey>,
        change: &Change,
        now: UnixMillis,
    ) -> ChangeOutcome {
        if let Some(key) = by {
            self.adopt_provisional(key, now);
        }
        let Some(record) = &mut self.record else {
            return ChangeOutcome::Unknown;
        };
        // Before the state of the key is looked at: who may not change it learns nothing of it.
        if let Some(refusal) = by.and_then(|key| refuse(record, change, key, now)) {
            return refusal;
        }
        match (change, record.status, record.version) {
            (Change::None, ..) => {}
            (change, KeyStatus::Revoked { .. }, _) if !change.is_of_holder_alone() => {
                return ChangeOutcome::Revoked;
            }
            // An agent that renews its token meanwhile must keep what it renews it with.
            (Change::Secret(SecretChange::Exchange { .. }), status, _)
                if status == KeyStatus::Disabled || record.expires_at.is_some_and(|at| at <= now) =>
            {
                let is_disabled = status == KeyStatus::Disabled;
                let error = if is_disabled { KeyError::Disabled } else { KeyError::Expired };
                return ChangeOutcome::Refused(error);
            }
            // What a provisional record lacks must not be written over the stored one; only an end
            // may come first.
            (Change::Patch { .. } | Change::Rotate { .. } | Change::Secret(_), _, 0) => {
                return ChangeOutcome::Unknown;
            }
            (Change::Patch { .. } | Change::Rotate { .. } | Change::Secret(_) | Change::Revoke, ..) => {
                let before = record.clone();
                if let Err(error) = apply(record, change, now) {
                    return ChangeOutcome::Secret(error);
                }
                if matches!(change, Change::Patch { holder: Some(None), .. }) {
                    // The log says whom the holder has called. It is a part of what is erased.
                    self.calls = CallLog::default();
                    self.is_erased = true;
                }
                // A repeated change keeps the version: caches and KV would take the same record
                // again for each retry.
                if *record != before {
                    record.version = record.version.saturating_add(1).max(FIRST_CHANGE);
                    // A retry must not get the denial of limits that are gone.
                    self.responses.clear();
                }
            }
        }
        ChangeOutcome::Done(record.clone())
    }
}

/// Returns the reason for which the holder of `key` may not change the record: only a secret in use
/// may, not one it replaced, and not one without the scopes that the change is about. What a secret that expires
/// makes or changes ends no later than itself.
fn refuse(record: &KeyRecord, change: &Change, key: &VerifiedKey, now: UnixMillis) -> Option<ChangeOutcome> {
    let held = match record.hold(key, now) {
        Err(fault) => return Some(ChangeOutcome::Refused(fault)),
        Ok(held) if held.is_former => return Some(ChangeOutcome::Superseded),
        Ok(held) => held,
    };
    let needed = match change {
        Change::Secret(change) => change.needs(&record.secrets),
        Change::Patch { .. } | Change::Revoke | Change::Rotate { .. } => Scopes::ALL,
        Change::None => Scopes::NONE,
    };
    if let Some(missing) = held.scopes().first_missing(needed) {
        return Some(ChangeOutcome::Refused(KeyError::OutOfScope(missing)));
    }
    let until = held.ends_at()?;
    let outlives = match change {
        Change::Secret(change) => change.outlives(&record.secrets, until),
        // The key's own secret has no end but the key's, which an administrator may move.
        Change::Rotate { .. } => true,
        Change::Patch { .. } | Change::Revoke | Change::None => false,
    };
    outlives.then_some(ChangeOutcome::Secret(SecretError::Outlives { until }))
}

fn apply(record: &mut KeyRecord, change: &Change, now: UnixMillis) -> Result<(), SecretError> {
    match change {
        Change::Patch {
            tier,
            limits,
            limits_kept,
            expires_at,
            disabled,
            biolink_plan,
            when_meter_unreachable,
            holder,
        } => {
            if let Some(holder) = holder {
                record.holder.clone_from(holder);
            }
            if *holder == Some(None) {
                // The holder named them.
                record.secrets.iter_mut().for_each(|secret| secret.name = secret.id.to_string());
            }
            record.tier = tier.unwrap_or(record.tier);
            if let Some(own) = limits {
                record.limits = own.keeping(limits_kept, record.limits);
            }
            record.expires_at = expires_at.unwrap_or(record.expires_at);
            record.biolink_plan = biolink_plan.unwrap_or(record.biolink_plan);
            record.when_meter_unreachable = when_meter_unreachable.unwrap_or(record.when_meter_unreachable);
            match disabled {
                Some(true) => record.status = KeyStatus::Disabled,
                Some(false) => record.status = KeyStatus::Active,
                None => {}
            }
        }
        Change::Revoke => record.status = KeyStatus::Revoked { at: now },
        // The same rotation again must not end the grace of the secret it replaced.
        Change::Rotate { secret, .. } if *secret == record.secret => {}
        Change::Rotate { secret, grace_ms } => {
            record.former = FormerSecret::within(record.secret, *grace_ms, now);
            record.secret = *secret;
        }
        Change::Secret(change) => return change.apply(&mut record.secrets, now),
        Change::None => {}
    }
    Ok(())
}
