//! The record's life at its meter, the only writer it has.

use super::Meter;
use crate::{
    key::{FormerSecret, KeyRecord, KeyStatus},
    meter::{Change, Changed},
    time::UnixMillis,
};

/// The version after the one that issuing writes.
const FIRST_CHANGE: u64 = 2;

impl Meter {
    /// Takes over a record that is newer than the own one: the first that a store shows of a key.
    pub(super) fn adopt(&mut self, record: Option<&KeyRecord>) {
        let newer = |record: &&KeyRecord| self.record.as_ref().is_none_or(|own| own.version < record.version);
        if let Some(record) = record.filter(newer) {
            self.stored_version = self.stored_version.max(record.version);
            self.record = Some(record.clone());
        }
    }

    pub(super) fn change(&mut self, record: Option<KeyRecord>, change: &Change, now: UnixMillis) -> Changed {
        self.adopt(record.as_ref());
        self.roll(now);
        let Some(record) = &mut self.record else {
            return Changed::Unknown;
        };
        match (change, record.status, record.version) {
            (Change::None, ..) => {}
            (_, KeyStatus::Revoked { .. }, _) => return Changed::Revoked,
            // What a provisional record lacks must not be written over the stored one; only an end may come first.
            (Change::Patch { .. } | Change::Rotate { .. }, _, 0) => return Changed::Unknown,
            (Change::Patch { .. } | Change::Rotate { .. } | Change::Revoke, ..) => {
                let before = record.clone();
                apply(record, change, now);
                if *record != before {
                    record.version = record.version.saturating_add(1).max(FIRST_CHANGE);
                    self.given.clear();
                }
            }
        }
        Changed::Done(record.clone())
    }
}

fn apply(record: &mut KeyRecord, change: &Change, now: UnixMillis) {
    match change {
        Change::Patch { tier, limits, expires_at, disabled, biolink_plan } => {
            record.tier = tier.unwrap_or(record.tier);
            record.limits = limits.unwrap_or(record.limits);
            record.expires_at = expires_at.unwrap_or(record.expires_at);
            record.biolink_plan = biolink_plan.unwrap_or(record.biolink_plan);
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
            let former = FormerSecret { hash: record.secret, until: now.plus(*grace_ms) };
            record.former = (*grace_ms > 0).then_some(former);
            record.secret = *secret;
        }
        Change::None => {}
    }
}
