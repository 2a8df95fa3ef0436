//! One attempt of a call at one origin.
//!
//! Why: docs/decisions/edge.md, "A response without proof is not charged, and a POST is not
//! repeated".

use std::borrow::Cow;
use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use shared::grant::{Grant, sent_reason};
use shared::headers::{self, Nominated};
use shared::origin::{CONNECT_TIMEOUT_MS, Origin, RESPONSE_TIMEOUT_MS};
use shared::problem::{Problem, codes};
use shared::proof::Proof;
use shared::route::{CallMethod, ToolCall};
use shared::time::UnixMillis;
use shared::trace::{Span, TRACEPARENT, TRACESTATE};
use shared::url::Address;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::Promise;
use worker::web_sys;

use super::attempt_error::AttemptError;
use super::probe::{discard, is_reachable};
use super::upload::{Pipe, Upload};
use crate::context::RequestContext;
use crate::runtime::streamed_response::StreamedResponse;
use crate::runtime::{body, calls, clock, promise, task};

/// Wait for the origin's side of a broken upload, in milliseconds, before the client is held
/// responsible. The runtime reports only that one side broke. If it was the origin, its response or
/// failure follows immediately.
const BROKEN_PIPE_MS: u64 = 250;

/// One attempt of a call at one origin.
pub(super) struct Attempt<'a> {
    pub(super) context: &'a RequestContext<'a>,
    pub(super) call: &'a ToolCall<'a>,
    /// Returns the grant for the call, issued at the time of sending.
    pub(super) grant: &'a dyn Fn(UnixMillis) -> Grant,
    /// The span of the call at the edge.
    pub(super) span: Span,
    pub(super) origin: &'a Origin,
    /// Whether the call is tried once more if this attempt fails, maybe at the same origin.
    pub(super) has_next: bool,
    /// Whether there is another origin to try.
    pub(super) has_other: bool,
    /// Whether the origin responded a moment ago.
    pub(super) is_confirmed: bool,
}

type Fetched = Result<web_sys::Response, JsValue>;
type Received = Result<web_sys::Response, AttemptError>;

