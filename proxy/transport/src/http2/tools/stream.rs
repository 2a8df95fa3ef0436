//! A part of a connection in HTTP/2, as Pingora knows connections: it takes one request in HTTP/1.1, and gives its answer so.

use std::{
    io, mem,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use async_trait::async_trait;
use h2::{Reason, client::ResponseFuture};
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, TimingDigest,
    UniqueID, UniqueIDType, raw_connect::ProxyDigest,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::timeout,
};

use super::{answer, connection::Seat, fault::Fault, request};
use crate::{
    clock::Monotonic,
    http2::{
        head,
        receiving::Receiving,
        sending::{Framing, Sending},
    },
};

/// One call. Dropped before its answer is complete, it is taken back.
#[derive(Debug)]
pub struct ToolStream {
    seat: Option<Seat>,
    up: Up,
    down: Down,
    sent_at: Monotonic,
    /// Who reads before anything was sent.
    early: Option<Waker>,
}

/// The request as it is written.
#[derive(Debug)]
enum Up {
    /// The rest of its head.
    Head(Vec<u8>),
    /// The rest of its body, or nothing.
    Body(Sending),
    /// Nothing: it could not be sent.
    Failed,
}

/// The answer as it is read.
#[derive(Debug)]
enum Down {
    /// Nothing was asked.
    Unasked,
    /// It is still to come.
    Awaited(ResponseFuture),
    /// It comes.
    Answer(Receiving),
    /// Nothing more comes.
    Failed(Fault),
}

/// The end of an answer that says nothing new comes at once, or is not worth to be waited for.
const END_WITHIN: Duration = Duration::from_secs(1);

impl ToolStream {
    pub(super) fn new(seat: Seat) -> Self {
        let (up, down) = (Up::Head(Vec::new()), Down::Unasked);
        Self { seat: Some(seat), up, down, sent_at: Monotonic::now(), early: None }
    }

    fn poll_take(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.up {
            Up::Head(head) => {
                let taken = head::take(head, bytes);
                if head::is_complete(head) {
                    self.send_head()?;
                } else if head.len() > head::MAX_HEAD {
                    self.fail(Fault::Reset)?;
                }
                Poll::Ready(Ok(taken))
            }
            Up::Body(sending) => sending.poll_take(context, bytes),
            Up::Failed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Sends the head that was gathered.
    fn send_head(&mut self) -> io::Result<()> {
        let (Up::Head(head), Some(seat)) = (mem::replace(&mut self.up, Up::Failed), &mut self.seat) else {
            return Ok(());
        };
        let Some((request, framing)) = request::read(&head, seat.scheme()) else {
            return self.fail(Fault::Reset);
        };
        self.sent_at = Monotonic::now();
        match seat.send(request, framing == Framing::Length(0)) {
            Ok((answer, send)) => {
                self.up = Up::Body(Sending::new(send, framing));
                self.down = Down::Awaited(answer);
                self.early.take().into_iter().for_each(Waker::wake);
                Ok(())
            }
            Err(fault) => self.fail(fault),
        }
    }

    /// The request cannot be sent, which is told to who reads as well.
    fn fail(&mut self, fault: Fault) -> io::Result<()> {
        self.up = Up::Failed;
        self.down = Down::Failed(fault);
        self.early.take().into_iter().for_each(Waker::wake);
        Err(fault.into())
    }

    fn poll_answer(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<(), Fault>> {
        loop {
            match &mut self.down {
                Down::Unasked => {
                    self.early = Some(context.waker().clone());
                    return Poll::Pending;
                }
                Down::Awaited(answer) => match ready!(Pin::new(answer).poll(context)) {
                    Ok(answer) => {
                        self.seat.iter().for_each(Seat::answered);
                        self.down = Down::Answer(answer::receiving(answer));
                    }
                    Err(error) => return Poll::Ready(Err(Fault::of(&error))),
                },
                Down::Answer(receiving) => {
                    return receiving.poll_read(context, buffer).map_err(|error| match Fault::of(&error) {
                        // It was looked at, whatever the tool says now.
                        Fault::Unprocessed => Fault::Reset,
                        fault => fault,
                    });
                }
                Down::Failed(fault) => return Poll::Ready(Err(*fault)),
            }
        }
    }

    /// Whether the request was sent, and the answer read, up to their ends.
    fn is_over(&self) -> bool {
        let sent = matches!(&self.up, Up::Body(sending) if sending.is_done());
        sent && matches!(&self.down, Down::Answer(receiving) if receiving.is_over())
    }
}

impl AsyncRead for ToolStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(self.poll_answer(context, buffer));
        if let Err(fault) = read {
            self.down = Down::Failed(fault);
        }
        Poll::Ready(read.map_err(io::Error::from))
    }
}

impl AsyncWrite for ToolStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match self.poll_take(context, rest) {
                Poll::Ready(Ok(more)) => taken += more,
                // What becomes of it is told to who reads.
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return if taken > 0 { Poll::Ready(Ok(taken)) } else { Poll::Pending },
            }
        }
        Poll::Ready(Ok(taken))
    }

    /// What was written is sent by the connection, without being asked to.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for ToolStream {
    fn drop(&mut self) {
        let Some(seat) = self.seat.take() else { return };
        if self.is_over() {
            return;
        }
        if matches!(self.down, Down::Awaited(_)) {
            seat.given_up(self.sent_at);
        }
        let Up::Body(sending) = &mut self.up else { return };
        match mem::replace(&mut self.down, Down::Unasked) {
            Down::Answer(receiving) if sending.is_done() && receiving.lacks_only_its_end() => {
                end_quietly(receiving, seat);
            }
            // What was not sent of it goes no further either.
            _ => sending.reset(Reason::CANCEL),
        }
    }
}

/// Takes the end of an answer that was read whole: servers count what is taken back before that, and need not like it.
fn end_quietly(mut receiving: Receiving, seat: Seat) {
    let mut context = Context::from_waker(Waker::noop());
    if receiving.poll_end(&mut context).is_ready() {
        return;
    }
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let end = pin!(std::future::poll_fn(|context| receiving.poll_end(context)));
            let _ended = timeout(END_WITHIN, end).await;
            drop(seat);
        });
    }
}

#[async_trait]
impl Shutdown for ToolStream {
    async fn shutdown(&mut self) {}
}

impl UniqueID for ToolStream {
    fn id(&self) -> UniqueIDType {
        0
    }
}

impl Ssl for ToolStream {}

impl GetTimingDigest for ToolStream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for ToolStream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for ToolStream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        None
    }
}

impl Peek for ToolStream {}
