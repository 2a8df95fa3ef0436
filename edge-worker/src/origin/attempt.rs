//! One attempt of a call at one origin.

use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use shared::{
    headers::{self, Nominated},
    origin::{CONNECT_TIMEOUT_MS, Origin, OriginError, RESPONSE_TIMEOUT_MS},
    problem::{Code, Problem},
    proof::Proof,
    route::CallMethod,
    transport::Address,
};
use wasm_bindgen::JsValue;
use worker::{js_sys::Promise, web_sys};

use super::{
    Passage, discard, fetch, is_there,
    upload::{Pipe, Upload},
};
use crate::{body, clock, log, promise};

/// Wait for the origin's side of a broken upload, in milliseconds, before the client is held responsible.
/// The runtime reports only that one side broke. If it was the origin, its response or failure follows at
/// once.
const BROKEN_PIPE_MS: u64 = 250;

pub(super) struct Attempt<'a> {
    pub(super) passage: &'a Passage<'a>,
    pub(super) origin: &'a Origin,
    /// Whether there is another origin to try.
    pub(super) another: bool,
    /// Whether the origin responded a moment ago.
    pub(super) confirmed: bool,
}

/// The reason why there is no response.
pub(super) enum Undelivered {
    /// The origin failed.
    ByOrigin(OriginError),
    /// The client did not send its whole request.
    ByClient(Problem),
}

type Fetched = Result<web_sys::Response, JsValue>;
type Delivered = Result<web_sys::Response, Undelivered>;

