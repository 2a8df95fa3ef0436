//! The addresses of names, and the servers that a pool has by them.

use std::{
    collections::{BTreeSet, HashMap},
    net::{IpAddr, SocketAddr},
};

use crate::config::UpstreamConfig;

/// The addresses that names resolved to, as far as they ever did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResolvedNames(HashMap<String, BTreeSet<IpAddr>>);

/// The most servers of one pool, which is what [`super::TriedSet`] can tell apart.
pub(super) const MAX_SERVERS: usize = 64;

impl ResolvedNames {
    /// Returns the addresses of a name, each once and in an order that does not depend on the name server's.
    pub fn addresses(&self, name: &str) -> impl Iterator<Item = IpAddr> {
        self.0.get(name).into_iter().flatten().copied()
    }

    /// Sets the addresses of a name. Without any, those of before stay: a name server that knows nothing for a moment
    /// must not take a tool away, and what is gone fails its probes.
    #[must_use]
    pub fn with(mut self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let addresses: BTreeSet<_> = addresses.into_iter().collect();
        if !addresses.is_empty() {
            self.0.insert(name.to_owned(), addresses);
        }
        self
    }
}

/// Returns the servers of a pool: one for each address of each entry, and one without an address for a name that has
/// never been resolved. Beyond [`MAX_SERVERS`] names lose addresses, the one with the most first.
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
    fn name_with_many_addresses_leaves_room_for_others() {
        let names = ResolvedNames::default().with("many.test", ips(200)).with("few.test", ips(3));
        let upstreams = [entry("many.test"), entry("few.test"), entry("127.0.0.1")];
        let shown = shown(&upstreams, &names);
        assert_eq!(shown.len(), MAX_SERVERS);
        assert_eq!(shown.iter().filter(|name| name.starts_with("many.test")).count(), 60);
    }
}
