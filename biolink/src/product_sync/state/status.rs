//! The status of a source.

use serde::{Deserialize, Serialize};

/// The status of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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

impl SyncStatus {
    /// Every status once.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Ok, Self::Stale, Self::Failing, Self::Paused];

    /// Returns its name in the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ok => "ok",
            Self::Stale => "stale",
            Self::Failing => "failing",
            Self::Paused => "paused",
        }
    }
}
