//! Issues and changes keys on a proxy that is the authority over them.

use std::sync::atomic::Ordering;

use shared::idempotency::{IssueOnce, IssueStep, IssueTurn};
use shared::key::{KeyRecord, Subject};
use shared::keys_api::changed;
use shared::meter::{Change, ChangeOutcome, Message, Meter, Reply, SecretChange};
use shared::problem::Problem;
use shared::time::UnixMillis;

use super::Direct;

/// A change that is not stored yet.
pub(super) struct Unsaved {
    /// The new record.
    pub(super) record: KeyRecord,
    /// The former one.
    before: Option<KeyRecord>,
    /// Whether the change only takes away, so that it stays even if it cannot be stored.
    is_revocation: bool,
}

impl Direct {
    /// Changes the record of a key by the rules of its meter. Returns the new record.
    pub(super) fn change(
        &self,
        subject: Subject<'_>,
        change: Change,
        now: UnixMillis,
    ) -> Result<KeyRecord, Problem> {
        self.change_unsaved(subject, change, now).map(|unsaved| unsaved.record)
    }

    /// Changes the record of a key like [`Self::change`], in memory.
    pub(super) fn change_unsaved(
        &self,
        subject: Subject<'_>,
        change: Change,
        now: UnixMillis,
    ) -> Result<Unsaved, Problem> {
        let by = subject.by();
        let is_revocation = matches!(change, Change::Revoke | Change::Secret(SecretChange::Revoke { .. }));
        let (before, outcome) = self.keys.change(subject.id(), |known| {
            let before = known.cloned();
            // A key that was issued elsewhere can be revoked here: its text says enough for that.
            let record = known.cloned().or_else(|| by.as_ref().map(KeyRecord::provisional));
            let reply = Meter::default().handle(Message::Change { record, by, change }, now);
            let outcome = match reply {
                Reply::Change(outcome) => outcome,
                Reply::Ask(_)
                | Reply::Read(_)
                | Reply::Stored
                | Reply::Attempt(_)
                | Reply::Issue(_)
                | Reply::Show(_)
                | Reply::Sessions(_)
                | Reply::SignedOut => ChangeOutcome::Unknown,
            };
            let updated = match &outcome {
                ChangeOutcome::Done(record) if known != Some(record) && record.version > 0 => {
                    Some(record.clone())
                }
                _ => None,
            };
            (updated, (before, outcome))
        });
        changed(outcome).map(|record| Unsaved { record, before, is_revocation })
    }

    /// Adds the record of a new key, in memory.
    pub(super) fn add_unsaved(&self, record: KeyRecord) -> Unsaved {
        self.keys.merge_record(record.clone());
        Unsaved { record, before: None, is_revocation: false }
    }

    /// Takes a change back that could not be stored, so that what the caller was not told is not in effect.
    /// A revocation stays: a key that was to end must not work again.
    pub(super) fn undo(&self, unsaved: Unsaved) {
        if unsaved.is_revocation {
            return;
        }
        self.keys.undo(&unsaved.record, unsaved.before);
        // Another save may have succeeded in between.
        self.records_changed.store(true, Ordering::Relaxed);
    }

    /// Takes one step of issuing a key under an `Idempotency-Key` of this name.
    pub(super) fn issue(&self, name: String, step: IssueStep, now: UnixMillis) -> IssueTurn {
        let issues = &mut self.source.lock().issues;
        issues.retain(|_, once| !once.is_over(now));
        let mut known = issues.remove(&name);
        let turn = IssueOnce::step(&mut known, step, now);
        issues.extend(known.map(|known| (name, known)));
        turn
    }
}