impl Attempt<'_> {
    /// Sends the call. Returns the response that the origin's proxy proves to be its own. A POST
    /// must not be executed twice, and its progress is unknown after a failure. So if there is
    /// another attempt, the origin must have responded lately or respond to a probe now.
    pub(super) async fn run(&self, upload: &Upload) -> Result<StreamedResponse, AttemptError> {
        let needs_probe = self.call.method == CallMethod::Post && self.has_next && !self.is_confirmed;
        if needs_probe && !self.is_reachable().await {
            return Err(AttemptError::ProbeFailed);
        }
        // After the probe, which takes time: a call that nobody waits for must not be executed.
        if self.context.request.has_left() {
            return Err(AttemptError::ClientLeft { is_sent: false });
        }
        let pipe = upload.pipe()?;
        // If there is no other origin, a whole request has the runtime's own timeout: nothing would
        // abort it, and no timer is needed.
        let is_last = !self.has_other && pipe.is_none();
        let controller = if is_last { None } else { Some(web_sys::AbortController::new()?) };
        let body = match (&pipe, upload) {
            (Some(pipe), _) => pipe.readable.clone().into(),
            (None, Upload::Buffered(bytes)) => bytes.clone().into(),
            (None, Upload::Empty | Upload::Streamed { .. }) => JsValue::UNDEFINED,
        };
        let (response, proof) = self.send(&body, controller.as_ref())?;
        let mut response = pin!(response);
        let outcome = match (self.call.method, pipe, &controller) {
            (CallMethod::Post, Some(pipe), Some(controller)) => self.stream(response, pipe, controller).await,
            (CallMethod::Get, ..) if is_last => match response.as_mut().await {
                Ok(response) => Ok(response),
                Err(thrown) => self.diagnose(thrown.into()).await,
            },
            (CallMethod::Get, ..) => self.get(response).await,
            (CallMethod::Post, ..) if is_last => response.await.map_err(AttemptError::from),
            (CallMethod::Post, ..) => await_response(response, RESPONSE_TIMEOUT_MS).await,
        };
        if let (Err(_), Some(controller)) = (&outcome, &controller) {
            // The origin would otherwise continue with a call that has failed here, and that may be
            // sent elsewhere.
            controller.abort();
        }
        accept(outcome.map_err(|error| self.unless_left(error))?, &proof)
    }

    /// Returns the error, unless it is that the client has left.
    fn unless_left(&self, error: AttemptError) -> AttemptError {
        match error {
            // Kept, because it knows whether a tool has part of the body.
            AttemptError::UploadCutOff { .. } => error,
            // The runtime cancels the fetch of a client that leaves. The origin must not be taken
            // for down.
            _ if self.context.request.has_left() => AttemptError::ClientLeft { is_sent: true },
            error => error,
        }
    }

    async fn is_reachable(&self) -> bool {
        is_reachable(self.context.bindings, self.context.request.id, self.origin).await
    }

    /// Awaits the response to a GET if there is another origin. A GET is safe to repeat, so the origin
    /// is probed only after a failure, or once it is silent.
    async fn get(&self, mut response: Pin<&mut impl Future<Output = Fetched>>) -> Received {
        match promise::timeout(CONNECT_TIMEOUT_MS, response.as_mut()).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(thrown)) => self.diagnose(thrown.into()).await,
            // Silent after the time of a connection: the probe tells a slow tool from an origin
            // that is gone.
            None if !self.is_reachable().await => Err(AttemptError::ProbeFailed),
            None => await_response(response, RESPONSE_TIMEOUT_MS.saturating_sub(CONNECT_TIMEOUT_MS)).await,
        }
    }

    /// Returns the failure of a GET, which is the origin's if it does not respond to a probe either.
    async fn diagnose(&self, error: AttemptError) -> Received {
        match error {
            // The origin had the whole time. A probe would only add to the wait.
            timed_out @ AttemptError::TimedOut { .. } => Err(timed_out),
            // The origin did not fail.
            error if self.context.request.has_left() => Err(error),
            _ if !self.is_reachable().await => Err(AttemptError::ProbeFailed),
            error => Err(error),
        }
    }

    /// Sends a POST whose body is still arriving.
    async fn stream(
        &self,
        mut response: Pin<&mut impl Future<Output = Fetched>>,
        pipe: Pipe,
        controller: &web_sys::AbortController,
    ) -> Received {
        let mut finished = pin!(promise::settled(pipe.finished.clone()));
        loop {
            let either = select(finished.as_mut(), response.as_mut());
            match promise::timeout(RESPONSE_TIMEOUT_MS, either).await {
                Some(Either::Left((Ok(_), _))) => return await_response(response, RESPONSE_TIMEOUT_MS).await,
                Some(Either::Left((Err(reason), _))) => return self.blame(&reason, response).await,
                // A tool may respond before it has the whole body. The upload continues beside the
                // response.
                Some(Either::Right((Ok(response), _))) => {
                    self.finish_upload(pipe.finished, controller);
                    return Ok(response);
                }
                Some(Either::Right((Err(thrown), _))) if !self.context.request.has_left() => {
                    return Err(thrown.into());
                }
                // Both ends of the pipe are broken.
                Some(Either::Right((Err(_), finished))) => {
                    return Err(match promise::timeout(BROKEN_PIPE_MS, finished).await {
                        Some(Err(reason)) => cut_off(&reason),
                        Some(Ok(_)) | None => cut_off(&JsValue::UNDEFINED),
                    });
                }
                // The client may be slow, but an origin that stalls would hold the call forever.
                None if self.is_reachable().await => {}
                None => return Err(AttemptError::UploadStalled { ms: RESPONSE_TIMEOUT_MS }),
            }
        }
    }

    /// Determines which side broke the pipe of an upload.
    async fn blame(&self, reason: &JsValue, response: Pin<&mut impl Future<Output = Fetched>>) -> Received {
        match promise::timeout(BROKEN_PIPE_MS, response).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(thrown)) if !self.context.request.has_left() => Err(thrown.into()),
            Some(Err(_)) | None => Err(cut_off(reason)),
        }
    }

    /// Continues an upload after its response. If the client breaks it off, it is aborted at the
    /// origin too.
    fn finish_upload(&self, finished: Promise, controller: &web_sys::AbortController) {
        let controller = controller.clone();
        task::in_background(self.context.execution, async move {
            if promise::settled(finished).await.is_err() {
                controller.abort();
            }
        });
    }

    /// Sends the request to the origin, with the client's end-to-end headers and the grant for
    /// exactly what is sent. Returns the response to come, with the proof that it must carry.
    /// Without a controller, the runtime ends the wait for the response.
    fn send(
        &self,
        body: &JsValue,
        controller: Option<&web_sys::AbortController>,
    ) -> Result<(impl Future<Output = Fetched> + use<>, Proof), JsValue> {
        let context = self.context;
        let url = format!("{}{}", self.origin.base, context.address.target);
        // The grant signs what the proxy sees. The runtime may write a character of the URL in
        // another way.
        let sent_url = sent_url(&url, context.address.target)?;
        let target = match &sent_url {
            Cow::Borrowed(_) => context.address.target,
            Cow::Owned(url) => Address::parse(url).map_or(context.address.target, |address| address.target),
        };
        // For each attempt: a grant is for one origin, and is valid for seconds only.
        let grant = (self.grant)(clock::now());
        let signed = grant.sign(self.call, target, &self.origin.name, &context.bindings.grants);
        let sent = calls::call_origin(
            context.bindings.origin_cert.as_ref(),
            &self.head(&url, &signed.text),
            &context.request.raw,
            body,
            controller,
            u32::try_from(RESPONSE_TIMEOUT_MS).unwrap_or(u32::MAX),
        )?;
        Ok((async { Ok(promise::settled(sent).await?.unchecked_into()) }, signed.proof))
    }

    /// Returns URL and method, names and values of three headers to set, and the names of the client's
    /// headers that do not reach the tool, one a line.
    fn head(&self, url: &str, grant: &str) -> String {
        let client = self.context.request;
        let nominated = Nominated::of(client.header("connection").map(str::as_bytes).into_iter());
        let is_dropped = |name: &&str| {
            // The runtime writes the framing of what it sends.
            let is_framing = matches!(*name, "content-length" | "transfer-encoding");
            is_framing
                || !headers::reaches_tool(name)
                || nominated.holds(name)
                // Without a valid `traceparent` it says nothing of this trace.
                || *name == TRACESTATE
                    && !client.header(name).is_some_and(|state| self.span.keeps_state(state))
        };
        let dropped = client.headers().map(|(name, _)| name).filter(is_dropped);
        let (method, trace) = (self.call.method.method().as_str(), self.span.context.to_string());
        let place = [headers::DATA_CENTER, &self.origin.name];
        let first = [url, method, headers::GRANT, grant, TRACEPARENT, &trace].into_iter().chain(place);
        first.chain(dropped).collect::<Vec<_>>().join("\n")
    }
}

