//! Issues and changes keys on a proxy that is the authority over them.

use shared::idempotency::{IssueOnce, IssueStep, IssueTurn};
use shared::key::{KeyRecord, Subject};
use shared::keys_api::changed;
use shared::meter::{Change, ChangeOutcome, Message, Meter, Reply};
use shared::problem::Problem;
use shared::time::UnixMillis;

use super::Direct;

impl Direct {
    /// Changes the record of a key by the rules of its meter. Returns the new record.
    pub(super) fn change(
        &self,
        subject: Subject<'_>,
        change: Change,
        now: UnixMillis,
    ) -> Result<KeyRecord, Problem> {
        let by = subject.by();
        let outcome = self.keys.change(subject.id(), |known| {
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
                | Reply::Show(_) => ChangeOutcome::Unknown,
            };
            let updated = match &outcome {
                ChangeOutcome::Done(record) if known != Some(record) && record.version > 0 => {
                    Some(record.clone())
                }
                _ => None,
            };
            (updated, outcome)
        });
        changed(outcome)
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
