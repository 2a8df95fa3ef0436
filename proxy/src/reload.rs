//! Reads the configuration again while calls go on: on SIGHUP, and when one of its files has changed. It is compiled as a
//! whole before anything of it is used; one that has a fault changes nothing and is reported.

mod watch;

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora_core::{server::ShutdownWatch, services::background::BackgroundService};
use shared::time::UnixMillis;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::{
    config::{Config, LoadError},
    state::State,
    upstreams::{Pools, probe, resolve},
};
use transport::clock;

pub use watch::Watch;

/// What came of reading the configuration.
#[derive(Clone, Debug)]
pub struct Report {
    /// Configurations that were taken since the process began, the first included.
    pub generation: u64,
    /// When the one in use was.
    pub loaded_at: UnixMillis,
    /// Why the file that was read last was not taken, if it was not.
    pub rejected: Option<String>,
    /// Keys whose values in the file are not those in use, because only a start can change them.
    pub needs_restart: Vec<&'static str>,
}

/// What came of reading the configuration once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in use.
    Applied,
    /// It has a fault; the one before stays in use.
    Rejected,
}

/// Waits for reasons to read the configuration again, and does.
pub struct Reloader {
    state: Arc<State>,
    file: PathBuf,
    watch: Mutex<Watch>,
}

/// Two looks that find the same are this far apart: a change is taken within twice as long.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Report {
    /// That of a process that begins.
    #[must_use]
    pub const fn first(loaded_at: UnixMillis) -> Self {
        Self { generation: 1, loaded_at, rejected: None, needs_restart: Vec::new() }
    }
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Applied, Self::Rejected];

    /// The word for it in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Rejected => "rejected",
        }
    }
}

/// From now on SIGHUP does not end the process, which it does until somebody listens for it. One that comes before the
/// reloader does is lost, and nothing with it: the file was read only just now, and is watched.
///
/// # Errors
/// When signals cannot be received.
pub fn survive_hangups() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async { signal(SignalKind::hangup()).map(drop) })
}

impl Reloader {
    /// For a configuration that was read from `file` when its files were as `watch` has seen them.
    #[must_use]
    pub const fn new(state: Arc<State>, file: PathBuf, watch: Watch) -> Self {
        Self { state, file, watch: Mutex::new(watch) }
    }

    /// Waits until one of the files has changed.
    async fn changed(&self) {
        while !self.watch.lock().has_changed() {
            sleep(LOOK_EVERY).await;
        }
    }

    async fn reload(&self) {
        let outcome = match self.read() {
            Ok(config) => self.take(config).await,
            Err(error) => self.refuse(&error),
        };
        self.state.metrics.reloaded(outcome);
    }

    /// Reads the file and those that it names. Each is looked at before it is read, so that no change is overlooked.
    fn read(&self) -> Result<Config, LoadError> {
        let mut watch = self.watch.lock();
        watch.look();
        loop {
            let read = Config::load(&self.file, &|name| std::env::var(name).ok());
            if watch.is_of(Config::files(&read)) {
                return read;
            }
            *watch = Watch::new(&self.file, Config::files(&read));
        }
    }

    /// Goes on with a configuration. Upstreams that are new are probed once before calls can come to them, so that a pool
    /// whose upstreams are all new is not without any.
    async fn take(&self, mut config: Config) -> Outcome {
        let needs_restart = config.keep_fixed(&self.state.config.load());
        let _changing = self.state.changing.lock().await;
        let before = self.state.pools.load_full();
        let names = resolve::resolve(&config, before.names()).await;
        let pools = Pools::new(&config, names, Some(&before));
        probe::probe_new(&pools).await;
        self.state.take(config, pools);
        let before = self.state.report.load();
        let generation = before.generation + 1;
        match needs_restart.as_slice() {
            [] => log::info!("config reloaded: generation={generation}"),
            keys => log::warn!(
                "config reloaded, restart needed: generation={generation} settings={}",
                keys.join(",")
            ),
        }
        self.state.report.store(Arc::new(Report {
            generation,
            loaded_at: clock::now(),
            rejected: None,
            needs_restart,
        }));
        Outcome::Applied
    }

    fn refuse(&self, error: &LoadError) -> Outcome {
        log::error!(
            "config rejected, previous configuration stays active: file={} error=\"{error}\"",
            self.file.display()
        );
        let before = Report::clone(&self.state.report.load());
        self.state.report.store(Arc::new(Report { rejected: Some(error.to_string()), ..before }));
        Outcome::Rejected
    }
}

#[async_trait]
impl BackgroundService for Reloader {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let mut hangup = match signal(SignalKind::hangup()) {
            Ok(hangup) => hangup,
            Err(error) => {
                log::error!("reload unavailable, SIGHUP cannot be received: error=\"{error}\"");
                return;
            }
        };
        loop {
            tokio::select! {
                _ = hangup.recv() => {}
                () = self.changed() => {}
                // What ends goes on as it is.
                _ = shutdown.changed() => return,
            }
            self.reload().await;
        }
    }
}
