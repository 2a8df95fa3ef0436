//! The result of loading the configuration, for metrics and the admin port.

use shared::time::UnixMillis;
use strum::{IntoStaticStr, VariantArray};

/// The state of the configuration in use, and the result of the last reload.
#[derive(Clone, Debug)]
pub struct ReloadReport {
    /// Number of configurations applied since the process started, the first included.
    pub generation: u64,
    /// The time at which the configuration in use was applied.
    pub loaded_at: UnixMillis,
    /// The error of the file that was read last, if it was rejected.
    pub rejected: Option<String>,
    /// The keys whose values in the file wait for a restart.
    pub needs_restart: Vec<&'static str>,
}

/// The outcome of one reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum ReloadOutcome {
    /// The new configuration is in use.
    Applied,
    /// The file is invalid. The previous configuration stays in use.
    Rejected,
}

impl ReloadReport {
    /// Creates the report of a process that loaded its first configuration at `loaded_at`.
    pub const fn first(loaded_at: UnixMillis) -> Self {
        Self { generation: 1, loaded_at, rejected: None, needs_restart: Vec::new() }
    }
}
