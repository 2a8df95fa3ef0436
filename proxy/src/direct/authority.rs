//! Issuing and changing keys where this proxy is the only one who does.

use shared::{
    key::{IssueOnce, IssueStep, IssueTurn, KeyId, KeyRecord, ListRequest, Position, VerifiedKey, changed},
    meter::{Change, Changed, Message, Meter, Reply},
    problem::Problem,
    time::UnixMillis,
};

use super::Direct;

/// Whose key is changed, and by whom.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    /// By an administrator.
    Named(&'a KeyId),
    /// By its holder.
    Own(&'a VerifiedKey),
}

impl Subject<'_> {
    pub(super) const fn id(&self) -> &KeyId {
        match self {
            Self::Named(id) => id,
            Self::Own(key) => &key.id,
        }
    }

    fn by(&self) -> Option<VerifiedKey> {
        match self {
            Self::Named(_) => None,
            Self::Own(key) => Some(**key),
        }
    }
}

impl Direct {
    /// Changes a key's record as its meter would, and answers the record as it is then.
    pub(super) fn change(
        &self,
        subject: Subject<'_>,
        change: Change,
        now: UnixMillis,
    ) -> Result<KeyRecord, Problem> {
        let by = subject.by();
        let outcome = self.ledger.change(subject.id(), |known| {
            // A key that was issued elsewhere can be ended here: its text says enough for that.
            let record = known.cloned().or_else(|| by.as_ref().map(KeyRecord::provisional));
            let reply = Meter::default().handle(Message::Change { record, by, change }, now);
            let outcome = match reply {
                Reply::Change(outcome) => outcome,
                Reply::Ask(_)
                | Reply::Read(_)
                | Reply::Stored
                | Reply::Attempt(_)
                | Reply::Issue(_)
                | Reply::Show(_) => Changed::Unknown,
            };
            let news = match &outcome {
                Changed::Done(record) if known != Some(record) && record.version > 0 => Some(record.clone()),
                _ => None,
            };
            (news, outcome)
        });
        changed(outcome)
    }

    /// A page of records, and where the next one begins.
    pub(super) fn list(&self, asked: &ListRequest) -> (Vec<KeyRecord>, Option<Position>) {
        let limit = usize::try_from(asked.limit).unwrap_or(usize::MAX);
        let after = asked.from.as_ref().and_then(|from| from.after);
        let mut records = self.ledger.records();
        records.retain(|record| after.is_none_or(|after| record.id > after) && asked.filter.matches(record));
        let more = records.len() > limit;
        records.truncate(limit);
        let last = records.last().filter(|_| more).map(|record| record.id);
        (records, last.map(|id| Position { store: String::new(), after: Some(id) }))
    }

    /// Takes a step of a request to issue a key under an `Idempotency-Key` of this name.
    pub(super) fn issue(&self, name: String, step: IssueStep, now: UnixMillis) -> IssueTurn {
        let issues = &mut self.origin.lock().issues;
        issues.retain(|_, once| !once.is_over(now));
        let mut known = issues.remove(&name);
        let turn = IssueOnce::step(&mut known, step, now);
        issues.extend(known.map(|known| (name, known)));
        turn
    }
}
