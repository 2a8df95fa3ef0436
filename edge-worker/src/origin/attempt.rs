//! One call to one origin.

use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use shared::{
    headers::{self, Nominated},
    origin::{ANSWER_MS, CONNECT_MS, Failure, Origin},
    problem::{Code, Problem},
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

/// How long the origin's side of a broken upload is waited for, in milliseconds, before the break is taken for the
/// client's. The runtime says only that one side broke. If it was the origin's, its response or its failure follows at
/// once.
const BROKEN_PIPE_MS: u64 = 250;

pub(super) struct Attempt<'a> {
    pub(super) passage: &'a Passage<'a>,
    pub(super) origin: &'a Origin,
    /// Whether there is another origin to turn to.
    pub(super) another: bool,
    /// Whether the origin responded a moment ago.
    pub(super) confirmed: bool,
}

/// Why there is no response.
pub(super) enum Undelivered {
    /// The origin failed.
    ByOrigin(Failure),
    /// The client did not send its whole request.
    ByClient(Problem),
}

type Fetched = Result<web_sys::Response, JsValue>;
type Delivered = Result<web_sys::Response, Undelivered>;

impl Attempt<'_> {
    pub(super) async fn run(&self, upload: &Upload) -> Delivered {
        let controller = web_sys::AbortController::new().map_err(|fault| self.lost(&fault))?;
        let outcome = match (self.passage.call.method, upload) {
            (CallMethod::Get, _) => self.read(&controller).await,
            (CallMethod::Post, upload) => self.post(upload, &controller).await,
        };
        if outcome.is_err() {
            controller.abort();
        }
        self.accept(outcome?)
    }

    /// Sends a call that only reads. It can be repeated, so what its failure meant may be found out afterwards.
    async fn read(&self, controller: &web_sys::AbortController) -> Delivered {
        let request = self.request(None, controller)?;
        let mut response = pin!(fetch(&request));
        let patience = if self.another { CONNECT_MS } else { ANSWER_MS };
        match promise::within(patience, response.as_mut()).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(_)) if !is_there(self.origin).await => {
                Err(self.failed(Failure::Refused, "takes no connection"))
            }
            Some(Err(fault)) => Err(self.lost(&fault)),
            None if self.another && !is_there(self.origin).await => {
                Err(self.failed(Failure::Refused, "is silent"))
            }
            None => self.await_response(response, ANSWER_MS.saturating_sub(patience)).await,
        }
    }

    /// Sends a call that must not be executed twice. Nothing tells afterwards how far it went. So if there is another
    /// origin, this one has to have responded lately, or to respond to a probe now.
    async fn post(&self, upload: &Upload, controller: &web_sys::AbortController) -> Delivered {
        if self.another && !self.confirmed && !is_there(self.origin).await {
            return Err(self.failed(Failure::Refused, "does not respond to a probe"));
        }
        match upload {
            Upload::Empty => self.send(None, controller).await,
            Upload::Held(bytes) => self.send(Some(bytes), controller).await,
            Upload::Streamed { source, length, is_spent } => {
                is_spent.set(true);
                let pipe = Pipe::start(source, *length).map_err(|fault| self.lost(&fault))?;
                self.stream(pipe, controller).await
            }
        }
    }

    async fn send(&self, body: Option<&JsValue>, controller: &web_sys::AbortController) -> Delivered {
        let request = self.request(body, controller)?;
        self.await_response(pin!(fetch(&request)), ANSWER_MS).await
    }

    async fn stream(&self, pipe: Pipe, controller: &web_sys::AbortController) -> Delivered {
        let request = self.request(Some(&pipe.readable), controller)?;
        let mut response = pin!(fetch(&request));
        let mut finished = pin!(promise::settled(pipe.finished.clone()));
        loop {
            let either = select(finished.as_mut(), response.as_mut());
            match promise::within(ANSWER_MS, either).await {
                Some(Either::Left((Ok(_), _))) => return self.await_response(response, ANSWER_MS).await,
                Some(Either::Left((Err(_), _))) => return self.await_reason(response).await,
                Some(Either::Right((Ok(response), _))) => {
                    self.finish_upload(pipe.finished, controller);
                    return Ok(response);
                }
                Some(Either::Right((Err(fault), _))) => return Err(self.lost(&fault)),
                // The client may take its time, but an origin that no longer takes anything would hold the call forever.
                None if is_there(self.origin).await => {}
                None => return Err(self.failed(Failure::TimedOut, "stopped in the middle of an upload")),
            }
        }
    }

    /// Finds out which side broke the pipe.
    async fn await_reason(&self, response: Pin<&mut impl Future<Output = Fetched>>) -> Delivered {
        match promise::within(BROKEN_PIPE_MS, response).await {
            Some(fetched) => fetched.map_err(|fault| self.lost(&fault)),
            None => Err(Undelivered::ByClient(body::incomplete())),
        }
    }

    /// Lets an upload go on whose response has come already. If the client breaks it off, it ends as cut at the origin.
    fn finish_upload(&self, finished: Promise, controller: &web_sys::AbortController) {
        let controller = controller.clone();
        self.passage.edge.ctx.wait_until(async move {
            if promise::settled(finished).await.is_err() {
                controller.abort();
            }
        });
    }

    async fn await_response(&self, response: Pin<&mut impl Future<Output = Fetched>>, ms: u64) -> Delivered {
        match promise::within(ms, response).await {
            Some(fetched) => fetched.map_err(|fault| self.lost(&fault)),
            None => Err(self.failed(Failure::TimedOut, "does not respond in time")),
        }
    }

    /// The request to the origin: the client's end-to-end headers, and the grant for exactly what is sent.
    fn request(
        &self,
        body: Option<&JsValue>,
        controller: &web_sys::AbortController,
    ) -> Result<web_sys::Request, Undelivered> {
        self.build(body, &controller.signal()).map_err(|fault| self.lost(&fault))
    }

    fn build(
        &self,
        body: Option<&JsValue>,
        signal: &web_sys::AbortSignal,
    ) -> Result<web_sys::Request, JsValue> {
        let edge = self.passage.edge;
        let kept = web_sys::Headers::new_with_headers(&edge.incoming.request.headers())?;
        let nominated = Nominated::of(edge.incoming.header("connection").map(str::as_bytes).into_iter());
        for (name, _) in &edge.incoming.headers {
            // The runtime writes the framing of what it sends.
            let framing = matches!(name.as_str(), "content-length" | "transfer-encoding");
            if framing || !headers::reaches_tool(name) || nominated.holds(name) {
                kept.delete(name)?;
            }
        }
        let init = web_sys::RequestInit::new();
        init.set_method(self.passage.call.method.method().as_str());
        init.set_redirect(web_sys::RequestRedirect::Manual);
        // An answer belongs to the key that asked: no cache on the way may give it to another.
        init.set_cache(web_sys::RequestCache::NoStore);
        init.set_signal(Some(signal));
        init.set_headers(&kept);
        if let Some(body) = body {
            init.set_body(body);
        }
        let url = format!("{}{}", self.origin.base, edge.address.target);
        let request = web_sys::Request::new_with_str_and_init(&url, &init)?;
        let sent_url = request.url();
        let target = Address::parse(&sent_url).map_or(edge.address.target, |address| address.target);
        let grant = (self.passage.grant)(clock::now());
        let signed = grant.sign(self.passage.call, target, &self.origin.name, &edge.bindings.grants);
        request.headers().set(headers::GRANT, &signed)?;
        Ok(request)
    }

    /// Tells the proxy's answers, which the client gets, from what stands in their place.
    fn accept(&self, response: web_sys::Response) -> Delivered {
        let header = |name: &str| response.headers().get(name).ok().flatten();
        let (refusal, id) = (header(headers::PROBLEM), header(headers::REQUEST_ID));
        let failure = match refusal {
            Some(code) => (code == Code::GrantInvalid.as_str()).then_some(Failure::Rejected),
            None if id == Some(self.passage.edge.incoming.id.to_string()) => None,
            None => Failure::of_foreign_answer(response.status()),
        };
        let Some(failure) = failure else { return Ok(response) };
        discard(&response);
        let cause = match failure {
            Failure::Rejected => {
                "does not accept our grant: is its secret, name or clock another?".to_owned()
            }
            _ => format!("answered {}, and not as our proxy", response.status()),
        };
        Err(self.failed(failure, &cause))
    }

    fn lost(&self, fault: &JsValue) -> Undelivered {
        self.failed(Failure::Lost, &worker::Error::from(fault.clone()).to_string())
    }

    fn failed(&self, failure: Failure, cause: &str) -> Undelivered {
        let cause = format!("{} {cause} ({failure:?})", self.origin.name);
        log::cause("calling an origin", Some(self.passage.edge.incoming), cause);
        Undelivered::ByOrigin(failure)
    }
}
