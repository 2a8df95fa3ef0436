//! Reloads the configuration without losing calls: on SIGHUP, and when one of its files has
//! changed. A configuration with a fault changes nothing and is reported. Another file with a fault keeps
//! its last good state, and is reported too.

mod watch;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::services::resolve;
use config::{Config, FailedPart, Known, LoadError, ReloadOutcome, ReloadReport};
use phases::state::State;
use transport::clock;
use upstreams::{Pools, probe};

pub(crate) use watch::FileWatch;

/// The source of the configuration, which reloads it.
pub(crate) struct Reloader {
    state: Arc<State>,
    file: PathBuf,
    /// Held while files are looked at or read, which no thread of the runtime does: a network mount may
    /// not respond.
    watch: Mutex<FileWatch>,
    /// Held while the file is read and applied.
    reloading: Mutex<()>,
}

/// The reason why files were not read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    /// The configuration cannot be read, or is invalid.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file system does not respond.
    #[error("the files were not read within {} seconds", READ_TIMEOUT.as_secs())]
    TimedOut,
    /// The thread that reads them panicked.
    #[error("the thread that reads the files panicked")]
    Panicked,
}

/// The background service of a [`Reloader`].
pub(crate) struct ReloadService(pub(crate) Arc<Reloader>);

/// The cause of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The operator asked for it.
    Request,
    /// The configuration file has changed.
    Configuration,
    /// A file that it names has changed: a certificate, a secret or the servers of a pool.
    OtherFile,
}

/// The interval at which files are checked. A change is loaded after two checks that see the same
/// file.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum time to read all files.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

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
        Self { state, file, watch: Mutex::const_new(watch), reloading: Mutex::const_new(()) }
    }

    /// Waits until one of the files has changed.
    async fn wait_for_change(&self) -> Trigger {
        loop {
            if let Some(trigger) = self.poll().await {
                return trigger;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Looks at the files once.
    async fn poll(&self) -> Option<Trigger> {
        let mut watch = self.watch.lock().await;
        let mut looking = watch.clone();
        let looked = spawn_blocking(move || {
            let has_changed = looking.poll_changed();
            (looking, has_changed)
        });
        let (looked, has_changed) = looked.await.ok()?;
        *watch = looked;
        has_changed.then(|| match watch.has_first_changed() {
            true => Trigger::Configuration,
            false => Trigger::OtherFile,
        })
    }

    /// Reads the file again and applies it.
    pub(crate) async fn reload(&self, trigger: Trigger) -> ReloadOutcome {
        // An operator and a changed file may ask at the same time. The older content must not be
        // applied last.
        let _reloading = self.reloading.lock().await;
        let outcome = match self.read(trigger).await {
            Ok(config) => self.apply(config, trigger).await,
            Err(error) => self.reject(&error),
        };
        self.state.metrics.config.reloads.inc(outcome);
        outcome
    }

    /// Loads the file and the files that it names. One that is faulty keeps what is in use, and so does one
    /// that is still being written, unless the operator asked for a reload.
    async fn read(&self, trigger: Trigger) -> Result<Config, ReadError> {
        let mut watch = self.watch.lock().await;
        let (file, before, current) = (self.file.clone(), watch.clone(), self.state.config.load_full());
        let reading = spawn_blocking(move || read(&file, trigger, before, &current));
        let error = match timeout(READ_TIMEOUT, reading).await {
            Ok(Ok((after, read))) => {
                *watch = after;
                return Ok(read?);
            }
            Ok(Err(_)) => ReadError::Panicked,
            Err(_elapsed) => ReadError::TimedOut,
        };
        // Not tried again until a file changes, because each attempt may hold a thread.
        watch.give_up();
        Err(error)
    }

    /// Applies a configuration. New upstreams are probed once before they get calls, so that a pool
    /// of new upstreams only is available immediately.
    async fn apply(&self, mut config: Config, trigger: Trigger) -> ReloadOutcome {
        let needs_restart = config.keep_fixed(&self.state.config.load());
        // A change by the operator in between would be part of neither configuration.
        let _changing = self.state.changing.lock().await;
        match self.state.changes.reload(&mut config, trigger == Trigger::OtherFile) {
            Ok(Some(dropped)) => log::warn!("changes dropped: reason=reload changes={dropped}"),
            Ok(None) => {}
            Err(error) => return self.reject(&error),
        }
        let changed = changed(&config, &self.state.config.load());
        let before = self.state.pools.load_full();
        let names = resolve::resolve(&config, before.names()).await;
        let pools = Pools::new(&config, names, Some(&before));
        // A server that was not probed yet gets no call: a pool of new ones only would be
        // unavailable for a moment.
        probe::probe_new(&pools).await;
        report_parts(&self.state.config.load().failed_parts, &config.failed_parts);
        self.state.set_config(config, pools);
        self.state.store_last_good();
        let before = self.state.report.load();
        let generation = before.generation + 1;
        match needs_restart.as_slice() {
            [] => log::info!("config reloaded: generation={generation} changed={changed}"),
            keys => log::warn!(
                "config reloaded, restart needed: generation={generation} changed={changed} settings={}",
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

/// Returns the keys that a reload has changed. A long list is cut off.
fn changed(config: &Config, former: &Config) -> String {
    const SHOWN: usize = 20;
    let keys = config.changed_keys(former);
    let mut shown: Vec<_> = keys.iter().take(SHOWN).cloned().collect();
    match keys.len() {
        0 => "nothing".to_owned(),
        count if count > SHOWN => {
            shown.push(format!("{} more", count - SHOWN));
            shown.join(",")
        }
        _ => shown.join(","),
    }
}

/// Loads a file and the files that it names. Each is recorded before it is read, so that no change is
/// missed.
fn read(
    file: &Path,
    trigger: Trigger,
    mut watch: FileWatch,
    current: &Config,
) -> (FileWatch, Result<Config, LoadError>) {
    let mut changing = match trigger {
        Trigger::Request => {
            watch.mark_read();
            Vec::new()
        }
        Trigger::Configuration | Trigger::OtherFile => watch.mark_resting_read(),
    };
    loop {
        let known = Known { last_good: &current.last_good, changing: &changing };
        let read = Config::reload(file, &|name| std::env::var(name).ok(), known);
        if watch.covers(Config::files(&read)) {
            return (watch, read);
        }
        // It names other files now, which must be watched from before they were read. Otherwise a
        // change in between is missed.
        watch = FileWatch::new(file, Config::files(&read));
        changing.clear();
    }
}

/// Logs the files that cannot be used any more, and those that can be used again.
pub(crate) fn report_parts(before: &[FailedPart], after: &[FailedPart]) {
    for part in after.iter().filter(|part| !before.contains(part)) {
        let consequence = if part.is_kept { "last good state stays in use" } else { "it has no state" };
        let (key, error) = (&part.fault.key, &part.fault.detail);
        log::error!("file not taken, {consequence}: key={key} error=\"{error}\"");
    }
    let has_failed = |key: &str| after.iter().any(|part| part.fault.key == key);
    for part in before.iter().filter(|part| !has_failed(&part.fault.key)) {
        log::info!("file taken again: key={}", part.fault.key);
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
                _ = hangup.recv() => Trigger::Request,
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
