//! Keys: what a client holds, what is stored about it, and how one is issued.

mod api_key;
mod change;
mod changes;
mod idempotency;
mod issue;
mod key_id;
mod list;
mod record;
mod usage;

pub use api_key::{ApiKey, KeyEntropy, KeyEnv, KeyFault, VerifiedKey};
pub use change::{changed, describe_rotated, key_unknown, read_change, read_grace};
pub use changes::{ChangesFault, ChangesMessage, ChangesPage, ChangesRequest, Cursor};
pub use idempotency::{IDEMPOTENCY_KEY, IdempotencyKey, IssueAttempt, IssueOnce, IssueStep, IssueTurn};
pub use issue::{IssueRequest, Issued, MAX_BODY, NewKey, describe};
pub(crate) use issue::{MAX_EMAIL, MAX_NAME};
pub use key_id::KeyId;
pub use list::{KeyFilter, ListRequest, Position, describe_page, includes_usage};
pub use record::{BiolinkPlan, FormerSecret, KeyHolder, KeyRecord, KeyStatus, RecordFault, SecretHash};
pub use usage::describe_usage;
