//! One call over two connections: the body goes up and the response comes down at once, each as fast as its reader takes
//! it, and neither is ever held whole.

mod down;
mod timeouts;
mod up;

use std::task::{Context, Poll, ready};

use pingora_core::protocols::Stream;
use shared::problem::Problem;

pub(super) use self::{down::Download, up::Upload};
use crate::{
    client::{ClientStream, ClientTimeout},
    hooks::{Cause, Event, Limit, Phases, Timeouts},
    record::Record,
    response_deadline::{ResponseDeadline, ResponseTimeout},
};

/// A call in flight.
pub(super) struct Exchange<'a, P: Phases> {
    pub(super) phases: &'a P,
    pub(super) call: &'a mut P::Call,
    pub(super) record: &'a mut Record<P::Log>,
    pub(super) client: &'a mut ClientStream,
    pub(super) upstream: &'a mut Stream,
    pub(super) timeouts: Timeouts,
    pub(super) deadline: ResponseDeadline,
    /// Whether the upstream can say that it has not processed the request, which can then be sent again.
    pub(super) shared: bool,
    /// Whether the request's method is idempotent (RFC 9110, section 9.2.2).
    pub(super) is_idempotent: bool,
    pub(super) up: Upload,
    pub(super) down: Download,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    InFlight,
    Over,
    /// The other end takes no more.
    GivenUp,
}

/// How a call broke off.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The client has left.
    ClientLeft,
    /// The framing of the client's body is malformed.
    ClientMalformed,
    /// The client's body is refused.
    BodyRefused(Box<Problem>),
    /// The client was too slow.
    ClientTimedOut(ClientTimeout),
    /// The upstream was too slow.
    UpstreamTimedOut(ResponseTimeout),
    /// The upstream failed; whether anything had come from it.
    Upstream(Cause, bool),
    /// The upstream has not processed the request, and says so.
    Unprocessed,
}

impl Broken {
    /// Returns why nothing more comes from the client, or goes to it.
    pub(crate) fn of(client: &ClientStream) -> Self {
        client.timeout().map_or(Self::ClientLeft, Self::ClientTimedOut)
    }
}

/// How much of a body is read at once.
const READ_MUCH: usize = 64 << 10;

impl<P: Phases> Exchange<'_, P> {
    /// Carries the call out until the client has the whole response.
    pub(super) async fn run(&mut self) -> Result<(), Broken> {
        // What has come of the body goes out together with the head.
        self.take_body()?;
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        if self.up.stage == Stage::InFlight
            && let Poll::Ready(Err(broken)) = self.poll_up(context)
        {
            return Poll::Ready(Err(broken));
        }
        if let Poll::Ready(ended) = self.poll_down(context) {
            return Poll::Ready(ended);
        }
        // While the body comes, whoever reads it notices when the client leaves.
        let left = match self.up.stage {
            Stage::InFlight => self.client.poll_timeout(context),
            Stage::Over | Stage::GivenUp => self.client.poll_closed(context),
        };
        if left.is_ready() {
            return Poll::Ready(Err(self.client_broke()));
        }
        let mut timeout = ready!(self.deadline.poll(self.client, context));
        if timeout == ResponseTimeout::Attempt && !self.phases.can_retry(self.call) {
            self.phases.record(Event::LimitExceeded(Limit::RetryBudget));
            self.arm_response();
            timeout = ready!(self.deadline.poll(self.client, context));
        }
        Poll::Ready(Err(Broken::UpstreamTimedOut(timeout)))
    }

    fn client_broke(&self) -> Broken {
        Broken::of(self.client)
    }
}
