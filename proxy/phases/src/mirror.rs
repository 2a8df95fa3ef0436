//! Copies of calls to a second server, whose responses are discarded. No call waits for its copy.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use shared::request::MAX_HEADER_LINES;
use tokio::time::timeout;

use crate::call::Call;
use crate::observe::metrics::MirrorOutcome;
use crate::state::State;
use direct::http_client::{self, ClientError};

/// Maximum number of header lines of a request to a tool: those of the client, and ours.
const MAX_LINES: usize = MAX_HEADER_LINES + 16;
/// The header of a request that is a copy.
const MIRRORED: &str = "x-gateway-mirrored";

/// Sends a copy of a call, if its pool has a mirror and the call is of its share. `head` is that of the
/// request to the tool without `Host`, and `body` is `None` if it was not buffered whole.
pub(crate) fn mirror(state: &Arc<State>, call: &Call, head: &[u8], body: Option<&[u8]>) {
    let Some(config) = &call.pool.config.mirror else { return };
    if fastrand::u32(0..100) >= config.percent {
        return;
    }
    // Bounded: a mirror that hangs would otherwise collect the bodies of all calls in memory.
    let slot = call.pool.try_mirror();
    let (Some(body), Some(slot)) = (body, slot) else {
        return state.metrics.mirrored.inc(MirrorOutcome::Skipped);
    };
    let Some(request) = copy(head, body, &config.address) else {
        return state.metrics.mirrored.inc(MirrorOutcome::Failed);
    };
    let (state, tool) = (Arc::clone(state), call.tool);
    let (address, time) = (config.address.clone(), call.pool.config.settings.answer_timeout);
    tokio::spawn(async move {
        // Held until the response has ended, because a copy in flight takes its memory until then.
        let _slot = slot;
        let outcome = match send(&address, request, time).await {
            Ok(()) => MirrorOutcome::Sent,
            Err(error) => {
                log::debug!("call not mirrored: tool={tool} mirror={address} error=\"{error}\"");
                MirrorOutcome::Failed
            }
        };
        state.metrics.mirrored.inc(outcome);
    });
}

/// Returns the request of a copy. The head is one that the relay has written.
fn copy(head: &[u8], body: &[u8], host: &str) -> Option<Request<Full<Bytes>>> {
    let whole = [head, b"\r\n"].concat();
    let mut lines = [httparse::EMPTY_HEADER; MAX_LINES];
    let mut parsed = httparse::Request::new(&mut lines);
    parsed.parse(&whole).ok()?;
    let mut request = Request::builder().method(parsed.method?).uri(parsed.path?);
    for line in parsed.headers {
        request = request.header(line.name, line.value);
    }
    // So that the server can tell a copy, and does nothing that must be done once.
    let request = request.header(header::HOST, host).header(MIRRORED, "1");
    request.body(Full::new(Bytes::copy_from_slice(body))).ok()
}

/// Sends a request, and reads its response to the end.
async fn send(address: &str, request: Request<Full<Bytes>>, time: Duration) -> Result<(), String> {
    let sent = async {
        let uri = format!("http://{address}").parse().map_err(|_| ClientError::Address)?;
        let mut connection = http_client::connect(&uri).await?;
        let mut response = connection.send_request(request).await?;
        // To the end, or the server would see each copy as a client that leaves.
        while let Some(frame) = response.frame().await {
            frame?;
        }
        Ok::<(), ClientError>(())
    };
    match timeout(time, sent).await {
        Ok(sent) => sent.map_err(|error| error.to_string()),
        Err(_elapsed) => Err("no response in time".to_owned()),
    }
}
