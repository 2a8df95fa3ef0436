//! One attempt of a call at one origin.

use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use shared::{
    grant::Grant,
    headers::{self, Nominated},
    origin::{CONNECT_TIMEOUT_MS, Origin, RESPONSE_TIMEOUT_MS},
    problem::{Code, Problem},
    proof::Proof,
    route::{CallMethod, ToolCall},
    time::UnixMillis,
    transport::Address,
};
use wasm_bindgen::JsValue;
use worker::{js_sys::Promise, web_sys};

use super::{
    attempt_error::AttemptError,
    fetch::{discard, fetch},
    probe::is_reachable,
    upload::{Pipe, Upload},
};
use crate::{body, clock, context::RequestContext, promise};

/// Wait for the origin's side of a broken upload, in milliseconds, before the client is held
/// responsible. The runtime reports only that one side broke. If it was the origin, its response or
/// failure follows at once.
const BROKEN_PIPE_MS: u64 = 250;

/// One attempt of a call at one origin.
pub(super) struct Attempt<'a> {
    pub(super) context: &'a RequestContext<'a>,
    pub(super) call: &'a ToolCall<'a>,
    /// Returns the grant for the call, issued at the time of sending.
    pub(super) grant: &'a dyn Fn(UnixMillis) -> Grant,
    pub(super) origin: &'a Origin,
    /// Whether there is another origin to try.
    pub(super) has_next: bool,
    /// Whether the origin responded a moment ago.
    pub(super) is_confirmed: bool,
}

type Fetched = Result<web_sys::Response, JsValue>;
type Outcome = Result<web_sys::Response, AttemptError>;

