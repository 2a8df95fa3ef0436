//! The product of a simulated world: it forwards each call to one of two upstreams and keeps what
//! is logged.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pingora::ErrorType;
use shared::problem::{Problem, codes};
use tokio::time::{Instant, sleep};

use super::state::{LogLine, State, id_of};
use super::world::{Own, World};
use crate::connect::{ConnectOptions, ConnectTarget, Connections};
use crate::drain::Drain;
use crate::hooks::{
    AfterFailure, Attempt, ClientConnection, ConnectionAction, Event, Failure, FailureKind, Handler, Headers,
    Listener, Phases, Queued, Request, RequestAction, UpstreamRequest, UpstreamResponse, Wait,
};
use crate::idle_clients::IdleClients;
use crate::incoming::Incoming;
use crate::limits::ClientOptions;
use crate::record::{DialTimes, Record};
use crate::response::Response;
use crate::tls::ServerTls;

/// The product.
#[derive(Clone)]
pub(super) struct Product(Arc<Parts>);

struct Parts {
    state: Arc<State>,
    drain: Arc<Drain>,
    idle_clients: IdleClients,
    targets: Vec<Arc<ConnectTarget>>,
}

/// A call that is forwarded.
pub(super) struct Call {
    id: usize,
    is_idempotent: bool,
    attempts: usize,
    has_queued: bool,
}

/// The product's part of a log record.
#[derive(Default)]
pub(super) struct Log {
    /// The call that is not forwarded.
    own: Option<usize>,
}

/// The handler of a call that is not forwarded.
pub(super) struct OwnHandler(Own);

/// Waits for so many milliseconds.
pub(super) struct Delay(u64);

/// Maximum number of attempts of a call.
pub(super) const MAX_ATTEMPTS: usize = 3;

impl Product {
    pub(super) fn new(state: &Arc<State>) -> Self {
        let connections = Arc::new(Connections::default());
        let target = |last| {
            let options = ConnectOptions {
                authority: "upstream.test".to_owned(),
                connector: None,
                http2: false,
                timeout: Duration::from_secs(3),
                keep_idle: Duration::from_secs(55),
            };
            let address = SocketAddr::from(([127, 0, 0, last], 1));
            Arc::new(ConnectTarget::new(address, options, &connections))
        };
        Self(Arc::new(Parts {
            state: Arc::clone(state),
            drain: Arc::default(),
            idle_clients: IdleClients::default(),
            targets: vec![target(1), target(2)],
        }))
    }

    fn attempt(&self, call: &mut Call) -> Attempt {
        // One after the other, as a retry goes elsewhere.
        let target = &self.0.targets[(call.id / 2 + call.attempts) % self.0.targets.len()];
        call.attempts += 1;
        let World { timeouts, must_finish, .. } = self.0.state.world;
        Attempt { target: Arc::clone(target), timeouts, must_finish }
    }

    fn decide<W>(
        &self,
        request: &Request<'_, '_>,
        record: &mut Record<Log>,
    ) -> RequestAction<Call, OwnHandler, W> {
        let id = id_of(request.raw.target).expect("every target ends with a number");
        if let Some(own) = self.0.state.world.calls[id].own {
            record.log.own = Some(id);
            return RequestAction::Handle(OwnHandler(own));
        }
        RequestAction::Forward(Call {
            id,
            is_idempotent: request.raw.method == "GET",
            attempts: 0,
            has_queued: false,
        })
    }

    fn give_up() -> AfterFailure {
        AfterFailure::GiveUp(Box::new(Problem::new(codes::TOOL_UNAVAILABLE, "no attempt is left")))
    }
}

impl Listener for Product {
    type Permit = ();

    fn expects_proxy_header(&self, _: IpAddr) -> bool {
        false
    }

    fn connection_filter(&self, _: Option<IpAddr>) -> ConnectionAction<()> {
        ConnectionAction::Accept(())
    }

    fn tls(&self) -> Option<ServerTls> {
        None
    }

    fn client_options(&self) -> ClientOptions {
        self.0.state.world.options
    }

    fn drain(&self) -> &Arc<Drain> {
        &self.0.drain
    }

    fn idle_clients(&self) -> &IdleClients {
        &self.0.idle_clients
    }

    fn record(&self, event: Event) {
        match event {
            Event::LimitExceeded(limit) => self.0.state.seen.lock().limits.push(limit),
            Event::Http2Closed(reason) => self.0.state.seen.lock().closed.push(reason),
            Event::Handshake(_) => {}
        }
    }
}

impl Phases for Product {
    type Call = Call;
    type Log = Log;
    type Handler<'a> = OwnHandler;
    type Wait<'a> = Delay;
    type Queued = Delay;

    fn new_log(&self, _: &ClientConnection<'_>) -> Log {
        Log::default()
    }

