//! Everything the threads share.

use std::{io, sync::Arc};

use arc_swap::ArcSwap;
use shared::tool::Tool;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

use crate::{
    config::{Callers, Config, ReloadReport},
    direct::Direct,
    limits::Guards,
    observe::access_log::AccessLog,
    observe::metrics::Metrics,
    replay::{ReplayCache, Seen},
    upgrade::Word,
    upstreams::{Pool, Pools, ResolvedNames},
};
use transport::{clock, drain::Drain};

/// One proxy.
pub struct State {
    /// What it was told last.
    pub config: ArcSwap<Config>,
    /// The servers of the tools.
    pub pools: ArcSwap<Pools>,
    /// Told when there are others.
    pub pools_changed: Notify,
    /// Held while pools are replaced, by a reload or because names resolve to other addresses.
    pub changing: AsyncMutex<()>,
    /// What came of reading the configuration.
    pub report: ArcSwap<ReloadReport>,
    /// What direct mode keeps; `None` behind an edge.
    pub direct: Option<Direct>,
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
    /// When two metrics have one name, which a test excludes, or the files of direct mode cannot be relied upon.
    pub fn new(config: Config) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let pools = Pools::new(&config, ResolvedNames::default(), None);
        let (replay_capacity, direct) = match &config.callers {
            Callers::Edge(grants) => (grants.replay_capacity, None),
            Callers::Clients(keys) => (0, Some(Direct::open(keys)?)),
        };
        Ok(Self {
            direct,
            replay: ReplayCache::new(replay_capacity),
            guards: Guards::default(),
            metrics: Metrics::new(&pools)?,
            access_log: AccessLog::new(config.log),
            drain: Arc::default(),
            pools: ArcSwap::from_pointee(pools),
            pools_changed: Notify::new(),
            changing: AsyncMutex::default(),
            report: ArcSwap::from_pointee(ReloadReport::first(clock::now())),
            config: ArcSwap::from_pointee(config),
        })
    }

    /// Replaces the configuration and its pools.
    pub fn set_config(&self, config: Config, pools: Pools) {
        self.access_log.set(config.log);
        log::set_max_level(config.log.level);
        self.config.store(Arc::new(config));
        self.set_pools(pools);
    }

    /// Replaces the pools of the same configuration.
    pub fn set_pools(&self, pools: Pools) {
        let pools = Arc::new(pools);
        self.metrics.name_series(&self.pools.load(), &pools);
        self.pools.store(pools);
        self.pools_changed.notify_one();
    }

    /// The pool of a tool.
    #[must_use]
    pub fn pool(&self, tool: Tool) -> Arc<Pool> {
        Arc::clone(self.pools.load().of(tool))
    }

    /// Whether requests should be sent here: all is known that is needed for them, and the process is not ending.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.is_prepared() && !self.drain.is_announced()
    }

    /// Whether every upstream was probed and, in direct mode, it is known which keys were revoked.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        let knows_keys = self.direct.as_ref().is_none_or(|direct| direct.freshness.is_known());
        self.pools.load().are_known() && knows_keys
    }

    /// From now on another process is told of what is done here that it has to know; `None` when there is none any more.
    pub fn tell(&self, other: Option<mpsc::Sender<Word>>) {
        match &self.direct {
            Some(direct) => direct.mirror_to(other),
            None => self.replay.tell(other),
        }
    }

    /// Everything that the process which takes over has to know when it begins: as words, or in files that are written
    /// here. From now on it is told of the rest.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn hand_over(
        &self,
        other: mpsc::Sender<Word>,
    ) -> io::Result<impl Iterator<Item = Vec<Word>> + use<'_>> {
        match &self.direct {
            Some(direct) => direct.hand_over(other, clock::now())?,
            None => self.replay.tell(Some(other)),
        }
        Ok(self.replay.remembered().map(|part| part.into_iter().map(Seen::to_bytes).collect()))
    }

    /// Reads what the process that was taken over from has written.
    pub fn take_over(&self) {
        if let (Some(direct), Callers::Clients(config)) = (&self.direct, &self.config.load().callers) {
            direct.take_over(config);
        }
    }

    /// Takes note of what another process has done.
    pub fn learn(&self, word: Word) {
        match &self.direct {
            Some(direct) => direct.keys.apply_event(word, clock::now()),
            None => self.replay.learn(Seen::from_bytes(word)),
        }
    }
}
