//! Carries calls out between a client and a tool that both speak HTTP/1.1: the hot path, which is ours. Pingora brings
//! the connections; its own way of passing a message on goes through two channels, two header maps and a task for every
//! idle connection, which costs more than all the rest of a call.

mod buffer;
mod dial;
mod exchange;
mod framing;
mod head;
mod incoming;
mod outbox;
mod recovery;
mod reply;
mod request;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use pingora_core::{protocols::Stream, server::configuration::ServerConf};
use shared::{
    origin::Execution,
    problem::{Code, Problem},
    request::{Head, too_large},
    route::Route,
    written::Written,
};

pub use self::incoming::{BodyFault, Incoming};

use self::{
    dial::Dialer,
    exchange::{Broken, Download, Exchange, Upload},
    framing::Framing,
    recovery::{Recovery, failed_late, recover},
    reply::{refuse, say},
    request::Request,
};
use crate::{
    client::ClientStream,
    clock::Monotonic,
    ctx::RequestCtx,
    direct,
    http2::tools::{Carrier, Unmade},
    phases::{
        admit::{self, Admission},
        fail::{self, Cause},
        log::{self, Outcome},
    },
    respond::{self, Linger},
    state::State,
    upstreams::{ConnectTarget, OwnerThread, Semaphore, Upstream},
    wire::WireHead,
};

/// What connects to the tools.
pub struct Relay {
    dialer: Arc<Dialer>,
    room: Arc<Semaphore>,
}

/// What becomes of the client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It can serve another request.
    Request,
    /// It ends.
    End,
    /// It ends once what the client still sends was taken, so that it gets to read its answer.
    Linger(Linger),
}

/// A connection to a tool, how it was made, and whether it had served before.
struct Connected {
    tool: Stream,
    target: Arc<ConnectTarget>,
    /// Where it waits for its next call.
    home: OwnerThread,
    reused: bool,
    /// Whether other calls share it, so that the tool can tell which of them it has not looked at.
    shared: bool,
}

/// What is to be done with a request whose head was read.
enum Opened {
    /// Call a tool: the beginning of what it is asked.
    Call(Vec<u8>),
    /// The same, once the body that is still to come is buffered.
    Upload(Vec<u8>),
    /// Say what the proxy itself knows.
    Answer(Written),
    /// What direct mode answers itself.
    Direct,
    /// Say why nothing else is done.
    Refuse(Problem),
}

/// How a call ended.
struct Ended {
    status: u16,
    sent: usize,
    next: Next,
}

impl Relay {
    /// A relay that keeps so many connections without work.
    #[must_use]
    pub fn new(conf: &ServerConf, idle_connections: usize) -> Self {
        Self { dialer: Arc::new(Dialer::new(conf)), room: Semaphore::new(idle_connections) }
    }

    /// Answers the request that has arrived; `last` says that the connection is to serve no other.
    pub async fn serve(&self, state: &Arc<State>, client: &mut ClientStream, last: bool) -> Next {
        let mut ctx = RequestCtx::new(state.drain.enter());
        client.begin_body();
        let (mut request, opened) = match open(state, client, &mut ctx) {
            Ok(opened) => opened,
            Err(problem) => {
                let linger = Linger::Body(state.config.load().max_body);
                let sent = respond::refuse_unread(client, state, &problem).await;
                return if sent { Next::Linger(linger) } else { Next::End };
            }
        };
        request.close |= last || state.drain.has_begun();
        if ctx.call.is_some() {
            client.mark_verified();
        }
        if !matches!(opened, Opened::Direct) {
            client.forget_head();
        }
        let ended = match opened {
            Opened::Call(head) => self.call(state, client, &mut ctx, request, &head).await,
            Opened::Upload(head) => {
                // In a box of its own: calls whose body came with its head keep no room for it.
                match Box::pin(await_body(state, client, &mut ctx, request)).await {
                    Ok(()) => self.call(state, client, &mut ctx, request, &head).await,
                    Err(ended) => ended,
                }
            }
            Opened::Answer(answer) => say(state, client, &ctx, answer.into(), request).await,
            Opened::Direct => self.direct(state, client, &mut ctx, request).await,
            Opened::Refuse(problem) => refuse(state, client, &mut ctx, &problem, request).await,
        };
        log::line(state, Outcome { status: ended.status, sent: ended.sent }, &ctx);
        ended.next
    }

