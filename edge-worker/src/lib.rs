//! The edge: a thin shell around `shared`, `biolink` and `portal` that runs as a Cloudflare Worker. It
//! does the I/O, and they decide.
//!
//! **What belongs here**: whatever knows the runtime. Bindings, requests and responses, Durable Objects
//! with their storage and alarms, calls to origins, and the clock and entropy that decisions take as
//! arguments. **What does not**: a limit, a status, the meaning of a tier, the text of a problem, the form
//! of what is stored or sent to another object. Those of tool calls are in `shared`, those of pages in
//! `biolink`, and what people read is in `portal`. `gateway/` imports nothing of `biolink/`.
//!
//! **Invariants.** No panic on the request path: it would take down every request of the isolate.
//! No borrow of isolate memory across an `await`. No request awaits a future of another. A failing
//! store or meter is a 503, never a refusal of the key. Keys, secrets, addresses and user agents
//! are not logged.
#![cfg_attr(
    not(all(feature = "gateway", feature = "pages")),
    allow(dead_code, unused_imports, reason = "the worker of one part leaves out what calls the rest")
)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod access_log;
mod assets;
mod bindings;
#[cfg(feature = "pages")]
mod biolink;
mod caller;
mod context;
mod dispatch;
mod gateway;
#[cfg(not(feature = "pages"))]
mod hand_over;
#[cfg(feature = "pages")]
mod portal;
mod respond;
mod runtime;

use std::rc::Rc;

use ::portal::endpoint::Endpoint;
use shared::url::Address;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::{Context, Env, console_error, web_sys, worker_sys};
#[cfg(feature = "pages")]
use worker::{MessageBatch, event};

#[cfg(feature = "pages")]
use crate::biolink::event_queue;
use crate::respond::Handled;
use crate::runtime::client_request::ClientRequest;
use crate::runtime::{body, clock, promise, task};

/// The allocator. That of the standard library has more code, which a new isolate runs before it is optimized.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Handles a request, for `entry.js`. `head` has method, URL, and names and values of the headers,
/// one a line. Returns the response, or a promise of it.
#[wasm_bindgen]
pub fn handle(head: String, request: web_sys::Request, env: Env, ctx: worker_sys::Context) -> JsValue {
    task::start(async move {
        let response = fetch(head, request, env, Context::new(ctx)).await;
        response.unwrap_or_else(|error| {
            console_error!("{error}");
            let failed = worker::Response::error("INTERNAL SERVER ERROR", 500);
            failed.map_or(JsValue::UNDEFINED, |failed| web_sys::Response::from(failed).into())
        })
    })
}

async fn fetch(head: String, request: web_sys::Request, env: Env, ctx: Context) -> worker::Result<JsValue> {
    let request = Rc::new(ClientRequest::new(head, request, clock::now())?);
    let address = Address::parse(&request.url);
    #[cfg(not(feature = "pages"))]
    let handled = match hand_over::read((&request, address), &env) {
        // The other worker logs the request, and its response is ready for the client.
        Some(bindings) => match task::boxed(hand_over::to_pages(&bindings, &request)).await {
            Ok(response) => return Ok(response),
            Err(problem) => (None, problem.into()),
        },
        None => dispatch::dispatch((&request, address), &env, &ctx).await,
    };
    #[cfg(feature = "pages")]
    let handled = dispatch::dispatch((&request, address), &env, &ctx).await;
    let drained = match body::unread(&request) {
        Some(unread) => task::boxed(drain(&request, unread, &handled.1, &env)).await,
        None => None,
    };
    conclude((&request, address), handled, drained.as_ref(), &env)
}

/// Drains a body that is left unread. Returns the end of that if the response need not wait for it.
async fn drain(
    request: &Rc<ClientRequest>,
    unread: web_sys::ReadableStream,
    handled: &Handled,
    env: &Env,
) -> Option<Promise> {
    let (drained_request, max_body) = (Rc::clone(request), bindings::max_body(env));
    let drain = async move { body::drain(&drained_request, unread, max_body).await };
    match respond::can_linger(request, &handled.outcome) {
        // The client has the response while its body is drained. Any other response waits for
        // it.
        true => Some(promise::started(drain)),
        false => {
            drain.await;
            None
        }
    }
}

/// Returns the response to a handled request, and logs the request.
// Runs once for each request, and `fetch` at least twice: with it, that has 8 KB, which V8 optimizes first in a new isolate.
#[inline(never)]
fn conclude(
    (request, address): (&ClientRequest, Option<Address<'_>>),
    (endpoint, Handled { outcome, called, caller }): (Option<Endpoint>, Handled),
    drained: Option<&Promise>,
    env: &Env,
) -> worker::Result<JsValue> {
    let rendered = respond::render((outcome, &called), endpoint, (request, address), drained);
    let (response, ended) = rendered?;
    access_log::write(request, (endpoint, &caller), &ended, bindings::sampling(env), clock::now());
    Ok(response.into())
}

/// Never returns an error, which would be a panic: each message says itself whether it comes again.
#[cfg(feature = "pages")]
#[event(queue)]
async fn queue(batch: MessageBatch<()>, env: Env, _ctx: Context) -> worker::Result<()> {
    event_queue::consume(&batch, &env).await;
    Ok(())
}
