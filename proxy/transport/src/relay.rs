//! Forwards requests over HTTP/1.1: the hot path. Pingora brings the connections; its own way of passing a message on goes
//! through two channels, two header maps and a task for every idle connection, which costs more than all the rest of a
//! call.

mod buffer;
mod connect;
pub(crate) mod dial;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod framing;
pub(crate) mod head;
mod incoming;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod write_buf;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use pingora_core::server::configuration::ServerConf;
use shared::{problem::Problem, request::Head};

pub use self::incoming::{BodyFault, Incoming};
pub(crate) use self::respond::refuse_unread;

use self::{
    connect::{ConnectError, Connected},
    dial::Dialer,
    exchange::{Broken, Download, Exchange, Upload},
    failure::{Recovery, failed_late, recover},
    framing::Framing,
    request::Framed,
    respond::{refuse, respond},
};
use crate::{
    client::ClientStream,
    clock::Monotonic,
    connection_limit::Semaphore,
    hooks::{AfterFailure, Attempt, Handler, Phases, Request, RequestAction},
    linger::LingeringClose,
    record::Record,
    response::Response,
    response_deadline::ResponseDeadline,
    wire::WireHead,
};

/// Forwards requests to upstreams.
pub struct Relay {
    dialer: Arc<Dialer>,
    /// Bounds the idle connections.
    semaphore: Arc<Semaphore>,
}

/// What becomes of the client's connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It can serve another request.
    Request,
    /// It is closed.
    Close,
    /// It is closed after the rest of the request was drained, so that the client can read the response.
    Linger(LingeringClose),
}

/// What becomes of a request whose head was read.
pub(crate) enum Decision<C, H> {
    /// It is forwarded.
    Forward(Forwarded<C, H>),
    /// It gets its response from here.
    Settle(Settlement<C>),
}

/// A request that is forwarded.
pub(crate) struct Forwarded<C, H> {
    pub(crate) call: C,
    pub(crate) request: Framed,
    /// The head of the request to the upstream, but for its `Host`.
    pub(crate) head: H,
    /// Whether the whole body has come.
    pub(crate) is_complete: bool,
}

/// A request that is not forwarded.
pub(crate) enum Settlement<C> {
    /// It gets this response. A call that was recognized and refused is logged with it.
    Respond(Response, Framed, Option<C>),
    /// It got its response.
    Handled(Ended),
    /// Nobody knows where it ends.
    Unreadable(Problem),
}

/// How a request ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) status: u16,
    pub(crate) sent: usize,
    pub(crate) next: Next,
}

impl Relay {
    /// Returns a relay that keeps so many idle connections.
    #[must_use]
    pub fn new(conf: &ServerConf, idle_connections: usize) -> Self {
        Self { dialer: Arc::new(Dialer::new(conf)), semaphore: Semaphore::new(idle_connections) }
    }

    /// Serves the request whose head the client has sent. `last` says that the connection must serve no other.
    pub async fn serve<P: Phases>(&self, phases: &P, client: &mut ClientStream, last: bool) -> Next {
        let in_flight = phases.drain().track_request();
        let mut record = Record::new(phases.new_log(client.is_tls()), client.max_body());
        client.begin_body();
        let raw = client.take_head();
        let decision = decide(phases, client, &raw, &mut record, last, |call, record, wire, body| {
            head::begin_request(phases, call, record, wire, body)
        })
        .await;
        // What follows can take long, and has no use for the head.
        drop(raw);
        let (ended, call) = match decision {
            Decision::Forward(Forwarded { mut call, request, head, is_complete }) => {
                client.accept_request();
                client.release_head();
                let request = (request, &*head, is_complete);
                (self.forward(phases, client, &mut call, &mut record, request).await, Some(call))
            }
            Decision::Settle(settlement) => match settle(phases, client, settlement).await {
                Ok(settled) => settled,
                Err(next) => return next,
            },
        };
        (record.status, record.sent) = (ended.status, ended.sent);
        phases.logging(call.as_ref(), &record);
        drop(in_flight);
        ended.next
    }

