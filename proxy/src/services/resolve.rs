//! Resolves the names of upstreams periodically, as Envoy's STRICT_DNS does: each address, and each host of
//! an SRV record, is a server of the pool.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use config::{AdminState, Config};
use phases::state::{PoolsChange, State};
use upstreams::lookup::lookup;
use upstreams::{ResolvedNames, ResolvedServer, probe};

/// The background task that resolves the names of the configuration every `resolve_interval`.
pub(crate) struct Resolver {
    state: Arc<State>,
    lookups: Mutex<Lookups>,
    /// The servers of names that the former process knew. They are used while a name has none.
    former: ResolvedNames,
}

/// The lookups of names.
#[derive(Default)]
struct Lookups {
    set: JoinSet<(String, io::Result<Vec<ResolvedServer>>)>,
    /// Names whose lookup has not finished. There is at most one lookup for each name, because the
    /// system resolver cannot be cancelled.
    pending: BTreeSet<String>,
    /// Names whose last lookup failed.
    failing: BTreeSet<String>,
}

/// The servers of each name, or the error of its lookup.
type Results = BTreeMap<String, io::Result<Vec<ResolvedServer>>>;

/// Maximum time that a round waits for lookups. The results of slower ones belong to a later round.
const ROUND: Duration = Duration::from_secs(2);

impl Resolver {
    /// Creates the task. `former` are the servers that a former process knew.
    pub(crate) fn new(state: Arc<State>, former: ResolvedNames) -> Self {
        Self { state, lookups: Mutex::default(), former }
    }

    /// Resolves all names once and applies the results.
    async fn refresh(&self) {
        let config = self.state.config.load_full();
        let mut lookups = self.lookups.lock().await;
        let names = names(&config);
        let mut results = lookups.round(&names, &config.dns_servers).await;
        lookups.report(&results, &self.state);
        // Before the probes of new servers, which may take seconds.
        drop(lookups);
        self.add_former(&names, &mut results);
        apply(&self.state, results).await;
        // Not only after a change: what could not be written is tried again.
        self.state.store_last_good();
    }

    /// Adds the servers that the former process knew of each name which has none, neither now nor from
    /// before: an unreachable name server must not make a restart an outage.
    fn add_former(&self, names: &BTreeSet<String>, results: &mut Results) {
        let pools = self.state.pools.load();
        for name in names {
            let is_found = matches!(results.get(name), Some(Ok(servers)) if !servers.is_empty());
            let former: Vec<_> = self.former.servers(name).cloned().collect();
            if !is_found && !former.is_empty() && pools.names().servers(name).next().is_none() {
                log::warn!(
                    "upstream name not resolved, addresses of the former process are used: name={name}"
                );
                results.insert(name.clone(), Ok(former));
            }
        }
    }
}

