//! Writes down what was counted, every few seconds if anything was, and has the edge asked what has changed.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use pingora_core::{server::ShutdownWatch, services::background::BackgroundService};
use tokio::{task::spawn_blocking, time::sleep};

use super::{Direct, feed};
use crate::{clock, state::State};

/// The background work of direct mode; none in another.
pub struct Keeper(pub Arc<State>);

/// A crash loses what was counted in the last of these.
const SAVE_EVERY: Duration = Duration::from_secs(2);
/// Writing takes at most this part of the time, so that millions of keys are written less often.
const SHARE: u32 = 50;

#[async_trait]
impl BackgroundService for Keeper {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let Some(direct) = &self.0.direct else { return };
        let work = async { tokio::join!(save(&self.0), feed::follow(&self.0, direct)) };
        tokio::pin!(work);
        loop {
            tokio::select! {
                _ = &mut work => return,
                // It goes on while requests under way are finished, and ends with the process.
                changed = shutdown.changed() => if changed.is_err() { return },
            }
        }
    }
}

async fn save(state: &Arc<State>) {
    let mut pause = SAVE_EVERY;
    loop {
        sleep(pause).await;
        let begun = Instant::now();
        // On a thread of its own: a slow disk must not keep the edge from being asked.
        let state = Arc::clone(state);
        let saved = spawn_blocking(move || state.direct.as_ref().map(save_changed)).await;
        if saved.is_err() {
            log::error!("what is counted could not be written down");
        }
        pause = SAVE_EVERY.max(begun.elapsed() * SHARE);
    }
}

fn save_changed(direct: &Direct) {
    if direct.ledger.take_changed() && !direct.save_counters(clock::now()) {
        direct.ledger.set_changed();
    }
    if direct.records_changed.load(Ordering::Relaxed) {
        direct.save_records();
    }
}