    /// Forwards a request to one upstream after another, as far as retries are allowed.
    async fn forward<P: Phases>(
        &self,
        phases: &P,
        client: &mut ClientStream,
        call: &mut P::Call,
        record: &mut Record<P::Log>,
        (mut request, head, is_complete): (Framed, &[u8], bool),
    ) -> Ended {
        if !is_complete {
            // In a box of its own: calls whose body came with its head keep no room for it.
            if let Err(ended) = Box::pin(await_body(phases, client, call, record, request)).await {
                return ended;
            }
            request.expects_continue = false;
        }
        let mut attempt = match phases.upstream_peer(call, record) {
            Ok(attempt) => attempt,
            Err(problem) => return refuse(phases, client, call, record, &problem, request).await,
        };
        let mut upload: Option<Upload> = None;
        loop {
            let connected = self.connect_or_retry(phases, call, record, &mut attempt, request.is_idempotent);
            let Connected { mut stream, owner, reused, shared } = match connected.await {
                Ok(connected) => connected,
                Err(problem) => {
                    return give_up(phases, client, call, record, &problem, request, upload.as_ref()).await;
                }
            };
            // All of the body has come, or there is none: what is left is to keep to the protocol.
            let expects = std::mem::take(&mut request.expects_continue) && !request.is_http10;
            if expects && client.send_continue().await.is_err() {
                return Ended::client_left();
            }
            // Whatever was waited for before: now it is the body.
            client.arm_upload();
            let head = head::address_request(head, &attempt.target.authority);
            let up = begin_upload(client, &request, head, upload.take());
            record.sent_at = Some(Instant::now());
            let mut exchange = Exchange {
                phases,
                call: &mut *call,
                record: &mut *record,
                client: &mut *client,
                upstream: &mut stream,
                timeouts: attempt.timeouts,
                deadline: ResponseDeadline::new(),
                shared,
                is_idempotent: request.is_idempotent,
                up,
                down: Download::new(request.is_http10, request.close),
            };
            let ran = exchange.run().await;
            let Exchange { up, down, .. } = exchange;
            let status = down.head.as_ref().map_or(0, |head| head.status);
            let broken = match ran {
                Ok(()) => {
                    if up.is_over() && down.leaves_clean() {
                        attempt.target.keep_idle(stream, owner, Monotonic::now(), &self.semaphore);
                    }
                    client.unread(up.leftover());
                    return Ended { status, sent: down.passed, next: Next::after(&up, &down, &request) };
                }
                Err(broken) => broken,
            };
            broken.record(phases);
            drop(stream);
            if status != 0 {
                failed_late(phases, call, record, &broken);
                return Ended { status, sent: down.passed, next: Next::Close };
            }
            let was_idle = reused && !(shared && was_taken(record, request.is_idempotent));
            let state = (was_idle, up.again.is_some());
            match recover(phases, client, call, record, broken, state) {
                Recovery::Retry(next) => (attempt, upload) = (next, Some(up)),
                Recovery::Gone => return Ended::client_left(),
                Recovery::Refuse(problem) => {
                    return give_up(phases, client, call, record, &problem, request, Some(&up)).await;
                }
            }
        }
    }

    /// Connects to the upstream of an attempt, or to the next one as long as the product retries.
    async fn connect_or_retry<P: Phases>(
        &self,
        phases: &P,
        call: &mut P::Call,
        record: &mut Record<P::Log>,
        attempt: &mut Attempt,
        is_idempotent: bool,
    ) -> Result<Connected, Box<Problem>> {
        loop {
            record.attempts += 1;
            let ConnectError { error, counts } = match self.connect(&attempt.target, is_idempotent).await {
                Ok(connected) => return Ok(connected),
                Err(error) => error,
            };
            match phases.fail_to_connect(call, record, &error, counts) {
                AfterFailure::Retry(next) => *attempt = next,
                AfterFailure::GiveUp(problem) => return Err(problem),
            }
        }
    }
}

impl Ended {
    /// The client has left.
    pub(crate) const fn client_left() -> Self {
        Self { status: 0, sent: 0, next: Next::Close }
    }
}

impl Next {
    fn after(up: &Upload, down: &Download, request: &Framed) -> Self {
        // Over TLS, an end that is not announced looks like one that was cut off.
        let is_whole = up.is_over() && !down.is_delimited_by_close();
        Self::after_response(down.close, is_whole, request)
    }

    /// Returns what follows a response, after which the connection is to `close`, and before which the whole request was
    /// read or not.
    pub(crate) const fn after_response(close: bool, is_read: bool, request: &Framed) -> Self {
        match (close, is_read) {
            (_, false) => Self::Linger(LingeringClose::Body(request.max_body)),
            (true, true) => Self::Close,
            (false, true) => Self::Request,
        }
    }
}

/// Begins the upload of a request, or begins one of an earlier attempt again.
fn begin_upload(
    client: &mut ClientStream,
    request: &Framed,
    head: Vec<u8>,
    earlier: Option<Upload>,
) -> Upload {
    Upload::begin(head, earlier, || {
        let buffered = if request.body.is_over() { Vec::new() } else { client.take_buffered() };
        (request.body, buffered)
    })
}

/// Refuses a call of whose body some may have been read.
async fn give_up<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    call: &P::Call,
    record: &mut Record<P::Log>,
    problem: &Problem,
    request: Framed,
    upload: Option<&Upload>,
) -> Ended {
    if let Some(upload) = upload {
        client.unread(upload.leftover());
    }
    refuse(phases, client, call, record, problem, request.after(upload)).await
}

