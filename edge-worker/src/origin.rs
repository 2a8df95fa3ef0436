//! Handing a call to an origin's proxy, and to the next one where that is safe.
//!
//! The runtime reports a refused connection and one that was lost later in the same words. What tells them apart is
//! how far the body went: see [`upload`].

mod attempt;
mod upload;

use std::cell::RefCell;

use shared::{
    grant::Grant,
    origin::{CONNECT_MS, Failure, Origin, Unreached},
    problem::Problem,
    route::ToolCall,
    status::StatusReport,
    time::UnixMillis,
};
use wasm_bindgen::{JsCast, JsValue};
use worker::{js_sys, web_sys};

use crate::{clock, edge::Edge, log, log::Line, promise};
use attempt::Attempt;
use upload::Upload;

thread_local! {
    static UNREACHED: RefCell<Unreached> = RefCell::default();
}

/// An admitted call on its way.
pub(crate) struct Passage<'a> {
    pub(crate) edge: &'a Edge<'a>,
    pub(crate) call: &'a ToolCall<'a>,
    /// The grant for it, issued at the moment it is sent.
    pub(crate) grant: &'a dyn Fn(UnixMillis) -> Grant,
}

/// The answer of the first origin that gives one.
///
/// # Errors
/// A 503 when none does, `request-timeout` when the client stops sending before the first origin is asked.
pub(crate) async fn forward(passage: &Passage<'_>, line: &mut Line) -> Result<web_sys::Response, Problem> {
    let began = clock::now();
    let upload = Upload::begin(passage).await;
    line.client_ms = clock::now().since(began);
    let upload = upload?;
    let origins = &passage.edge.bindings.origins;
    let order = UNREACHED.with_borrow(|unreached| unreached.order(origins, clock::now()));
    let mut failure = Failure::Refused;
    for (nth, &place) in order.iter().enumerate() {
        let Some(origin) = origins.all().get(place) else { continue };
        let sent_at = clock::now();
        let attempt = Attempt { passage, origin, another: nth + 1 < order.len() };
        let (failed, sent) = match attempt.run(upload.as_ref()).await {
            Ok(response) => {
                UNREACHED.with_borrow_mut(|unreached| unreached.clear(place));
                line.origin = Some(origin.name.clone());
                line.handed_over = Some((sent_at, clock::now()));
                return Ok(response);
            }
            Err(failed) => failed,
        };
        if failed.is_of_the_origin(sent) {
            UNREACHED.with_borrow_mut(|unreached| unreached.note(place, clock::now()));
        }
        failure = failed;
        let can_repeat = upload.as_ref().is_none_or(Upload::can_repeat);
        if !(can_repeat && failed.may_try_next(passage.call.method, sent)) {
            break;
        }
    }
    Err(failure.problem())
}

/// Which tools are available, as the first origin that answers sees it.
pub(crate) async fn status(edge: &Edge<'_>) -> Option<StatusReport> {
    let order = UNREACHED.with_borrow(|unreached| unreached.order(&edge.bindings.origins, clock::now()));
    for place in order {
        let Some(origin) = edge.bindings.origins.all().get(place) else { continue };
        let report = promise::within(CONNECT_MS, read_status(origin)).await;
        if let Some(Ok(Some(report))) = report {
            return Some(report);
        }
        log::cause("reading an origin's status", Some(edge.incoming), &origin.name);
    }
    None
}

async fn read_status(origin: &Origin) -> Result<Option<StatusReport>, JsValue> {
    let response = get(origin, "/v1/status").await?;
    let text = promise::settled(response.text()?).await?;
    Ok(text.as_string().and_then(|text| StatusReport::from_json(&text)))
}

/// Whether an origin can be connected to, whatever it then answers.
async fn is_there(origin: &Origin) -> bool {
    match promise::within(CONNECT_MS, get(origin, "/healthz")).await {
        Some(Ok(response)) => {
            discard(&response);
            Failure::of_foreign_answer(response.status()) != Some(Failure::Refused)
        }
        Some(Err(_)) | None => false,
    }
}

async fn get(origin: &Origin, path: &str) -> Result<web_sys::Response, JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_cache(web_sys::RequestCache::NoStore);
    let request = web_sys::Request::new_with_str_and_init(&format!("{}{path}", origin.base), &init)?;
    fetch(&request).await
}

async fn fetch(request: &web_sys::Request) -> Result<web_sys::Response, JsValue> {
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    promise::settled(scope.fetch_with_request(request)).await?.dyn_into()
}

/// Lets go of a response that nobody will read, so that its connection is free.
fn discard(response: &web_sys::Response) {
    if let Some(body) = response.body() {
        promise::let_go(body.cancel());
    }
}
