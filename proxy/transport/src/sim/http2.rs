//! The client of one HTTP/2 connection, with all calls at the same time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{Builder, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::timeout;

use super::parser::Got;
use super::script::sent_body;
use super::state::State;
use super::wire::FarEnd;
use super::world::Leave;

/// Sends all requests and reads all responses, in the order of the calls. Ends never if the client
/// falls silent.
pub(super) async fn run(state: Arc<State>, far: FarEnd, window: u32) -> Vec<Got> {
    let count = state.world.calls.len();
    let mut builder = Builder::new();
    // Upstreams that write byte by byte are not what this client guards against.
    builder.data_frame_budget(100 << 20);
    builder.initial_window_size(window).initial_connection_window_size(window.max(65_535));
    let Ok((send, connection)) = builder.handshake(far).await else { return vec![Got::default(); count] };
    let connection = tokio::spawn(connection);
    let calls: Vec<_> =
        (0..count).map(|id| tokio::spawn(call(Arc::clone(&state), send.clone(), id))).collect();
    drop(send);
    let mut responses = Vec::new();
    for call in calls {
        responses.push(call.await.unwrap());
    }
    // No request is left, so the client goes.
    let _closed = timeout(Duration::from_secs(1), connection).await;
    responses
}

async fn call(state: Arc<State>, send: SendRequest<Bytes>, id: usize) -> Got {
    let mut got = Got::default();
    let Ok(send) = send.ready().await else { return got };
    // An error leaves the response as it was until then, and the end of this resets the stream.
    let ended = exchange(&state, send, id, &mut got);
    let Some((at, _)) = state.world.client.leaves_at else {
        let _ended = ended.await;
        return got;
    };
    if timeout(Duration::from_millis(at), ended).await.is_err() {
        state.leave(Some(id));
    }
    got
}

async fn exchange(
    state: &State,
    mut send: SendRequest<Bytes>,
    id: usize,
    got: &mut Got,
) -> Result<(), h2::Error> {
    let (call, client) = (&state.world.calls[id], &state.world.client);
    let method = if call.is_post { "POST" } else { "GET" };
    let request = http::Request::builder().method(method).uri(format!("http://a.test/{id}"));
    let (response, mut body) = send.send_request(request.body(()).unwrap(), !call.is_post)?;
    let sends = async {
        let bytes = Bytes::from(sent_body(id, call.body.length));
        let pace = client.writes;
        let (mut at, mut paused_at) = (0, 0);
        while call.is_post && at < bytes.len() {
            if pace.stops_after.is_some_and(|stop| at >= stop) {
                state.fall_silent();
                std::future::pending::<()>().await;
            }
            pace.wait(at, &mut paused_at).await;
            body.reserve_capacity(pace.piece.min(bytes.len() - at));
            let Some(Ok(room)) = std::future::poll_fn(|context| body.poll_capacity(context)).await else {
                return;
            };
            let end = (at + room.min(pace.piece)).min(bytes.len());
            if body.send_data(bytes.slice(at..end), false).is_err() {
                return;
            }
            at = end;
        }
        if call.is_post {
            // The proxy may have reset the stream.
            let _ended = body.send_data(Bytes::new(), true);
        }
    };
    let reads = async {
        let response = response.await?;
        got.status = response.status().as_u16();
        let number = |name: &str| response.headers().get(name)?.to_str().ok()?.parse().ok();
        (got.id, got.reply) = (number("x-id"), number("x-reply"));
        let pace = client.reads;
        let mut paused_at = 0;
        let mut body = response.into_body();
        while let Some(data) = body.data().await {
            let data = data?;
            got.body.extend_from_slice(&data);
            if pace.stops_after.is_some_and(|stop| got.body.len() >= stop) {
                state.fall_silent();
                std::future::pending::<()>().await;
            }
            match client.leaves_after.filter(|(after, _)| got.body.len() >= *after) {
                Some((_, Leave::Silence)) => {
                    state.fall_silent();
                    std::future::pending::<()>().await;
                }
                // The stream is reset.
                Some(_) => return Ok(()),
                None => {}
            }
            pace.wait(got.body.len(), &mut paused_at).await;
            body.flow_control().release_capacity(data.len())?;
        }
        got.is_complete = true;
        Ok(())
    };
    let (mut sends, mut reads) = (std::pin::pin!(sends), std::pin::pin!(reads));
    let mut has_sent = false;
    loop {
        tokio::select! {
            biased;
            () = &mut sends, if !has_sent => has_sent = true,
            result = &mut reads => return result,
        }
    }
}

impl AsyncRead for FarEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_take(buffer.remaining(), context).map(|bytes| {
            buffer.put_slice(&bytes);
            Ok(())
        })
    }
}

impl AsyncWrite for FarEnd {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_give(bytes, context).map(|sent| sent.ok_or_else(|| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.close();
        Poll::Ready(Ok(()))
    }
}
