//! Parses the head of a request and decides on it.

use shared::problem::Problem;
use shared::request::Head;

use super::buffer;
use super::exchange::ExchangeError;
use super::outcome::{Next, Outcome};
use super::request::RequestFraming;
use super::respond::{refuse_unread, respond};
use crate::client::ClientStream;
use crate::framing::Framing;
use crate::hooks::{Handler, Phases, Request, RequestAction, Wait};
use crate::incoming::Incoming;
use crate::linger::LingeringClose;
use crate::received_head::ReceivedHead;
use crate::record::Record;
use crate::request_head::RawHead;
use crate::response::Response;

/// The decision about a request.
pub(crate) enum Decision<C, H> {
    /// Forward it to an upstream.
    Forward(Forwarded<C, H>),
    /// Settle it without an upstream.
    Settle(Settlement<C>),
}

/// A request that is forwarded.
pub(crate) struct Forwarded<C, H> {
    pub(crate) call: C,
    pub(crate) request: RequestFraming,
    /// The head of the request to the upstream, without `Host`.
    pub(crate) head: H,
    /// Whether the whole body was read.
    pub(crate) is_complete: bool,
}

/// A request that is not forwarded.
pub(crate) enum Settlement<C> {
    /// It gets this response.
    Respond {
        response: Response,
        request: RequestFraming,
        /// The call that is logged with it, if one was recognized and refused.
        call: Option<C>,
    },
    /// The product's handler has responded.
    Handled(Outcome),
    /// Its head is malformed, so that its end is unknown.
    Malformed(Problem),
}

/// The product's decision, which borrows from the head.
enum Opened<C, R, H> {
    Forward { call: C, head: H, is_complete: bool },
    Respond(Response, Option<C>),
    Handle(R),
}

/// A request with the product's decision.
type OpenedRequest<'a, P, H> = (RequestFraming, Opened<<P as Phases>::Call, <P as Phases>::Handler<'a>, H>);

/// A parsed head.
struct ParsedHead<'a> {
    raw: RawHead<'a>,
    head: Head<'a>,
    framing: RequestFraming,
}

/// A request that waits, or has waited, before it is decided.
struct Waiting<'a, W> {
    parsed: ParsedHead<'a>,
    wait: W,
}

/// The next step of a request.
enum Step<'a, P: Phases, H> {
    Opened(OpenedRequest<'a, P, H>),
    /// Boxed, so that requests that are decided immediately hold no memory for it.
    Wait(Box<Waiting<'a, P::Wait<'a>>>),
}

/// Parses the head of a request, once, and decides on it. A head that parsers can read differently
/// is malformed, which closes the connection. `begin` writes the head of the request to the
/// upstream.
pub(crate) async fn decide<P: Phases, H>(
    phases: &P,
    client: &mut ClientStream,
    received: &ReceivedHead<impl AsRef<[u8]>>,
    record: &mut Record<P::Log>,
    is_last: bool,
    begin: impl Fn(&P::Call, &Record<P::Log>, &RawHead<'_>, Framing) -> H,
) -> Decision<P::Call, H> {
    let (mut request, opened) = match open(phases, client, received, record, &begin) {
        Ok(Step::Opened(opened)) => opened,
        Ok(Step::Wait(waiting)) => {
            let waited = Box::pin(waiting.wait()).await;
            resume(phases, client, waited, record, &begin)
        }
        Err(problem) => return Decision::Settle(Settlement::Malformed(problem)),
    };
    // Announced in the response: a client that sends another request on a connection that is being
    // closed does not know whether it was processed.
    request.close |= is_last || phases.drain().is_announced();
    match opened {
        Opened::Forward { call, head, is_complete } => {
            Decision::Forward(Forwarded { call, request, head, is_complete })
        }
        Opened::Respond(response, call) => Decision::Settle(Settlement::Respond { response, request, call }),
        // Boxed, so that forwarded requests hold no memory for it.
        Opened::Handle(handler) => {
            let outcome = Box::pin(handle(phases, client, handler, record, request)).await;
            Decision::Settle(Settlement::Handled(outcome))
        }
    }
}

/// Responds to a request that is not forwarded.
///
/// # Errors
/// Returns only the next step if the request is malformed. It is already logged then.
pub(crate) async fn settle<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    settlement: Settlement<P::Call>,
) -> Result<(Outcome, Option<P::Call>), Next> {
    match settlement {
        Settlement::Respond { response, request, call } => {
            // The caller is known: from now on its own limits apply to an HTTP/2 connection, and
            // not those for strangers.
            if call.is_some() {
                client.accept_request();
            }
            client.release_head();
            Ok((respond(phases, client, response, request).await, call))
        }
        Settlement::Handled(outcome) => Ok((outcome, None)),
        Settlement::Malformed(problem) => {
            let linger = Next::Linger(LingeringClose::Body(client.max_body()));
            Err(if refuse_unread(phases, client, &problem).await { linger } else { Next::Close })
        }
    }
}

