//! The state that all threads share.

mod mode;

use std::sync::Arc;

use arc_swap::ArcSwap;
use shared::tool::Tool;
use strum::IntoStaticStr;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::task::spawn_blocking;

pub use mode::{EdgeMode, Mode};

use crate::last_good::{LastGoodFile, Stored};
use crate::observe::access_log::AccessLog;
use crate::observe::diagnostic_log;
use crate::observe::metrics::{Build, Metrics};
use crate::trace::SpanQueue;
use config::changes::Changes;
use config::{Config, ReloadReport};
use direct::StateError;
use transport::clock;
use transport::drain::Drain;
use transport::idle_clients::IdleClients;
use upstreams::limits::ClientLimits;
use upstreams::tool_catalog::ToolCatalog;
use upstreams::{Pool, Pools, ResolvedNames};

/// The state of one proxy process.
pub struct State {
    /// The active configuration.
    pub config: Arc<ArcSwap<Config>>,
    /// The pools of upstreams.
    pub pools: ArcSwap<Pools>,
    /// Notified when the pools were replaced.
    pub pools_changed: Notify,
    /// Held while pools are replaced, by a reload or because names resolve to other addresses.
    pub changing: AsyncMutex<()>,
    /// The state of the configuration, and the result of the last reload.
    pub report: ArcSwap<ReloadReport>,
    /// The file of what is good, for the next process.
    pub last_good: LastGoodFile,
    /// The changes of operators.
    pub changes: Changes,
    /// The mode, which defines how calls are authenticated.
    pub mode: Mode,
    /// Limits on clients.
    pub limits: ClientLimits,
    /// Metrics.
    pub metrics: Metrics,
    /// The access log.
    pub access_log: AccessLog,
    /// The spans of traced calls, until they are exported.
    pub spans: SpanQueue,
    /// The connections and requests in flight, and the phase of shutdown.
    pub drain: Arc<Drain>,
    /// The client connections that wait for a request.
    pub idle_clients: IdleClients,
    /// What the tools say of themselves.
    pub catalog: ToolCatalog,
}

/// What changed the servers of pools.
#[derive(Clone, Copy, Debug, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum PoolsChange {
    /// The configuration or a file of servers.
    Configuration,
    /// The addresses of a name, or its SRV records.
    Dns,
}

/// Logs the servers of a pool that are new or gone.
fn log_servers(pool: &Pool, before: &Pool, by: PoolsChange) {
    let missing = |of: &Pool, from: &Pool| {
        let names = of.upstreams.iter().map(|server| server.name.as_str());
        let missing = names.filter(|name| !from.upstreams.iter().any(|other| other.name == *name));
        missing.collect::<Vec<_>>().join(",")
    };
    let (added, removed) = (missing(pool, before), missing(before, pool));
    if !(added.is_empty() && removed.is_empty()) {
        let (tool, by, count) = (pool.config.tool, by.into_str(), pool.upstreams.len());
        log::info!(
            "servers changed: tool={tool} by={by} servers={count} added={added:?} removed={removed:?}"
        );
    }
}

/// An error of creating the state.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// The metrics cannot be registered.
    #[error("metrics cannot be registered: {0}")]
    Metrics(#[from] prometheus::Error),
    /// The state files of direct mode are unusable.
    #[error(transparent)]
    State(#[from] StateError),
}

impl State {
    /// Returns the state of a process that has not started yet.
    ///
    /// # Errors
    /// Returns an error if the state files of direct mode are unusable.
    pub fn new(
        config: Config,
        changes: Changes,
        last_good: LastGoodFile,
        build: &Build,
    ) -> Result<Self, InitError> {
        let pools = Pools::new(&config, ResolvedNames::default(), None);
        Ok(Self {
            mode: Mode::new(&config.callers)?,
            limits: ClientLimits::default(),
            metrics: Metrics::new(&pools, build, &config.server.data_center)?,
            access_log: AccessLog::new(config.log),
            spans: SpanQueue::default(),
            changes,
            last_good,
            drain: Arc::default(),
            idle_clients: IdleClients::default(),
            catalog: ToolCatalog::default(),
            pools: ArcSwap::from_pointee(pools),
            pools_changed: Notify::new(),
            changing: AsyncMutex::default(),
            report: ArcSwap::from_pointee(ReloadReport::first(clock::now())),
            config: Arc::new(ArcSwap::from_pointee(config)),
        })
    }

    /// Applies a reloaded configuration and its pools.
    pub fn set_config(&self, config: Config, pools: Pools) {
        self.access_log.configure(config.log);
        diagnostic_log::configure(config.log);
        self.mode.configure(&config.callers);
        self.config.store(Arc::new(config));
        self.set_pools(pools, PoolsChange::Configuration);
    }

    /// Replaces the pools by others, and logs which servers are new or gone.
    pub fn set_pools(&self, pools: Pools, by: PoolsChange) {
        let (before, pools) = (self.pools.load_full(), Arc::new(pools));
        // Before the pools are in use: the first call to a new server must find its series.
        self.metrics.replace_series(&before, &pools);
        for pool in pools.iter() {
            log_servers(pool, before.of(pool.config.tool), by);
        }
        self.pools.store(pools);
        self.pools_changed.notify_one();
    }

    /// Returns what is good now, for another process.
    pub fn to_stored(&self) -> Stored {
        Stored::of(&self.config.load(), self.pools.load().names())
    }

    /// Stores what is good now, on a thread that may wait for the disk.
    pub fn store_last_good(self: &Arc<Self>) {
        let state = Arc::clone(self);
        // Not awaited: a slow disk must not hold back the change that is already in effect.
        drop(spawn_blocking(move || state.last_good.write(|| state.to_stored())));
    }

    /// Returns the pool of a tool.
    pub fn pool(&self, tool: Tool) -> Arc<Pool> {
        Arc::clone(self.pools.load().of(tool))
    }

    /// Returns true if load balancers should send requests: the process is prepared and not
    /// shutting down.
    pub fn is_ready(&self) -> bool {
        self.is_prepared() && !self.drain.is_announced()
    }

    /// Returns true if every upstream was probed and, in direct mode, the revoked keys are known.
    pub fn is_prepared(&self) -> bool {
        self.pools.load().are_known() && self.mode.is_ready()
    }
}
