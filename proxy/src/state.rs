//! Everything the threads share.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use shared::tool::Tool;

use crate::{
    access_log::AccessLog,
    config::Config,
    drain::Drain,
    guards::Guards,
    metrics::Metrics,
    pools::{Pool, Pools},
    replay::ReplayCache,
};

/// One proxy.
pub struct State {
    /// What it was told.
    pub config: Config,
    /// The servers of the tools, as they were read last.
    pub pools: ArcSwap<Pools>,
    /// Why the file that was read last was not taken, if it was not.
    pub refused: ArcSwapOption<String>,
    /// Requests that were made.
    pub replay: ReplayCache,
    /// Bounds on clients.
    pub guards: Guards,
    /// Counters.
    pub metrics: Metrics,
    /// One line for each request.
    pub access_log: AccessLog,
    /// What is under way.
    pub drain: Arc<Drain>,
}

impl State {
    /// A proxy that has not begun.
    ///
    /// # Errors
    /// When two metrics have one name, which a test excludes.
    pub fn new(config: Config) -> Result<Self, prometheus::Error> {
        let pools = Pools::new(&config, None);
        Ok(Self {
            replay: ReplayCache::new(config.grants.replay_capacity),
            guards: Guards::new(&config.clients),
            metrics: Metrics::new(&pools)?,
            access_log: AccessLog::new(config.log),
            drain: Arc::default(),
            pools: ArcSwap::from_pointee(pools),
            refused: ArcSwapOption::empty(),
            config,
        })
    }

    /// The pool of a tool.
    #[must_use]
    pub fn pool(&self, tool: Tool) -> Arc<Pool> {
        Arc::clone(self.pools.load().of(tool))
    }

    /// Whether requests should be sent here: every upstream was probed, and the process is not ending.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.pools.load().are_known() && !self.drain.has_begun()
    }
}
