//! The faults of the servers of `[valkey]`, which `--check --connect` asks.

use tokio::runtime::Builder;

use super::{Finding, Severity};
use config::{Callers, Config, MeterAuthority, ValkeyConfig};
use direct::valkey::probe::{self, Cost, Purpose};

/// Returns the faults of the servers of `[valkey]`, if they are in use.
///
/// # Errors
/// If this process cannot wait for sockets.
pub(super) fn findings(config: &Config) -> std::io::Result<Vec<Finding>> {
    let Some((valkey, purpose)) = in_use(config) else { return Ok(Vec::new()) };
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let faults = runtime.block_on(probe::faults(valkey, purpose)).into_iter();
    Ok(faults
        .map(|fault| {
            let severity = match fault.cost {
                Cost::Outage => Severity::Error,
                Cost::Risk => Severity::Warning,
            };
            Finding::new(config, severity, fault.key, fault.to_string())
        })
        .collect())
}

fn in_use(config: &Config) -> Option<(&ValkeyConfig, Purpose)> {
    match &config.callers {
        Callers::Edge(grants) => Some((grants.store.as_deref()?, Purpose::UsedGrants)),
        Callers::Clients(keys) => match keys.meters.as_ref()? {
            MeterAuthority::Edge => None,
            MeterAuthority::Valkey(valkey) => Some((valkey, Purpose::Meters)),
        },
    }
}
