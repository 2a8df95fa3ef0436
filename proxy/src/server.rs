//! Puts the proxy together, runs it, and ends it when what was under way is done.

mod fd_limit;
pub(crate) mod listener;
pub(crate) mod shutdown;
mod systemd;

use std::{
    env,
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
};

use pingora_core::{
    server::{RunArgs, Server, configuration::ServerConf},
    services::background::background_service,
};
use tokio::sync::watch;

use self::{
    listener::{BoundService, Socket},
    shutdown::{ExitSignals, SignalWatch},
    systemd::{Manager, Notifier},
};
use crate::{
    config::{Callers, Config},
    direct::StateSaver,
    observe::{access_log, admin::Admin},
    phases::Gateway,
    reload::{self, FileWatch, Reloader},
    state::State,
    upgrade::{Door, Predecessor, Successors},
    upstreams::{probe::Prober, resolve::Resolver},
    version,
};
use transport::{clock, downstream::Downstream};

/// Runs a proxy, whose configuration came from `file` and is read again when that changes, until it was told to end and
/// has ended. To `upgrade` is to go on where the process at the upgrade socket ends.
///
/// # Errors
/// When a socket cannot be bound or taken, or the metrics are at odds with themselves.
pub fn run(config: Config, file: PathBuf, upgrade: bool) -> io::Result<()> {
    log::info!("starting: version={} commit={}", version::VERSION, version::COMMIT);
    let watch = FileWatch::new(&file, &config.files);
    reload::survive_hangups()?;
    let signals = ExitSignals::catch()?;
    let (mut predecessor, door) = hand_over(&config, upgrade)?;
    let listen = socket(predecessor.as_mut(), "proxy", config.server.listen)?;
    let admin = socket(predecessor.as_mut(), "admin", config.server.admin)?;
    let addresses = (listen.address, admin.address);
    let state = Arc::new(State::new(config).map_err(io::Error::other)?);
    let (reasons, reason) = mpsc::channel();
    let open = watch::Sender::new(door.is_none());

    let mut server = Server::new_with_opt_and_conf(None, conf(&state.config.load()));
    let successors = door.map(|door| {
        Successors::new(
            Arc::clone(&state),
            predecessor,
            door,
            [&listen, &admin],
            open.clone(),
            reasons.clone(),
        )
    });
    let idle_connections = state.config.load().idle_upstream_connections;
    let gateway = Gateway { state: Arc::clone(&state), max_connections: most_connections(&state) };
    let downstream = Downstream::new(&server.configuration, gateway, idle_connections);
    server.add_service(BoundService::new(downstream, listen, open.subscribe(), &state.drain, None));
    let admin = BoundService::new(Admin(Arc::clone(&state)), admin, open.subscribe(), &state.drain, Some(1));
    server.add_service(admin.lasting(state.drain.handed_over()));
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
    let signals = SignalWatch::new(Arc::clone(&state), reasons, signals);
    // Pingora's own shutdown sleeps for the whole grace period. The process exits when this function
    // returns, which is as soon as nothing is in flight.
    thread::spawn(move || server.run(RunArgs { shutdown_signal: Box::new(signals) }));
    if let Ok(first) = reason.recv() {
        shutdown::wait(&state, first, &reason);
    }
    if let Some(direct) = &state.direct {
        direct.close(clock::now());
    }
    state.access_log.close();
    log.join().map_err(|_panic| io::Error::other("the access log's thread panicked"))
}

/// Half of the files that may be open: a call needs a second one, towards its tool.
fn most_connections(state: &State) -> usize {
    let (files, asked) = (fd_limit::most_open(), state.config.load().clients.connections);
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
