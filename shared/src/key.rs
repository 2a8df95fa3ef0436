//! Keys: the text that a client holds, the record that is stored about it, and who may use or
//! change it.

mod api_key;
mod authenticate;
mod biolink_plan;
mod error;
mod former_secret;
mod free_calls;
mod key_id;
mod named_secret;
mod record;
mod scopes;
mod secret_hash;
mod secret_id;
mod subject;
mod when_meter_unreachable;

pub use api_key::{ApiKey, KeyEntropy, KeyEnv, VerifiedKey};
pub use authenticate::authenticate;
pub use biolink_plan::BiolinkPlan;
pub use error::KeyError;
pub use former_secret::FormerSecret;
pub use free_calls::{FreeCall, FreeCallGuard};
pub use key_id::KeyId;
pub use named_secret::{Connection, NamedSecret};
pub use record::{KeyHolder, KeyRecord, KeyStatus, RecordError};
pub use scopes::{Scope, Scopes};
pub use secret_hash::SecretHash;
pub use secret_id::SecretId;
pub use subject::Subject;
pub use when_meter_unreachable::WhenMeterUnreachable;
