//! Today's calls by label and status, for the holder of the key to read. Nothing is decided by it.

use serde::{Deserialize, Deserializer, Serialize};

use crate::key::SecretId;
use crate::label::Label;
use crate::sorted_map::SortedMap;
use crate::time::UtcDay;

/// Today's finished calls by label and by status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    day: UtcDay,
    /// Calls by what they are counted by.
    #[serde(deserialize_with = "known_labels")]
    pub by_tool: SortedMap<Label, u32>,
    /// Calls that ended with each HTTP status.
    pub by_status: SortedMap<u16, u32>,
    /// Calls charged to each named secret. The others are charged to the key's own.
    #[serde(default, skip_serializing_if = "SortedMap::is_empty")]
    pub by_secret: SortedMap<SecretId, u32>,
}

impl Tally {
    /// Maximum number of distinct statuses: whoever responds chooses them, and state is bounded.
    const MAX_STATUSES: usize = 64;

    /// Maximum number of named secrets of a day, revoked ones among them. Calls of further ones are left
    /// to the key's own.
    const MAX_SECRETS: usize = 64;

    /// The status that an admitted call is counted with until another one is reported.
    pub(crate) const ASSUMED: u16 = 200;

    /// Resets the counts if the day has changed.
    pub fn roll(&mut self, day: UtcDay) {
        if self.day != day {
            *self = Self { day, ..Self::default() };
        }
    }

    /// Counts `n` calls by `label` that ended with `status`.
    pub fn add(&mut self, label: Label, status: u16, n: u32) {
        let calls = self.by_tool.get_or_default(label);
        *calls = calls.saturating_add(n);
        self.add_status(status, n);
    }

    /// Counts `n` calls with `status` that were counted with `recorded`.
    pub(crate) fn correct(&mut self, recorded: u16, status: u16, n: u32) {
        if let Some(calls) = self.by_status.get_mut(&recorded) {
            *calls = calls.saturating_sub(n);
        }
        self.by_status.retain(|_, calls| *calls > 0);
        self.add_status(status, n);
    }

    /// Takes back a call by `label` that was counted with [`Tally::ASSUMED`].
    pub(super) fn remove(&mut self, label: Label) {
        if let Some(calls) = self.by_tool.get_mut(&label) {
            *calls = calls.saturating_sub(1);
        }
        if let Some(calls) = self.by_status.get_mut(&Self::ASSUMED) {
            *calls = calls.saturating_sub(1);
        }
        // The holder would read a tool that was never called.
        self.by_tool.retain(|_, calls| *calls > 0);
        self.by_status.retain(|_, calls| *calls > 0);
    }

    /// Charges `n` calls to a named secret.
    pub(super) fn charge(&mut self, secret: SecretId, n: u32) {
        let has_room = self.by_secret.len() < Self::MAX_SECRETS || self.by_secret.contains_key(&secret);
        if n > 0 && has_room {
            let calls = self.by_secret.get_or_default(secret);
            *calls = calls.saturating_add(n);
        }
    }

    /// Takes back `n` calls that were charged to a named secret.
    pub(super) fn refund(&mut self, secret: SecretId, n: u32) {
        if let Some(calls) = self.by_secret.get_mut(&secret) {
            *calls = calls.saturating_sub(n);
        }
        self.by_secret.retain(|_, calls| *calls > 0);
    }

    fn add_status(&mut self, status: u16, n: u32) {
        // A tool could fill its callers' state with statuses of its own.
        if self.by_status.len() < Self::MAX_STATUSES || self.by_status.contains_key(&status) {
            let calls = self.by_status.get_or_default(status);
            *calls = calls.saturating_add(n);
        }
    }
}

/// Skips unknown labels: one that only another version of the worker knows must not make a key's
/// whole state unreadable.
fn known_labels<'de, D: Deserializer<'de>>(stored: D) -> Result<SortedMap<Label, u32>, D::Error> {
    let named = SortedMap::<String, u32>::deserialize(stored)?;
    Ok(named.into_iter().filter_map(|(name, calls)| Some((name.parse::<Label>().ok()?, calls))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::Tool;

    const QR: Label = Tool::Qr.label();

    #[test]
    fn tally_has_a_bounded_number_of_statuses() {
        let mut tally = Tally::default();
        for status in 200..300 {
            tally.add(QR, status, 1);
        }
        tally.add(QR, 263, 1);
        assert_eq!(
            (tally.by_status.len(), tally.by_status.get(&263), tally.by_tool.get(&QR)),
            (64, Some(&2), Some(&101))
        );
    }

    #[test]
    fn tally_has_a_bounded_number_of_secrets_and_keeps_no_zeros() {
        let mut tally = Tally::default();
        for number in 0..100 {
            tally.charge(SecretId::new([number; 8]), 2);
        }
        assert_eq!(tally.by_secret.len(), 64);
        for number in 0..64 {
            tally.refund(SecretId::new([number; 8]), if number == 7 { 1 } else { 2 });
        }
        assert_eq!(tally.by_secret, [(SecretId::new([7; 8]), 1)].into());
    }

    #[test]
    fn corrected_and_removed_calls_leave_no_zeros() {
        let mut tally = Tally::default();
        tally.add(QR, Tally::ASSUMED, 2);
        tally.correct(Tally::ASSUMED, 503, 1);
        assert_eq!(tally.by_status, [(200, 1), (503, 1)].into());
        tally.remove(QR);
        assert_eq!((&tally.by_status, &tally.by_tool), (&[(503, 1)].into(), &[(QR, 1)].into()));
        tally.remove(QR);
        assert!(tally.by_tool.is_empty());
        tally.roll(UtcDay(0));
        assert!(!tally.by_status.is_empty(), "the same day");
        tally.roll(UtcDay(1));
        assert_eq!(tally, Tally { day: UtcDay(1), ..Tally::default() });
    }
}
