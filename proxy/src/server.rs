//! Puts the proxy together, runs it, and ends it when what was under way is done.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use pingora_core::{
    server::{RunArgs, Server, ShutdownSignal, ShutdownSignalWatch, configuration::ServerConf},
    services::background::background_service,
};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    admin::Admin,
    config::Config,
    downstream::Downstream,
    listen::{Bound, Socket},
    probe::Prober,
    reload::{Reloader, Watch},
    state::State,
};

/// Runs a proxy, whose configuration came from `file` and is read again when that changes, until it was told to end and
/// has ended.
///
/// # Errors
/// When a socket cannot be bound, or the metrics are at odds with themselves.
pub fn run(config: Config, file: PathBuf) -> io::Result<()> {
    let watch = Watch::new(&file, &config.files);
    let listen = Socket::bind(config.server.listen)?;
    let admin = Socket::bind(config.server.admin)?;
    let addresses = (listen.address, admin.address);
    let state = Arc::new(State::new(config).map_err(io::Error::other)?);

    let mut server = Server::new_with_opt_and_conf(None, conf(&state.config.load()));
    let downstream = Downstream::new(&server.configuration, &state);
    server.add_service(Bound::new("proxy", downstream, listen, None));
    server.add_service(Bound::new("admin", Admin(Arc::clone(&state)), admin, Some(1)).lasting());
    server.add_service(background_service("probes", Prober(Arc::clone(&state))));
    server.add_service(background_service("reload", Reloader::new(Arc::clone(&state), file, watch)));
    announce(addresses)?;

    let log = {
        let state = Arc::clone(&state);
        thread::spawn(move || state.access_log.write_until_closed())
    };
    let (told, ending) = mpsc::channel();
    let signals = Signals { state: Arc::clone(&state), told };
    // Pingora's own end is a sleep of the whole grace period. The process ends when this function returns, which
    // is as soon as nothing is under way any more.
    thread::spawn(move || server.run(RunArgs { shutdown_signal: Box::new(signals) }));
    if ending.recv().is_ok() {
        drain(&state, &ending);
    }
    state.access_log.close();
    log.join().map_err(|_panic| io::Error::other("the access log's thread panicked"))
}

/// Tells whoever started the process where it listens: one line of JSON, before anything else.
fn announce((listen, admin): (SocketAddr, SocketAddr)) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, r#"{{"listen":"{listen}","admin":"{admin}"}}"#)?;
    out.flush()
}

/// Waits until nothing is under way, at most for the grace period or until told to end a second time.
fn drain(state: &State, told_again: &mpsc::Receiver<()>) {
    /// Time for Pingora to close its sockets and for the last requests that were accepted to be counted.
    const SETTLE: Duration = Duration::from_millis(250);
    const LOOK_EVERY: Duration = Duration::from_millis(10);
    let begun = Instant::now();
    while begun.elapsed() < state.config.load().server.grace.max(SETTLE) {
        if begun.elapsed() >= SETTLE && state.drain.under_way() == 0 {
            return;
        }
        if told_again.recv_timeout(LOOK_EVERY).is_ok() {
            break;
        }
    }
    log::warn!("{} requests were cut off", state.drain.under_way());
}

/// Waits for the signal to end, and tells the drain.
struct Signals {
    state: Arc<State>,
    told: mpsc::Sender<()>,
}

#[async_trait]
impl ShutdownSignalWatch for Signals {
    async fn recv(&self) -> ShutdownSignal {
        let (state, told) = (Arc::clone(&self.state), self.told.clone());
        let (first, begun) = tokio::sync::oneshot::channel();
        tokio::spawn(async move {
            match (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) {
                (Ok(mut terminate), Ok(mut interrupt)) => {
                    let mut first = Some(first);
                    loop {
                        tokio::select! { _ = terminate.recv() => (), _ = interrupt.recv() => () }
                        state.drain.begin();
                        // Nobody listens only when the process is ending already.
                        let _told = (told.send(()), first.take().map(|first| first.send(())));
                    }
                }
                (Err(error), _) | (_, Err(error)) => log::error!("signals cannot be received: {error}"),
            }
        });
        // Without signals the proxy runs until it is killed.
        if begun.await.is_err() {
            std::future::pending::<()>().await;
        }
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
