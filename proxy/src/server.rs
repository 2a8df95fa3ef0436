//! Assembles the proxy, runs it, and shuts it down gracefully.

pub(crate) mod fd_limit;
mod systemd;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::{env, thread};

use pingora::server::configuration::ServerConf;
use pingora::server::{RunArgs, Server};
use pingora::services::background::background_service;
use tokio::sync::watch;

use self::fd_limit::FileBudget;
use self::systemd::{Manager, Notifier};
use crate::admin::Admin;
use crate::certificate::CertificateWatch;
use crate::control::controller::Controller;
use crate::control::service::ControlService;
use crate::reload::{self, FileWatch, ReloadService, Reloader};
use crate::services::prober::Prober;
use crate::services::resolve::Resolver;
use crate::services::trace_exporter::TraceExporter;
use crate::shutdown::{self, ExitSignals, SignalWatch};
use crate::sockets::{BoundService, Socket};
use crate::upgrade::{OldProcess, PrivateListener, SocketError, SocketKind, UpgradeService};
use crate::version;
use config::changes::{ChangeError, Changes};
use config::{Callers, Config, Known};
use direct::replay::UsedGrantService;
use direct::{MeterService, StateSaver};
use phases::Gateway;
use phases::last_good::{LastGoodFile, Stored};
use phases::observe::access_log::{self, LogFile, LogOutput};
use phases::observe::diagnostic_log;
use phases::state::{EdgeMode, InitError, Mode, State};
use transport::downstream::Downstream;
use upstreams::description_store::DescriptionStore;

