//! Puts the proxy together, runs it, and ends it when what was under way is done.

use std::{
    env,
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora_core::{
    server::{RunArgs, Server, ShutdownSignal, ShutdownSignalWatch, configuration::ServerConf},
    services::background::background_service,
};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time::sleep,
};

use crate::{
    access_log,
    admin::Admin,
    config::{Callers, Config},
    direct::StateSaver,
    files,
    hand_over::{Door, Predecessor, Successors},
    listen::{Bound, Socket},
    notify::{Manager, Notifier},
    phases::Gateway,
    reload::{self, Reloader, Watch},
    state::State,
    upstreams::{probe::Prober, resolve::Resolver},
    version,
};
use transport::{
    clock::{self, millis},
    downstream::Downstream,
    drain::Phase,
};

/// Why a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It was sent a signal.
    Signal,
    /// Another process has its sockets.
    Left,
}

/// Runs a proxy, whose configuration came from `file` and is read again when that changes, until it was told to end and
/// has ended. To `upgrade` is to go on where the process at the upgrade socket ends.
///
/// # Errors
/// When a socket cannot be bound or taken, or the metrics are at odds with themselves.
pub fn run(config: Config, file: PathBuf, upgrade: bool) -> io::Result<()> {
    log::info!("starting: version={} commit={}", version::VERSION, version::COMMIT);
    let watch = Watch::new(&file, &config.files);
    reload::survive_hangups()?;
    let ends = ends()?;
    let (mut predecessor, door) = hand_over(&config, upgrade)?;
    let listen = socket(predecessor.as_mut(), "proxy", config.server.listen)?;
    let admin = socket(predecessor.as_mut(), "admin", config.server.admin)?;
    let addresses = (listen.address, admin.address);
    let state = Arc::new(State::new(config).map_err(io::Error::other)?);
    let (told, ending) = mpsc::channel();
    let open = watch::Sender::new(door.is_none());

    let mut server = Server::new_with_opt_and_conf(None, conf(&state.config.load()));
    let successors = door.map(|door| {
        Successors::new(Arc::clone(&state), predecessor, door, [&listen, &admin], open.clone(), told.clone())
    });
    let idle_connections = state.config.load().idle_upstream_connections;
    let gateway = Gateway { state: Arc::clone(&state), max_connections: most_connections(&state) };
    let downstream = Downstream::new(&server.configuration, gateway, idle_connections);
    server.add_service(Bound::new(downstream, listen, open.subscribe(), &state.drain, None));
    let admin = Bound::new(Admin(Arc::clone(&state)), admin, open.subscribe(), &state.drain, Some(1));
    server.add_service(admin.lasting(state.drain.left()));
    server.add_service(background_service("names", Resolver::new(Arc::clone(&state))));
    server.add_service(background_service("probes", Prober(Arc::clone(&state))));
    server.add_service(background_service("reload", Reloader::new(Arc::clone(&state), file, watch)));
    if let Some(successors) = successors.transpose()? {
        server.add_service(background_service("hand-over", successors));
    }
    if let Some(manager) = env::var_os("NOTIFY_SOCKET") {
        let (manager, open) = (Manager::at(&manager)?, open.subscribe());
        server
            .add_service(background_service("notify", Notifier { state: Arc::clone(&state), manager, open }));
    }
    if state.direct.is_some() {
        server.add_service(background_service("keys", StateSaver(Arc::clone(&state))));
    }
    announce(addresses)?;

    let log = {
        let state = Arc::clone(&state);
        thread::spawn(move || state.access_log.write_until_closed(access_log::WRITE_EVERY, &mut io::stdout()))
    };
    let signals = Signals { state: Arc::clone(&state), told, ends: Mutex::new(Some(ends)) };
    // Pingora's own end is a sleep of the whole grace period. The process ends when this function returns, which
    // is as soon as nothing is under way any more.
    thread::spawn(move || server.run(RunArgs { shutdown_signal: Box::new(signals) }));
    if let Ok(told) = ending.recv() {
        end(&state, told, &ending);
    }
    if let Some(direct) = &state.direct {
        direct.close(clock::now());
    }
    state.access_log.close();
    log.join().map_err(|_panic| io::Error::other("the access log's thread panicked"))
}

/// Half of the files that may be open: a call needs a second one, towards its tool.
fn most_connections(state: &State) -> usize {
    let (files, asked) = (files::most_open(), state.config.load().clients.connections);
    if asked > files / 2 {
        log::warn!(
            "connections limited by open files (LimitNOFILE): open_files={files} connections={} configured={asked}",
            files / 2
        );
    }
    files / 2
}

/// The process to go on from, if there is one, and where the next one is waited for.
fn hand_over(config: &Config, upgrade: bool) -> io::Result<(Option<Predecessor>, Option<Door>)> {
    let Some(place) = &config.server.upgrade_socket else {
        if upgrade {
            log::warn!("upgrade not possible: server.upgrade_socket is not set");
        }
        return Ok((None, None));
    };
    let predecessor =
        if upgrade { Predecessor::meet(place, matches!(config.callers, Callers::Clients(_)))? } else { None };
    let door = Door::open(place, predecessor.is_some())?;
    Ok((predecessor, Some(door)))
}

/// The socket of the process before, if it had one there, or a new one.
fn socket(
    predecessor: Option<&mut Predecessor>,
    service: &'static str,
    address: SocketAddr,
) -> io::Result<Socket> {
    let taken = predecessor.map(|predecessor| predecessor.take(service, address)).transpose()?.flatten();
    taken.map_or_else(|| Socket::bind(service, address), Ok)
}

