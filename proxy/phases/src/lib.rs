//! The product's decisions about a request, one file for each phase. The transport calls them in
//! the order of [`Phases`].
//!
//! **What belongs here**: the life of a call, the state that all threads share, and what is observed of calls: metrics,
//! logs and traces. **What does not**: how the process starts, reloads and ends, and what runs beside the calls.
//!
//! # A tool call at the proxy
//!
//! Paths are relative to `src/`. Those that begin with `direct/`, `phases/`, `transport/` or `upstreams/` are below the
//! `src/` of that crate.
//!
//! 1. `transport/accept.rs` accepts a connection from the socket that `proxy/src/sockets.rs` bound and calls
//!    `transport/downstream.rs`, `process_new`. `phases/connection_filter.rs` refuses the connection if
//!    there are too many in all or from its address (`upstreams/limits/connections.rs`).
//! 2. `transport/downstream.rs`, `handshake`, does the TLS handshake (`transport/tls/server.rs`) within
//!    `header_timeout`. Over HTTP/2, `transport/http2.rs` serves each stream as a connection with one
//!    HTTP/1.1 request (`transport/http2/stream.rs`).
//! 3. `transport/client/head.rs` reads the head of the request into the `ClientStream`
//!    (`transport/client.rs`), within `header_timeout` and the limits on its size.
//! 4. `transport/relay.rs`, `serve`, parses the head once (`transport/relay/decision.rs`,
//!    `transport/request_head.rs`, then `Head` and `Route` of `shared`).
//! 5. `phases/request_filter.rs` verifies who calls. Behind an edge it checks the Grant
//!    (`phases/request_filter/grant.rs`) and the replay cache (`direct/replay.rs`). In direct mode it verifies the
//!    key and counts the call (`phases/request_filter/key.rs`, `direct/key_table.rs`).
//!    `phases/throttle.rs` throttles addresses that keep failing.
//! 6. `phases/request_filter.rs`, `check`, refuses a tool that is switched off, a body that is declared too
//!    long or has the wrong type, and a key with too many calls in flight (`upstreams/limits.rs`).
//! 7. `transport/relay/buffer.rs` buffers the rest of a body of up to 64 KiB. Then
//!    `phases/upstream_peer.rs` takes a slot of the tool (`upstreams/pool.rs`), for which the call may wait
//!    in the pool's queue (`upstreams/queued_call.rs`), and chooses an upstream (`upstreams/selection.rs`,
//!    `upstreams/balance.rs`).
//! 8. `transport/relay/connect.rs` takes an idle connection (`transport/idle.rs`) or makes one
//!    (`transport/relay/dial.rs`, `transport/tls/upstream.rs`). If that fails, `phases/retry.rs` chooses
//!    another upstream.
//! 9. `transport/relay/forward.rs` runs the exchange (`transport/relay/exchange.rs`), which streams both
//!    ways: the request up (`transport/relay/exchange/up.rs`; its headers are those of
//!    `phases/upstream_request_filter.rs`) and the response down (`transport/relay/exchange/down.rs`). The
//!    kernel moves the rest of a large body (`transport/relay/exchange/splice.rs`, `transport/pipe.rs`).
//!    `transport/relay/exchange/timeouts.rs` arms `answer_timeout` (`transport/response_deadline.rs`), and
//!    `phases/upstream_response_filter.rs` settles the call when the response begins. If the upstream
//!    fails, `phases/retry.rs` decides about a retry within the budget (`upstreams/retry_budget.rs`).
//! 10. `transport/connect.rs`, `keep_idle`, keeps the tool's connection. `phases/logging.rs` updates the
//!     metrics and writes the access log line (`observe/access_log.rs`). `transport/downstream.rs` waits
//!     for the next request, or closes the connection, with a lingering close if the client is still
//!     sending (`transport/linger.rs`).
//!
//! `phases/fail_to_proxy.rs` renders the proxy's own responses, and `transport/relay/respond.rs` sends
//! them. In direct mode, `phases/own_request.rs` passes requests that call no tool to
//! `direct/handlers.rs` after step 5, with their route.
//!
//! With `transport = "pingora-proxy"`, Pingora's `HttpProxy` does steps 4 to 10.
//! `transport/pingora_proxy/phases.rs` implements its `ProxyHttp` and calls the same hooks.
//! `transport/pingora_proxy/client_session.rs` is the client as a downstream session of Pingora's, over
//! the same `ClientStream`. `transport/pingora_proxy/connection.rs` gives Pingora the relay's HTTP/1.1
//! connections, as sockets that read responses along by the relay's parsers.
//! [docs/transports.md](docs/transports.md) lists what differs.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod call;
mod call_spans;
mod client_request;
mod connection_filter;
mod fail_to_proxy;
mod gateway;
pub mod last_good;
mod logging;
mod mirror;
pub mod observe;
mod outage;
mod own_request;
mod request_body_filter;
mod request_filter;
mod request_id;
mod retry;
pub mod state;
mod throttle;
pub mod trace;
mod trail;
mod upstream_peer;
mod upstream_request_filter;
mod upstream_response_filter;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

