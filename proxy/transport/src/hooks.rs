//! What the transport asks of the product, and when. The hooks have the names of the phases of Pingora's `ProxyHttp`, so
//! that a transport on top of it can call the same ones. Dispatch is static.

use std::{net::IpAddr, sync::Arc, time::Duration};

use pingora_core::ErrorType;
use shared::{problem::Problem, request::Head};

use crate::{
    connect::ConnectTarget,
    drain::Drain,
    http2::End,
    record::Record,
    relay::Incoming,
    response::Response,
    tls::{Handshake, ServerTls},
    wire::WireHead,
};

/// What the product decides about client connections.
pub trait Listener: Send + Sync + 'static {
    /// Held for as long as an accepted connection is open.
    type Permit: Send;

    /// Decides whether an accepted connection is served.
    fn connection_filter(&self, address: Option<IpAddr>) -> ConnectionAction<Self::Permit>;

    /// Returns the certificate of new connections, or `None` if they are not encrypted.
    fn tls(&self) -> Option<ServerTls>;

    /// Returns the limits of new connections, and of the next request of open ones.
    fn client_options(&self) -> ClientOptions;

    /// Returns what counts connections and requests in flight.
    fn drain(&self) -> &Arc<Drain>;

    /// Records an event in the metrics.
    fn record(&self, event: Event);
}

/// What becomes of an accepted connection.
#[derive(Debug)]
pub enum ConnectionAction<P> {
    /// Serve it.
    Accept(P),
    /// Respond with a problem and close it. With TLS it is closed at once, because a response would take a handshake.
    Respond(P, Problem),
    /// Close it at once.
    Close,
}

/// Limits on what a client connection can do.
#[derive(Clone, Copy, Debug)]
pub struct ClientOptions {
    /// How long the head of a request may take, from its first byte to its last.
    pub header_timeout: Duration,
    /// How long a connection may stay idle, with no bytes read or written.
    pub idle_timeout: Duration,
    /// Minimum rate of uploads in bytes a second. 0: none.
    pub min_upload_rate: u64,
    /// Minimum rate of downloads in bytes a second. 0: none.
    pub min_download_rate: u64,
    /// Maximum number of requests on one connection.
    pub requests_per_connection: u32,
    /// Maximum number of requests in flight on one HTTP/2 connection.
    pub streams_per_connection: u32,
    /// Whether clients may speak HTTP/2 without TLS.
    pub h2c: bool,
    /// Maximum number of bytes of a request's body, unless `request_filter` sets another for the request.
    pub max_body: u64,
}

/// Something that happened on a client connection or to a request, for the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A TLS handshake is over.
    Handshake(Handshake),
    /// An HTTP/2 connection is closed.
    Http2Closed(End),
    /// A limit was exceeded.
    LimitExceeded(Limit),
}

/// A limit that the transport enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The time for the head of a request.
    HeaderTimeout,
    /// The time in which a connection may transfer no byte.
    IdleTimeout,
    /// The minimum rate of an upload.
    MinUploadRate,
    /// The minimum rate of a download.
    MinDownloadRate,
    /// The time for a response to begin.
    ResponseTimeout,
    /// The time for a response to begin at one of several upstreams.
    AttemptTimeout,
    /// The share of calls that are retried.
    RetryBudget,
    /// The time in which a response may pause.
    PauseTimeout,
    /// The time in which a client must take a refusal.
    RefusalTimeout,
    /// The bytes held of an HTTP/2 connection that has not sent an accepted request.
    Http2HeldBytes,
}

/// What the product decides about requests, in the order of the phases.
pub trait Phases: Listener + Sized {
    /// A request that is forwarded. Dropping it releases what it holds.
    type Call: Send + Sync;
    /// What the product adds to the log record of a request.
    type Log: Send + Sync;
    /// What serves a request that is not forwarded, but needs its body or has to wait.
    type Handler<'a>: Handler<Self>;

    /// Returns the product's part of a new request's log record. `is_tls` says that it came over TLS to this process.
    fn new_log(&self, is_tls: bool) -> Self::Log;

    /// Decides what becomes of a request whose head was read.
    fn request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record<Self::Log>,
    ) -> RequestAction<Self::Call, Self::Handler<'a>>;

    /// Chooses the upstream of a call whose body was buffered as far as it is.
    ///
    /// # Errors
    /// Returns the refusal if no upstream can take the call now.
    fn upstream_peer(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
    ) -> Result<Attempt, Box<Problem>>;

    /// Writes the head of the request to the upstream. It is the same for all upstreams of a call.
    fn upstream_request_filter(
        &self,
        call: &Self::Call,
        record: &Record<Self::Log>,
        head: &mut impl UpstreamRequest,
    );

    /// Decides whether a request may have a body of so many bytes.
    ///
    /// # Errors
    /// Returns the refusal if it may not.
    fn request_body_filter(&self, call: &Self::Call, received: u64) -> Result<(), Box<Problem>>;

    /// Records that an upstream responds with this status, and writes the head of the response to the client.
    fn upstream_response_filter(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
        status: u16,
        head: &mut impl UpstreamResponse,
    );

    /// Decides what becomes of a call whose connection could not be made. Several calls can wait for one connection: only
    /// one of them `counts` as its failure.
    fn fail_to_connect(
        &self,
        call: &mut Self::Call,
        record: &Record<Self::Log>,
        error: &ErrorType,
        counts: bool,
    ) -> AfterFailure;

    /// Returns true if the retry budget allows a retry. Asked when the time of an attempt is over: if it does not, the
    /// upstream gets the rest of the time.
    fn can_retry(&self, call: &Self::Call) -> bool;

    /// Decides what becomes of a call that failed after it was sent to an upstream.
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

    /// Logs and counts a request that is over.
    fn logging(&self, call: Option<&Self::Call>, record: &Record<Self::Log>);
}

