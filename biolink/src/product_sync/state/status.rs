//! The status of a source.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The status of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum SyncStatus {
    /// It has not run yet.
    #[default]
    Pending,
    /// The last run succeeded.
    Ok,
    /// The last run failed.
    Stale,
    /// The last three runs failed, or more.
    Failing,
    /// All runs of seven days failed, and there are no more.
    Paused,
}

shared::named!(SyncStatus);

impl SyncStatus {
    /// Every status once.
    pub const ALL: [Self; 5] = *Self::VARIANTS.as_array().unwrap();
}