#[async_trait]
impl BackgroundService for Resolver {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        loop {
            self.refresh().await;
            let pause = sleep(self.state.config.load().resolve_interval);
            tokio::select! {
                () = pause => {}
                // Resolution continues while requests in flight are finished. It ends with the
                // process.
                changed = shutdown.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Resolves the names of a configuration that is not in use yet. A name that is not resolved in
/// time keeps its addresses in `before`.
pub(crate) async fn resolve(config: &Config, before: &ResolvedNames) -> ResolvedNames {
    let names = names(config);
    let known = names
        .iter()
        .fold(ResolvedNames::default(), |known, name| known.with(name, before.servers(name).cloned()));
    merged(known, Lookups::default().round(&names, &config.dns_servers).await)
}

/// Applies new addresses if they change a pool. New servers are probed once before they get calls,
/// so that a pool of new servers only is available immediately.
async fn apply(state: &State, results: Results) {
    // Held so that a concurrent reload is not overwritten with older pools, or the other way
    // around.
    let _changing = state.changing.lock().await;
    let pools = state.pools.load_full();
    match pools.with_names(merged(pools.names().clone(), results)) {
        Some(changed) => {
            probe::probe_new(&changed).await;
            state.set_pools(changed, PoolsChange::Dns);
        }
        None => probe::mark_unresolved(&pools),
    }
}

fn merged(names: ResolvedNames, results: Results) -> ResolvedNames {
    results.into_iter().fold(names, |names, (name, result)| names.with(&name, result.unwrap_or_default()))
}

/// Returns the names of all upstreams that are not off.
fn names(config: &Config) -> BTreeSet<String> {
    let upstreams = config.pools.iter().flat_map(|(_, pool)| &pool.upstreams);
    let named =
        upstreams.filter(|upstream| upstream.admin_state != AdminState::Off && upstream.ip().is_none());
    named.map(|upstream| upstream.host.clone()).collect()
}

impl Lookups {
    /// Looks names up. Returns the results that are available within [`ROUND`].
    async fn round(&mut self, names: &BTreeSet<String>, dns_servers: &[SocketAddr]) -> Results {
        for name in names {
            if self.pending.insert(name.clone()) {
                let (name, dns_servers) = (name.clone(), dns_servers.to_vec());
                self.set.spawn(async move {
                    let result = lookup(&name, &dns_servers).await;
                    (name, result)
                });
            }
        }
        // A bounded round: one name server that hangs must not hold back the names of the others.
        let deadline = Instant::now() + ROUND;
        let mut results = Results::new();
        while let Ok(Some(Ok((name, result)))) = timeout_at(deadline, self.set.join_next()).await {
            // Only now may the name be looked up again. One lookup more for each round would pile
            // up threads.
            self.pending.remove(&name);
            results.insert(name, result);
        }
        results
    }

    /// Counts every failure. Logs the first of consecutive failures, and a later success.
    fn report(&mut self, results: &Results, state: &State) {
        for (name, result) in results {
            match result {
                Ok(_) => {
                    if self.failing.remove(name) {
                        log::info!("upstream name resolved again: name={name}");
                    }
                }
                Err(error) => {
                    state.metrics.pools.record_resolution_failure();
                    if self.failing.insert(name.clone()) {
                        log::warn!(
                            "upstream name not resolved, last known addresses stay in use: name={name} error=\"{error}\""
                        );
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::key::KeyId;
    use shared::tool::Tool;
    use std::net::IpAddr;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::version;
    use config::changes::Changes;
    use phases::last_good::LastGoodFile;
    use transport::clock::Monotonic;
    use upstreams::{Health, TriedSet};

    /// A server that passes every probe.
    fn serve(listener: TcpListener) -> JoinHandle<()> {
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _read = stream.read(&mut [0; 1024]).await;
                let _written = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            }
        })
    }

    fn state(port: u16) -> State {
        let text = Tool::ALL.map(|tool| format!("pools.{tool}.upstreams = [\"127.0.0.1:1 off\"]\n")).concat();
        let named = format!("pools.qr.upstreams = [\"tool.test:{port}\"]");
        let text = text.replace("pools.qr.upstreams = [\"127.0.0.1:1 off\"]", &named);
        let text = format!("grants.secret = \"0123456789abcdef0123456789abcdef\"\n{text}");
        let mut config = Config::parse("proxy.toml", &text, &|_name| None).unwrap();
        let changes = Changes::begin(&mut config, std::path::Path::new("proxy.toml")).unwrap();
        let last_good = LastGoodFile::of(std::path::Path::new("/nowhere/proxy.toml"), None);
        State::new(config, changes, last_good, &version::BUILD).unwrap()
    }

    fn resolved(addresses: &[&str]) -> Results {
        let servers = addresses.iter().map(|address| address.parse::<IpAddr>().unwrap().into()).collect();
        [("tool.test".to_owned(), Ok(servers))].into()
    }

    fn servers(state: &State) -> Vec<(String, Health)> {
        let pool = state.pool(Tool::Qr);
        pool.upstreams.iter().map(|upstream| (upstream.name.clone(), upstream.health())).collect()
    }

    /// The addresses that the next ten calls go to.
    fn called(state: &State) -> BTreeSet<IpAddr> {
        let pool = state.pool(Tool::Qr);
        let next = |_| {
            let (index, _permit) =
                pool.acquire_upstream(KeyId::new([1; 12]), TriedSet::default(), Monotonic::now())?;
            pool.upstream(index)?.address
        };
        (0..10).filter_map(next).map(|address| address.ip()).collect()
    }

    fn ips(addresses: &[&str]) -> BTreeSet<IpAddr> {
        addresses.iter().map(|address| address.parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn name_with_one_dead_address_is_served_by_the_other() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let _server = serve(listener);
        let state = state(port);
        assert_eq!(servers(&state), [(format!("tool.test:{port}"), Health::Unknown)]);
        assert!(!state.is_prepared());
        apply(&state, resolved(&["::1", "127.0.0.1"])).await;
        assert_eq!(
            servers(&state),
            [
                (format!("tool.test/127.0.0.1:{port}"), Health::Healthy),
                (format!("tool.test/[::1]:{port}"), Health::Unhealthy)
            ]
        );
        assert!(state.is_prepared());
        assert_eq!(called(&state), ips(&["127.0.0.1"]));
    }

    #[tokio::test]
    async fn calls_are_balanced_over_addresses_and_follow_the_name() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let second = serve(TcpListener::bind(("127.0.0.2", port)).await.unwrap());
        let _servers = [serve(listener), serve(TcpListener::bind(("127.0.0.3", port)).await.unwrap())];
        let state = state(port);
        apply(&state, resolved(&["127.0.0.1", "127.0.0.2"])).await;
        assert_eq!(called(&state), ips(&["127.0.0.1", "127.0.0.2"]));

        // Probes detect a dead address. Servers keep their health when the addresses change.
        second.abort();
        let _ended = second.await;
        let pool = state.pool(Tool::Qr);
        for _ in 0..3 {
            probe::probe_once(Arc::clone(&pool), 1).await;
        }
        assert_eq!(called(&state), ips(&["127.0.0.1"]));
        apply(&state, resolved(&["127.0.0.2", "127.0.0.3"])).await;
        assert_eq!(
            servers(&state).into_iter().map(|one| one.1).collect::<Vec<_>>(),
            [Health::Unhealthy, Health::Healthy]
        );
        assert_eq!(called(&state), ips(&["127.0.0.3"]));

        // A failed resolution keeps the last known addresses.
        let before = state.pool(Tool::Qr);
        let failed = || io::Error::other("no name server");
        apply(&state, [("tool.test".to_owned(), Err(failed()))].into()).await;
        apply(&state, resolved(&[])).await;
        assert!(Arc::ptr_eq(&before, &state.pool(Tool::Qr)), "the pool was not rebuilt");
        assert_eq!(called(&state), ips(&["127.0.0.3"]));
    }

    #[tokio::test]
    async fn name_that_never_resolved_is_unhealthy_and_does_not_delay_readiness() {
        let state = state(9);
        apply(&state, [("tool.test".to_owned(), Err(io::Error::other("no name server")))].into()).await;
        assert_eq!(servers(&state), [("tool.test:9".to_owned(), Health::Unhealthy)]);
        assert!(state.is_prepared());
    }

    #[tokio::test]
    async fn lookups_of_a_round_are_made_once_for_each_name() {
        let mut lookups = Lookups::default();
        let names = ["localhost".to_owned()].into();
        let results = lookups.round(&names, &[]).await;
        let addresses = results["localhost"].as_ref().unwrap();
        assert!(addresses.contains(&IpAddr::from([127, 0, 0, 1]).into()), "{addresses:?}");
        assert!(lookups.pending.is_empty() && lookups.set.is_empty());
    }
}
