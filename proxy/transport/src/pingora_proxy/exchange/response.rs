//! The response: taken from Pingora, and written to the client.

use std::task::{Context, Poll, ready};
use std::time::Instant;

use pingora::http::ResponseHeader;
use pingora::protocols::http::HttpTask;
use pingora::{Error, ErrorType};

use super::{Aborted, Exchange, Forward};
use crate::framing::{self, LAST_CHUNK};
use crate::hooks::{Cause, Phases};
use crate::outgoing_head::{OutgoingHead, StatusLine};
use crate::pingora_proxy::head;
use crate::relay::exchange::ExchangeError;
use crate::relay::head::{BodyDelimiter, MAX_LINES, ResponseFraming, ResponseHead, write_response};

impl<P: Phases> Exchange<P> {
    /// Lets the product write the head of a response.
    pub(crate) fn begin_response(&mut self, response: &ResponseHeader) -> Result<(), Aborted> {
        let status = response.status.as_u16();
        // A 101 goes on to the checks, which refuse it: upgrades are not forwarded.
        if response.status.is_informational() && status != 101 {
            return Ok(());
        }
        let is_last = self.phases.drain().is_announced();
        let Self { phases, client, record, call, forward, .. } = self;
        let (Some(forward), Some(call)) = (forward, call) else { return Err(Aborted) };
        let Forward { download, upload, request, attempt, error, deadline, .. } = forward;
        let lines = || head::lines(response);
        let read = match ResponseHead::read(status, true, 0, lines) {
            // Over HTTP/2 nothing else limits the lines, and both transports must refuse the same
            // responses.
            Ok(_) if response.headers.len() > MAX_LINES => {
                *error = Some(ExchangeError::Upstream { cause: Cause::Malformed, has_responded: true });
                return Err(Aborted);
            }
            Ok(read) => read,
            Err(cause) => {
                *error = Some(ExchangeError::Upstream { cause, has_responded: true });
                return Err(Aborted);
            }
        };
        // Before anything of the head is written: afterwards the client would have it, and no retry
        // could replace it.
        if status >= 400 && phases.discard_response(call, record, status, upload.is_replayable()) {
            *error = Some(ExchangeError::Discarded { status });
            return Err(Aborted);
        }
        download.status = status;
        let is_http2 = client.is_http2_stream();
        download.delimiter = read.delimiter(request.is_http10, is_http2);
        // A response before the end of the body leaves a rest that is not read.
        download.close |= !upload.body.is_over() || is_last || download.delimiter == BodyDelimiter::Close;
        record.responded_at = Some(Instant::now());
        if let Some(attempt) = attempt {
            deadline.arm_pause(client, attempt.timeouts.pause);
        }
        let status_line = StatusLine { status, reason: response.get_reason_phrase().unwrap_or_default() };
        let framing = ResponseFraming { delimiter: download.delimiter, close: download.close };
        let out = OutgoingHead::new(status_line, is_http2, Vec::new());
        let head = write_response(out, lines, framing, |head| {
            phases.upstream_response_filter(call, record, status, head);
        });
        download.head = Some((head, read.body_length()));
        Ok(())
    }

    /// Moves parts of the response into the write buffer. Returns true at the end of the response.
    ///
    /// # Errors
    /// Returns Pingora's error if the upstream has failed, or one if the client has.
    pub(crate) fn take_response(&mut self, tasks: Vec<HttpTask>) -> Result<bool, Box<Error>> {
        let Self { client, forward, .. } = self;
        let Some(Forward { download, error, .. }) = forward else { return Ok(true) };
        if download.begin(client).is_err() {
            *error = Some(ExchangeError::ClientClosed);
            return Err(Error::new_down(ErrorType::ConnectionClosed));
        }
        let mut is_over = false;
        for task in tasks {
            is_over |= match task {
                // Nothing was written for an informational response.
                HttpTask::Header(_, is_over) => is_over && download.status != 0,
                HttpTask::Body(data, is_over) => {
                    let data = data.unwrap_or_default();
                    match download.delimiter {
                        BodyDelimiter::Chunks => framing::write_chunk(&mut download.unsent.bytes, &data),
                        BodyDelimiter::AsStated(_) | BodyDelimiter::Close | BodyDelimiter::EndOfStream => {
                            download.unsent.bytes.extend_from_slice(&data);
                        }
                    }
                    download.body_bytes += data.len();
                    is_over
                }
                // They look like headers that were checked.
                HttpTask::Trailer(_) | HttpTask::Done => true,
                HttpTask::UpgradedBody(..) => false,
                HttpTask::Failed(error) => return Err(error),
            };
        }
        // Over HTTP/2 the end of the stream may come later, or not at all.
        is_over |= download.status != 0
            && download.delimiter == BodyDelimiter::AsStated(u64::try_from(download.body_bytes).ok());
        // Only at a proven end. After a failure, the missing last chunk shows the client that the
        // body was cut.
        if is_over && download.delimiter == BodyDelimiter::Chunks {
            download.unsent.bytes.extend_from_slice(LAST_CHUNK);
        }
        Ok(is_over)
    }

    /// Writes the write buffer to the client. `is_over` means that it holds the end of the
    /// response.
    pub(crate) fn poll_response(
        &mut self,
        context: &mut Context<'_>,
        is_over: bool,
    ) -> Poll<Result<(), Aborted>> {
        self.is_watched = true;
        let Some(Forward { download, deadline, .. }) = &mut self.forward else { return Poll::Ready(Ok(())) };
        let polled = download.unsent.poll_flush_to(&mut *self.client, context);
        if download.unsent.take_progress() {
            deadline.record_sent();
        }
        match polled {
            Poll::Ready(Ok(())) if is_over && self.client.end_response().is_err() => {}
            Poll::Ready(Ok(())) => {
                download.is_over = is_over;
                // The upstream is awaited again. Its pause must not include the time that the
                // client took to read.
                if std::mem::replace(&mut download.is_blocked, false) && !is_over {
                    self.arm_pause();
                }
                return Poll::Ready(Ok(()));
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => {
                if !std::mem::replace(&mut download.is_blocked, true) {
                    deadline.disarm();
                    self.client.arm_download();
                }
                ready!(self.client.poll_timeout(context));
            }
        }
        Poll::Ready(Err(self.fail_client()))
    }
}
