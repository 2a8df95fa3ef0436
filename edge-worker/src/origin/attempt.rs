//! One call to one origin.

use std::{
    pin::{Pin, pin},
    time::Duration,
};

use futures_util::future::{Either, select};
use shared::{
    headers::{self, Nominated},
    origin::{ANSWER_MS, CONNECT_MS, Failure, Origin, Sent},
    problem::Code,
    route::CallMethod,
    transport::Address,
};
use wasm_bindgen::JsValue;
use worker::{Delay, web_sys};

use super::{
    Passage, discard, fetch, is_there,
    upload::{Pipe, Upload},
};
use crate::{clock, log, promise};

pub(super) struct Attempt<'a> {
    pub(super) passage: &'a Passage<'a>,
    pub(super) origin: &'a Origin,
    /// Whether there is another origin to turn to.
    pub(super) another: bool,
}

type Answered = Result<web_sys::Response, JsValue>;
type Failed = (Failure, Sent);

impl Attempt<'_> {
    pub(super) async fn run(&self, upload: Option<&Upload>) -> Result<web_sys::Response, Failed> {
        let controller = web_sys::AbortController::new().map_err(|fault| self.lost(&fault, Sent::Part))?;
        let outcome = match upload {
            Some(upload) => self.call_with_body(upload, &controller.signal()).await,
            None => self.call_without_body(&controller.signal()).await,
        };
        match outcome {
            Ok(response) => self.accept(response),
            Err(failed) => {
                controller.abort();
                Err(failed)
            }
        }
    }

    async fn call_without_body(&self, signal: &web_sys::AbortSignal) -> Result<web_sys::Response, Failed> {
        match self.passage.call.method {
            CallMethod::Get => self.read(signal).await,
            CallMethod::Post => self.call_blindly(signal).await,
        }
    }

    /// A call that only reads can be made again. So what its failure meant may be found out afterwards.
    async fn read(&self, signal: &web_sys::AbortSignal) -> Result<web_sys::Response, Failed> {
        let request = self.request(None, signal).map_err(|fault| self.lost(&fault, Sent::Part))?;
        let mut answer = pin!(fetch(&request));
        let patience = if self.another { CONNECT_MS } else { ANSWER_MS };
        match promise::within(patience, answer.as_mut()).await {
            Some(Ok(response)) => Ok(response),
            Some(Err(_)) if !is_there(self.origin).await => {
                Err(self.failed(Failure::Refused, Sent::Part, "takes no connection"))
            }
            Some(Err(fault)) => Err(self.lost(&fault, Sent::All)),
            None if self.another && !is_there(self.origin).await => {
                Err(self.failed(Failure::Refused, Sent::Part, "is silent"))
            }
            None => self.await_answer(answer, ANSWER_MS.saturating_sub(patience)).await,
        }
    }

    /// Nothing tells afterwards how far a POST without a body went. So it is found out before whether the origin
    /// is there, if there is another.
    async fn call_blindly(&self, signal: &web_sys::AbortSignal) -> Result<web_sys::Response, Failed> {
        if self.another && !is_there(self.origin).await {
            return Err(self.failed(Failure::Refused, Sent::Part, "takes no connection"));
        }
        let request = self.request(None, signal).map_err(|fault| self.lost(&fault, Sent::Part))?;
        self.await_answer(pin!(fetch(&request)), ANSWER_MS).await
    }

    async fn call_with_body(
        &self,
        upload: &Upload,
        signal: &web_sys::AbortSignal,
    ) -> Result<web_sys::Response, Failed> {
        let lost = |fault: JsValue| self.lost(&fault, Sent::Part);
        let pipe = upload.open().map_err(lost)?;
        let request = self.request(Some(&pipe), signal).map_err(lost)?;
        let mut answer = pin!(fetch(&request));
        if let Some(early) = self.send_first(&pipe, answer.as_mut()).await? {
            // An origin that answers before it has the whole body is still sent all of it.
            promise::let_go(upload.start_rest(&pipe));
            return Ok(early);
        }
        let rest = upload.start_rest(&pipe);
        match select(pin!(promise::settled(rest.clone())), answer.as_mut()).await {
            // Whether the body went out whole or broke off, the answer says what came of it.
            Either::Left(_) => self.await_answer(answer, ANSWER_MS).await,
            Either::Right((answered, _)) => {
                promise::let_go(rest);
                answered.map_err(|fault| self.lost(&fault, Sent::All))
            }
        }
    }

    /// Waits until the first piece of the body is on a connection. An answer may come even before that.
    async fn send_first(
        &self,
        pipe: &Pipe,
        mut answer: Pin<&mut impl Future<Output = Answered>>,
    ) -> Result<Option<web_sys::Response>, Failed> {
        let patience = if self.another { CONNECT_MS } else { ANSWER_MS };
        let silence = pin!(Delay::from(Duration::from_millis(patience)));
        match select(pin!(pipe.first_sent()), select(answer.as_mut(), silence)).await {
            Either::Left((Ok(()), _)) => Ok(None),
            Either::Left((Err(fault), _)) => match promise::within(CONNECT_MS, answer).await {
                Some(Ok(response)) => Ok(Some(response)),
                Some(Err(_)) | None => Err(self.lost(&fault, Sent::Part)),
            },
            Either::Right((Either::Left((answered, _)), _)) => {
                answered.map(Some).map_err(|fault| self.lost(&fault, Sent::Part))
            }
            Either::Right((Either::Right(_), _)) => {
                Err(self.failed(Failure::Refused, Sent::Part, "takes no connection"))
            }
        }
    }

    async fn await_answer(
        &self,
        answer: Pin<&mut impl Future<Output = Answered>>,
        ms: u64,
    ) -> Result<web_sys::Response, Failed> {
        match promise::within(ms, answer).await {
            Some(answered) => answered.map_err(|fault| self.lost(&fault, Sent::All)),
            None => Err(self.failed(Failure::TimedOut, Sent::All, "does not answer in time")),
        }
    }

    /// The request to the origin: the client's end-to-end headers, and the grant for exactly what is sent.
    fn request(
        &self,
        pipe: Option<&Pipe>,
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
        if let Some(pipe) = pipe {
            init.set_body(&pipe.readable);
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
    fn accept(&self, response: web_sys::Response) -> Result<web_sys::Response, Failed> {
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
        Err(self.failed(failure, Sent::All, &cause))
    }

    fn lost(&self, fault: &JsValue, sent: Sent) -> Failed {
        self.failed(Failure::Lost, sent, &worker::Error::from(fault.clone()).to_string())
    }

    fn failed(&self, failure: Failure, sent: Sent, cause: &str) -> Failed {
        let cause = format!("{} {cause} ({failure:?}, {sent:?})", self.origin.name);
        log::cause("calling an origin", Some(self.passage.edge.incoming), cause);
        (failure, sent)
    }
}
