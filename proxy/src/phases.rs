//! The product's decisions about a request, one file for each phase. The transport calls them in
//! the order of [`Phases`].

mod connection_filter;
mod fail_to_proxy;
mod gateway;
mod logging;
mod outage;
mod own_request;
mod request_body_filter;
mod request_filter;
mod retry;
mod upstream_peer;
mod upstream_request_filter;
mod upstream_response_filter;

use std::net::IpAddr;
use std::sync::Arc;

pub(crate) use connection_filter::ConnectionPermit;
pub(crate) use gateway::Gateway;
pub(crate) use own_request::OwnHandler;
pub(crate) use request_filter::AdmissionWait;

use pingora::ErrorType;
use shared::problem::Problem;
use shared::trace::TRACEPARENT;

use crate::call::{Call, Record, RequestLog};
use crate::mirror::mirror;
use crate::observe::access_log::ClientRequest;
use crate::observe::metrics::LimitKind;
use crate::request_id::random_id;
use crate::upstreams::QueuedCall;
use transport::clock::Monotonic;
use transport::drain::Drain;
use transport::hooks::{
    AfterFailure, Attempt, ClientConnection, ClientOptions, ConnectionAction, Event, Failure, Headers, Limit,
    Listener, Phases, Request, RequestAction, UpstreamRequest, UpstreamResponse,
};
use transport::http2::CloseReason;
use transport::idle_clients::IdleClients;
use transport::record::DialTimes;
use transport::response::Response;
use transport::tls::{Handshake, ServerTls};

impl Listener for Gateway {
    type Permit = ConnectionPermit;

    fn expects_proxy_header(&self, address: IpAddr) -> bool {
        self.state.config.load().clients.announces_clients(address)
    }

    fn connection_filter(&self, address: Option<IpAddr>) -> ConnectionAction<ConnectionPermit> {
        connection_filter::connection_filter(&self.state, self.max_connections, address)
    }

    fn tls(&self) -> Option<ServerTls> {
        self.state.config.load().server.tls.clone()
    }

    fn client_options(&self) -> ClientOptions {
        self.state.config.load().clients.connection
    }

    fn drain(&self) -> &Arc<Drain> {
        &self.state.drain
    }

    fn idle_clients(&self) -> &IdleClients {
        &self.state.idle_clients
    }

    fn record(&self, event: Event) {
        let metrics = &self.state.metrics;
        match event {
            Event::Handshake(outcome) => {
                metrics.tls.handshakes.inc(outcome);
                if outcome == Handshake::Timeout {
                    metrics.limits.record(LimitKind::HeaderTimeout);
                }
            }
            Event::Http2Closed(reason) => {
                metrics.tls.http2.inc(reason);
                match reason {
                    CloseReason::Timeout => metrics.limits.record(LimitKind::HeaderTimeout),
                    CloseReason::Idle => metrics.limits.record(LimitKind::IdleTimeout),
                    CloseReason::Closed | CloseReason::Done | CloseReason::Broken | CloseReason::Flood => {}
                }
            }
            Event::LimitExceeded(limit) => metrics.limits.record(limit_kind(limit)),
        }
    }
}

impl Phases for Gateway {
    type Call = Call;
    type Log = RequestLog;
    type Handler<'a> = OwnHandler<'a>;
    type Wait = AdmissionWait;
    type Queued = QueuedCall;

    fn new_log(&self, connection: &ClientConnection<'_>) -> RequestLog {
        let has_client = self.state.access_log.has_client();
        RequestLog {
            request_id: random_id(),
            secure: request_filter::is_secure(&self.state, connection.is_tls),
            trace_id: None,
            client: has_client.then(|| Box::new(ClientRequest::new(connection))),
            proof: None,
            quota: None,
            degraded: false,
            decided: None,
            stored_use: None,
            refusal: None,
            refused_call: None,
            refused_grant: None,
        }
    }

    fn request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record,
    ) -> RequestAction<Call, OwnHandler<'a>, AdmissionWait> {
        request_filter::request_filter(&self.state, request, record)
    }

    fn enter_queue(&self, call: &mut Call) -> Option<QueuedCall> {
        upstream_peer::enter_queue(call)
    }

    fn upstream_peer(&self, call: &mut Call, record: &Record) -> Result<Attempt, Box<Problem>> {
        upstream_peer::upstream_peer(&self.state, call, record)
    }

    fn mirror(&self, call: &Call, head: &[u8], body: Option<&[u8]>) {
        mirror(&self.state, call, head, body);
    }

    fn upstream_request_filter(&self, call: &Call, record: &Record, head: &mut impl UpstreamRequest) {
        upstream_request_filter::upstream_request_filter(call, record, head);
    }

    fn connected_to_upstream(&self, call: &mut Call, dialed: Option<DialTimes>, head: &mut impl Headers) {
        if let Some(trace) = &mut call.trace {
            head.write_header(TRACEPARENT, &trace.record_connection(dialed).to_header());
        }
    }

    fn request_body_filter(&self, call: &Call, received: u64) -> Result<(), Box<Problem>> {
        request_body_filter::request_body_filter(call, received)
    }

    fn discard_response(&self, call: &mut Call, record: &Record, status: u16, is_replayable: bool) -> bool {
        retry::discard_response(&self.state, call, record, status, is_replayable)
    }

    fn upstream_response_filter(
        &self,
        call: &mut Call,
        record: &Record,
        status: u16,
        head: &mut impl UpstreamResponse,
    ) {
        upstream_response_filter::upstream_response_filter(&self.state, call, record, status, head);
    }

    fn fail_to_connect(&self, call: &mut Call, record: &Record, error: &ErrorType) -> AfterFailure {
        retry::fail_to_connect(&self.state, call, record, error)
    }

    fn reserve_retry(&self, call: &mut Call) -> bool {
        call.is_retry_reserved = call.pool.try_spend_retry(Monotonic::now());
        call.is_retry_reserved
    }

    fn error_while_proxy(&self, call: &mut Call, record: &Record, failure: Failure) -> AfterFailure {
        retry::error_while_proxy(&self.state, call, record, failure)
    }

    fn fail_to_proxy(&self, call: Option<&Call>, record: &mut Record, problem: &Problem) -> Response {
        fail_to_proxy::fail_to_proxy(&self.state, call, record, problem)
    }

    fn logging(&self, call: Option<&Call>, record: &Record) {
        logging::logging(&self.state, call, record);
    }
}

/// Returns the label of a limit of the transport.
const fn limit_kind(limit: Limit) -> LimitKind {
    match limit {
        Limit::HeaderTimeout => LimitKind::HeaderTimeout,
        Limit::IdleTimeout => LimitKind::IdleTimeout,
        Limit::MinUploadRate => LimitKind::MinUploadRate,
        Limit::MinDownloadRate => LimitKind::MinDownloadRate,
        Limit::ResponseTimeout => LimitKind::AnswerTimeout,
        Limit::AttemptTimeout => LimitKind::TryTimeout,
        Limit::RetryBudget => LimitKind::RetryPercent,
        Limit::PauseTimeout => LimitKind::PauseTimeout,
        Limit::RefusalTimeout => LimitKind::RefusalTimeout,
        Limit::Http2HeldBytes => LimitKind::Http2HeldBytes,
    }
}
