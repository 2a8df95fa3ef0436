//! Sends the rest of a refusal after its request has ended.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use h2::Reason;
use tokio::time::timeout;

use super::sending::Sending;
use super::streams::StreamSlot;
use crate::limits::Limit;

/// Sends the rest of a body. Resets the stream if the client does not receive all of it in time.
pub(super) async fn send(mut sending: Sending, mut rest: Bytes, time: Duration, slot: StreamSlot) {
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
    // A client that resets the stream or disconnects has ended the stream itself.
    if timeout(time, all).await.is_err() {
        sending.reset(Reason::CANCEL);
        slot.record_exceeded(Limit::RefusalTimeout);
    }
}
