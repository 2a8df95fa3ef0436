//! One lookup of a name: its addresses by the system's resolver, or its SRV records by DNS (RFC 2782).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::proto::rr::rdata::SRV;
use hickory_resolver::{Resolver, TokioResolver};
use tokio::net::lookup_host;

use super::resolved_names::{ResolvedServer, ServiceRecord};
use config::{UpstreamConfig, is_name};

/// Looks up the servers of a name. `dns_servers` serve SRV records and the hosts that they name; if there
/// is none, the system's do.
///
/// # Errors
/// Returns an error if the name has no address, or no name server has responded.
pub async fn lookup(name: &str, dns_servers: &[SocketAddr]) -> io::Result<Vec<ResolvedServer>> {
    if UpstreamConfig::is_srv_name(name) {
        return service(name, &resolver(dns_servers)?).await;
    }
    let addresses = lookup_host((name, 0)).await?;
    Ok(addresses.map(|address| address.ip().into()).collect())
}

/// Creates a resolver. Each lookup has its own, so that nothing is cached beyond `resolve_interval` and
/// changed settings of the system are seen.
fn resolver(dns_servers: &[SocketAddr]) -> io::Result<TokioResolver> {
    let mut builder = match dns_servers {
        [] => TokioResolver::builder_tokio().map_err(io::Error::other)?,
        servers => {
            let servers = servers.iter().map(name_server).collect();
            let config = ResolverConfig::from_parts(None, Vec::new(), servers);
            Resolver::builder_with_config(config, TokioRuntimeProvider::default())
        }
    };
    // A name server that is away is given up before the next `resolve_interval`.
    builder.options_mut().timeout = Duration::from_secs(1);
    builder.options_mut().attempts = 2;
    builder.build().map_err(io::Error::other)
}

fn name_server(address: &SocketAddr) -> NameServerConfig {
    let at_port = |mut connection: ConnectionConfig| {
        connection.port = address.port();
        connection
    };
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(at_port);
    NameServerConfig::new(address.ip(), true, connections.into())
}

/// Returns each address of the hosts that the records of a service name. A host without an address is
/// left out, unless none has one.
async fn service(name: &str, resolver: &TokioResolver) -> io::Result<Vec<ResolvedServer>> {
    let found = resolver.srv_lookup(absolute(name)).await.map_err(io::Error::other)?;
    let records: Vec<&SRV> = found
        .answers()
        .iter()
        .filter_map(|record| match &record.data {
            // A target that no certificate could name is no host. Without its name, TLS could not be had.
            RData::SRV(record) if is_name(&host_of(record)) => Some(record),
            _ => None,
        })
        .collect();
    let hosts = join_all(records.iter().map(|record| resolver.lookup_ip(record.target.clone()))).await;
    let mut servers = Vec::new();
    let mut failure = None;
    for (record, host) in records.iter().zip(hosts) {
        match host {
            Ok(host) => {
                let server = |address| ResolvedServer { address, record: Some(entry(record, &records)) };
                servers.extend(host.iter().map(server));
            }
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        // An empty result would take all servers of the pool away because of a name server that is
        // down.
        Some(error) if servers.is_empty() => Err(io::Error::other(error)),
        _ => Ok(servers),
    }
}

/// Returns what one of the records of a service says. Weights of more than 100 are scaled to 1 to 100.
fn entry(record: &SRV, all: &[&SRV]) -> ServiceRecord {
    let same = all.iter().filter(|other| other.priority == record.priority);
    let scale = same.map(|other| u32::from(other.weight)).max().unwrap_or(0).max(100);
    let best = all.iter().map(|other| other.priority).min();
    ServiceRecord {
        host: host_of(record),
        port: record.port,
        // Weight 0 means "rarely" (RFC 2782), and a server of weight 0 would never get a call here.
        weight: (u32::from(record.weight) * 100 / scale).max(1),
        backup: best.is_some_and(|best| best < record.priority),
    }
}

/// Returns the name of the host of a record: empty for the root, which says that there is no service.
fn host_of(record: &SRV) -> String {
    record.target.to_utf8().trim_end_matches('.').to_owned()
}

/// Names of SRV records are absolute: no search domain of the system is appended.
fn absolute(name: &str) -> String {
    format!("{}.", name.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::proto::rr::Name;

    fn record(priority: u16, weight: u16) -> SRV {
        SRV::new(priority, weight, 9_100, Name::from_ascii("a.tools.internal.").unwrap())
    }

    #[test]
    fn best_priority_is_primary_and_weights_are_scaled() {
        let cases = [
            (vec![(10, 0), (10, 0)], vec![(1, false), (1, false)]),
            (vec![(10, 3), (20, 1)], vec![(3, false), (1, true)]),
            (
                vec![(1, 65_535), (1, 6_554), (1, 1), (2, 50)],
                vec![(100, false), (10, false), (1, false), (50, true)],
            ),
        ];
        for (records, expected) in cases {
            let records: Vec<_> =
                records.into_iter().map(|(priority, weight)| record(priority, weight)).collect();
            let all: Vec<_> = records.iter().collect();
            let entries = all.iter().map(|record| entry(record, &all));
            let found: Vec<_> = entries.map(|entry| (entry.weight, entry.backup)).collect();
            assert_eq!(found, expected);
        }
        assert_eq!(entry(&record(1, 1), &[&record(1, 1)]).host, "a.tools.internal");
    }

    #[test]
    fn target_that_is_no_host_is_no_server() {
        let is_host = |labels: &str| {
            let labels = labels.split('.').filter(|label| !label.is_empty());
            let target = Name::from_labels(labels.map(str::as_bytes)).unwrap();
            is_name(&host_of(&SRV::new(1, 1, 9_100, target)))
        };
        assert!(is_host("a.tools.internal"));
        for target in ["", "a b.test", "a\r\nx:.test", "a/b"] {
            assert!(!is_host(target), "{target:?}");
        }
    }
}
