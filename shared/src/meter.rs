//! The one authority over a key: what it has used, what it has lent, and its record.
//!
//! A [`Meter`] is a pure state machine. Its shell (a Durable Object per key) loads the state, calls
//! [`Meter::handle`], and stores the state before the reply leaves. Isolates at the edge hold
//! *leases*: small, short allotments of calls which the meter counts as reserved from the moment
//! they are granted, so that an isolate can admit calls without asking.
//!
//! **Why no call over the limit passes**, whatever is delayed, doubled, lost, restarted or crashes:
//!
//! 1. What is granted, to a call or as a lease, is taken from what is free: the limit, less the
//!    calls counted in the window, less the calls reserved by leases.
//! 2. A holder spends a lease only while it is valid by the holder's own clock, counted from before
//!    it asked. The meter counts from its response, which is later. So spending has ended when the
//!    meter stops reserving.
//! 3. What was spent is counted at a moment no earlier than its real one: the grant's moment plus
//!    the end of the slot of the lease in which it was spent. What is not reported by a lease's end
//!    counts as spent then. So at the last grant that adds to some 60 seconds, each of their calls
//!    is in the window, or reserved, or being granted: three parts that together are at most the
//!    limit.
//! 4. A reply leaves only after its state is stored. If either is lost, calls are lost, never
//!    gained.
//! 5. Reports are running totals and merge by maximum. Refunds carry a number that is taken once,
//!    and the day on which the meter counted the calls; a call is given back to that day or not at
//!    all.
//! 6. A lease never outlasts the UTC day it was granted on.
//!
//! 7. A call is let through within [`MeterRequest::admit_within_ms`] after its request was first
//!    sent, which was before the meter decided. It is counted that much later. So the promise holds
//!    where calls are let through, at any distance, and not only where they are counted.
//! 8. A call that was given up is withdrawn by its request's number. It is taken back once, or not
//!    counted if the request arrives later.
//!
//! Beside what the meter counts, caches may admit calls while it is out of reach: at most
//! [`LOCAL_BUDGET_PART`](crate::policy::LOCAL_BUDGET_PART) of the limit in any 60 seconds, all of them
//! together. `budget_shares.rs` says why. The meter counts those calls when it hears of them.
//!
//! A call stays in the window for 300 ms longer than 60 seconds
//! ([`RollingMinute`](crate::quota::RollingMinute)). That covers the first 300 ms of the way of a
//! response, or else a step of a holder's clock back, or of the meter's forward, by as much.
//!
//! `docs/limits.md` says the same to clients and operators, with what it costs near the limit.
//!
//! Why: docs/decisions/limits.md, "One row holds a key's whole state".

mod alerts;
mod batches;
mod budget_shares;
mod bulk;
mod call_log;
mod held;
mod held_share;
mod hour_counts;
mod lease;
mod message;
mod nested;
mod secret_calls;
mod secret_change;
mod session;
mod sessions;
mod state;
mod stored;
mod tally;

pub use alerts::{Alert, AlertCause, EXPIRY_DAYS, KeyAlerts, THRESHOLDS};
pub use bulk::{BulkError, BulkReplies, BulkReply, BulkRequest, HolderAsk, MeterFailure};
pub use call_log::{CallBatch, CallFilter, CallLog, CallPage, CallRow, LoggedCall, RefusedCalls, oldest};
pub use held::HeldMeter;
pub use held_share::HeldShare;
pub use hour_counts::HourCounts;
pub(crate) use lease::SLOT_MS;
pub use lease::{LeaseReport, LeaseTerms, TTL_MS};
pub use message::{
    AdminAttempt, Batch, Change, ChangeOutcome, Message, MeterRequest, MeterResponse, MeterSnapshot, Reply,
    Verdict,
};
pub use secret_calls::SecretCalls;
pub use secret_change::{SecretChange, SecretError};
pub use session::{KeptSession, Session, SessionId, SessionStep, signed_out};
pub use sessions::Sessions;
pub use state::Meter;
pub use stored::{Ask, NextValue, Turn, TurnError};
pub use tally::Tally;
