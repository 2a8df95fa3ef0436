//! Requests that the product handles itself. Their bodies are small and read as a whole.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead as _, ReadBuf};

use crate::client::{ClientStream, ClientTimeout, Direction};
use crate::framing::Framing;

/// A request whose body is not read yet.
pub struct Incoming<'a> {
    client: &'a mut ClientStream,
    /// The framing of the rest of the body.
    body: Framing,
    expects_continue: bool,
    is_broken: bool,
}

/// The error of reading a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body is longer than the limit.
    TooLong,
    /// No byte of the body arrived for too long.
    Stalled,
    /// The body arrived more slowly than this many bytes a second.
    TooSlow { min_rate: u64 },
    /// The body ends too early, or its framing is malformed.
    Malformed,
}

impl<'a> Incoming<'a> {
    pub(crate) const fn new(client: &'a mut ClientStream, body: Framing, expects_continue: bool) -> Self {
        Self { client, body, expects_continue, is_broken: false }
    }

    /// Returns the framing of the rest of the body, and whether the client still waits for `100
    /// Continue`.
    pub(crate) const fn into_rest(self) -> (Framing, bool) {
        // The end of a broken body is unknown: what follows must not be read as the next request.
        (if self.is_broken { Framing::UntilClose } else { self.body }, self.expects_continue)
    }

    /// Returns the address of the client.
    pub fn address(&self) -> Option<IpAddr> {
        self.client.address()
    }

    /// Reads the whole body, of at most `max` bytes. Sends `100 Continue` first if the client
    /// expects it.
    ///
    /// # Errors
    /// Returns an error if the body is too long, too slow or malformed. The connection must be
    /// closed then.
    pub async fn read_body(&mut self, max: usize) -> Result<Vec<u8>, BodyError> {
        if std::mem::take(&mut self.expects_continue) {
            // If the client has disconnected, reading fails.
            let _sent = self.client.send_continue().await;
        }
        self.client.arm_upload();
        let read = self.read(max).await;
        self.is_broken = read.is_err();
        read
    }

    async fn read(&mut self, max: usize) -> Result<Vec<u8>, BodyError> {
        let (mut held, mut whole) = (Vec::new(), Vec::new());
        loop {
            let part = self.body.take(&held).map_err(|_| BodyError::Malformed)?;
            let taken = part.skip + part.data;
            whole.extend_from_slice(held.get(part.skip..taken).unwrap_or_default());
            held.drain(..taken.min(held.len()));
            // The announced rest counts: a body that is too long is refused before it is sent.
            if (whole.len() as u64).saturating_add(self.body.announced()) > max as u64 {
                return Err(BodyError::TooLong);
            }
            if self.body.is_over() {
                self.client.unread(&held);
                return Ok(whole);
            }
            if part.data == 0 {
                self.read_more(&mut held).await?;
            }
        }
    }

    async fn read_more(&mut self, held: &mut Vec<u8>) -> Result<(), BodyError> {
        let mut space = [0; 4096];
        let mut buffer = ReadBuf::new(&mut space);
        let read = poll_fn(|context| {
            ready!(Pin::new(&mut *self.client).poll_read(context, &mut buffer))?;
            Poll::Ready(std::io::Result::Ok(buffer.filled().len()))
        })
        .await;
        match (read, self.client.timeout()) {
            (Ok(read), _) if read > 0 => held.extend_from_slice(buffer.filled()),
            (Ok(_), _) if self.body.end() => {}
            (_, Some(ClientTimeout::TooSlow(Direction::Upload))) => {
                return Err(BodyError::TooSlow { min_rate: self.client.min_upload_rate() });
            }
            (_, Some(ClientTimeout::Idle(Direction::Upload))) => return Err(BodyError::Stalled),
            _ => return Err(BodyError::Malformed),
        }
        Ok(())
    }
}
