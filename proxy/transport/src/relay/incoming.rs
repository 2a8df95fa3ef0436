//! A request that the proxy answers itself: its body is read whole, for it is small.

use std::{
    future::poll_fn,
    net::IpAddr,
    pin::Pin,
    task::{Poll, ready},
};

use tokio::io::{AsyncRead as _, ReadBuf};

use super::{framing::Framing, request::Framed};
use crate::client::{ClientStream, ClientTimeout, Direction};

/// A request whose body was not read yet.
pub struct Incoming<'a> {
    client: &'a mut ClientStream,
    request: Framed,
    broken: bool,
}

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// It is longer than asked for.
    TooLong,
    /// Nothing of it came for too long.
    Stalled,
    /// It came more slowly than this many bytes a second.
    TooSlow(u64),
    /// It ends too early, or its framing is wrong.
    Broken,
}

impl<'a> Incoming<'a> {
    pub(super) const fn new(client: &'a mut ClientStream, request: Framed) -> Self {
        Self { client, request, broken: false }
    }

    /// Returns the request with what is left of its body.
    pub(super) const fn rest(self) -> Framed {
        let body = if self.broken { Framing::UntilClose } else { self.request.body };
        Framed { body, ..self.request }
    }

    /// Returns the address of the client.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.client.address()
    }

    /// Returns the whole body, of at most so many bytes. Asks a client that waits for it to send the body.
    ///
    /// # Errors
    /// Why there is none; then the connection can serve no other request.
    pub async fn whole(&mut self, most: usize) -> Result<Vec<u8>, BodyFault> {
        if std::mem::take(&mut self.request.expects_continue) {
            // If the client has left, its body does not come either.
            let _sent = self.client.send_continue().await;
        }
        self.client.arm_upload();
        let read = self.read(most).await;
        self.broken = read.is_err();
        read
    }

    async fn read(&mut self, most: usize) -> Result<Vec<u8>, BodyFault> {
        let (mut held, mut whole) = (Vec::new(), Vec::new());
        loop {
            let part = self.request.body.take(&held).map_err(|_| BodyFault::Broken)?;
            let taken = part.skip + part.data;
            whole.extend_from_slice(held.get(part.skip..taken).unwrap_or_default());
            held.drain(..taken.min(held.len()));
            if whole.len() > most {
                return Err(BodyFault::TooLong);
            }
            if self.request.body.is_over() {
                self.client.unread(&held);
                return Ok(whole);
            }
            if part.data == 0 {
                self.read_more(&mut held).await?;
            }
        }
    }

    async fn read_more(&mut self, held: &mut Vec<u8>) -> Result<(), BodyFault> {
        let mut space = [0; 4096];
        let mut buffer = ReadBuf::new(&mut space);
        let read = poll_fn(|context| {
            ready!(Pin::new(&mut *self.client).poll_read(context, &mut buffer))?;
            Poll::Ready(std::io::Result::Ok(buffer.filled().len()))
        })
        .await;
        match (read, self.client.timeout()) {
            (Ok(read), _) if read > 0 => held.extend_from_slice(buffer.filled()),
            (_, Some(ClientTimeout::TooSlow(Direction::Upload))) => {
                return Err(BodyFault::TooSlow(self.client.min_upload_rate()));
            }
            (_, Some(ClientTimeout::Idle(Direction::Upload))) => return Err(BodyFault::Stalled),
            _ => return Err(BodyFault::Broken),
        }
        Ok(())
    }
}
