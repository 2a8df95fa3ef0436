//! The names of tools' servers and of the edge that do not resolve on this machine.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use shared::url::Address;
use tokio::runtime::Builder;

use config::{AdminState, Authority, Callers, Config, UpstreamConfig};
use upstreams::lookup::lookup;

/// The names that do not resolve, with the reason.
#[derive(Debug, Default)]
pub(super) struct Unresolved(HashMap<String, String>);

/// Maximum time of all lookups together.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Unresolved {
    /// Resolves all names that are in use, at the same time.
    pub(super) fn of(config: &Config) -> Self {
        let upstreams = config.pools.iter().flat_map(|(_, pool)| &pool.upstreams);
        let names = upstreams.filter_map(name).chain(edge_name(config));
        let mut pending: HashMap<_, _> =
            names.map(|name| (name.to_owned(), format!("no result in {} s", TIMEOUT.as_secs()))).collect();
        let (resolved, results) = mpsc::channel();
        for host in pending.keys().cloned() {
            let (resolved, dns_servers) = (resolved.clone(), config.dns_servers.clone());
            // Not joined: a lookup cannot be canceled, and the process exits after the check.
            thread::spawn(move || {
                let result = resolve(&host, &dns_servers).map_err(|error| error.to_string());
                // The check no longer waits for it.
                let _sent = resolved.send((host, result));
            });
        }
        // The loop below ends when all senders are gone. This one would keep it waiting for the
        // whole time.
        drop(resolved);
        let deadline = Instant::now() + TIMEOUT;
        while let Ok((host, result)) =
            results.recv_timeout(deadline.saturating_duration_since(Instant::now()))
        {
            match result {
                Ok(()) => pending.remove(&host),
                Err(reason) => pending.insert(host, reason),
            };
        }
        Self(pending)
    }

    /// Returns a warning if a name does not resolve.
    pub(super) fn warning(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|reason| format!("the name `{name}` does not resolve: {reason}"))
    }
}

fn resolve(name: &str, dns_servers: &[SocketAddr]) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(lookup(name, dns_servers)).map(drop)
}

/// Returns the name of a server that is in use, unless it is given by its address.
pub(super) fn name(upstream: &UpstreamConfig) -> Option<&str> {
    let is_name = upstream.admin_state != AdminState::Off && upstream.ip().is_none();
    is_name.then_some(upstream.host.as_str())
}

/// Returns the name of the edge whose key-change feed is polled, unless it is given by its address.
pub(super) fn edge_name(config: &Config) -> Option<&str> {
    let Callers::Clients(keys) = &config.callers else { return None };
    let Authority::Edge(feed) = &keys.authority else { return None };
    let host = Address::parse(&feed.edge)?.host();
    let is_address = host.starts_with('[') || host.parse::<IpAddr>().is_ok();
    (!is_address).then_some(host)
}
