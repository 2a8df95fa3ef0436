//! The servers that are used: those of the configuration, or those that Sentinels or a cluster name.

use std::collections::HashMap;

use futures_util::future::join_all;
use redis::{RedisConnectionInfo, RedisError, Value, from_redis_value};

use super::fault::{Cost, Fault, TIMEOUT, is_denied, name, unreachable};
use crate::valkey::{connect, user};
use config::{ValkeyConfig, ValkeyKind};

/// The servers that are used, and what is wrong with those that name them.
pub(super) struct Places {
    pub(super) faults: Vec<Fault>,
    pub(super) places: Vec<Place>,
}

/// A server with its part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) server: (String, u16),
    pub(super) part: Part,
}

/// The part of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Calls go there.
    Primary,
    /// Calls may go there after a failover.
    Spare,
}

impl Part {
    /// Returns the cost of a fault there because of which calls fail.
    pub(super) const fn cost(self) -> Cost {
        match self {
            Self::Primary => Cost::Outage,
            Self::Spare => Cost::Risk,
        }
    }
}

/// The number of slots of a cluster.
const SLOTS: u64 = 16_384;

pub(super) async fn find(config: &ValkeyConfig) -> Places {
    match &config.kind {
        ValkeyKind::Single => {
            let places =
                config.servers.iter().map(|server| Place { server: server.clone(), part: Part::Spare });
            Places { faults: Vec::new(), places: places.collect() }
        }
        ValkeyKind::Sentinel { master } => {
            let answers = config.servers.iter().map(|server| ask_sentinel(config, server, master));
            named(config, join_all(answers).await)
        }
        ValkeyKind::Cluster => {
            let answers = config.servers.iter().map(|server| ask_node(config, server));
            named(config, join_all(answers).await)
        }
    }
}

/// Returns what the first good answer names. The faults of the others are no outage then.
fn named(config: &ValkeyConfig, answers: Vec<Result<Vec<Place>, (&'static str, String)>>) -> Places {
    let places = answers.iter().find_map(|answer| answer.as_ref().ok()).cloned();
    let cost = if places.is_some() { Cost::Risk } else { Cost::Outage };
    let faults = config.servers.iter().zip(answers).filter_map(|(server, answer)| {
        let (key, detail) = answer.err()?;
        Some(Fault { cost, key, servers: vec![name(server)], detail })
    });
    Places { faults: faults.collect(), places: places.unwrap_or_default() }
}

/// Returns the primary and the replicas that a Sentinel names, or the setting that is at fault and why.
async fn ask_sentinel(
    config: &ValkeyConfig,
    server: &(String, u16),
    master: &str,
) -> Result<Vec<Place>, (&'static str, String)> {
    let refused = |error: RedisError| {
        let detail = format!("does not name the master: {error}; expected a Sentinel that needs no password");
        ("valkey.servers", detail)
    };
    let connected = connect(config, server, RedisConnectionInfo::default(), TIMEOUT).await;
    let mut connection = connected.map_err(|error| unreachable(&error))?;
    let masters = redis::cmd("SENTINEL").arg("MASTERS").query_async(&mut connection).await;
    let masters: Vec<HashMap<String, String>> = masters.map_err(refused)?;
    let names: Vec<_> = masters.iter().filter_map(|known| known.get("name")).map(String::as_str).collect();
    let known = masters.iter().find(|known| known.get("name").is_some_and(|name| name == master));
    let Some(primary) = known.and_then(|known| place(known, Part::Primary)) else {
        let detail = format!("does not know the master `{master}`, but [{}]", names.join(", "));
        return Err(("valkey.master", detail));
    };
    let replicas = redis::cmd("SENTINEL").arg("REPLICAS").arg(master).query_async(&mut connection).await;
    let replicas: Vec<HashMap<String, String>> = replicas.map_err(refused)?;
    let replicas = replicas.iter().filter_map(|replica| place(replica, Part::Spare));
    Ok([primary].into_iter().chain(replicas).collect())
}

fn place(named: &HashMap<String, String>, part: Part) -> Option<Place> {
    Some(Place { server: (named.get("ip")?.clone(), named.get("port")?.parse().ok()?), part })
}

/// Returns the primaries and the replicas that a node of a cluster names, or the setting that is at fault
/// and why.
async fn ask_node(
    config: &ValkeyConfig,
    server: &(String, u16),
) -> Result<Vec<Place>, (&'static str, String)> {
    let connected = connect(config, server, user(config), TIMEOUT).await;
    let mut connection = connected.map_err(|error| unreachable(&error))?;
    let ranges = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await;
    let ranges: Vec<Vec<Value>> = ranges.map_err(|error: RedisError| {
        let detail = format!("does not name its cluster's nodes (CLUSTER SLOTS): {error}");
        (if is_denied(&error) { "valkey.user" } else { "valkey.kind" }, detail)
    })?;
    let (mut places, mut covered) = (Vec::<Place>::new(), 0_u64);
    for range in ranges {
        let [first, last, nodes @ ..] = range.as_slice() else { continue };
        covered = covered.saturating_add(number(last) + 1).saturating_sub(number(first));
        for (index, node) in nodes.iter().enumerate() {
            let part = if index == 0 { Part::Primary } else { Part::Spare };
            let Some(server) = address(node, &server.0) else { continue };
            if places.iter().all(|known| known.server != server) {
                places.push(Place { server, part });
            }
        }
    }
    // A cluster with slots that nobody serves fails for some keys only, which looks like no outage.
    if covered == SLOTS {
        return Ok(places);
    }
    Err(("valkey.servers", format!("knows nodes for {covered} slots, expected a cluster with all {SLOTS}")))
}

fn number(value: &Value) -> u64 {
    from_redis_value::<u32>(value.clone()).unwrap_or_default().into()
}

/// Parses the address of a node. An empty host is that of the node that was asked.
fn address(node: &Value, asked: &str) -> Option<(String, u16)> {
    let node: Vec<Value> = from_redis_value(node.clone()).ok()?;
    let [host, port, ..] = node.as_slice() else { return None };
    let host: Option<String> = from_redis_value(host.clone()).ok()?;
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| asked.to_owned());
    Some((host, u16::try_from(number(port)).ok()?))
}
