//! Meters at the edge: those that its isolates ask. Messages of many keys travel in one request.
//!
//! Why: docs/decisions/direct-mode.md, "A proxy holds leases like an isolate".

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use shared::meter::{BulkReplies, BulkReply, BulkRequest, HolderAsk, Message};
use shared::origin_token::OriginToken;
use tokio::time::timeout;

use super::queue::{LaneEnd, MeterError, was_paused};
use crate::Direct;
use crate::edge_connection::Connection;
use config::{Authority, Config};
use transport::clock;

/// Maximum time of one request. The edge responds after 3 seconds at the latest for a key whose record
/// its meter has.
const TIMEOUT: Duration = Duration::from_secs(4);

/// Exchanges messages with the edge until the process exits.
pub(super) async fn work(direct: Arc<Direct>, config: Arc<ArcSwap<Config>>, lane: LaneEnd) {
    let mut jobs = lane.jobs;
    let (mut connection, mut batch) = (Connection::default(), Vec::new());
    while jobs.recv_many(&mut batch, BulkRequest::MAX_ASKS).await > 0 {
        let (mut asking, mut asks) = (Vec::new(), Vec::new());
        // A call that gave up got a refusal, and must not be counted after that.
        for job in batch.drain(..).filter(|job| !job.is_abandoned()) {
            match &job.message {
                Message::Ask(request) => asks.push(HolderAsk::ask(request.clone())),
                Message::Read(request) => asks.push(HolderAsk::read(request.clone())),
                // The edge changes its own records, and shows them to its administrators.
                _ => {
                    job.end(Err(MeterError::Unexpected));
                    continue;
                }
            }
            asking.push(job);
        }
        // Fails if no one waits any more.
        let Ok(request) = BulkRequest::new(asks) else { continue };
        let exchanged = loop {
            let begun = Instant::now();
            match timeout(TIMEOUT, exchange(&direct, &config, &mut connection, &request)).await {
                // Says nothing of the edge. A meter counts a repeated request once.
                Err(_) if was_paused(begun, TIMEOUT) => connection = Connection::default(),
                exchanged => break exchanged,
            }
        };
        match exchanged.unwrap_or(Err(MeterError::TimedOut(TIMEOUT))) {
            Ok(replies) => {
                // By their order, which `from_json` has checked the number of.
                for (job, reply) in asking.into_iter().zip(replies.into_replies()) {
                    job.end(match reply {
                        BulkReply::Reply(reply) => Ok(reply),
                        BulkReply::Error(_) => Err(MeterError::failed("a meter of the edge is unavailable")),
                    });
                }
            }
            Err(error) => {
                // A late response of this request must not be taken for that of the next.
                connection = Connection::default();
                asking.into_iter().for_each(|job| job.end(Err(error.clone())));
            }
        }
    }
}

async fn exchange(
    direct: &Direct,
    config: &ArcSwap<Config>,
    connection: &mut Connection,
    request: &BulkRequest,
) -> Result<BulkReplies, MeterError> {
    let (settings, config) = (direct.config.load_full(), config.load_full());
    let Authority::Edge(feed) = &settings.authority else {
        return Err(MeterError::failed("no edge is configured"));
    };
    let data_center = config.server.data_center.clone();
    let token = OriginToken { data_center, issued_at: clock::now() }.sign(&feed.grants);
    let body = request.to_json();
    let text = connection.post(&feed.edge, BulkRequest::PATH, &token, body, BulkRequest::MAX_BYTES).await;
    let text = text.map_err(MeterError::failed)?;
    BulkReplies::from_json(&text, request.asks().len()).map_err(MeterError::failed)
}
