//! The background service of health checks: probes the upstreams of the pools that are in use.

use std::sync::Arc;

use async_trait::async_trait;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;

use phases::state::State;
use upstreams::description_store::DescriptionStore;
use upstreams::probe::probe_all;

/// The background service of health checks.
pub(crate) struct Prober {
    state: Arc<State>,
    descriptions: Arc<DescriptionStore>,
}

impl Prober {
    pub(crate) fn new(state: Arc<State>, descriptions: DescriptionStore) -> Self {
        Self { state, descriptions: Arc::new(descriptions) }
    }
}

#[async_trait]
impl BackgroundService for Prober {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let mut probes = probe_all(&self.state.pools.load(), &self.descriptions);
        loop {
            tokio::select! {
                () = self.state.pools_changed.notified() => {
                    probes.shutdown().await;
                    probes = probe_all(&self.state.pools.load(), &self.descriptions);
                }
                // Probes continue while requests in flight are finished. They end with the process.
                changed = shutdown.changed() => if changed.is_err() { return },
            }
        }
    }
}
