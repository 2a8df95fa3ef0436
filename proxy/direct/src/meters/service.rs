//! The background service: exchanges messages with the authority, and reports ended leases.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use futures_util::future::join_all;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use shared::key::KeyRecord;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{Ends, Meters, Work, edge, exchange, valkey};
use crate::Direct;
use crate::valkey::probe::{self, Purpose};
use config::{Config, MeterAuthority, ValkeyConfig};
use transport::drain::{Drain, Phase, WorkKind};

/// The interval at which due reports are looked for. A lease ends half a second earlier here than at
/// its meter, so that its report is in time.
const REPORT_EVERY: Duration = Duration::from_millis(25);
/// Maximum time for which the exit waits for the return of leases.
const GIVE_BACK_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of records that are sent to the authority at the same time.
const RECORDS: usize = 256;

/// The background service of shared limits.
pub struct MeterService {
    direct: Arc<Direct>,
    config: Arc<ArcSwap<Config>>,
    drain: Arc<Drain>,
    meters: Arc<Meters>,
}

impl MeterService {
    /// Returns the service if the proxy shares its limits with others.
    pub fn of(direct: &Arc<Direct>, config: &Arc<ArcSwap<Config>>, drain: &Arc<Drain>) -> Option<Self> {
        let meters = Arc::clone(direct.meters()?);
        Some(Self {
            direct: Arc::clone(direct),
            config: Arc::clone(config),
            drain: Arc::clone(drain),
            meters,
        })
    }
}

#[async_trait]
impl BackgroundService for MeterService {
    async fn start(&self, _shutdown: ShutdownWatch) {
        let Some(Ends { authority, work, lanes }) = self.meters.ends.lock().take() else { return };
        let (connected, connections) = mpsc::unbounded_channel();
        for lane in lanes {
            match &authority {
                MeterAuthority::Edge => {
                    tokio::spawn(edge::work(Arc::clone(&self.direct), Arc::clone(&self.config), lane));
                }
                MeterAuthority::Valkey(config) => {
                    tokio::spawn(valkey::work(ValkeyConfig::clone(config), lane, connected.clone()));
                }
            }
        }
        // Without a worker that can send, `restore` ends: records come to an edge's proxies by the
        // feed.
        drop(connected);
        if let MeterAuthority::Valkey(config) = authority {
            let meters = Arc::clone(&self.meters);
            // Calls do not wait for it: they meet the same faults themselves.
            tokio::spawn(async move {
                if probe::log_faults(&config, Purpose::Meters).await {
                    meters.queue.begin_failing();
                }
            });
        }
        tokio::spawn(restore(Arc::clone(&self.direct), Arc::clone(&self.meters), connections));
        // Continues during a graceful shutdown, until the process exits.
        tokio::join!(run(&self.meters, work), give_back(&self.meters, &self.drain));
    }
}

/// Returns all leases when the process shuts down and no call is in flight. The exit waits for it.
async fn give_back(meters: &Arc<Meters>, drain: &Arc<Drain>) {
    // Fails if the process never shuts down gracefully.
    let mut phase = drain.phase();
    if phase.wait_for(|phase| *phase == Phase::Closing).await.is_err() {
        return;
    }
    let _unsent = drain.track(WorkKind::Sending);
    // A call in flight may still spend what is held, or bring units back.
    while drain.requests() > 0 {
        sleep(REPORT_EVERY).await;
    }
    let reports = meters.caches.give_back(meters.now()).into_iter().map(|report| {
        let meters = Arc::clone(meters);
        async move { meters.report(&report.key, report.request).await }
    });
    // What does not arrive counts as spent.
    let _sent = timeout(GIVE_BACK_TIMEOUT, join_all(reports)).await;
}

async fn run(meters: &Arc<Meters>, mut work: mpsc::UnboundedReceiver<Work>) {
    let mut ticks = interval(REPORT_EVERY);
    // After a pause of the process, the missed ticks would all come at once.
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
        // The lanes connect at about the same time. The records are sent once for all of them.
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
