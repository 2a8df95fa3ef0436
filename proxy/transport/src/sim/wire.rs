//! A connection that is simulated. The proxy has its near end, which does everything that a socket
//! may do: it blocks, takes or gives a part of the bytes, refuses to be spliced, and breaks. A
//! script has the far end.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::BytesMut;
use parking_lot::{Mutex, MutexGuard};
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::sleep;

use super::rng::Rng;
use crate::fake_stream::Fake;
use crate::pipe::Pipe;
use crate::splice_end::SpliceEnd;

/// How a near end behaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mood {
    /// Probability in percent that an operation blocks although it could be done.
    pub(super) stall: usize,
    /// Maximum number of bytes of one operation.
    pub(super) piece: usize,
    /// Number of bytes that each direction holds.
    pub(super) capacity: usize,
    /// Number of bytes that are held until they are flushed, as TLS does, or 0.
    pub(super) held: usize,
    /// Whether the kernel can move its bytes.
    pub(super) splice: Splicing,
}

/// Whether the kernel can move the bytes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Splicing {
    /// It can.
    Allowed,
    /// There is no socket, as behind TLS.
    None,
    /// The system refuses it after so many operations.
    RefusedAfter(usize),
}

/// The state of both directions.
struct Wire {
    /// The bytes for the script.
    to_far: Line,
    /// The bytes for the proxy.
    to_near: Line,
    rng: Rng,
    mood: Mood,
    /// The bytes that the proxy has written and that are not flushed.
    held: Vec<u8>,
    /// Number of operations of the kernel on this connection.
    spliced: usize,
    /// All bytes that the proxy's peer can receive.
    tape: Vec<u8>,
    near_is_open: bool,
    /// Whether the proxy's end of the connection is a reset.
    resets_on_close: bool,
    /// Whether the proxy has ended its direction, and not only closed the connection.
    is_ended: bool,
}

/// One direction.
#[derive(Default)]
struct Line {
    bytes: BytesMut,
    /// Whether the writer has ended it.
    is_shut: bool,
    is_reset: bool,
    /// Whether the near end's next operation waits for a while.
    is_stalled: bool,
    /// The task that reads, and the one that writes. As with a socket, only the last one is woken.
    reader: Option<Waker>,
    writer: Option<Waker>,
}

/// The proxy's end of a connection.
pub(super) struct NearEnd(Arc<Mutex<Wire>>);

/// The script's end of a connection. Dropping it closes the connection.
pub(super) struct FarEnd(Arc<Mutex<Wire>>);

/// What a script sees of a connection that it does not hold any more.
#[derive(Clone)]
pub(super) struct Tape(Arc<Mutex<Wire>>);

/// Returns both ends of a connection.
pub(super) fn wire(mood: Mood, rng: Rng) -> (NearEnd, FarEnd) {
    let wire = Arc::new(Mutex::new(Wire {
        to_far: Line::default(),
        to_near: Line::default(),
        rng,
        mood,
        held: Vec::new(),
        spliced: 0,
        tape: Vec::new(),
        near_is_open: true,
        resets_on_close: false,
        is_ended: false,
    }));
    (NearEnd(Arc::clone(&wire)), FarEnd(wire))
}

impl Line {
    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }
}

/// The direction of an operation of the near end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
}

impl Wire {
    /// Returns the number of bytes of an operation with at most `max`, or blocks it for a while.
    fn begin(
        wire: &Arc<Mutex<Self>>,
        this: &mut MutexGuard<'_, Self>,
        operation: Operation,
        max: usize,
        context: &Context<'_>,
    ) -> Poll<usize> {
        let stall = this.mood.stall;
        let starts = this.rng.chance(stall);
        let delay = Duration::from_millis(this.rng.pick(&[0, 0, 0, 1, 3]));
        let piece = this.mood.piece;
        let size = this.rng.range(1, piece.min(max) + 1);
        let line = if operation == Operation::Read { &mut this.to_near } else { &mut this.to_far };
        let waker = if operation == Operation::Read { &mut line.reader } else { &mut line.writer };
        if line.is_stalled || starts {
            *waker = Some(context.waker().clone());
            if !std::mem::replace(&mut line.is_stalled, true) {
                let wire = Arc::clone(wire);
                tokio::spawn(async move {
                    sleep(delay).await;
                    Self::end_stall(&wire, operation);
                });
            }
            return Poll::Pending;
        }
        Poll::Ready(size)
    }

