//! The keys API: what its requests say, and its responses, in JSON.
//!
//! [`key`](crate::key) holds what a key is. The shells authenticate the caller, read the body, and
//! store what is decided here.

mod calls;
mod change;
mod changes;
mod history;
mod idempotency_key;
mod issue;
mod list;
mod secrets;
mod usage;
mod values;

pub use calls::CallsRequest;
pub use change::{changed, describe_rotated, key_unknown, read_change, read_grace};
pub use changes::{ChangesError, ChangesMessage, ChangesPage, ChangesRequest, Cursor};
pub use history::HistoryRequest;
pub use issue::{IssueRequest, IssuedKey, MAX_BODY, NewKey, describe};
pub use list::{KeyFilter, KeyPage, KeySearch, ListRequest, Position, Sort, SortField, includes_usage};
pub use secrets::{NewSecret, created_once, describe_secrets, with_secrets};
pub use usage::{describe_own, describe_usage};
pub use values::{MAX_EMAIL, MAX_NAME};