impl Attempt<'_> {
    /// Sends the call. Returns the response that the origin's proxy proves to be its own. A POST must not be
    /// executed twice, and its progress is unknown after a failure. So if there is another origin, this one
    /// must have responded lately or respond to a probe now.
    pub(super) async fn run(&self, upload: &Upload) -> Delivered {
        let method = self.passage.call.method;
        let needs_probe = method == CallMethod::Post && self.another && !self.confirmed;
        if needs_probe && !is_there(self.passage.context, self.origin).await {
            return Err(self.failed(OriginError::Refused, "does not respond to a probe as our proxy"));
        }
        let controller = web_sys::AbortController::new().map_err(|fault| self.lost(&fault))?;
        let pipe = upload.pipe().map_err(|fault| self.lost(&fault))?;
        let body = match (&pipe, upload) {
            (Some(pipe), _) => Some(pipe.readable.as_ref()),
            (None, Upload::Held(bytes)) => Some(bytes.as_ref()),
            (None, Upload::Empty | Upload::Streamed { .. }) => None,
        };
        let (request, proof) = self.request(body, &controller.signal()).map_err(|fault| self.lost(&fault))?;
        let outcome = match (method, pipe) {
            (CallMethod::Get, _) => self.read(&request).await,
            (CallMethod::Post, None) => {
                self.await_response(pin!(self.fetch(&request)), RESPONSE_TIMEOUT_MS).await
            }
            (CallMethod::Post, Some(pipe)) => self.stream(&request, pipe, &controller).await,
        };
        if outcome.is_err() {
            controller.abort();
        }
        self.accept(outcome?, &proof)
    }

    fn fetch(&self, request: &web_sys::Request) -> impl Future<Output = Fetched> {
        fetch(self.passage.context.bindings, request)
    }

    /// Sends a call that only reads. It can be repeated, so what its failure meant may be found out afterwards.
    async fn read(&self, request: &web_sys::Request) -> Delivered {
        let mut response = pin!(self.fetch(request));
        let patience = if self.another { CONNECT_TIMEOUT_MS } else { RESPONSE_TIMEOUT_MS };
        match promise::within(patience, response.as_mut()).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(_)) if !is_there(self.passage.context, self.origin).await => {
                Err(self.failed(OriginError::Refused, "takes no connection"))
            }
            Some(Err(fault)) => Err(self.lost(&fault)),
            None if self.another && !is_there(self.passage.context, self.origin).await => {
                Err(self.failed(OriginError::Refused, "is silent"))
            }
            None => self.await_response(response, RESPONSE_TIMEOUT_MS.saturating_sub(patience)).await,
        }
    }

    /// Sends a call of which the body is still coming.
    async fn stream(
        &self,
        request: &web_sys::Request,
        pipe: Pipe,
        controller: &web_sys::AbortController,
    ) -> Delivered {
        let mut response = pin!(self.fetch(request));
        let mut finished = pin!(promise::settled(pipe.finished.clone()));
        loop {
            let either = select(finished.as_mut(), response.as_mut());
            match promise::within(RESPONSE_TIMEOUT_MS, either).await {
                Some(Either::Left((Ok(_), _))) => {
                    return self.await_response(response, RESPONSE_TIMEOUT_MS).await;
                }
                Some(Either::Left((Err(_), _))) => return self.await_reason(response).await,
                Some(Either::Right((Ok(response), _))) => {
                    self.finish_upload(pipe.finished, controller);
                    return Ok(response);
                }
                Some(Either::Right((Err(fault), _))) => return Err(self.lost(&fault)),
                // The client may take its time, but an origin that no longer takes anything would hold the call forever.
                None if is_there(self.passage.context, self.origin).await => {}
                None => return Err(self.failed(OriginError::TimedOut, "stopped in the middle of an upload")),
            }
        }
    }

    /// Determines which side broke the pipe.
    async fn await_reason(&self, response: Pin<&mut impl Future<Output = Fetched>>) -> Delivered {
        match promise::within(BROKEN_PIPE_MS, response).await {
            Some(fetched) => fetched.map_err(|fault| self.lost(&fault)),
            None => Err(Undelivered::ByClient(body::incomplete())),
        }
    }

    /// Continues an upload after its response. If the client breaks it off, it is aborted at the origin too.
    fn finish_upload(&self, finished: Promise, controller: &web_sys::AbortController) {
        let controller = controller.clone();
        self.passage.context.execution.wait_until(async move {
            if promise::settled(finished).await.is_err() {
                controller.abort();
            }
        });
    }

    async fn await_response(&self, response: Pin<&mut impl Future<Output = Fetched>>, ms: u64) -> Delivered {
        match promise::within(ms, response).await {
            Some(fetched) => fetched.map_err(|fault| self.lost(&fault)),
            None => Err(self.failed(OriginError::TimedOut, "does not respond in time")),
        }
    }

    /// Builds the request to the origin, with the client's end-to-end headers and the grant for exactly what is sent.
    /// Returns it with the proof that the response must carry.
    fn request(
        &self,
        body: Option<&JsValue>,
        signal: &web_sys::AbortSignal,
    ) -> Result<(web_sys::Request, Proof), JsValue> {
        let context = self.passage.context;
        let kept = web_sys::Headers::new_with_headers(&context.incoming.request.headers())?;
        let nominated = Nominated::of(context.incoming.header("connection").map(str::as_bytes).into_iter());
        for (name, _) in &context.incoming.headers {
            // The runtime writes the framing of what it sends.
            let framing = matches!(name.as_str(), "content-length" | "transfer-encoding");
            if framing || !headers::reaches_tool(name) || nominated.holds(name) {
                kept.delete(name)?;
            }
        }
        let init = web_sys::RequestInit::new();
        init.set_method(self.passage.call.method.method().as_str());
        init.set_redirect(web_sys::RequestRedirect::Manual);
        // A response belongs to one key. No cache may serve it to another.
        init.set_cache(web_sys::RequestCache::NoStore);
        init.set_signal(Some(signal));
        init.set_headers(&kept);
        if let Some(body) = body {
            init.set_body(body);
        }
        let url = format!("{}{}", self.origin.base, context.address.target);
        let request = web_sys::Request::new_with_str_and_init(&url, &init)?;
        let sent_url = request.url();
        let target = Address::parse(&sent_url).map_or(context.address.target, |address| address.target);
        let grant = (self.passage.grant)(clock::now());
        let signed = grant.sign(self.passage.call, target, &self.origin.name, &context.bindings.grants);
        request.headers().set(headers::GRANT, &signed.text)?;
        Ok((request, signed.proof))
    }

    /// Returns the response if it has a valid proof. A refusal that the proxy wrote before it had verified
    /// the grant cannot carry the proof, so only its code is believed.
    fn accept(&self, response: web_sys::Response, proof: &Proof) -> Delivered {
        let header = |name: &str| response.headers().get(name).ok().flatten();
        if header(headers::PROOF).is_some_and(|text| proof.matches(&text)) {
            return Ok(response);
        }
        discard(&response);
        let refusal = header(headers::PROBLEM).and_then(|code| Code::parse(&code));
        Err(match refusal {
            Some(Code::GrantInvalid) => {
                self.failed(OriginError::Rejected, "rejects the grant: check its secret, name and clock")
            }
            Some(code) if code.status() < 500 => {
                Undelivered::ByClient(Problem::new(code, "the data center refused the request"))
            }
            Some(code) => self.failed(OriginError::Rejected, &format!("refuses calls: {}", code.as_str())),
            None => {
                let status = response.status();
                let cause = format!("responded {status} without the proof that it is our proxy");
                self.failed(OriginError::of_unproven_response(status), &cause)
            }
        })
    }

    fn lost(&self, fault: &JsValue) -> Undelivered {
        self.failed(OriginError::Lost, &worker::Error::from(fault.clone()).to_string())
    }

    fn failed(&self, failure: OriginError, cause: &str) -> Undelivered {
        let cause = format!("{} {cause} ({failure:?})", self.origin.name);
        log::cause("origin call failed", Some(self.passage.context.incoming), cause);
        Undelivered::ByOrigin(failure)
    }
}