impl Attempt<'_> {
    /// Sends the call. Returns the response that the origin's proxy proves to be its own. A POST
    /// must not be executed twice, and its progress is unknown after a failure. So if there is
    /// another origin, this one must have responded lately or respond to a probe now.
    pub(super) async fn run(&self, upload: &Upload) -> Outcome {
        let needs_probe = self.call.method == CallMethod::Post && self.has_next && !self.is_confirmed;
        if needs_probe && !self.is_reachable().await {
            return Err(AttemptError::ProbeFailed);
        }
        let controller = web_sys::AbortController::new()?;
        let pipe = upload.pipe()?;
        let body = match (&pipe, upload) {
            (Some(pipe), _) => Some(pipe.readable.as_ref()),
            (None, Upload::Buffered(bytes)) => Some(bytes.as_ref()),
            (None, Upload::Empty | Upload::Streamed { .. }) => None,
        };
        let (request, proof) = self.request(body, &controller.signal())?;
        let outcome = match (self.call.method, pipe) {
            (CallMethod::Get, _) => self.get(&request).await,
            (CallMethod::Post, None) => await_response(pin!(self.fetch(&request)), RESPONSE_TIMEOUT_MS).await,
            (CallMethod::Post, Some(pipe)) => self.stream(&request, pipe, &controller).await,
        };
        if outcome.is_err() {
            controller.abort();
        }
        accept(outcome?, &proof)
    }

    fn fetch(&self, request: &web_sys::Request) -> impl Future<Output = Fetched> {
        fetch(self.context.bindings, request)
    }

    async fn is_reachable(&self) -> bool {
        is_reachable(self.context, self.origin).await
    }

    /// Sends a GET. It is safe to repeat, so the origin is probed only after a failure.
    async fn get(&self, request: &web_sys::Request) -> Outcome {
        let mut response = pin!(self.fetch(request));
        let patience_ms = if self.has_next { CONNECT_TIMEOUT_MS } else { RESPONSE_TIMEOUT_MS };
        match promise::timeout(patience_ms, response.as_mut()).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(_)) if !self.is_reachable().await => Err(AttemptError::ProbeFailed),
            Some(Err(thrown)) => Err(thrown.into()),
            None if self.has_next && !self.is_reachable().await => Err(AttemptError::ProbeFailed),
            None => await_response(response, RESPONSE_TIMEOUT_MS.saturating_sub(patience_ms)).await,
        }
    }

    /// Sends a POST whose body is still arriving.
    async fn stream(
        &self,
        request: &web_sys::Request,
        pipe: Pipe,
        controller: &web_sys::AbortController,
    ) -> Outcome {
        let mut response = pin!(self.fetch(request));
        let mut finished = pin!(promise::settled(pipe.finished.clone()));
        loop {
            let either = select(finished.as_mut(), response.as_mut());
            match promise::timeout(RESPONSE_TIMEOUT_MS, either).await {
                Some(Either::Left((Ok(_), _))) => return await_response(response, RESPONSE_TIMEOUT_MS).await,
                Some(Either::Left((Err(_), _))) => return blame(response).await,
                Some(Either::Right((Ok(response), _))) => {
                    self.finish_upload(pipe.finished, controller);
                    return Ok(response);
                }
                Some(Either::Right((Err(thrown), _))) => return Err(thrown.into()),
                // The client may be slow, but an origin that stalls would hold the call forever.
                None if self.is_reachable().await => {}
                None => return Err(AttemptError::UploadStalled { ms: RESPONSE_TIMEOUT_MS }),
            }
        }
    }

    /// Continues an upload after its response. If the client breaks it off, it is aborted at the
    /// origin too.
    fn finish_upload(&self, finished: Promise, controller: &web_sys::AbortController) {
        let controller = controller.clone();
        self.context.execution.wait_until(async move {
            if promise::settled(finished).await.is_err() {
                controller.abort();
            }
        });
    }

    /// Builds the request to the origin, with the client's end-to-end headers and the grant for
    /// exactly what is sent. Returns it with the proof that the response must carry.
    fn request(
        &self,
        body: Option<&JsValue>,
        signal: &web_sys::AbortSignal,
    ) -> Result<(web_sys::Request, Proof), JsValue> {
        let init = web_sys::RequestInit::new();
        init.set_method(self.call.method.method().as_str());
        init.set_redirect(web_sys::RequestRedirect::Manual);
        // A response belongs to one key. No cache may serve it to another.
        init.set_cache(web_sys::RequestCache::NoStore);
        init.set_signal(Some(signal));
        init.set_headers(&*self.headers()?);
        if let Some(body) = body {
            init.set_body(body);
        }
        let context = self.context;
        let url = format!("{}{}", self.origin.base, context.address.target);
        let request = web_sys::Request::new_with_str_and_init(&url, &init)?;
        let sent_url = request.url();
        let target = Address::parse(&sent_url).map_or(context.address.target, |address| address.target);
        let grant = (self.grant)(clock::now());
        let signed = grant.sign(self.call, target, &self.origin.name, &context.bindings.grants);
        request.headers().set(headers::GRANT, &signed.text)?;
        Ok((request, signed.proof))
    }

    /// Returns the client's end-to-end headers.
    fn headers(&self) -> Result<web_sys::Headers, JsValue> {
        let client = self.context.request;
        let kept = web_sys::Headers::new_with_headers(&client.raw.headers())?;
        let nominated = Nominated::of(client.header("connection").map(str::as_bytes).into_iter());
        for (name, _) in &client.headers {
            // The runtime writes the framing of what it sends.
            let is_framing = matches!(name.as_str(), "content-length" | "transfer-encoding");
            if is_framing || !headers::reaches_tool(name) || nominated.holds(name) {
                kept.delete(name)?;
            }
        }
        Ok(kept)
    }
}

async fn await_response(response: Pin<&mut impl Future<Output = Fetched>>, ms: u64) -> Outcome {
    match promise::timeout(ms, response).await {
        Some(fetched) => Ok(fetched?),
        None => Err(AttemptError::TimedOut { ms: RESPONSE_TIMEOUT_MS }),
    }
}

/// Determines which side broke the pipe of an upload.
async fn blame(response: Pin<&mut impl Future<Output = Fetched>>) -> Outcome {
    match promise::timeout(BROKEN_PIPE_MS, response).await {
        Some(fetched) => Ok(fetched?),
        None => Err(AttemptError::Client(body::incomplete())),
    }
}

/// Returns the response if it has a valid proof. A refusal that the proxy wrote before it had
/// verified the grant cannot carry the proof, so only its code is trusted.
fn accept(response: web_sys::Response, proof: &Proof) -> Outcome {
    let header = |name: &str| response.headers().get(name).ok().flatten();
    if header(headers::PROOF).is_some_and(|text| proof.matches(&text)) {
        return Ok(response);
    }
    discard(&response);
    let refusal = header(headers::PROBLEM).and_then(|code| Code::parse(&code));
    Err(match refusal {
        Some(Code::GrantInvalid) => AttemptError::GrantRejected,
        Some(code) if code.status() < 500 => {
            AttemptError::Client(Problem::new(code, "the data center refused the request"))
        }
        Some(code) => AttemptError::CallRefused(code),
        None => AttemptError::Unproven { status: response.status() },
    })
}