    /// Answers what direct mode answers itself.
    async fn direct(
        &self,
        state: &Arc<State>,
        client: &mut ClientStream,
        ctx: &mut RequestCtx,
        request: Request,
    ) -> Ended {
        let mut incoming = Incoming::new(client, request.body);
        // In a box of its own: calls of tools keep no room for it.
        let answered = Box::pin(direct::serve(state, &mut incoming, ctx)).await;
        let request = Request { body: incoming.rest(), ..request };
        if client.overdue().is_some() {
            Broken::of(client).bound().into_iter().for_each(|bound| state.metrics.hit(bound));
        }
        client.forget_head();
        match answered {
            Ok(written) => say(state, client, ctx, written, request).await,
            Err(problem) => {
                let problem = admit::flood(state, client, problem);
                refuse(state, client, ctx, &problem, request).await
            }
        }
    }

    /// Carries a call out, with one upstream after another as far as that is allowed.
    async fn call(
        &self,
        state: &State,
        client: &mut ClientStream,
        ctx: &mut RequestCtx,
        request: Request,
        head: &[u8],
    ) -> Ended {
        let mut upload: Option<Upload> = None;
        loop {
            let Connected { mut tool, target, home, reused, shared } = match self.connect(state, ctx).await {
                Ok(connected) => connected,
                Err(Some(problem)) => {
                    if let Some(upload) = &upload {
                        client.give_back(upload.beyond());
                    }
                    let request = request.after(upload.as_ref());
                    return refuse(state, client, ctx, &problem, request).await;
                }
                Err(None) => continue,
            };
            // All of the body has come, or there is none: what is left is to keep to the protocol.
            let expects = std::mem::take(&mut ctx.expects_continue) && !request.is_old;
            if expects && client.tell_to_continue().await.is_err() {
                return Ended::nobody();
            }
            // Whatever was waited for before: now it is the body.
            client.wait_for_more();
            let up = Upload::begin(addressed(head, ctx), upload.take(), || {
                let buffered = if request.body.is_over() { Vec::new() } else { client.take_buffered() };
                (request.body, buffered)
            });
            ctx.sent_at = Some(Instant::now());
            let down = Download::new(request.is_old, request.close);
            let (whose, from) = (&mut *ctx, &mut *client);
            let mut exchange =
                Exchange { state, ctx: whose, client: from, tool: &mut tool, shared, up, down };
            let ran = exchange.run().await;
            let Exchange { up, down, .. } = exchange;
            let status = down.answer.as_ref().map_or(0, |answer| answer.status);
            let broken = match ran {
                Ok(()) => {
                    if up.is_over() && down.leaves_clean() {
                        self.keep(ctx, tool, home, &target);
                    }
                    client.give_back(up.beyond());
                    // Over TLS, an end that is not said looks like one that was cut off.
                    let whole = up.is_over() && !down.is_told_by_close();
                    let next = Next::after(down.close, whole, &request);
                    return Ended { status, sent: down.passed, next };
                }
                Err(broken) => broken,
            };
            broken.bound().into_iter().for_each(|bound| state.metrics.hit(bound));
            drop(tool);
            if status != 0 {
                failed_late(state, ctx, &broken);
                return Ended { status, sent: down.passed, next: Next::End };
            }
            let stale = reused && !(shared && was_taken(ctx));
            match recover(state, ctx, broken, stale, up.again.is_some()) {
                Recovery::Again => upload = Some(up),
                Recovery::Gone => return Ended::nobody(),
                Recovery::Refuse(problem) => {
                    log::failed(ctx, &problem);
                    client.give_back(up.beyond());
                    return refuse(state, client, ctx, &problem, request.after(Some(&up))).await;
                }
            }
        }
    }

