//! The client of the meters: admits calls through the lease caches, reports their outcomes, and
//! reads and changes records.
//!
//! A meter that does not respond in time never makes a key look invalid. The lease cache decides
//! ([`LeaseCache::handle_failure`](shared::lease_cache::LeaseCache::handle_failure)): free keys
//! wait, paid keys continue on a local budget.

mod admin_attempt;
mod admission;
mod change;
mod exchange;
mod relay;
mod report;
mod rpc;
mod snapshot;

pub(crate) use admin_attempt::admit_attempt;
pub(crate) use admission::{CallDecision, admit};
#[cfg(feature = "pages")]
pub(crate) use change::record_free_call;
pub(crate) use change::{change, issue, read_record, step_sessions};
pub(crate) use relay::relay;
pub(crate) use report::{CallOutcome, log_call, record_aborted, record_outcome};
pub(crate) use snapshot::{SnapshotPart, read, read_as_admin, with_quota};