pub use connection_filter::ConnectionPermit;
pub use gateway::Gateway;
pub use own_request::OwnHandler;
pub use request_filter::{AdmissionWait, Waited};

use pingora::ErrorType;
use shared::problem::Problem;
use shared::trace::TRACEPARENT;

use crate::call::{Call, Record, RequestLog};
use crate::client_request::ClientRequest;
use crate::mirror::mirror;
use crate::request_id::random_id;
use transport::clock::Monotonic;
use transport::drain::Drain;
use transport::hooks::{
    AfterFailure, Attempt, Cause, ClientConnection, ClientOptions, ConnectionAction, Event, Failure, Headers,
    Limit, Listener, Phases, Request, RequestAction, UpstreamRequest, UpstreamResponse,
};
use transport::http2::CloseReason;
use transport::idle_clients::IdleClients;
use transport::record::DialTimes;
use transport::response::Response;
use transport::tls::{Handshake, ServerTls};
use upstreams::QueuedCall;

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
                    metrics.limits.record(Limit::HeaderTimeout);
                }
            }
            Event::Http2Closed(reason) => {
                metrics.tls.http2.inc(reason);
                match reason {
                    CloseReason::Timeout => metrics.limits.record(Limit::HeaderTimeout),
                    CloseReason::Idle => metrics.limits.record(Limit::IdleTimeout),
                    CloseReason::Closed | CloseReason::Done | CloseReason::Broken | CloseReason::Flood => {}
                }
            }
            Event::LimitExceeded(limit) => metrics.limits.record(limit),
        }
    }
}

impl Phases for Gateway {
    type Call = Call;
    type Log = RequestLog;
    type Handler<'a> = OwnHandler<'a>;
    type Wait<'a> = AdmissionWait<'a>;
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
            refusal: None,
            refused_call: None,
            refused_grant: None,
        }
    }

    fn request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record,
    ) -> RequestAction<Call, OwnHandler<'a>, AdmissionWait<'a>> {
        request_filter::request_filter(&self.state, request, record)
    }

    fn resume_request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record,
        waited: Waited<'a>,
    ) -> RequestAction<Call, OwnHandler<'a>, Infallible> {
        request_filter::resume_request_filter(&self.state, request, record, waited)
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
        let failed = call.current;
        let next = retry::fail_to_connect(&self.state, call, record, error);
        trail::failed(failed, Cause::from(error), call, record, &next);
        next
    }

    fn reserve_retry(&self, call: &mut Call) -> bool {
        call.is_retry_reserved = call.pool.try_spend_retry(Monotonic::now());
        call.is_retry_reserved
    }

    fn error_while_proxy(&self, call: &mut Call, record: &Record, failure: Failure) -> AfterFailure {
        let failed = call.current;
        let next = retry::error_while_proxy(&self.state, call, record, failure);
        trail::failed(failed, failure.cause, call, record, &next);
        next
    }

    fn fail_to_proxy(&self, call: Option<&Call>, record: &mut Record, problem: &Problem) -> Response {
        fail_to_proxy::fail_to_proxy(&self.state, call, record, problem)
    }

    fn logging(&self, call: Option<&Call>, record: &Record) {
        logging::logging(&self.state, call, record);
    }
}