    /// A connection to the chosen upstream, and whether it was used before. `Err(None)`: it could not be made, and
    /// another upstream was chosen.
    async fn connect(&self, state: &State, ctx: &mut RequestCtx) -> Result<Connected, Option<Problem>> {
        let call = ctx.call.as_ref().map(|call| (Arc::clone(&call.pool), call.method));
        let Some(((pool, method), place)) = call.zip(ctx.place) else {
            return Err(Some(Problem::new(Code::Internal, "the call has no pool")));
        };
        let target = pool.upstream(place).and_then(Upstream::connect_target).cloned();
        let Some(target) = target else {
            return Err(Some(fail::unavailable(&pool, method, "no server of the tool can be reached")));
        };
        ctx.tries += 1;
        if !ctx.call.as_ref().is_some_and(fail::may_be_sent_again) {
            // What cannot be sent again is not sent over a connection whose end this thread has not heard of yet.
            tokio::task::yield_now().await;
        }
        let idle = pool.upstream(place).and_then(|upstream| upstream.take_idle(&target, Monotonic::now()));
        if let Some((tool, home)) = idle {
            return Ok(Connected { tool, target, home, reused: true, shared: false });
        }
        let home = OwnerThread::own();
        let made = match pool.upstream(place) {
            // In a box of its own: calls in HTTP/1.1 keep no room for it.
            Some(upstream) if target.http2 => Box::pin(self.share(upstream, target)).await,
            _ => {
                let made = self.dialer.make(&target).await;
                made.map(|tool| Connected { tool, target, home, reused: false, shared: false })
                    .map_err(|error| (error, true))
            }
        };
        let error = match made {
            Ok(connected) => return Ok(connected),
            Err((error, own)) => fail::connect(state, ctx, error, own),
        };
        if error.retry() {
            return Err(None);
        }
        let problem = fail::failed(&pool, method, Cause::from(error.etype()), Execution::None);
        log::failed(ctx, &problem);
        Err(Some(problem))
    }

    /// A connection to a server that may speak HTTP/2: a part of one that others have a part of too, or all of one in
    /// HTTP/1.1. Its error comes with whether it counts as the call's own.
    async fn share(
        &self,
        upstream: &Upstream,
        target: Arc<ConnectTarget>,
    ) -> Result<Connected, (Box<pingora_core::Error>, bool)> {
        let (lines, to, longest) = upstream.lines(&target);
        let make = || {
            let (dialer, target) = (Arc::clone(&self.dialer), Arc::clone(&target));
            async move { dialer.agree(&target).await }
        };
        match lines.carrier(to, longest, &self.room, make).await {
            Ok(Carrier::Shared(stream, reused)) => Ok(Connected {
                tool: Box::new(stream),
                target,
                home: OwnerThread::own(),
                reused,
                shared: true,
            }),
            Ok(Carrier::Alone(tool)) => {
                Ok(Connected { tool, target, home: OwnerThread::own(), reused: false, shared: false })
            }
            Err(Unmade { error, own }) => Err((pingora_core::Error::new_up(error), own)),
        }
    }

    /// Keeps the connection for the next call that goes to the same target.
    fn keep(&self, ctx: &RequestCtx, tool: Stream, home: OwnerThread, target: &ConnectTarget) {
        if let Some(upstream) = ctx.place.and_then(|place| ctx.call.as_ref()?.pool.upstream(place)) {
            upstream.keep_idle(tool, home, target, Monotonic::now(), &self.room);
        }
    }
}

impl Ended {
    const fn nobody() -> Self {
        Self { status: 0, sent: 0, next: Next::End }
    }
}

impl Next {
    const fn after(close: bool, was_read: bool, request: &Request) -> Self {
        match (close, was_read) {
            (_, false) => Self::Linger(Linger::Body(request.max_body)),
            (true, true) => Self::End,
            (false, true) => Self::Request,
        }
    }
}

/// Reads the head of a request, once, and decides on it. A head that cannot be read in one way only is a problem that ends
/// the connection: nobody knows where its request ends.
fn open(state: &State, client: &ClientStream, ctx: &mut RequestCtx) -> Result<(Request, Opened), Problem> {
    let wire = WireHead::parse(client.head())?;
    let head = Head::read(wire.lines())?;
    let mut request = Request::of(&wire, &head);
    if state.access_log.wants_timings() {
        ctx.traced(&wire);
    }
    ctx.secure = state.direct.is_some() && admit::is_secure(state, client);
    let opened = match admit::admit(state, client, ctx, &wire, &head) {
        Ok(Admission::Call) => begin_call(state, client, ctx, &wire, request.body),
        Ok(Admission::Answer(answer)) => Opened::Answer(answer),
        Ok(Admission::Direct) => Opened::Direct,
        Err(problem) => Opened::Refuse(problem),
    };
    if !request.body.is_over() {
        request.max_body = longest_upload(state, ctx, &wire);
    }
    Ok((request, opened))
}