    fn end_stall(wire: &Mutex<Self>, operation: Operation) {
        let mut this = wire.lock();
        match operation {
            Operation::Read => {
                this.to_near.is_stalled = false;
                this.to_near.wake_reader();
            }
            Operation::Write => {
                this.to_far.is_stalled = false;
                this.to_far.wake_writer();
            }
        }
    }

    /// Returns true if the script still reads.
    const fn is_broken(&self) -> bool {
        self.to_far.is_reset
    }

    /// Sends bytes to the script, as many as there is room for.
    fn send(&mut self, bytes: &[u8]) -> usize {
        let free = self.mood.capacity.saturating_sub(self.to_far.bytes.len());
        let now = bytes.len().min(free);
        self.to_far.bytes.extend_from_slice(&bytes[..now]);
        self.tape.extend_from_slice(&bytes[..now]);
        if now > 0 {
            self.to_far.wake_reader();
        }
        now
    }

    /// Sends the bytes that were not flushed, as many as there is room for.
    fn send_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        let sent = self.send(&held);
        self.held = held[sent..].to_vec();
    }

    /// Takes bytes that the script has sent.
    fn take(&mut self, max: usize) -> Vec<u8> {
        let now = self.to_near.bytes.len().min(max);
        let taken = self.to_near.bytes.split_to(now).to_vec();
        self.to_near.wake_writer();
        taken
    }
}

impl NearEnd {
    /// Reads at most so many bytes: none at the end.
    fn poll_take(&self, max: usize, context: &Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let mut wire = self.0.lock();
        let size = ready!(Wire::begin(&self.0, &mut wire, Operation::Read, max, context));
        if wire.to_near.is_reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if wire.to_near.bytes.is_empty() && !wire.to_near.is_shut {
            wire.to_near.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(wire.take(size)))
    }

    /// Writes some of these bytes.
    fn poll_give(&self, bytes: &[u8], context: &Context<'_>) -> Poll<io::Result<usize>> {
        let mut wire = self.0.lock();
        if wire.is_broken() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let size = ready!(Wire::begin(&self.0, &mut wire, Operation::Write, bytes.len(), context));
        let bytes = &bytes[..size];
        let now = if wire.mood.held > 0 {
            wire.send_held();
            let room = wire.mood.held.saturating_sub(wire.held.len()).min(bytes.len());
            wire.held.extend_from_slice(&bytes[..room]);
            room
        } else {
            wire.send(bytes)
        };
        if now == 0 {
            wire.to_far.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        Poll::Ready(Ok(now))
    }

    /// Fails if the system refuses to move bytes.
    fn check_splice(&self) -> io::Result<()> {
        let mut wire = self.0.lock();
        wire.spliced += 1;
        match wire.mood.splice {
            Splicing::RefusedAfter(count) if wire.spliced > count => {
                Err(io::Error::from_raw_os_error(Errno::INVAL.raw_os_error()))
            }
            _ => Ok(()),
        }
    }
}

impl Fake for NearEnd {
    fn can_splice(&self) -> bool {
        self.0.lock().mood.splice != Splicing::None
    }

    fn reset_on_close(&self) {
        self.0.lock().resets_on_close = true;
    }

