//! Waits for the turn of a call in a queue of the product's.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;

use crate::client::ClientStream;

/// Waits until `turn` completes.
///
/// # Errors
/// Returns an error if the client leaves meanwhile.
pub(crate) async fn await_turn(client: &mut ClientStream, turn: impl Future<Output = ()>) -> io::Result<()> {
    // The rest of a body is not the client's turn: the proxy does not read on.
    client.disarm();
    let mut turn = pin!(turn);
    poll_fn(|context| match turn.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(Ok(())),
        Poll::Pending => client.poll_closed(context, false).map(Err),
    })
    .await
}
