//! The addresses of names, and the servers of a pool that follow from them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use config::{PoolConfig, UpstreamConfig};

/// The last known servers of each name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedNames(BTreeMap<String, BTreeSet<ResolvedServer>>);

/// One server that a name resolves to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ResolvedServer {
    /// Its address.
    pub address: IpAddr,
    /// Its SRV record, unless the name was resolved to addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<ServiceRecord>,
}

/// The SRV record of a server (RFC 2782).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceRecord {
    /// The name of the host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The share of calls in relation to the other servers: 1 to 100.
    pub weight: u32,
    /// Whether another record has a better priority.
    pub backup: bool,
}

impl From<IpAddr> for ResolvedServer {
    fn from(address: IpAddr) -> Self {
        Self { address, record: None }
    }
}

/// Maximum number of servers of a pool: the capacity of [`super::TriedSet`].
pub(super) const MAX_SERVERS: usize = 64;

impl ResolvedNames {
    /// Returns the distinct servers of a name in ascending order, whatever the order of the name
    /// server.
    pub fn servers(&self, name: &str) -> impl Iterator<Item = &ResolvedServer> {
        self.0.get(name).into_iter().flatten()
    }

    /// Sets the servers of a name. Keeps the previous ones if `servers` is empty, because a
    /// failure of the name server must not make a tool unavailable. Probes detect addresses that
    /// are gone.
    #[must_use]
    pub fn with(mut self, name: &str, servers: impl IntoIterator<Item = ResolvedServer>) -> Self {
        let servers: BTreeSet<_> = servers.into_iter().collect();
        if !servers.is_empty() {
            self.0.insert(name.to_owned(), servers);
        }
        self
    }
}

/// An upstream at one of its addresses. `None` while its name has never been resolved.
type Placed<'a> = (Cow<'a, UpstreamConfig>, Option<SocketAddr>);

/// Returns the servers of a pool, with what an operator has set of single ones.
pub(super) fn servers<'a>(pool: &'a PoolConfig, names: &ResolvedNames) -> Vec<Placed<'a>> {
    let mut placed = upstreams(&pool.upstreams, names);
    for (config, address) in placed.iter_mut().filter(|_| !pool.by_server.is_empty()) {
        if let Some(values) = pool.by_server.get(&config.identity(*address)) {
            values.apply(config.to_mut());
        }
    }
    placed
}

/// Returns the servers of entries: one for each address of each entry, and one without an address
/// for a name that has never been resolved. Beyond [`MAX_SERVERS`], addresses are dropped from the
/// names with the most.
fn upstreams<'a>(upstreams: &'a [UpstreamConfig], names: &ResolvedNames) -> Vec<Placed<'a>> {
    let mut placed: Vec<Vec<_>> = upstreams.iter().map(|upstream| of_entry(upstream, names)).collect();
    // A name is outside of our control. Each entry keeps one server at least, as the configuration
    // has no more.
    while placed.iter().map(Vec::len).sum::<usize>() > MAX_SERVERS {
        let longest = placed.iter_mut().max_by_key(|servers| servers.len());
        longest.map(Vec::pop);
    }
    placed.into_iter().flatten().collect()
}

fn of_entry<'a>(upstream: &'a UpstreamConfig, names: &ResolvedNames) -> Vec<Placed<'a>> {
    let at = |server: &ResolvedServer| {
        let config = match &server.record {
            Some(record) => Cow::Owned(of_record(upstream, record)),
            None => Cow::Borrowed(upstream),
        };
        let address = SocketAddr::new(server.address, config.port);
        (config, Some(address))
    };
    if let Some(ip) = upstream.ip() {
        return vec![at(&ip.into())];
    }
    let mut servers: Vec<_> = names.servers(&upstream.host).map(at).collect();
    // Records of different priorities may name one server.
    servers.sort_by_key(|(config, address)| (*address, config.backup));
    servers.dedup_by(|(other, same), (config, address)| (&other.host, same) == (&config.host, address));
    if servers.is_empty() { vec![(Cow::Borrowed(upstream), None)] } else { servers }
}

/// Returns the entry of a server that a record of the entry `service` names.
fn of_record(service: &UpstreamConfig, record: &ServiceRecord) -> UpstreamConfig {
    UpstreamConfig {
        host: record.host.clone(),
        port: record.port,
        weight: record.weight,
        backup: service.backup || record.backup,
        admin_state: service.admin_state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::AdminState;

    fn entry(host: &str) -> UpstreamConfig {
        UpstreamConfig {
            host: host.to_owned(),
            port: 9100,
            weight: 1,
            backup: false,
            admin_state: AdminState::Active,
        }
    }

    fn ips(count: u8) -> impl Iterator<Item = ResolvedServer> {
        (1..=count).rev().map(|last| IpAddr::from([10, 0, 0, last]).into())
    }

    fn shown(upstreams: &[UpstreamConfig], names: &ResolvedNames) -> Vec<String> {
        super::upstreams(upstreams, names).into_iter().map(|(upstream, at)| upstream.identity(at)).collect()
    }

    #[test]
    fn each_address_of_a_name_is_a_server_in_stable_order() {
        let names = ResolvedNames::default().with("tool.test", ips(2));
        let upstreams = [entry("127.0.0.1"), entry("tool.test"), entry("other.test"), entry("::1")];
        assert_eq!(
            shown(&upstreams, &names),
            [
                "127.0.0.1:9100",
                "tool.test/10.0.0.1:9100",
                "tool.test/10.0.0.2:9100",
                "other.test:9100",
                "[::1]:9100"
            ]
        );
    }

    #[test]
    fn each_srv_record_is_a_server_of_its_own_host_and_weight() {
        let server = |last, host: &str, weight, backup| ResolvedServer {
            address: IpAddr::from([10, 0, 0, last]),
            record: Some(ServiceRecord { host: host.to_owned(), port: 8_000, weight, backup }),
        };
        let service = "_http._tcp.tool.test";
        let found = [
            server(2, "b.test", 7, false),
            server(1, "a.test", 3, true),
            server(1, "a.test", 9, false),
            server(3, "a.test", 9, false),
        ];
        let names = ResolvedNames::default().with(service, found);
        let upstreams = [UpstreamConfig { port: 0, ..entry(service) }];
        assert_eq!(
            shown(&upstreams, &names),
            ["a.test/10.0.0.1:8000", "b.test/10.0.0.2:8000", "a.test/10.0.0.3:8000"]
        );
        let flags: Vec<_> = super::upstreams(&upstreams, &names)
            .into_iter()
            .map(|(upstream, _)| (upstream.weight, upstream.backup))
            .collect();
        assert_eq!(flags, [(9, false), (7, false), (9, false)]);
        assert_eq!(shown(&upstreams, &ResolvedNames::default()), [service]);
    }

    #[test]
    fn failed_resolution_keeps_last_good_addresses() {
        let names = ResolvedNames::default().with("tool.test", ips(2));
        assert_eq!(names.clone().with("tool.test", []), names);
        assert_ne!(names.clone().with("tool.test", ips(1)), names);
    }

    #[test]
    fn name_with_many_addresses_leaves_servers_for_others() {
        let names = ResolvedNames::default().with("many.test", ips(200)).with("few.test", ips(3));
        let upstreams = [entry("many.test"), entry("few.test"), entry("127.0.0.1")];
        let shown = shown(&upstreams, &names);
        assert_eq!(shown.len(), MAX_SERVERS);
        assert_eq!(shown.iter().filter(|name| name.starts_with("many.test")).count(), 60);
    }
}