/// Takes the slot of a call whose body came with its head. Of another one the body is waited for first, if an upstream
/// could serve the call now.
fn begin_call(
    state: &State,
    client: &ClientStream,
    ctx: &mut RequestCtx,
    wire: &WireHead<'_>,
    body: Framing,
) -> Opened {
    let is_complete = body.is_over() || buffer::is_complete(body, client.buffered(), longest_body(ctx));
    let begun = if is_complete { admit::take_slot(state, ctx) } else { admit::check_upstreams(ctx) };
    match begun {
        Ok(()) if is_complete => Opened::Call(head::begin_request(wire, ctx, body)),
        Ok(()) => Opened::Upload(head::begin_request(wire, ctx, body)),
        Err(problem) => Opened::Refuse(problem),
    }
}

/// Buffers the body of a call, and takes its slot.
async fn await_body(
    state: &State,
    client: &mut ClientStream,
    ctx: &mut RequestCtx,
    request: Request,
) -> Result<(), Ended> {
    let begun = Instant::now();
    // The tool itself is not asked: `Expect` is for one hop.
    let expects = std::mem::take(&mut ctx.expects_continue) && !request.is_old;
    if expects && client.tell_to_continue().await.is_err() {
        return Err(Ended::nobody());
    }
    let longest = longest_body(ctx);
    let buffered = buffer::buffer(client, request.body, longest).await;
    ctx.buffering = begun.elapsed();
    let Err(broken) = buffered else {
        return match admit::take_slot(state, ctx) {
            Ok(()) => Ok(()),
            Err(problem) => Err(refuse(state, client, ctx, &problem, request).await),
        };
    };
    broken.bound().into_iter().for_each(|bound| state.metrics.hit(bound));
    if matches!(broken, Broken::TooLarge) {
        ctx.problem = Some(too_large(longest));
    }
    match recover(state, ctx, broken, false, false) {
        Recovery::Refuse(problem) => {
            log::failed(ctx, &problem);
            let request = Request { body: Framing::UntilClose, ..request };
            Err(refuse(state, client, ctx, &problem, request).await)
        }
        Recovery::Again | Recovery::Gone => Err(Ended::nobody()),
    }
}

/// Returns the length of the longest body that the call's pool takes.
fn longest_body(ctx: &RequestCtx) -> u64 {
    ctx.call.as_ref().map_or(0, |call| call.pool.config.settings.max_body)
}

/// Returns the length of the longest body that a request may have: its pool's limit, or the default if it names no tool.
fn longest_upload(state: &State, ctx: &RequestCtx, wire: &WireHead<'_>) -> u64 {
    if let Some(call) = &ctx.call {
        return call.pool.config.settings.max_body;
    }
    match Route::read(wire.method, wire.target) {
        Ok((Route::CallTool(call), _)) => state.pool(call.tool).config.settings.max_body,
        _ => state.config.load().max_body,
    }
}

/// Whether a request over a connection that others use as well was sent so long ago that its server has taken it, and it
/// cannot be sent again: then the end of the connection is the server's failure, and not that of a connection that had
/// waited too long.
fn was_taken(ctx: &RequestCtx) -> bool {
    const TAKEN: Duration = Duration::from_secs(1);
    let again = ctx.call.as_ref().is_some_and(fail::may_be_sent_again);
    !again && ctx.sent_at.is_some_and(|sent| sent.elapsed() >= TAKEN)
}

/// A request's head, with the server that it goes to.
fn addressed(head: &[u8], ctx: &RequestCtx) -> Vec<u8> {
    let upstream = ctx.place.and_then(|place| ctx.call.as_ref()?.pool.upstream(place));
    upstream.map_or_else(Vec::new, |upstream| head::address_request(head, &upstream.authority))
}