/// Returns the URL as the runtime sends it. It changes none whose path and query have only
/// characters that no URL parser changes.
fn sent_url<'a>(url: &'a str, target: &str) -> Result<Cow<'a, str>, JsValue> {
    // No `.` and no `%`: a URL parser removes dot segments, also escaped ones.
    let is_kept = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_~?&=+,:@".contains(&byte);
    if target.bytes().all(is_kept) {
        return Ok(url.into());
    }
    Ok(web_sys::Request::new_with_str(url)?.url().into())
}

async fn await_response(response: Pin<&mut impl Future<Output = Fetched>>, ms: u64) -> Received {
    match promise::timeout(ms, response).await {
        Some(fetched) => Ok(fetched?),
        None => Err(AttemptError::TimedOut { ms: RESPONSE_TIMEOUT_MS }),
    }
}

/// Returns the failure of an upload whose pipe broke for this reason on the client's side.
fn cut_off(reason: &JsValue) -> AttemptError {
    AttemptError::UploadCutOff { problem: body::incomplete(), is_sent: Pipe::is_sent(reason) }
}

/// Returns the response if it has a valid proof. A refusal that the proxy wrote before it had
/// verified the grant cannot carry the proof, so only its code is trusted.
fn accept(response: web_sys::Response, proof: &Proof) -> Result<StreamedResponse, AttemptError> {
    let response = StreamedResponse::new(response)?;
    if response.header(headers::PROOF).is_some_and(|text| proof.matches(text)) {
        return Ok(response);
    }
    // Whatever else stands at that address must not respond to a customer in our name.
    discard(&response.raw);
    let refusal = response.header(headers::PROBLEM).and_then(codes::parse);
    Err(match refusal {
        Some(codes::GRANT_INVALID) => {
            let reason = response.header(headers::GRANT_REFUSAL).and_then(sent_reason);
            AttemptError::GrantRejected { reason: reason.unwrap_or("unknown").to_owned() }
        }
        Some(code) if code.status() < 500 => {
            AttemptError::RequestRefused(Problem::new(code, "the data center refused the request"))
        }
        Some(code) => AttemptError::CallRefused(code),
        None => AttemptError::Unproven { status: response.status },
    })
}