/// An error that prevents the proxy from starting, or of its log writer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// An address cannot be bound.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The configured address.
        address: SocketAddr,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The upgrade socket or the admin socket cannot be used.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The changes that an operator stored cannot be read.
    #[error(transparent)]
    Changes(#[from] ChangeError),
    /// The state cannot be created.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The file of the access log cannot be opened.
    #[error("cannot open the access log {}: {error}", file.display())]
    AccessLog {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The operating system reported another error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The thread that writes the access log panicked.
    #[error("the thread that writes the access log panicked")]
    LogWriter,
}

/// What a proxy starts with.
pub struct Start {
    /// The configuration.
    pub config: Config,
    /// The source of the configuration, which is reloaded when it changes.
    pub file: PathBuf,
    /// The file in which the last good state is kept.
    pub last_good: LastGoodFile,
    /// What the former process has stored there.
    pub stored: Stored,
    /// Whether the proxy takes over from the process that listens on the upgrade socket.
    pub upgrade: bool,
}

impl Start {
    /// Takes what the old process hands over, which is newer than what was stored. If a file is faulty, loads
    /// the configuration again with it.
    fn take_stored(&mut self, old: Option<&mut OldProcess>) {
        let Some(stored) = old.and_then(OldProcess::take_stored) else { return };
        let last_good = stored.last_good();
        self.stored = stored;
        if self.config.failed_parts.is_empty() {
            return;
        }
        let known = Known { last_good: &last_good, changing: &[] };
        // It could be loaded a moment ago. If it cannot be any more, the next reload says why.
        if let Ok(config) = Config::load(&self.file, &|name| env::var(name).ok(), known) {
            self.config = config;
        }
    }
}

/// Runs a proxy until it has shut down.
///
/// # Errors
/// Returns an error if the proxy cannot start.
pub fn run(mut start: Start) -> Result<(), RunError> {
    log::info!("starting: version={} commit={}", version::VERSION, version::COMMIT);
    // Looked at first: a file that changes during the start is read again.
    let watch = FileWatch::new(&start.file, &start.config.files);
    reload::survive_hangups()?;
    let signals = ExitSignals::catch()?;
    let UpgradeEnds { mut old, listener } = open_upgrade(&start.config, start.upgrade)?;
    start.take_stored(old.as_mut());
    let Start { mut config, file, last_good, stored, .. } = start;
    reload::report_parts(&[], &config.failed_parts);
    let control = bind_admin_socket(&config, old.is_some())?;
    let mut output = access_log_output(&config)?;
    let listen = socket(old.as_mut(), "proxy", config.server.listen)?;
    let admin = socket(old.as_mut(), "admin", config.server.admin)?;
    let (listen_address, admin_address) = (listen.address, admin.address);
    let changes = Changes::begin(&mut config, &file)?;
    diagnostic_log::configure(config.log);
    let state = Arc::new(State::new(config, changes, last_good, &version::BUILD)?);
    let descriptions = DescriptionStore::of(&file, env::var_os("STATE_DIRECTORY").as_deref());
    state.pools.load().restore_descriptions(&descriptions);
    let (reasons, reason) = mpsc::channel();
    let open = watch::Sender::new(listener.is_none());

    let mut server = Server::new_with_opt_and_conf(None, conf(&state.config.load()));
    let upgrades = listener.map(|listener| {
        let (open, reasons) = (open.clone(), reasons.clone());
        UpgradeService::new(Arc::clone(&state), old, listener, [&listen, &admin], open, reasons)
    });
    let budget = file_budget(&state);
    let gateway = Gateway { state: Arc::clone(&state), max_connections: budget.clients };
    let transport = state.config.load().server.transport;
    let downstream = Downstream::new(gateway, transport, budget.upstream_limits());
    server.add_service(BoundService::new(downstream, listen, open.subscribe(), &state.drain, None));
    let reloader = Arc::new(Reloader::new(Arc::clone(&state), file, watch));
    let controller = Arc::new(Controller::new(Arc::clone(&state), Arc::clone(&reloader)));
    let app = Admin { state: Arc::clone(&state), controller: Arc::clone(&controller) };
    let admin = BoundService::new(app, admin, open.subscribe(), &state.drain, Some(1));
    server.add_service(admin.until(state.drain.handed_over()));
    if let Some(listener) = control {
        let control = ControlService::new(controller, listener, open.subscribe());
        server.add_service(background_service("control", control));
    }
    add_background_services(&mut server, &state, reloader, stored, descriptions);
    if let Some(upgrades) = upgrades.transpose()? {
        server.add_service(background_service("upgrade", upgrades));
    }
    if let Some(manager) = env::var_os("NOTIFY_SOCKET") {
        let (manager, open) = (Manager::at(&manager)?, open.subscribe());
        server.add_service(background_service(
            "systemd",
            Notifier { state: Arc::clone(&state), manager, open },
        ));
    }
    announce(listen_address, admin_address)?;

    // A thread of its own: a slow disk or a reader of the pipe that stopped must not stop calls.
    let log = {
        let state = Arc::clone(&state);
        thread::spawn(move || state.access_log.write_until_closed(access_log::WRITE_EVERY, &mut output))
    };
    let signals = SignalWatch::new(Arc::clone(&state), reasons, signals);
    // Pingora's own shutdown sleeps for the whole grace period. The process exits when this
    // function returns, which is as soon as nothing is in flight.
    thread::spawn(move || server.run(RunArgs { shutdown_signal: Box::new(signals) }));
    if let Ok(first) = reason.recv() {
        shutdown::wait(&state, first, &reason);
    }
    if let Mode::Direct(direct) = &state.mode {
        // After the wait: calls in flight were still counted until now.
        direct.close();
    }
    state.access_log.close();
    log.join().map_err(|_panic| RunError::LogWriter)
}

fn add_background_services(
    server: &mut Server,
    state: &Arc<State>,
    reloader: Arc<Reloader>,
    stored: Stored,
    descriptions: DescriptionStore,
) {
    let resolver = Resolver::new(Arc::clone(state), stored.into_names());
    server.add_service(background_service("names", resolver));
    server.add_service(background_service("probes", Prober::new(Arc::clone(state), descriptions)));
    server.add_service(background_service("reload", ReloadService(reloader)));
    server.add_service(background_service("certificate", CertificateWatch(Arc::clone(state))));
    server.add_service(background_service("traces", TraceExporter(Arc::clone(state))));
    if let Mode::Edge(EdgeMode { used_grants: Some(used), .. }) = &state.mode {
        server.add_service(background_service("used grants", UsedGrantService(Arc::clone(used))));
    }
    if let Mode::Direct(direct) = &state.mode {
        let saver = StateSaver { direct: Arc::clone(direct), config: Arc::clone(&state.config) };
        server.add_service(background_service("keys", saver));
        if let Some(meters) = MeterService::of(direct, &state.config, &state.drain) {
            server.add_service(background_service("meters", meters));
        }
    }
}

/// Raises the limit of open files, and shares them out.
fn file_budget(state: &State) -> FileBudget {
    let config = state.config.load();
    let budget = fd_limit::raise(&config);
    let FileBudget { files, clients, .. } = budget;
    let configured = config.clients.connections;
    if configured > clients {
        log::warn!(
            "connections limited by open files (LimitNOFILE): open_files={files} connections={clients} configured={configured}"
        );
    }
    budget
}

/// The two ends of an upgrade: the process that this one takes over from, and the socket for the next
/// one.
#[derive(Default)]
struct UpgradeEnds {
    old: Option<OldProcess>,
    listener: Option<PrivateListener>,
}

/// Connects to the running process if there is one to upgrade, and binds the upgrade socket for the
/// next one.
fn open_upgrade(config: &Config, upgrade: bool) -> Result<UpgradeEnds, SocketError> {
    let Some(path) = &config.server.upgrade_socket else {
        if upgrade {
            log::warn!("upgrade not possible: server.upgrade_socket is not set");
        }
        return Ok(UpgradeEnds::default());
    };
    let is_direct = matches!(config.callers, Callers::Clients(_));
    let old = if upgrade { OldProcess::connect(path, is_direct)? } else { None };
    match PrivateListener::bind(SocketKind::Upgrade, path, old.is_some()) {
        Ok(listener) => Ok(UpgradeEnds { old, listener: Some(listener) }),
        // Upgrades are a convenience: a host that did not prepare for them still serves.
        Err(error) if old.is_none() && error.is_missing_directory() => {
            log::warn!("upgrade not possible, its directory is missing: error={:?}", error.to_string());
            Ok(UpgradeEnds::default())
        }
        Err(error) => Err(error),
    }
}

/// Opens the output of the access log.
fn access_log_output(config: &Config) -> Result<Box<dyn LogOutput + Send>, RunError> {
    let Some(path) = &config.log_file else { return Ok(Box::new(io::stdout())) };
    match LogFile::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(RunError::AccessLog { file: path.clone(), error }),
    }
}

/// Binds the admin socket, if there is one and its directory exists.
fn bind_admin_socket(config: &Config, replace: bool) -> Result<Option<PrivateListener>, SocketError> {
    let Some(path) = &config.server.admin_socket else { return Ok(None) };
    match PrivateListener::bind(SocketKind::Admin, path, replace) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if error.is_missing_directory() => {
            log::warn!("admin socket not available, its directory is missing: error={:?}", error.to_string());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Takes the socket of the old process, or binds a new one if it has none for this address.
fn socket(
    old: Option<&mut OldProcess>,
    service: &'static str,
    address: SocketAddr,
) -> Result<Socket, RunError> {
    let inherited = old.map(|old| old.take_socket(service, address)).transpose()?.flatten();
    let bound = inherited.map_or_else(|| Socket::bind(service, address), Ok);
    bound.map_err(|error| RunError::Listen { address, error })
}

/// Prints the listening addresses as one line of JSON, before any other output.
fn announce(listen: SocketAddr, admin: SocketAddr) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, r#"{{"listen":"{listen}","admin":"{admin}"}}"#)?;
    out.flush()
}

fn conf(config: &Config) -> ServerConf {
    /// Longer than any `server.grace`, which a reload can change.
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
