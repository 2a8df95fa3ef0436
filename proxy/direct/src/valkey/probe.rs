//! What the servers of `[valkey]` would refuse, found by harmless commands: for `--check --connect`, and
//! for the log of the start.

mod fault;
mod places;
mod report;

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use self::fault::name;
pub use self::fault::{Cost, Fault};
use self::places::{Part, Places};
pub use self::report::Purpose;
use self::report::Report;
use config::{ValkeyConfig, ValkeyKind};

/// Maximum time of all questions together.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks all servers. Returns their faults, outages first.
pub async fn faults(config: &ValkeyConfig, purpose: Purpose) -> Vec<Fault> {
    super::install_crypto(config);
    let found = timeout(TIMEOUT, find(config, purpose)).await.unwrap_or_else(|_| {
        let servers = config.servers.iter().map(name).collect();
        let detail = format!("no reply to everything within {} s", TIMEOUT.as_secs());
        vec![Fault { cost: Cost::Outage, key: "valkey.servers", servers, detail }]
    });
    merge(found)
}

/// Logs the faults. Returns true if one is an outage.
pub(crate) async fn log_faults(config: &ValkeyConfig, purpose: Purpose) -> bool {
    let faults = faults(config, purpose).await;
    for Fault { cost, key, servers, detail } in &faults {
        let servers = servers.join(",");
        match cost {
            Cost::Outage => log::error!("valkey unusable: key={key} servers={servers} detail=\"{detail}\""),
            Cost::Risk => log::warn!("valkey at risk: key={key} servers={servers} detail=\"{detail}\""),
        }
    }
    faults.iter().any(|fault| fault.cost == Cost::Outage)
}

async fn find(config: &ValkeyConfig, purpose: Purpose) -> Vec<Fault> {
    let Places { faults, mut places } = places::find(config).await;
    let asked = places.iter().map(|place| Report::of(config, purpose, &place.server));
    let reports = join_all(asked).await;
    if config.kind == ValkeyKind::Single {
        // The first primary is used. Without one, calls fail because of each.
        let is_primary = |report: &Result<Report, _>| report.as_ref().is_ok_and(Report::is_primary);
        match reports.iter().position(is_primary).and_then(|used| places.get_mut(used)) {
            Some(used) => used.part = Part::Primary,
            None => places.iter_mut().for_each(|place| place.part = Part::Primary),
        }
    }
    let found = places.iter().zip(reports).flat_map(|(place, report)| match report {
        Ok(report) => report.faults(config, place),
        Err(error) => vec![report::unreached(place, &error)],
    });
    faults.into_iter().chain(found).collect()
}

/// Merges the faults that servers share.
fn merge(faults: Vec<Fault>) -> Vec<Fault> {
    let mut merged: BTreeMap<(Cost, &'static str, String), Vec<String>> = BTreeMap::new();
    for Fault { cost, key, servers, detail } in faults {
        merged.entry((cost, key, detail)).or_default().extend(servers);
    }
    let fault = |((cost, key, detail), servers)| Fault { cost, key, servers, detail };
    merged.into_iter().map(fault).collect()
}