    fn request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record<Log>,
    ) -> RequestAction<Call, OwnHandler, Delay> {
        let world = &self.0.state.world;
        let id = id_of(request.raw.target).expect("every target ends with a number");
        let spec = &world.calls[id];
        record.max_body = world.options.max_body;
        if spec.wait > 0 {
            return RequestAction::Wait(Delay(spec.wait));
        }
        self.decide(request, record)
    }

    fn resume_request_filter<'a>(
        &self,
        request: &Request<'_, 'a>,
        record: &mut Record<Log>,
        (): (),
    ) -> RequestAction<Call, OwnHandler, Infallible> {
        self.decide(request, record)
    }

    fn enter_queue(&self, call: &mut Call) -> Option<Delay> {
        let delay = self.0.state.world.calls[call.id].queue;
        (delay > 0 && !std::mem::replace(&mut call.has_queued, true)).then_some(Delay(delay))
    }

    fn upstream_peer(&self, call: &mut Call, _: &Record<Log>) -> Result<Attempt, Box<Problem>> {
        Ok(self.attempt(call))
    }

    fn mirror(&self, _: &Call, _: &[u8], _: Option<&[u8]>) {}

    fn upstream_request_filter(&self, call: &Call, _: &Record<Log>, head: &mut impl UpstreamRequest) {
        head.begin(&["/", &call.id.to_string()], |_| true);
    }

    fn connected_to_upstream(&self, call: &mut Call, _: Option<DialTimes>, head: &mut impl Headers) {
        head.write_header_fmt("x-attempt", call.attempts);
    }

    fn request_body_filter(&self, _: &Call, received: u64) -> Result<(), Box<Problem>> {
        if received > self.0.state.world.options.max_body {
            return Err(Box::new(Problem::new(codes::BODY_TOO_LARGE, "the body is too large")));
        }
        Ok(())
    }

    fn discard_response(&self, call: &mut Call, _: &Record<Log>, status: u16, is_replayable: bool) -> bool {
        status >= 500 && call.is_idempotent && is_replayable && call.attempts < MAX_ATTEMPTS
    }

    fn upstream_response_filter(
        &self,
        _: &mut Call,
        _: &Record<Log>,
        _: u16,
        head: &mut impl UpstreamResponse,
    ) {
        head.retain(|_, _| true);
    }

    fn fail_to_connect(&self, call: &mut Call, _: &Record<Log>, _: &ErrorType) -> AfterFailure {
        if call.attempts < MAX_ATTEMPTS { AfterFailure::Retry(self.attempt(call)) } else { Self::give_up() }
    }

    fn reserve_retry(&self, call: &mut Call) -> bool {
        call.attempts < MAX_ATTEMPTS
    }

    fn error_while_proxy(&self, call: &mut Call, _: &Record<Log>, failure: Failure) -> AfterFailure {
        let can_repeat = match failure.kind {
            FailureKind::Failed | FailureKind::Stale => call.is_idempotent && failure.is_replayable,
            FailureKind::Unprocessed => failure.is_replayable,
        };
        if can_repeat && call.attempts < MAX_ATTEMPTS {
            AfterFailure::Retry(self.attempt(call))
        } else {
            Self::give_up()
        }
    }

    fn fail_to_proxy(&self, call: Option<&Call>, record: &mut Record<Log>, problem: &Problem) -> Response {
        own_response(record, problem.status(), call.map(|call| call.id), problem.code().as_str())
    }

    fn logging(&self, call: Option<&Call>, record: &Record<Log>) {
        self.0.state.seen.lock().log.push(LogLine {
            id: call.map(|call| call.id).or(record.log.own),
            status: record.status,
            sent: record.sent,
            received: record.received,
            aborted: record.aborted,
            at: Instant::now(),
        });
    }
}

/// Returns a response of the product.
fn own_response(record: &Record<Log>, status: u16, id: Option<usize>, text: &str) -> Response {
    let response = shared::response::Response { status, headers: Vec::new(), body: text.to_owned() };
    Response::new(record, response, None, status >= 400, |head| {
        if let Some(id) = id {
            head.write_header_fmt("x-id", id);
        }
        head.write_header("x-own", b"1");
    })
}

impl Handler<Product> for OwnHandler {
    async fn respond(self, _: &Product, incoming: &mut Incoming<'_>, record: &mut Record<Log>) -> Response {
        let id = record.log.own;
        match self.0 {
            Own::Ignore => own_response(record, 200, id, "own"),
            Own::Read { max } => match incoming.read_body(max).await {
                Ok(body) => own_response(record, 200, id, &format!("own {}", body.len())),
                Err(_) => own_response(record, 400, id, "own error"),
            },
        }
    }
}

impl Wait for Delay {
    type Outcome = ();

    async fn wait(self) {
        sleep(Duration::from_millis(self.0)).await;
    }
}

impl Queued<Product> for Delay {
    async fn wait(self, _: &mut Call) {
        sleep(Duration::from_millis(self.0)).await;
    }
}
