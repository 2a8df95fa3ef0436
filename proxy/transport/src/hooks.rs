//! The hooks through which the transport calls the product. They have the names of the phases of
//! Pingora's `ProxyHttp`, so that a transport on top of it can call the same ones. Dispatch is
//! static.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pingora::ErrorType;
use shared::problem::Problem;
use shared::request::Head;

use crate::connect::ConnectTarget;
use crate::drain::Drain;
pub use crate::failure::{Cause, Failure, FailureKind, OUT_OF_FILES, is_out_of_files};
pub use crate::headers::Headers;
use crate::http2::CloseReason;
use crate::idle_clients::IdleClients;
use crate::incoming::Incoming;
pub use crate::limits::{ClientOptions, Limit};
use crate::record::{DialTimes, Record};
use crate::request_head::RawHead;
use crate::response::Response;
use crate::tls::{Handshake, ServerTls};

/// The product's decisions about client connections.
pub trait Listener: Send + Sync + 'static {
    /// A guard that is held while an accepted connection is open.
    type Permit: Send;

    /// Returns true if connections from this address begin with a PROXY header.
    fn expects_proxy_header(&self, address: IpAddr) -> bool;

    /// Decides whether an accepted connection is served.
    fn connection_filter(&self, address: Option<IpAddr>) -> ConnectionAction<Self::Permit>;

    /// Returns the TLS settings of new connections, or `None` if they are not encrypted.
    fn tls(&self) -> Option<ServerTls>;

    /// Returns the limits of new connections, and of the next request of open ones.
    fn client_options(&self) -> ClientOptions;

    /// Returns the counters of connections and requests in flight.
    fn drain(&self) -> &Arc<Drain>;

    /// Returns the client connections that wait for a request.
    fn idle_clients(&self) -> &IdleClients;

    /// Records an event in the metrics.
    fn record(&self, event: Event);
}

/// The decision about an accepted connection.
#[derive(Debug)]
pub enum ConnectionAction<P> {
    /// Serve it.
    Accept(P),
    /// Respond with a problem and close it. If TLS is on, it is closed immediately, because a response
    /// would need a handshake.
    Respond(P, Problem),
    /// Close it immediately.
    Close,
}

/// An event on a client connection or of a request, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A TLS handshake ended.
    Handshake(Handshake),
    /// An HTTP/2 connection was closed.
    Http2Closed(CloseReason),
    /// A limit was exceeded.
    LimitExceeded(Limit),
}

/// The product's decisions about requests, in the order of the phases.
pub trait Phases: Listener + Clone + Sized {
    /// A request that is forwarded. Dropping it releases its permits.
    type Call: Send + Sync + 'static;
    /// The product's part of the log record of a request.
    type Log: Send + Sync + 'static;
    /// The handler of a request that is not forwarded, but needs its body or has to wait.
    type Handler<'a>: Handler<Self>;
    /// What a request waits for that cannot be decided immediately, with what is known of it already.
    type Wait<'a>: Wait;
    /// What a call waits for in a queue.
    type Queued: Queued<Self>;

    /// Returns the product's part of a new request's log record.
    fn new_log(&self, connection: &ClientConnection<'_>) -> Self::Log;

    /// Decides on a request whose head was read.
    fn request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record<Self::Log>,
    ) -> RequestAction<Self::Call, Self::Handler<'a>, Self::Wait<'a>>;

    /// Decides on a request that has waited, with what its wait has returned.
    fn resume_request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record<Self::Log>,
        waited: <Self::Wait<'a> as Wait>::Outcome,
    ) -> RequestAction<Self::Call, Self::Handler<'a>, Infallible>;

    /// Puts a call into a queue, after the beginning of its body was buffered. Returns `None` if the
    /// call need not wait, or is to be refused by [`Self::upstream_peer`].
    fn enter_queue(&self, call: &mut Self::Call) -> Option<Self::Queued>;

    /// Chooses the upstream of a call, after the beginning of its body was buffered.
    ///
    /// # Errors
    /// Returns the refusal if no upstream can serve the call now.
    fn upstream_peer(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
    ) -> Result<Attempt, Box<Problem>>;

    /// Copies a call to another server, if it is to be copied. Called after an upstream was chosen, with the
    /// head without `Host`. `body` is `None` if it was not buffered whole. Only the relay calls it.
    fn mirror(&self, call: &Self::Call, head: &[u8], body: Option<&[u8]>);

    /// Writes the head of the request to the upstream. It is the same for all attempts of a call.
    fn upstream_request_filter(
        &self,
        call: &Self::Call,
        record: &Record<Self::Log>,
        head: &mut impl UpstreamRequest,
    );

    /// Records the connection of an attempt, and writes the headers that this attempt alone has. `dialed`
    /// is when the connection was made, or `None` if it has served a call before or the transport does
    /// not know.
    fn connected_to_upstream(
        &self,
        call: &mut Self::Call,
        dialed: Option<DialTimes>,
        head: &mut impl Headers,
    );

    /// Checks the number of bytes `received` of a request's body. It includes those that the rest of
    /// the current chunk must have.
    ///
    /// # Errors
    /// Returns the refusal if the body is larger than its limit.
    fn request_body_filter(&self, call: &Self::Call, received: u64) -> Result<(), Box<Problem>>;

    /// Decides whether a response is discarded and the call retried, and reserves the retry. Called for
    /// statuses of 400 and more, before the response is passed on. `is_replayable` means that the whole
    /// request was kept.
    fn discard_response(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
        status: u16,
        is_replayable: bool,
    ) -> bool;

    /// Records the status of an upstream's response, and writes the head of the response to the
    /// client.
    fn upstream_response_filter(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
        status: u16,
        head: &mut impl UpstreamResponse,
    );

    /// Decides on a retry after a connection failed.
    fn fail_to_connect(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
        error: &ErrorType,
    ) -> AfterFailure;

    /// Reserves a retry in the retry budget. Called when an attempt has timed out: if the result is
    /// false, the attempt continues until the timeout of the response.
    fn reserve_retry(&self, call: &mut Self::Call) -> bool;

    /// Decides on a retry after a call failed that was sent to an upstream.
    fn error_while_proxy(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
        failure: Failure,
    ) -> AfterFailure;

    /// Returns the response to a request that is refused, or failed before its response began.
    fn fail_to_proxy(
        &self,
        call: Option<&Self::Call>,
        record: &mut Record<Self::Log>,
        problem: &Problem,
    ) -> Response;

    /// Logs and counts a request that has ended.
    fn logging(&self, call: Option<&Self::Call>, record: &Record<Self::Log>);
}