/// Reads the head of a request, once, and asks what becomes of it. A head that can be read in more than one way is a
/// problem that ends the connection, because nobody knows where its request ends. `begin` writes the head of the request to
/// the upstream.
pub(crate) async fn decide<P: Phases, H>(
    phases: &P,
    client: &mut ClientStream,
    raw: &[u8],
    record: &mut Record<P::Log>,
    last: bool,
    begin: impl FnOnce(&P::Call, &Record<P::Log>, &WireHead<'_>, Framing) -> H,
) -> Decision<P::Call, H> {
    let (mut request, opened) = match open(phases, client, raw, record, begin) {
        Ok(opened) => opened,
        Err(problem) => return Decision::Settle(Settlement::Unreadable(problem)),
    };
    request.close |= last || phases.drain().has_begun();
    match opened {
        Opened::Forward(call, head, is_complete) => {
            Decision::Forward(Forwarded { call, request, head, is_complete })
        }
        Opened::Respond(response, call) => Decision::Settle(Settlement::Respond(response, request, call)),
        // In a box of its own: forwarded requests keep no room for it.
        Opened::Handle(handler) => {
            let ended = Box::pin(handle(phases, client, handler, record, request)).await;
            Decision::Settle(Settlement::Handled(ended))
        }
    }
}

/// Responds to a request that is not forwarded. Returns how it ended, or only what follows it if it is logged already.
pub(crate) async fn settle<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    settlement: Settlement<P::Call>,
) -> Result<(Ended, Option<P::Call>), Next> {
    match settlement {
        Settlement::Respond(response, request, call) => {
            if call.is_some() {
                client.accept_request();
            }
            client.release_head();
            Ok((respond(phases, client, response, request).await, call))
        }
        Settlement::Handled(ended) => Ok((ended, None)),
        Settlement::Unreadable(problem) => {
            let linger = Next::Linger(LingeringClose::Body(client.max_body()));
            Err(if refuse_unread(phases, client, &problem).await { linger } else { Next::Close })
        }
    }
}

/// The product's decision, which borrows from the head.
enum Opened<C, R, H> {
    Forward(C, H, bool),
    Respond(Response, Option<C>),
    Handle(R),
}

type OpenedRequest<'a, P, H> = (Framed, Opened<<P as Phases>::Call, <P as Phases>::Handler<'a>, H>);

fn open<'a, P: Phases, H>(
    phases: &P,
    client: &ClientStream,
    raw: &'a [u8],
    record: &mut Record<P::Log>,
    begin: impl FnOnce(&P::Call, &Record<P::Log>, &WireHead<'_>, Framing) -> H,
) -> Result<OpenedRequest<'a, P, H>, Problem> {
    let wire = WireHead::parse(raw)?;
    let head = Head::read(wire.lines())?;
    let mut request = Framed::read(&wire, &head)?;
    let asked = Request { wire: &wire, head: &head, address: &|| client.address() };
    let opened = match phases.request_filter(&asked, record) {
        RequestAction::Forward(call) => {
            let allows = |length| phases.request_body_filter(&call, length).is_ok();
            let is_complete =
                request.body.is_over() || buffer::is_complete(request.body, client.buffered(), allows);
            let head = begin(&call, record, &wire, request.body);
            Opened::Forward(call, head, is_complete)
        }
        RequestAction::Respond(response, call) => Opened::Respond(response, call),
        RequestAction::Handle(handler) => Opened::Handle(handler),
    };
    request.max_body = record.max_body;
    Ok((request, opened))
}

/// Lets the product respond.
async fn handle<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    handler: impl Handler<P>,
    record: &mut Record<P::Log>,
    request: Framed,
) -> Ended {
    let mut incoming = Incoming::new(client, request);
    let response = handler.respond(phases, &mut incoming, record).await;
    let request = incoming.rest();
    if client.timeout().is_some() {
        Broken::of(client).record(phases);
    }
    client.release_head();
    respond(phases, client, response, request).await
}

/// Buffers the body of a call before an upstream is chosen.
pub(crate) async fn await_body<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    call: &P::Call,
    record: &mut Record<P::Log>,
    request: Framed,
) -> Result<(), Ended> {
    let begun = Instant::now();
    // The upstream itself is not asked: `Expect` is for one hop.
    if request.expects_continue && !request.is_http10 && client.send_continue().await.is_err() {
        return Err(Ended::client_left());
    }
    let check = |length| phases.request_body_filter(call, length);
    let buffered = buffer::buffer(client, request.body, check).await;
    record.buffering = begun.elapsed();
    let Err(broken) = buffered else { return Ok(()) };
    broken.record(phases);
    match failure::of_client(client, broken) {
        Some(problem) => {
            let request = Framed { body: Framing::UntilClose, expects_continue: false, ..request };
            Err(refuse(phases, client, call, record, &problem, request).await)
        }
        None => Err(Ended::client_left()),
    }
}

/// Returns true if a request over a connection that calls share was sent so long ago that its server has taken it, and it
/// cannot be sent again: then the end of the connection is the server's failure, and not that of a connection that had
/// been idle too long.
pub(crate) fn was_taken<L>(record: &Record<L>, is_idempotent: bool) -> bool {
    const TAKEN: Duration = Duration::from_secs(1);
    !is_idempotent && record.sent_at.is_some_and(|sent| sent.elapsed() >= TAKEN)
}