fn open<'a, P: Phases, H>(
    phases: &P,
    client: &ClientStream,
    received: &'a ReceivedHead<impl AsRef<[u8]>>,
    record: &mut Record<P::Log>,
    begin: &impl Fn(&P::Call, &Record<P::Log>, &RawHead<'_>, Framing) -> H,
) -> Result<Step<'a, P, H>, Problem> {
    let raw = received.parse()?;
    let head = Head::read(raw.lines())?;
    let framing = RequestFraming::parse(&raw, &head, client.is_http2_stream())?;
    let parsed = ParsedHead { raw, head, framing };
    let action = parsed.filter(client, |request| phases.request_filter(request, record));
    Ok(match follow(phases, client, &parsed, record, action, begin) {
        Ok(opened) => Step::Opened(opened),
        Err(wait) => Step::Wait(Box::new(Waiting { parsed, wait })),
    })
}

/// Decides on a request that has waited.
fn resume<'a, P: Phases, H>(
    phases: &P,
    client: &ClientStream,
    Waiting { parsed, wait: outcome }: Waiting<'a, <P::Wait<'a> as Wait>::Outcome>,
    record: &mut Record<P::Log>,
    begin: &impl Fn(&P::Call, &Record<P::Log>, &RawHead<'_>, Framing) -> H,
) -> OpenedRequest<'a, P, H> {
    let action = parsed.filter(client, |request| phases.resume_request_filter(request, record, outcome));
    match follow(phases, client, &parsed, record, action, begin) {
        Ok(opened) => opened,
        Err(never) => match never {},
    }
}

/// Begins what the product has decided. Returns what the request waits for, if it is not decided yet.
fn follow<'a, P: Phases, H, W>(
    phases: &P,
    client: &ClientStream,
    parsed: &ParsedHead<'a>,
    record: &mut Record<P::Log>,
    action: RequestAction<P::Call, P::Handler<'a>, W>,
    begin: &impl Fn(&P::Call, &Record<P::Log>, &RawHead<'_>, Framing) -> H,
) -> Result<OpenedRequest<'a, P, H>, W> {
    let body = parsed.framing.body;
    let opened = match action {
        RequestAction::Forward(call) => {
            let allows = |length| phases.request_body_filter(&call, length).is_ok();
            let is_complete = body.is_over() || buffer::is_complete(body, client.buffered(), allows);
            let head = begin(&call, record, &parsed.raw, body);
            Opened::Forward { call, head, is_complete }
        }
        RequestAction::Respond(response, call) => Opened::Respond(response, call),
        RequestAction::Handle(handler) => Opened::Handle(handler),
        RequestAction::Wait(wait) => return Err(wait),
    };
    // Not known before, because each pool has its own.
    Ok((RequestFraming { max_body: record.max_body, ..parsed.framing }, opened))
}

impl<'a> ParsedHead<'a> {
    fn filter<T>(&self, client: &ClientStream, filter: impl FnOnce(&Request<'_, 'a>) -> T) -> T {
        filter(&Request {
            raw: &self.raw,
            head: &self.head,
            is_http2: client.is_http2_stream(),
            address: &|| client.address(),
        })
    }
}

impl<'a, W: Wait> Waiting<'a, W> {
    async fn wait(self) -> Waiting<'a, W::Outcome> {
        Waiting { parsed: self.parsed, wait: self.wait.wait().await }
    }
}

/// Lets the product's handler respond.
async fn handle<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    handler: impl Handler<P>,
    record: &mut Record<P::Log>,
    mut request: RequestFraming,
) -> Outcome {
    let mut incoming = Incoming::new(client, request.body, request.expects_continue);
    let response = handler.respond(phases, &mut incoming, record).await;
    (request.body, request.expects_continue) = incoming.into_rest();
    // The handler has its own response, but the limit counts as exceeded all the same.
    if client.timeout().is_some() {
        ExchangeError::of_client(client).record(phases);
    }
    client.release_head();
    respond(phases, client, response, request).await
}