/// A handler of requests that are not forwarded.
pub trait Handler<P: Phases>: Send {
    /// Returns the response to the request.
    fn respond(
        self,
        phases: &P,
        incoming: &mut Incoming<'_>,
        record: &mut Record<P::Log>,
    ) -> impl Future<Output = Response> + Send;
}

/// What a request waits for before it is decided.
pub trait Wait: Send {
    /// What the request is decided with.
    type Outcome: Send;

    /// Waits.
    fn wait(self) -> impl Future<Output = Self::Outcome> + Send;
}

/// A call in a queue. Dropping it leaves the queue.
pub trait Queued<P: Phases>: Send {
    /// Waits for its turn, or until it has waited for too long.
    fn wait(self, call: &mut P::Call) -> impl Future<Output = ()> + Send;
}

/// The connection of a client that sends a request.
pub struct ClientConnection<'r> {
    /// Whether this process terminated TLS.
    pub is_tls: bool,
    /// Whether the request is a stream of HTTP/2.
    pub is_http2: bool,
    /// Returns the address of the client.
    pub address: &'r dyn Fn() -> Option<IpAddr>,
}

/// A request whose head was read.
pub struct Request<'r, 'a> {
    /// The request line and the header lines.
    pub raw: &'r RawHead<'a>,
    /// The body's framing and the credentials, as parsed from the head.
    pub head: &'r Head<'a>,
    /// Whether it is a stream of HTTP/2.
    pub is_http2: bool,
    /// Returns the address of the client.
    pub address: &'r dyn Fn() -> Option<IpAddr>,
}

/// The decision about a request.
#[derive(Debug)]
pub enum RequestAction<C, H, W> {
    /// Forward it to an upstream.
    Forward(C),
    /// Respond without an upstream. A call that was recognized and refused is logged with the
    /// request.
    Respond(Response, Option<C>),
    /// Let the product's handler respond.
    Handle(H),
    /// Wait, and decide then.
    Wait(W),
}

/// One attempt of a call: an upstream and its timeouts.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The upstream.
    pub target: Arc<ConnectTarget>,
    /// The timeouts of the response.
    pub timeouts: Timeouts,
    /// Whether the call continues when its client leaves, once it is sent.
    pub must_finish: bool,
}

/// The timeouts of an upstream's response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Maximum time from the end of the request to the start of the response, over all attempts.
    pub response: Duration,
    /// The same for this attempt, if the call can be sent to another upstream instead.
    pub attempt: Option<Duration>,
    /// Maximum time between two pieces of the response.
    pub pause: Duration,
}

/// The decision after a failure.
#[derive(Debug)]
pub enum AfterFailure {
    /// Send it to this upstream.
    Retry(Attempt),
    /// Respond with this problem, unless the response has started.
    GiveUp(Box<Problem>),
}

/// The head of a request to an upstream.
pub trait UpstreamRequest: Headers {
    /// Writes the request line, with the client's method and query, and the client's headers that
    /// are forwarded and for which `keep` returns true. The parts are joined to the path. Must be
    /// called first, and once.
    fn begin(&mut self, path: &[&str], keep: impl Fn(&str) -> bool);
}

/// The head of an upstream's response to the client.
pub trait UpstreamResponse: Headers {
    /// Writes the upstream's headers for which `keep` returns true. Hop-by-hop headers are dropped
    /// before `keep` is called.
    fn retain(&mut self, keep: impl FnMut(&str, &[u8]) -> bool);
}
