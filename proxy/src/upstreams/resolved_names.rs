//! The addresses of names, and the servers of a pool that follow from them.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, SocketAddr};

use crate::config::UpstreamConfig;

/// The last known addresses of each name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedNames(HashMap<String, BTreeSet<IpAddr>>);

/// Maximum number of servers of a pool: the capacity of [`super::TriedSet`].
pub(super) const MAX_SERVERS: usize = 64;

impl ResolvedNames {
    /// Returns the distinct addresses of a name in ascending order, whatever the order of the name
    /// server.
    pub fn addresses(&self, name: &str) -> impl Iterator<Item = IpAddr> {
        self.0.get(name).into_iter().flatten().copied()
    }

    /// Sets the addresses of a name. Keeps the previous ones if `addresses` is empty, because a
    /// failure of the name server must not make a tool unavailable. Probes detect addresses that
    /// are gone.
    #[must_use]
    pub fn with(mut self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let addresses: BTreeSet<_> = addresses.into_iter().collect();
        if !addresses.is_empty() {
            self.0.insert(name.to_owned(), addresses);
        }
        self
    }
}

/// Returns the servers of a pool: one for each address of each entry, and one without an address
/// for a name that has never been resolved. Beyond [`MAX_SERVERS`], addresses are dropped from the
/// names with the most.
pub(super) fn upstreams<'a>(
    upstreams: &'a [UpstreamConfig],
    names: &ResolvedNames,
) -> Vec<(&'a UpstreamConfig, Option<SocketAddr>)> {
    let mut addresses: Vec<Vec<_>> = upstreams.iter().map(|upstream| of_entry(upstream, names)).collect();
    while addresses.iter().map(Vec::len).sum::<usize>() > MAX_SERVERS {
        let longest = addresses.iter_mut().max_by_key(|addresses| addresses.len());
        longest.map(Vec::pop);
    }
    let all = upstreams.iter().zip(addresses);
    all.flat_map(|(upstream, addresses)| addresses.into_iter().map(move |address| (upstream, address)))
        .collect()
}

fn of_entry(upstream: &UpstreamConfig, names: &ResolvedNames) -> Vec<Option<SocketAddr>> {
    let at = |ip| Some(SocketAddr::new(ip, upstream.port));
    if let Some(ip) = upstream.ip() {
        return vec![at(ip)];
    }
    let addresses: Vec<_> = names.addresses(&upstream.host).map(at).collect();
    if addresses.is_empty() { vec![None] } else { addresses }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AdminState;

    fn entry(host: &str) -> UpstreamConfig {
        UpstreamConfig {
            host: host.to_owned(),
            port: 9100,
            weight: 1,
            backup: false,
            admin_state: AdminState::Active,
        }
    }

    fn ips(count: u8) -> impl Iterator<Item = IpAddr> {
        (1..=count).rev().map(|last| IpAddr::from([10, 0, 0, last]))
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
