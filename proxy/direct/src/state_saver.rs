//! The background work of direct mode: saves changed state and polls the key-change feed.
//!
//! Why: docs/decisions/direct-mode.md, "A crash may lose two seconds of counts".

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{Direct, feed};
use config::Config;

/// The background service of direct mode.
pub struct StateSaver {
    /// The state to save.
    pub direct: Arc<Direct>,
    /// The active configuration.
    pub config: Arc<ArcSwap<Config>>,
}

/// The interval between two saves. A crash loses what was counted since the last one.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// Saving takes at most one part in this many of the time, so that millions of keys are saved less
/// often.
const SHARE: u32 = 50;

#[async_trait]
impl BackgroundService for StateSaver {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let work = async { tokio::join!(save(&self.direct), feed::follow(&self.config, &self.direct)) };
        tokio::pin!(work);
        loop {
            tokio::select! {
                _ = &mut work => return,
                // Continues during a graceful shutdown, until the process exits.
                changed = shutdown.changed() => if changed.is_err() { return },
            }
        }
    }
}

async fn save(direct: &Arc<Direct>) {
    let mut pause = SAVE_EVERY;
    loop {
        sleep(pause).await;
        let begun = Instant::now();
        // On a blocking thread: a slow disk must not delay the polling of the feed.
        let direct = Arc::clone(direct);
        let saved = spawn_blocking(move || save_changed(&direct)).await;
        if saved.is_err() {
            log::error!("saving state failed: error=\"the task panicked\"");
        }
        pause = SAVE_EVERY.max(begun.elapsed() * SHARE);
    }
}

fn save_changed(direct: &Direct) {
    direct.log_clock_step();
    if direct.keys.take_changed() && !direct.save_counters() {
        direct.keys.set_changed();
    }
    if direct.records_changed.load(Ordering::Relaxed) {
        direct.save_records();
    }
}
