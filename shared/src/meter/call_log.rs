//! The log of a key's last calls, for its holder to read. Nothing is decided by it.
//!
//! A call travels in a [`CallBatch`] with the message that its isolate sends next, into the key's state,
//! and from there in a [`CallRow`] with many others: a row is what costs. It has no address, no user
//! agent and no body.
//!
//! Why: docs/decisions/limits.md, "The log of a key's calls is written with its state".

mod batch;
mod filter;
mod logged_call;

pub use batch::CallBatch;
pub use filter::{CallFilter, CallPage};
pub use logged_call::{LoggedCall, RefusedCalls};
use serde::{Deserialize, Serialize};

use crate::key::KeyRecord;
use crate::time::{HOUR_MS, UnixMillis};

/// How long a call is kept, in milliseconds.
const KEPT_MS: u64 = 7 * 24 * HOUR_MS;

/// The calls of a key that its state holds until they fill a row. Failed ones and others have separate rows,
/// so that many successes do not push failures out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallLog {
    failed: Tail,
    succeeded: Tail,
}

/// The calls of one kind since the last full row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Tail {
    /// The number of full rows.
    rows: u64,
    calls: Vec<LoggedCall>,
    dropped: u32,
}

/// What the meter knows when calls arrive.
struct Arrived<'a> {
    record: Option<&'a KeyRecord>,
    /// The oldest call that is kept.
    since: UnixMillis,
    now: UnixMillis,
}

/// Calls that are stored together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRow {
    /// The number of the row, which is even for failed calls and grows.
    #[serde(skip)]
    pub number: u64,
    calls: Vec<LoggedCall>,
    /// Failed calls of the same time that are not among them.
    #[serde(default)]
    dropped: u32,
}

impl CallLog {
    /// Returns true if there is nothing to store.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if rows were filled, which the shell has stored.
    pub const fn has_rows(&self) -> bool {
        self.failed.rows + self.succeeded.rows > 0
    }

    /// Adds the calls of a batch of the key with this record. Returns the rows that are full, for the shell to store.
    pub(super) fn add(
        &mut self,
        batch: &CallBatch,
        record: Option<&KeyRecord>,
        now: UnixMillis,
    ) -> impl Iterator<Item = CallRow> + use<> {
        let arrived = Arrived { record, since: oldest(now), now };
        self.failed.dropped = self.failed.dropped.saturating_add(batch.dropped);
        // All failures are kept, and only a sample of the others: they are what the log is read
        // for.
        self.failed.add(&batch.failed, 1, &arrived);
        self.succeeded.add(&batch.succeeded, batch.one_of(), &arrived);
        let failed = self.failed.take_full().map(|row| CallRow { number: row.number * 2, ..row });
        let succeeded = self.succeeded.take_full().map(|row| CallRow { number: row.number * 2 + 1, ..row });
        failed.into_iter().chain(succeeded)
    }

    /// Returns the calls that are in no row yet.
    pub fn unstored(&self) -> impl Iterator<Item = CallRow> + use<> {
        [&self.failed, &self.succeeded].map(Tail::to_row).into_iter()
    }
}

impl Tail {
    /// Number of calls that fill a row.
    const FULL: usize = 64;

    fn add(&mut self, calls: &[LoggedCall], sampled: u32, arrived: &Arrived<'_>) {
        if !calls.is_empty() {
            // A quiet key would keep calls beyond the promised week, because its row never fills.
            self.calls.retain(|call| call.at >= arrived.since);
            // No call is later than the moment at which the meter learns of it.
            let taken = |call: &LoggedCall| LoggedCall {
                at: call.at.min(arrived.now),
                sampled,
                ..call.named(arrived.record)
            };
            self.calls.extend(calls.iter().map(taken));
        }
    }

    fn take_full(&mut self) -> Option<CallRow> {
        if self.calls.len() < Self::FULL {
            return None;
        }
        // The number of the row must outlive what it counts, or the next row would overwrite the
        // first.
        let Self { rows, calls, dropped } = std::mem::take(self);
        self.rows = rows.saturating_add(1);
        Some(CallRow { number: rows, calls, dropped })
    }

    fn to_row(&self) -> CallRow {
        CallRow { number: self.rows, calls: self.calls.clone(), dropped: self.dropped }
    }
}

impl CallRow {
    /// Rows of failed calls that are kept, and of others.
    pub const KEPT: u64 = 32;

    /// Returns the moment of the last call.
    pub fn last_at(&self) -> UnixMillis {
        self.calls.iter().map(|call| call.at).max().unwrap_or_default()
    }

    /// Returns the number of the latest row of the same kind that this one pushes out. There are as many
    /// rows as numbers from 0.
    pub const fn pushed_out(&self) -> Option<u64> {
        self.number.checked_sub(2 * Self::KEPT)
    }
}

/// Returns the moment before which no call is kept.
pub const fn oldest(now: UnixMillis) -> UnixMillis {
    now.minus(KEPT_MS)
}

#[cfg(test)]
mod tests;
