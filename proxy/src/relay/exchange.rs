//! One call over two connections: the body goes up and the answer comes down at once, each as fast as its reader takes
//! it, and neither is ever held whole.

mod down;
mod up;

use std::task::{Context, Poll};

use pingora_core::protocols::Stream;

pub(super) use self::{down::Download, up::Upload};
use crate::{
    client::{Awaited, ClientStream},
    ctx::RequestCtx,
    metrics::Bound,
    phases::{body, fail::Cause},
    state::State,
};

/// A call under way.
pub(super) struct Exchange<'a> {
    pub(super) state: &'a State,
    pub(super) ctx: &'a mut RequestCtx,
    pub(super) client: &'a mut ClientStream,
    pub(super) tool: &'a mut Stream,
    /// Whether the tool may tell that it has not looked at the request, which can then be sent again.
    pub(super) shared: bool,
    pub(super) up: Upload,
    pub(super) down: Download,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    UnderWay,
    Over,
    /// The other end takes no more.
    GivenUp,
}

/// How a call broke off.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client has left.
    ClientLeft,
    /// The client's body is framed so that it cannot be read.
    ClientMalformed,
    /// The client's body is longer than it may be.
    TooLarge,
    /// Somebody was waited for too long.
    Overdue(Awaited),
    /// The client was slower than its minimum rate.
    TooSlow(Slow),
    /// The tool failed; whether anything had come from it.
    Tool(Cause, bool),
    /// The tool has not looked at the request, and says so.
    Unprocessed,
}

/// What a client does too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slow {
    /// It sends its body.
    Upload,
    /// It takes its response.
    Download,
}

impl Broken {
    /// Returns why nothing more comes from the client, or goes to it.
    pub(super) fn of(client: &ClientStream) -> Self {
        match client.overdue() {
            None => Self::ClientLeft,
            Some(Awaited::Request) if client.is_too_slow() => Self::TooSlow(Slow::Upload),
            Some(Awaited::Taking) if client.is_too_slow() => Self::TooSlow(Slow::Download),
            Some(awaited) => Self::Overdue(awaited),
        }
    }
}

/// Of a body that goes on, more is read at once.
const READ_MUCH: usize = 64 << 10;

impl Exchange<'_> {
    /// Carries the call out, until the client has the whole answer.
    pub(super) async fn run(&mut self) -> Result<(), Broken> {
        // What has come of the body goes out together with the head.
        self.take_body()?;
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        if self.up.stage == Stage::UnderWay
            && let Poll::Ready(Err(broken)) = self.poll_up(context)
        {
            return Poll::Ready(Err(broken));
        }
        if let Poll::Ready(ended) = self.poll_down(context) {
            return Poll::Ready(ended);
        }
        // While the body comes, whoever reads it notices when the client leaves.
        let left = match self.up.stage {
            Stage::UnderWay => self.client.poll_overdue(context),
            Stage::Over | Stage::GivenUp => self.client.poll_left(context),
        };
        if left.is_ready() && body::has_to_wait_on(self.client, self.ctx) {
            self.state.metrics.hit(Bound::RetryPercent);
            return self.client.poll_overdue(context).map(|_| Err(self.client_broke()));
        }
        left.map(|_| Err(self.client_broke()))
    }

    fn client_broke(&self) -> Broken {
        Broken::of(self.client)
    }
}
