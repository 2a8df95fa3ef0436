//! Reloads the configuration without losing calls: on SIGHUP, and when one of its files has
//! changed. A file with a fault changes nothing and is reported.

mod watch;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::sleep;

use crate::config::{Config, LoadError, ReloadOutcome, ReloadReport};
use crate::state::State;
use crate::upstreams::{Pools, probe, resolve};
use transport::clock;

pub(crate) use watch::FileWatch;

/// The source of the configuration, which reloads it.
pub(crate) struct Reloader {
    state: Arc<State>,
    file: PathBuf,
    watch: Mutex<FileWatch>,
    /// Held while the file is read and applied.
    reloading: AsyncMutex<()>,
}

/// The background service of a [`Reloader`].
pub(crate) struct ReloadService(pub(crate) Arc<Reloader>);

/// The cause of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The configuration file has changed, or the operator asked for it.
    Configuration,
    /// A file that it names has changed: a certificate, a secret or the servers of a pool.
    OtherFile,
}

/// The interval at which files are checked. A change is loaded after two checks that see the same
/// file.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Installs handlers for SIGHUP and SIGUSR1, which would otherwise end the process. A SIGHUP that arrives
/// before the [`Reloader`] starts has no effect. No change is lost, because the file was just read
/// and is watched.
///
/// # Errors
/// If the handler cannot be installed.
pub(crate) fn survive_hangups() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let _hangup = signal(SignalKind::hangup())?;
        signal(SignalKind::user_defined1()).map(drop)
    })
}

impl Reloader {
    /// Creates the task. `watch` must have seen the files before they were read from `file`.
    pub(crate) const fn new(state: Arc<State>, file: PathBuf, watch: FileWatch) -> Self {
        Self { state, file, watch: Mutex::new(watch), reloading: AsyncMutex::const_new(()) }
    }

    /// Waits until one of the files has changed.
    async fn wait_for_change(&self) -> Trigger {
        loop {
            {
                let mut watch = self.watch.lock();
                if watch.poll_changed() {
                    return if watch.has_first_changed() {
                        Trigger::Configuration
                    } else {
                        Trigger::OtherFile
                    };
                }
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Reads the file again and applies it.
    pub(crate) async fn reload(&self, trigger: Trigger) -> ReloadOutcome {
        let _reloading = self.reloading.lock().await;
        let outcome = match self.read() {
            Ok(config) => self.apply(config, trigger).await,
            Err(error) => self.reject(&error),
        };
        self.state.metrics.config.reloads.inc(outcome);
        outcome
    }

    /// Loads the file and the files that it names. Each is recorded before it is read, so that no
    /// change is missed.
    fn read(&self) -> Result<Config, LoadError> {
        let mut watch = self.watch.lock();
        watch.mark_read();
        loop {
            let read = Config::load(&self.file, &|name| std::env::var(name).ok());
            if watch.covers(Config::files(&read)) {
                return read;
            }
            *watch = FileWatch::new(&self.file, Config::files(&read));
        }
    }

    /// Applies a configuration. New upstreams are probed once before they get calls, so that a pool
    /// of new upstreams only is available at once.
    async fn apply(&self, mut config: Config, trigger: Trigger) -> ReloadOutcome {
        let needs_restart = config.keep_fixed(&self.state.config.load());
        let _changing = self.state.changing.lock().await;
        match self.state.changes.reload(&mut config, trigger == Trigger::OtherFile) {
            Ok(true) => log::info!("changes dropped: reason=reload"),
            Ok(false) => {}
            Err(error) => return self.reject(&error),
        }
        let before = self.state.pools.load_full();
        let names = resolve::resolve(&config, before.names()).await;
        let pools = Pools::new(&config, names, Some(&before));
        probe::probe_new(&pools).await;
        self.state.set_config(config, pools);
        let before = self.state.report.load();
        let generation = before.generation + 1;
        match needs_restart.as_slice() {
            [] => log::info!("config reloaded: generation={generation}"),
            keys => log::warn!(
                "config reloaded, restart needed: generation={generation} settings={}",
                keys.join(",")
            ),
        }
        let report = ReloadReport { generation, loaded_at: clock::now(), rejected: None, needs_restart };
        self.state.report.store(Arc::new(report));
        ReloadOutcome::Applied
    }

    fn reject(&self, error: &impl fmt::Display) -> ReloadOutcome {
        log::error!(
            "config rejected, previous configuration stays active: file={} error=\"{error}\"",
            self.file.display()
        );
        let before = ReloadReport::clone(&self.state.report.load());
        self.state.report.store(Arc::new(ReloadReport { rejected: Some(error.to_string()), ..before }));
        ReloadOutcome::Rejected
    }
}

#[async_trait]
impl BackgroundService for ReloadService {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let signals = signal(SignalKind::hangup())
            .and_then(|hangup| Ok((hangup, signal(SignalKind::user_defined1())?)));
        let (mut hangup, mut reopen) = match signals {
            Ok(signals) => signals,
            Err(error) => {
                log::error!("reload unavailable, signals cannot be received: error=\"{error}\"");
                return;
            }
        };
        loop {
            let trigger = tokio::select! {
                _ = hangup.recv() => Trigger::Configuration,
                _ = reopen.recv() => {
                    self.0.state.access_log.reopen();
                    continue;
                }
                trigger = self.0.wait_for_change() => trigger,
                // A process that shuts down keeps its configuration.
                _ = shutdown.changed() => return,
            };
            self.0.reload(trigger).await;
        }
    }
}
