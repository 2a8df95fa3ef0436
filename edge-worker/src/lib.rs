//! The edge: a thin shell around `shared` that runs as a Cloudflare Worker. It does the I/O, and
//! `shared` decides.
//!
//! **Invariants.** No panic on the request path: it would take down every request of the isolate. No
//! borrow of isolate memory across an `await`. No request awaits a future of another. A failing store or
//! meter is a 503, never a refusal of the key. Keys, secrets, addresses and user agents are not logged.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod admin;
mod authenticate;
mod bindings;
mod body;
mod clock;
mod context;
mod dispatch;
mod durable;
mod durable_rpc;
mod entropy;
mod handlers;
mod incoming;
mod key_change_feed;
mod key_store;
mod lease_caches;
mod log;
mod meter_client;
mod origin;
mod promise;
mod respond;

use worker::{Context, Env, event, web_sys};

use crate::{incoming::Incoming, log::Line};

#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, ctx: Context) -> worker::Result<web_sys::Response> {
    let now = clock::now();
    let incoming = Incoming::read(request, now)?;
    let mut line = Line::default();
    let outcome = dispatch::dispatch(&incoming, &env, &ctx, &mut line).await;
    body::drain(&incoming, || bindings::max_body(&env)).await;
    let response = respond::render(outcome, &incoming, &mut line)?;
    line.write(&incoming, clock::now());
    Ok(response)
}
