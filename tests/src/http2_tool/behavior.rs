//! The behavior of an HTTP/2 tool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, Request, Response, request::Parts};
use serde_json::json;
use tokio::sync::Notify;

use super::{CounterGuard, Shared};

/// The behavior of an HTTP/2 tool towards calls. Probes are always 200.
#[derive(Clone, Debug)]
pub enum H2ToolBehavior {
    /// Responds with 200 and a description of the request in JSON.
    Describe,
    /// Waits for [`super::Http2Tool::release`].
    Wait,
    /// Responds with headers, DATA frames and an end. `:status` sets the status. Each `:hints`
    /// sends a 103 first.
    Respond(Vec<(String, String)>, Vec<Bytes>, End),
    /// Resets the stream without a response.
    Reset(Reason),
    /// Resets the first so many streams, then describes.
    ResetFirst(usize, Reason),
    /// Closes the connection.
    Close,
    /// Responds before the body of the request is read, and then refuses the rest of the body.
    Early,
    /// Responds with so many bytes, as fast as flow control permits.
    Much(usize),
    /// Reads the body in pieces with a pause after each, and responds with its length.
    Sip(Duration),
}

/// The end of a response.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Whole,
    Trailers,
    Reset(Reason),
    Close,
    /// The response does not end.
    Never,
}

pub(super) async fn serve(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: Arc<Shared>,
    here: Arc<AtomicUsize>,
    close: Arc<Notify>,
) {
    let (head, mut body) = request.into_parts();
    if head.uri.path() == "/healthz" {
        respond.send_response(Response::new(()), true).unwrap();
        return;
    }
    let (_here, _all) = (CounterGuard::new(&here), CounterGuard::new(&shared.in_flight));
    shared.most_under_way.fetch_max(here.load(Ordering::SeqCst), Ordering::SeqCst);
    // A test may release the call as soon as it is counted.
    let released = shared.release.notified();
    let number = shared.calls.fetch_add(1, Ordering::SeqCst);
    let mut behavior = shared.behavior.lock().clone();
    if matches!(behavior, H2ToolBehavior::Wait) {
        let whole = read(&mut body, Duration::ZERO).await;
        tokio::select! {
            () = released => {}
            reason = std::future::poll_fn(|context| respond.poll_reset(context)) => {
                assert_eq!(reason.ok(), Some(Reason::CANCEL));
                shared.canceled.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
        if let Some(whole) = whole {
            describe(&head, &whole, respond);
        }
        return;
    }
    if let H2ToolBehavior::ResetFirst(first, reason) = behavior {
        behavior = if number < first { H2ToolBehavior::Reset(reason) } else { H2ToolBehavior::Describe };
    }
    match behavior {
        H2ToolBehavior::Describe => {
            if let Some(body) = read(&mut body, Duration::ZERO).await {
                describe(&head, &body, respond);
            }
        }
        H2ToolBehavior::Respond(headers, pieces, end) => say(respond, &headers, pieces, end, &close).await,
        H2ToolBehavior::Reset(reason) => respond.send_reset(reason),
        H2ToolBehavior::Close => close.notify_one(),
        H2ToolBehavior::Early => {
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            send.send_data(Bytes::from_static(b"enough"), true).unwrap();
            // Fault timing: a reset discards frames that are not sent yet.
            tokio::time::sleep(Duration::from_millis(50)).await;
            send.send_reset(Reason::NO_ERROR);
        }
        H2ToolBehavior::Much(length) => {
            let send = respond.send_response(Response::new(()), false).unwrap();
            if !much(send, length).await {
                shared.canceled.fetch_add(1, Ordering::SeqCst);
            }
        }
        H2ToolBehavior::Sip(pause) => {
            let length = read(&mut body, pause).await.map_or(0, |body| body.len());
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            let _sent = send.send_data(length.to_string().into(), true);
        }
        H2ToolBehavior::Wait | H2ToolBehavior::ResetFirst(..) => {}
    }
}

/// The number of bytes that [`H2ToolBehavior::Sip`] reads between two pauses.
const SIP: usize = 64 << 10;

/// Reads the whole body. Returns `None` if it is cut off.
async fn read(body: &mut RecvStream, pause: Duration) -> Option<Vec<u8>> {
    let (mut whole, mut paused_at) = (Vec::new(), 0);
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        body.flow_control().release_capacity(data.len()).unwrap();
        whole.extend_from_slice(&data);
        if !pause.is_zero() && whole.len() >= paused_at + SIP {
            paused_at = whole.len();
            tokio::time::sleep(pause).await;
        }
    }
    Some(whole)
}

fn describe(head: &Parts, body: &[u8], mut respond: SendResponse<Bytes>) {
    let text = json!({
        "method": head.method.as_str(),
        "scheme": head.uri.scheme_str(),
        "authority": head.uri.authority().map(http::uri::Authority::as_str),
        "target": head.uri.path_and_query().map(http::uri::PathAndQuery::as_str),
        "headers": head.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), value.to_str().unwrap().into())
        }).collect::<serde_json::Map<_, _>>(),
        "body": String::from_utf8_lossy(body),
        "length": body.len(),
    })
    .to_string();
    let response = Response::builder()
        .header("content-type", "application/json")
        .header("content-length", text.len())
        .header("x-tool", "yes")
        .header("x-request-id", "of-the-tool");
    if let Ok(mut send) = respond.send_response(response.body(()).unwrap(), false) {
        let _sent = send.send_data(text.into(), true);
    }
}

async fn say(
    mut respond: SendResponse<Bytes>,
    headers: &[(String, String)],
    pieces: Vec<Bytes>,
    end: End,
    close: &Notify,
) {
    let response = headers.iter().fold(Response::builder(), |response, (name, value)| match name.as_str() {
        ":status" => response.status(value.as_str()),
        ":hints" => response,
        _ => response.header(name, value),
    });
    for _ in headers.iter().filter(|(name, _)| name == ":hints") {
        respond.send_informational(Response::builder().status(103).body(()).unwrap()).unwrap();
    }
    let bare = pieces.is_empty() && matches!(end, End::Whole);
    let mut send = respond.send_response(response.body(()).unwrap(), bare).unwrap();
    if bare {
        return;
    }
    for piece in pieces {
        send.send_data(piece, false).unwrap();
    }
    match end {
        End::Whole => send.send_data(Bytes::new(), true).unwrap(),
        End::Trailers => {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", "1".parse().unwrap());
            send.send_trailers(trailers).unwrap();
        }
        // Fault timing: a reset discards frames that are not sent yet.
        End::Reset(reason) => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            send.send_reset(reason);
        }
        End::Close => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            close.notify_one();
        }
        End::Never => std::future::pending().await,
    }
}

/// Sends so many bytes. Returns true unless the peer resets the stream.
async fn much(mut send: SendStream<Bytes>, length: usize) -> bool {
    let piece = Bytes::from(vec![b'a'; 16 << 10]);
    let mut left = length;
    while left > 0 {
        let wanted = left.min(piece.len());
        send.reserve_capacity(wanted);
        while send.capacity() == 0 {
            match std::future::poll_fn(|context| send.poll_capacity(context)).await {
                Some(Ok(_)) => {}
                _ => return false,
            }
        }
        let now = wanted.min(send.capacity());
        if send.send_data(piece.slice(..now), now == left).is_err() {
            return false;
        }
        left -= now;
    }
    true
}