    fn is_ended_by_peer(&self) -> bool {
        let wire = self.0.lock();
        wire.to_near.is_shut || wire.to_near.is_reset
    }
}

impl SpliceEnd for NearEnd {
    fn poll_fill(&self, pipe: &mut Pipe, max: u64, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.check_splice()?;
        let max = usize::try_from(max).unwrap_or(usize::MAX).min(64 << 10);
        let bytes = ready!(self.poll_take(max, context))?;
        pipe.hold(&bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_drain(&self, pipe: &mut Pipe, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.check_splice()?;
        let bytes = pipe.take_all();
        let given = self.poll_give(&bytes, context);
        let sent = if let Poll::Ready(Ok(sent)) = given { sent } else { 0 };
        pipe.hold(&bytes[sent..]);
        given
    }
}

impl AsyncRead for NearEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let bytes = ready!(self.poll_take(buffer.remaining(), context))?;
        buffer.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for NearEnd {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_give(bytes, context)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut wire = self.0.lock();
        wire.send_held();
        if wire.held.is_empty() {
            return Poll::Ready(Ok(()));
        }
        if wire.is_broken() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        wire.to_far.writer = Some(context.waker().clone());
        Poll::Pending
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        let mut wire = self.0.lock();
        wire.is_ended = true;
        wire.to_far.is_shut = true;
        wire.to_far.wake_reader();
        Poll::Ready(Ok(()))
    }
}

impl Drop for NearEnd {
    /// Closes the connection. With unread bytes, that is a reset.
    fn drop(&mut self) {
        let mut wire = self.0.lock();
        wire.near_is_open = false;
        wire.to_far.is_shut = true;
        wire.to_near.is_reset = true;
        wire.to_far.wake_reader();
        wire.to_near.wake_writer();
    }
}

impl FarEnd {
    /// Returns what can be seen of the connection later.
    pub(super) fn tape(&self) -> Tape {
        Tape(Arc::clone(&self.0))
    }

    /// Reads at most so many bytes: none at the end.
    pub(super) async fn read(&self, max: usize) -> Vec<u8> {
        poll_fn(|context| self.poll_take(max, context)).await
    }

    /// Writes all of the bytes. Returns false if the proxy has closed the connection.
    pub(super) async fn write(&self, bytes: &[u8]) -> bool {
        let mut at = 0;
        while at < bytes.len() {
            let Some(sent) = poll_fn(|context| self.poll_give(&bytes[at..], context)).await else {
                return false;
            };
            at += sent;
        }
        true
    }

    /// Reads some bytes: none at the end.
    pub(super) fn poll_take(&self, max: usize, context: &Context<'_>) -> Poll<Vec<u8>> {
        let mut wire = self.0.lock();
        let line = &mut wire.to_far;
        if line.bytes.is_empty() && !line.is_shut {
            line.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let now = line.bytes.len().min(max);
        let taken = line.bytes.split_to(now).to_vec();
        line.wake_writer();
        Poll::Ready(taken)
    }

    /// Writes some bytes: `None` if the proxy has closed the connection.
    pub(super) fn poll_give(&self, bytes: &[u8], context: &Context<'_>) -> Poll<Option<usize>> {
        let mut wire = self.0.lock();
        let free = wire.mood.capacity.saturating_sub(wire.to_near.bytes.len());
        let line = &mut wire.to_near;
        if line.is_reset {
            return Poll::Ready(None);
        }
        if free == 0 {
            line.writer = Some(context.waker().clone());
            return Poll::Pending;
        }
        let now = free.min(bytes.len());
        line.bytes.extend_from_slice(&bytes[..now]);
        line.wake_reader();
        Poll::Ready(Some(now))
    }

    /// Closes the connection.
    pub(super) fn close(&self) {
        let mut wire = self.0.lock();
        wire.to_near.is_shut = true;
        wire.to_far.is_reset = true;
        wire.to_near.wake_reader();
        wire.to_far.wake_writer();
    }

    /// Resets the connection.
    pub(super) fn reset(&self) {
        let mut wire = self.0.lock();
        wire.to_near.is_reset = true;
        wire.to_near.bytes.clear();
        wire.to_far.is_reset = true;
        wire.to_near.wake_reader();
        wire.to_far.wake_writer();
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.close();
    }
}

impl Tape {
    /// Returns all bytes that the proxy has sent.
    pub(super) fn sent(&self) -> Vec<u8> {
        self.0.lock().tape.clone()
    }

    /// Returns true if the proxy has reset the connection. With TLS, it is as if it had not ended it
    /// with a `close_notify`.
    pub(super) fn was_reset(&self) -> bool {
        let wire = self.0.lock();
        wire.resets_on_close || (wire.mood.held > 0 && !wire.is_ended)
    }

    /// Returns true if the proxy holds its end.
    pub(super) fn is_open(&self) -> bool {
        self.0.lock().near_is_open
    }
}
