//! The upstreams behind the tools: pools, health checks, outlier detection, load balancing, retry
//! budgets and idle connections.
//!
//! **What belongs here**: which server gets a call, whether a tool or a client may have one more, and what the tools
//! say of themselves. **What does not**: keys and grants, and the bytes of a call.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod balance;
mod call_rate;
mod description;
pub mod description_store;
mod ejection;
mod half_open;
mod health;
mod last_description;
pub mod limits;
pub mod lookup;
mod outlier;
mod pool;
pub mod probe;
mod queue;
mod queued_call;
mod resolved_names;
mod response_times;
mod retry_budget;
mod selection;
mod series;
pub mod tool_catalog;
mod upstream;

use std::sync::Arc;

use description_store::DescriptionStore;
pub use ejection::{CallFailure, EjectReason, Ejection, FailureKind};
pub use health::{Evidence, Health};
pub use pool::{Exceeded, Pool, PoolPermit};
pub use queued_call::{QueueOutcome, QueuedCall};
pub use resolved_names::{ResolvedNames, ResolvedServer};
pub use response_times::Speed;
pub use selection::{TriedSet, UpstreamIndex};
pub use series::{STATUS_CLASSES, Series};
use shared::tool::Tool;
pub use upstream::{Upstream, UpstreamPermit};

use config::Config;
use config::per_tool::PerTool;

/// One pool for each tool.
#[derive(Debug)]
pub struct Pools {
    pools: PerTool<Arc<Pool>>,
    names: ResolvedNames,
}

impl Pools {
    /// Creates the pools of a configuration, with the addresses that its names resolved to.
    /// Upstreams that are also in the pools `before` keep their state.
    pub fn new(config: &Config, names: ResolvedNames, before: Option<&Self>) -> Self {
        let pools = PerTool::from_fn(|tool| {
            let before = before.map(|before| before.of(tool).as_ref());
            Arc::new(Pool::new(config.pools[tool].clone(), &names, before))
        });
        Self { pools, names }
    }

    /// Returns the pools with these addresses of names. Returns `None` if that changes no upstream.
    pub fn with_names(&self, names: ResolvedNames) -> Option<Self> {
        let pools = PerTool::from_fn(|tool| {
            let pool = self.of(tool);
            match pool.is_resolved_by(&names) {
                // The same `Arc`, by which it is known below that nothing has changed.
                true => Arc::clone(pool),
                false => Arc::new(Pool::new(pool.config.clone(), &names, Some(pool))),
            }
        });
        let is_same = pools.iter().all(|(tool, pool)| Arc::ptr_eq(pool, self.of(tool)));
        (!is_same).then_some(Self { pools, names })
    }

    /// Takes the descriptions that a former process has stored, until the tools' own are read.
    pub fn restore_descriptions(&self, store: &DescriptionStore) {
        self.iter().for_each(|pool| pool.restore_description(store));
    }

    /// Returns the addresses that names resolved to.
    pub const fn names(&self) -> &ResolvedNames {
        &self.names
    }

    /// Returns the pool of a tool.
    pub fn of(&self, tool: Tool) -> &Arc<Pool> {
        &self.pools[tool]
    }

    /// Returns an iterator over all pools.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Pool>> {
        self.pools.iter().map(|(_, pool)| pool)
    }

    /// Closes an idle connection to any upstream, to free its file descriptor. Returns false if there
    /// is none.
    pub fn close_idle(&self) -> bool {
        self.iter().flat_map(|pool| &pool.upstreams).any(Upstream::close_idle)
    }

    /// Returns true if every upstream has been probed at least once.
    pub fn are_known(&self) -> bool {
        self.iter().all(|pool| pool.is_known())
    }
}