/// Tells whoever started the process where it listens: one line of JSON, before anything else.
fn announce((listen, admin): (SocketAddr, SocketAddr)) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, r#"{{"listen":"{listen}","admin":"{admin}"}}"#)?;
    out.flush()
}

/// Looks whether all is done as often as this.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Waits until nothing is under way, at most for the grace period or until told to end a second time.
fn end(state: &State, told: Told, told_again: &mpsc::Receiver<Told>) {
    /// Time for Pingora to close its sockets and for the last requests that were accepted to be counted.
    const SETTLE: Duration = Duration::from_millis(250);
    let begun = Instant::now();
    let deadline = || begun + state.config.load().server.grace;
    if told == Told::Left {
        // Until the sockets are closed here, connections are still accepted, and counted a moment later.
        if wait_until(|| state.drain.sockets() == 0, deadline(), told_again) {
            let settled = Instant::now() + SETTLE;
            // Each connection that is open may bring one more request, and is closed with its answer: closing it now
            // could meet a request that is on its way.
            let is_over = || state.drain.under_way() == 0 && state.drain.connections() == 0;
            let _told = wait_until(|| Instant::now() >= settled && is_over(), deadline(), told_again);
        }
        state.drain.begin();
    }
    let settled = Instant::now() + SETTLE;
    let is_done = || Instant::now() >= settled && state.drain.is_done();
    if !wait_until(is_done, deadline().max(settled), told_again) {
        log::warn!("requests aborted at exit: requests_in_flight={}", state.drain.under_way());
    }
}

/// Whether it was done by the deadline, without being told anything meanwhile.
fn wait_until(is_done: impl Fn() -> bool, deadline: Instant, told: &mpsc::Receiver<Told>) -> bool {
    while !is_done() {
        if Instant::now() >= deadline || told.recv_timeout(LOOK_EVERY).is_ok() {
            return false;
        }
    }
    true
}

/// The signals to end. From now on they are received, if later: they would end the process at once while it begins, with
/// what it has counted.
fn ends() -> io::Result<Ends> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        Ok(Ends { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    })
}

/// Waits for the signal to end, and tells the drain.
struct Signals {
    state: Arc<State>,
    told: mpsc::Sender<Told>,
    ends: Mutex<Option<Ends>>,
}

/// The signals to end.
struct Ends {
    terminate: Signal,
    interrupt: Signal,
}

impl Ends {
    /// Waits for the next one.
    async fn next(&mut self) {
        tokio::select! { _ = self.terminate.recv() => (), _ = self.interrupt.recv() => () }
    }
}

/// How the time between the first signal and draining ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delayed {
    /// `server.drain_delay` passed, or there was nothing to wait for.
    Elapsed,
    /// Another signal came.
    Interrupted,
    /// Another process took the sockets.
    Superseded,
}

/// Serves on for `server.drain_delay` without being ready, so that load balancers stop sending connections first.
async fn delay_drain(state: &State, next_signal: impl Future<Output = ()>) -> Delayed {
    let delay = state.config.load().server.drain_delay;
    if delay.is_zero() || state.drain.has_begun() {
        return Delayed::Elapsed;
    }
    state.drain.delay();
    log::info!("drain delayed: drain_delay_ms={}", millis(delay));
    let mut phase = state.drain.phase();
    tokio::select! {
        () = sleep(delay) => Delayed::Elapsed,
        () = next_signal => Delayed::Interrupted,
        _ = phase.wait_for(|phase| *phase >= Phase::Leaving) => Delayed::Superseded,
    }
}

fn begin_drain(state: &State) {
    let grace = state.config.load().server.grace;
    log::info!(
        "draining: connections={} requests_in_flight={} grace_ms={}",
        state.drain.connections(),
        state.drain.under_way(),
        millis(grace)
    );
    state.drain.begin();
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    /// Once the sockets are to be closed: the process ends, or another one has them.
    async fn recv(&self) -> ShutdownSignal {
        let (state, told) = (Arc::clone(&self.state), self.told.clone());
        // They are waited for once.
        if let Some(mut ends) = self.ends.lock().take() {
            tokio::spawn(async move {
                ends.next().await;
                let delayed = delay_drain(&state, ends.next()).await;
                if delayed == Delayed::Superseded {
                    ends.next().await;
                }
                begin_drain(&state);
                // Nobody listens only when the process is ending already.
                let _told = told.send(Told::Signal);
                if delayed == Delayed::Interrupted {
                    let _told_again = told.send(Told::Signal);
                }
                loop {
                    ends.next().await;
                    let _told_again = told.send(Told::Signal);
                }
            });
        }
        let mut phase = self.state.drain.phase();
        // It cannot fail: the state has the other end.
        let _begun = phase.wait_for(|phase| *phase >= Phase::Leaving).await;
        ShutdownSignal::GracefulTerminate
    }
}

fn conf(config: &Config) -> ServerConf {
    /// Ours is what counts: it may be changed while the process runs.
    const LONGEST_GRACE: u64 = 3_600;
    ServerConf {
        threads: config.server.threads,
        // Measured: without it a proxied call costs 8 % less (each connection stays on its thread).
        work_stealing: false,
        upstream_keepalive_pool_size: config.idle_upstream_connections,
        grace_period_seconds: Some(LONGEST_GRACE),
        graceful_shutdown_timeout_seconds: Some(1),
        ..ServerConf::default()
    }
}