/// Serves a request that is not forwarded.
pub trait Handler<P: Phases>: Send {
    /// Returns the response to the request.
    fn respond(
        self,
        phases: &P,
        incoming: &mut Incoming<'_>,
        record: &mut Record<P::Log>,
    ) -> impl Future<Output = Response> + Send;
}

/// A request whose head was read.
pub struct Request<'r, 'a> {
    /// Its head, line by line.
    pub wire: &'r WireHead<'a>,
    /// What the head says of the body and of the caller.
    pub head: &'r Head<'a>,
    /// Returns the address of the client.
    pub address: &'r dyn Fn() -> Option<IpAddr>,
}

/// What becomes of a request.
#[derive(Debug)]
pub enum RequestAction<C, H> {
    /// Forward it to an upstream.
    Forward(C),
    /// Respond without an upstream. A call that was recognized and refused is logged with the request.
    Respond(Response, Option<C>),
    /// Let the product's handler respond.
    Handle(H),
}

/// An upstream that a call is sent to, and how long that may take.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Where it is.
    pub target: Arc<ConnectTarget>,
    /// How long it may take.
    pub timeouts: Timeouts,
}

/// How long an upstream may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the end of the request to the begin of the response, over all attempts.
    pub response: Duration,
    /// The same for this attempt, if another upstream could be asked instead.
    pub attempt: Option<Duration>,
    /// Between two pieces of the response.
    pub pause: Duration,
}

/// How a call failed after it was sent to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub cause: Cause,
    /// Whose fault it is.
    pub kind: FailureKind,
    /// Whether the whole request is there to be sent again.
    pub is_replayable: bool,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The upstream failed.
    Failed,
    /// An idle connection turned out to be closed.
    Stale,
    /// The upstream has not processed the request, and says so.
    Unprocessed,
}

/// What becomes of a call after a failure.
#[derive(Debug)]
pub enum AfterFailure {
    /// Send it to this upstream.
    Retry(Attempt),
    /// Respond with this problem, unless the response has begun.
    GiveUp(Box<Problem>),
}

/// What went wrong with an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No connection was made in time.
    ConnectTimeout,
    /// It refuses connections.
    Refused,
    /// There is no route to it.
    NoRoute,
    /// Its certificate is not valid for it.
    Certificate,
    /// The TLS handshake failed.
    Tls,
    /// It did not respond in time.
    Timeout,
    /// It closed or reset the connection.
    Terminated,
    /// Its response is not HTTP.
    Malformed,
    /// The head of its response is too large.
    HeadersTooLarge,
    /// Anything else.
    Unreachable,
}

impl From<&ErrorType> for Cause {
    fn from(error: &ErrorType) -> Self {
        match error {
            ErrorType::ConnectTimedout | ErrorType::TLSHandshakeTimedout => Self::ConnectTimeout,
            ErrorType::ConnectRefused => Self::Refused,
            ErrorType::ConnectNoRoute => Self::NoRoute,
            ErrorType::InvalidH2 => Self::Malformed,
            ErrorType::InvalidCert => Self::Certificate,
            ErrorType::TLSHandshakeFailure | ErrorType::TLSWantX509Lookup | ErrorType::HandshakeError => {
                Self::Tls
            }
            _ => Self::Unreachable,
        }
    }
}

/// A head that is being written.
pub trait Headers {
    /// Appends a header.
    fn write_header(&mut self, name: &str, value: &[u8]);

    /// Appends a header whose value is formatted.
    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display);
}

/// The head of a request to an upstream.
pub trait UpstreamRequest: Headers {
    /// Writes the request line, with the client's method and query, and the client's headers that reach upstreams. The
    /// parts make up the path. Must be called first, and once.
    fn begin(&mut self, path: &[&str]);
}

/// The head of an upstream's response to the client.
pub trait UpstreamResponse: Headers {
    /// Writes the upstream's headers for which `keep` returns true. Those of the connection are left out, and are not
    /// asked for.
    fn retain(&mut self, keep: impl FnMut(&str) -> bool);
}

impl Headers for Vec<u8> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            self.extend_from_slice(part);
        }
    }

    fn write_header_fmt(&mut self, name: &str, value: impl std::fmt::Display) {
        use std::io::Write as _;
        // Writing to a vector cannot fail.
        let _written = write!(self, "{name}: {value}\r\n");
    }
}
