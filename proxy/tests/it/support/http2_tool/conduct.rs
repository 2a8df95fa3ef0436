//! How a tool in HTTP/2 meets its calls.

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

use super::{Counted, Shared};

/// How calls are met. Probes are always met with 200.
#[derive(Clone, Debug)]
pub(crate) enum Conduct {
    /// With 200 and a description of the request in JSON.
    Describe,
    /// Not at all until [`Http2Tool::release`], which describes it.
    Wait,
    /// With a head, pieces of a body, and an end of some kind. `:status` is what it says, `:hints` comes before it.
    Say(Vec<(String, String)>, Vec<Bytes>, End),
    /// With a reset instead of an answer.
    Reset(Reason),
    /// With resets for the first so many, then with a description.
    ResetFirst(usize, Reason),
    /// With the end of the connection.
    Close,
    /// With an answer that is there before the request's body was read, of which the tool wants no more.
    Early,
    /// With so many bytes, as fast as they are taken.
    Much(usize),
    /// With a count of the body's bytes, of which it reads some, then pauses, and so on.
    Sip(Duration),
}

/// How an answer ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Whole,
    Trailers,
    Reset(Reason),
    Close,
    /// It does not.
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
    let (_here, _all) = (Counted::new(&here), Counted::new(&shared.under_way));
    shared.most_under_way.fetch_max(here.load(Ordering::SeqCst), Ordering::SeqCst);
    let number = shared.calls.fetch_add(1, Ordering::SeqCst);
    let released = shared.release.notified();
    let mut conduct = shared.conduct.lock().clone();
    if matches!(conduct, Conduct::Wait) {
        let whole = read(&mut body, Duration::ZERO).await;
        tokio::select! {
            () = released => {}
            reason = std::future::poll_fn(|context| respond.poll_reset(context)) => {
                assert_eq!(reason.ok(), Some(Reason::CANCEL));
                shared.taken_back.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
        if let Some(whole) = whole {
            describe(&head, &whole, respond);
        }
        return;
    }
    if let Conduct::ResetFirst(first, reason) = conduct {
        conduct = if number < first { Conduct::Reset(reason) } else { Conduct::Describe };
    }
    match conduct {
        Conduct::Describe => {
            if let Some(body) = read(&mut body, Duration::ZERO).await {
                describe(&head, &body, respond);
            }
        }
        Conduct::Say(headers, pieces, end) => say(respond, &headers, pieces, end, &close).await,
        Conduct::Reset(reason) => respond.send_reset(reason),
        Conduct::Close => close.notify_one(),
        Conduct::Early => {
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            send.send_data(Bytes::from_static(b"enough"), true).unwrap();
            // Time for it to be sent: a reset takes what was not with it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            send.send_reset(Reason::NO_ERROR);
        }
        Conduct::Much(length) => {
            let send = respond.send_response(Response::new(()), false).unwrap();
            if !much(send, length).await {
                shared.taken_back.fetch_add(1, Ordering::SeqCst);
            }
        }
        Conduct::Sip(pause) => {
            let length = read(&mut body, pause).await.map_or(0, |body| body.len());
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            let _sent = send.send_data(length.to_string().into(), true);
        }
        Conduct::Wait | Conduct::ResetFirst(..) => {}
    }
}

/// So much is read at once by who sips.
const SIP: usize = 64 << 10;

/// The whole body, if it comes.
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
        // Time for what was said to be sent: a reset takes what was not with it.
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

/// Whether all of it was taken.
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
