//! A refusal that waits for its client after its request is over.

use std::{future::poll_fn, io, task::Poll, time::Duration};

use bytes::{Buf as _, Bytes};
use h2::Reason;
use tokio::time::timeout;

use crate::limits::Limit;

use super::{sending::Sending, streams::Begun};

/// Sends the rest of a body. If the client does not take all of it in time, the stream is reset.
pub(super) async fn send(mut sending: Sending, mut rest: Bytes, time: Duration, begun: Begun) {
    let all = poll_fn(|context| {
        while !rest.is_empty() {
            match sending.poll_take(context, &rest) {
                Poll::Ready(Ok(taken)) => rest.advance(taken),
                Poll::Ready(Err(error)) => return Poll::Ready(Err::<(), io::Error>(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    });
    // A client that takes the request back, or leaves, has ended the stream itself.
    if timeout(time, all).await.is_err() {
        sending.reset(Reason::CANCEL);
        begun.record_exceeded(Limit::RefusalTimeout);
    }
}
