//! The background service: exchanges messages with the authority, and reports ended leases.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use shared::key::KeyRecord;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::{Ends, Meters, Work, edge, exchange, valkey};
use crate::config::{MeterAuthority, ValkeyConfig};
use crate::direct::Direct;
use crate::state::State;

/// The interval at which due reports are looked for. A lease ends half a second earlier here than at
/// its meter, so that its report is in time.
const REPORT_EVERY: Duration = Duration::from_millis(25);
/// Number of records that are sent to the authority at once.
const RECORDS: usize = 256;

/// The background service of shared limits.
pub(crate) struct MeterService {
    direct: Arc<Direct>,
    state: Arc<State>,
    meters: Arc<Meters>,
}

impl MeterService {
    /// Returns the service if the proxy shares its limits with others.
    pub(crate) fn of(direct: &Arc<Direct>, state: &Arc<State>) -> Option<Self> {
        let meters = Arc::clone(direct.meters()?);
        Some(Self { direct: Arc::clone(direct), state: Arc::clone(state), meters })
    }
}

#[async_trait]
impl BackgroundService for MeterService {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let Some(Ends { authority, work, lanes }) = self.meters.ends.lock().take() else { return };
        let (connected, connections) = mpsc::unbounded_channel();
        for jobs in lanes {
            match &authority {
                MeterAuthority::Edge => {
                    tokio::spawn(edge::work(Arc::clone(&self.direct), Arc::clone(&self.state), jobs));
                }
                MeterAuthority::Valkey(config) => {
                    tokio::spawn(valkey::work(ValkeyConfig::clone(config), jobs, connected.clone()));
                }
            }
        }
        drop(connected);
        tokio::spawn(restore(Arc::clone(&self.direct), Arc::clone(&self.meters), connections));
        let run = run(&self.meters, work);
        tokio::pin!(run);
        loop {
            tokio::select! {
                () = &mut run => return,
                // Continues during a graceful shutdown, until the process exits.
                changed = shutdown.changed() => if changed.is_err() { return },
            }
        }
    }
}

async fn run(meters: &Arc<Meters>, mut work: mpsc::UnboundedReceiver<Work>) {
    let mut ticks = interval(REPORT_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut turn = 0_usize;
    loop {
        tokio::select! {
            work = work.recv() => match work {
                Some(Work::Call(call)) => { tokio::spawn(exchange::run(Arc::clone(meters), *call)); }
                Some(Work::Renewal(key, request)) => {
                    let meters = Arc::clone(meters);
                    tokio::spawn(async move { meters.report(&key, *request).await });
                }
                None => return,
            },
            _ = ticks.tick() => {
                turn = turn.wrapping_add(1);
                let now = meters.now();
                meters.caches.expire(turn, now);
                for due in meters.caches.take_due(now) {
                    let meters = Arc::clone(meters);
                    tokio::spawn(async move { meters.report(&due.key, due.request).await });
                }
            }
        }
    }
}

/// Sends this proxy's records to the authority after each new connection, because the authority may
/// have lost them. Records of an edge come to every proxy by the feed.
async fn restore(direct: Arc<Direct>, meters: Arc<Meters>, mut connections: mpsc::UnboundedReceiver<()>) {
    while connections.recv().await.is_some() {
        while connections.try_recv().is_ok() {}
        if !direct.issues_keys() {
            continue;
        }
        let mut records: Vec<KeyRecord> = direct.keys.records();
        records.retain(valkey::says_more_than_key);
        for part in records.chunks(RECORDS) {
            let sent = part.iter().map(|record| {
                let (meters, record) = (Arc::clone(&meters), record.clone());
                tokio::spawn(async move { meters.show(record).await.is_ok() })
            });
            for stored in sent.collect::<Vec<_>>() {
                let _stored = stored.await;
            }
        }
    }
}
