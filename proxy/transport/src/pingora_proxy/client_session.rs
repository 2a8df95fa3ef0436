//! The client of a request, as a downstream session of Pingora's. It reads and writes HTTP/1.1 over
//! the client's connection.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderMap, Method};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::Digest;
use pingora::protocols::http::HttpTask;
use pingora::protocols::http::custom::CustomMessageWrite;
use pingora::protocols::http::custom::server::Session;
use pingora::protocols::l4::socket::SocketAddr;
use pingora::{Error, ErrorType, Result};

use super::exchange::{Aborted, Exchange, Shared};
use crate::hooks::Phases;

/// The client's side of an exchange.
pub(super) struct ClientSession<P: Phases> {
    shared: Shared<P>,
    /// The method of the request, for Pingora's own decisions.
    header: RequestHeader,
}

impl<P: Phases> ClientSession<P> {
    pub(super) fn new(shared: Shared<P>) -> Self {
        let mut header = RequestHeader::from(http::Request::new(()).into_parts().0);
        header.set_method(Method::GET);
        Self { shared, header }
    }

    fn with<R>(&self, f: impl FnOnce(&mut Exchange<P>) -> R) -> Option<R> {
        self.shared.with(f)
    }
}

/// Returns an error of the client's side. The exchange has the cause.
fn aborted() -> Box<Error> {
    Error::new_down(ErrorType::ConnectionClosed)
}

/// What Pingora does not call, because the product's own responses are written by the phases.
fn unused<T>() -> Result<T> {
    Err(Error::new_in(ErrorType::InternalError))
}

#[async_trait]
impl<P: Phases> Session for ClientSession<P> {
    fn req_header(&self) -> &RequestHeader {
        &self.header
    }

    fn req_header_mut(&mut self) -> &mut RequestHeader {
        &mut self.header
    }

    async fn read_body_bytes(&mut self) -> Result<Option<Bytes>> {
        poll_fn(|context| {
            self.with(|exchange| exchange.poll_body(context)).unwrap_or(Poll::Ready(Err(Aborted)))
        })
        .await
        .map_err(|_| aborted())
    }

    async fn drain_request_body(&mut self) -> Result<()> {
        Ok(())
    }

    async fn write_response_header(&mut self, _response: Box<ResponseHeader>, _end: bool) -> Result<()> {
        unused()
    }

    async fn write_response_header_ref(&mut self, _response: &ResponseHeader, _end: bool) -> Result<()> {
        unused()
    }

    async fn write_body(&mut self, _data: Bytes, _end: bool) -> Result<()> {
        unused()
    }

    async fn write_trailers(&mut self, _trailers: HeaderMap) -> Result<()> {
        unused()
    }

    async fn response_duplex_vec(&mut self, tasks: Vec<HttpTask>) -> Result<bool> {
        let taken = self.with(|exchange| exchange.take_response(tasks)).ok_or_else(aborted)?;
        // A response that failed is written as far as it came, and the error is returned after
        // that.
        let is_over = *taken.as_ref().unwrap_or(&false);
        poll_fn(|context| {
            let polled = self.with(|exchange| exchange.poll_response(context, is_over));
            polled.unwrap_or(Poll::Ready(Err(Aborted)))
        })
        .await
        .map_err(|_| aborted())?;
        taken
    }

    fn set_read_timeout(&mut self, _timeout: Option<Duration>) {}

    fn get_read_timeout(&self) -> Option<Duration> {
        None
    }

    fn set_write_timeout(&mut self, _timeout: Option<Duration>) {}

    fn get_write_timeout(&self) -> Option<Duration> {
        None
    }

    fn set_total_drain_timeout(&mut self, _timeout: Option<Duration>) {}

    fn get_total_drain_timeout(&self) -> Option<Duration> {
        None
    }

    fn request_summary(&self) -> String {
        String::new()
    }

    fn response_written(&self) -> Option<&ResponseHeader> {
        None
    }

    async fn shutdown(&mut self, _code: u32, _context: &str) {}

    fn is_body_done(&mut self) -> bool {
        // Without the exchange nothing more can come.
        self.with(|exchange| exchange.is_body_done()).unwrap_or(true)
    }

    async fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn is_body_empty(&mut self) -> bool {
        let is_empty = |exchange: &mut Exchange<P>| {
            exchange.forward.as_ref().is_none_or(|forward| forward.upload.is_empty())
        };
        self.with(is_empty).unwrap_or(true)
    }

    async fn read_body_or_idle(&mut self, no_body_expected: bool) -> Result<Option<Bytes>> {
        // Pingora calls this while it waits for the response: the body must continue meanwhile, or a
        // server that reads all of it before it responds would never do so.
        if !no_body_expected && !self.is_body_done() {
            return self.read_body_bytes().await;
        }
        poll_fn(|context| self.with(|exchange| exchange.poll_idle(context)).unwrap_or(Poll::Ready(()))).await;
        Err(aborted())
    }

    fn body_bytes_sent(&self) -> usize {
        0
    }

    fn body_bytes_read(&self) -> usize {
        0
    }

    fn digest(&self) -> Option<&Digest> {
        None
    }

    fn digest_mut(&mut self) -> Option<&mut Digest> {
        None
    }

    fn client_addr(&self) -> Option<&SocketAddr> {
        None
    }

    fn server_addr(&self) -> Option<&SocketAddr> {
        None
    }

    fn pseudo_raw_h1_request_header(&self) -> Bytes {
        Bytes::new()
    }

    /// The exchange keeps what may have to be sent again, and reads it again.
    fn enable_retry_buffering(&mut self) {}

    fn retry_buffer_truncated(&self) -> bool {
        false
    }

    fn get_retry_buffer(&self) -> Option<Bytes> {
        None
    }

    async fn finish_custom(&mut self) -> Result<()> {
        Ok(())
    }

    fn take_custom_message_reader(
        &mut self,
    ) -> Option<Box<dyn Stream<Item = Result<Bytes>> + Unpin + Send + Sync + 'static>> {
        None
    }

    fn restore_custom_message_reader(
        &mut self,
        _reader: Box<dyn Stream<Item = Result<Bytes>> + Unpin + Send + Sync + 'static>,
    ) -> Result<()> {
        unused()
    }

    fn take_custom_message_writer(&mut self) -> Option<Box<dyn CustomMessageWrite>> {
        None
    }

    fn restore_custom_message_writer(&mut self, _writer: Box<dyn CustomMessageWrite>) -> Result<()> {
        unused()
    }
}
