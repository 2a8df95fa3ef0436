//! The background service that sends spans to a collector.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, StatusCode, header};
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::version;
use config::{Config, OTLP_PATH, TracingConfig};
use direct::http_client::{ClientError, Connection};
use phases::observe::metrics::SpanLoss;
use phases::state::State;
use phases::trace::CallSpans;
use phases::trace::otlp::{
    ExportTraceServiceRequest, ExportTraceServiceResponse, InstrumentationScope, KeyValue, Resource,
    ResourceSpans, ScopeSpans, Span,
};

/// Maximum number of calls in one request to the collector.
const BATCH: usize = 512;
/// Maximum number of ticks for which the first span of a batch waits for others: a second.
const TICKS: u32 = 20;
/// The time between two looks at the queue while a batch waits. Calls would wake the exporter
/// each if it waited for them, and that costs more than their spans.
const TICK: Duration = Duration::from_millis(50);
/// The timeout of one request to the collector.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The pauses before a batch is sent again. After the last one it is given up.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// Maximum length of the collector's response.
const MAX_RESPONSE: usize = 64 << 10;

/// The background service that exports traces.
pub(crate) struct TraceExporter(pub(crate) Arc<State>);

#[async_trait]
impl BackgroundService for TraceExporter {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let Some(queue) = self.0.spans.take_receiver() else { return };
        tokio::select! {
            () = work(&self.0, queue) => {}
            // Continues during a graceful shutdown, until the process exits.
            () = async { while shutdown.changed().await.is_ok() {} } => {}
        }
    }
}

/// Exports batches until there are no more senders.
async fn work(state: &State, mut queue: mpsc::Receiver<CallSpans>) {
    let mut exporter = Exporter { state, connection: Connection::default(), is_failing: false };
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        let mut ticks = 0..TICKS;
        // Not during a shutdown, which waits for these spans.
        while batch.len() + queue.len() < BATCH && !state.drain.has_begun() && ticks.next().is_some() {
            sleep(TICK).await;
        }
        if let Some(room) = BATCH.checked_sub(batch.len()).filter(|&room| room > 0 && !queue.is_empty()) {
            queue.recv_many(&mut batch, room).await;
        }
        let (spans, unsent): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|CallSpans { spans, unsent }| (spans, unsent)).unzip();
        exporter.export(spans.into_iter().flatten().collect()).await;
        // After the export: it is what keeps the process alive.
        drop(unsent);
    }
}

/// An error of an export.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error("tracing was switched off")]
    Off,
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("no response within 5 s")]
    TimedOut,
    #[error("unexpected status {0}, expected 200")]
    Status(StatusCode),
}

impl ExportError {
    /// Returns true if the same request may succeed later (OTLP specification, section "Failures" of
    /// OTLP/HTTP).
    fn is_retryable(&self) -> bool {
        match self {
            Self::Off => false,
            Self::Client(_) | Self::TimedOut => true,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

struct Exporter<'a> {
    state: &'a State,
    connection: Connection,
    is_failing: bool,
}

impl Exporter<'_> {
    /// Sends a batch, again after a pause if the collector is unreachable. While the process shuts down, it is
    /// sent once, and not at all if the collector was away for the batch before.
    async fn export(&mut self, spans: Vec<Span>) {
        let count = spans.len();
        // Each batch would otherwise hold the shutdown for the whole timeout.
        if self.is_failing && self.state.drain.has_begun() {
            return self.state.metrics.traces.record_lost(SpanLoss::ExportFailed, count);
        }
        let body = Bytes::from(request(&self.state.config.load(), spans).encode_to_vec());
        let mut pauses = PAUSES.into_iter();
        loop {
            let sent = timeout(TIMEOUT, self.send(body.clone())).await.unwrap_or(Err(ExportError::TimedOut));
            let error = match sent {
                Ok(rejected) => return self.record_sent(count, rejected),
                Err(error) => error,
            };
            // A connection that failed may be half closed, and would fail again.
            self.connection = Connection::default();
            self.record_failure(&error);
            let pause = pauses.next().filter(|_| error.is_retryable() && !self.state.drain.has_begun());
            let Some(pause) = pause else { break };
            sleep(pause).await;
        }
        self.state.metrics.traces.record_lost(SpanLoss::ExportFailed, count);
    }

    /// Sends a request. Returns the number of spans that the collector has rejected.
    async fn send(&mut self, body: Bytes) -> Result<usize, ExportError> {
        // At each attempt: a reload may have replaced an endpoint that was wrong.
        let config = self.state.config.load_full();
        let Some(TracingConfig { endpoint, authorization, .. }) = config.tracing.as_deref() else {
            return Err(ExportError::Off);
        };
        let path = endpoint.path_and_query().map_or(OTLP_PATH, |path| path.as_str());
        let mut request = Request::post(path).header(header::CONTENT_TYPE, "application/x-protobuf");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization.reveal());
        }
        let response = self.connection.send(endpoint, request, body, MAX_RESPONSE).await?;
        if response.status() != StatusCode::OK {
            return Err(ExportError::Status(response.status()));
        }
        // A body that cannot be read says nothing of rejected spans.
        let read = ExportTraceServiceResponse::decode(response.into_body()).unwrap_or_default();
        let rejected = read.partial_success.map_or(0, |partial| partial.rejected_spans);
        Ok(usize::try_from(rejected).unwrap_or(0))
    }

    fn record_sent(&mut self, count: usize, rejected: usize) {
        let metrics = &self.state.metrics.traces;
        metrics.record_exported(count.saturating_sub(rejected));
        metrics.record_lost(SpanLoss::Rejected, rejected.min(count));
        if std::mem::take(&mut self.is_failing) {
            log::warn!("trace export recovered");
        }
    }

    fn record_failure(&mut self, error: &ExportError) {
        self.state.metrics.traces.record_failure();
        // One line for an outage, and not one for each batch.
        if !std::mem::replace(&mut self.is_failing, true) {
            log::error!("trace export failed: error=\"{error}\"");
        }
    }
}

/// Returns the request with these spans. Its resource names the process.
fn request(config: &Config, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let service = config.tracing.as_ref().map_or("", |tracing| tracing.service.as_str());
    let attributes = vec![
        KeyValue::text("service.name", service),
        KeyValue::text("service.version", version::VERSION),
        KeyValue::text("utg.data_center", config.server.data_center.as_str()),
    ];
    let scope = InstrumentationScope { name: "utg-proxy".to_owned(), version: version::VERSION.to_owned() };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans }];
    let resource = Some(Resource { attributes });
    ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { resource, scope_spans }] }
}
