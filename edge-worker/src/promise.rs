//! Waiting for what the runtime does, with an end to it.

use std::{pin::pin, time::Duration};

use futures_util::future::{Either, select};
use wasm_bindgen::JsValue;
use worker::{
    Delay,
    js_sys::{Promise, futures::JsFuture},
    wasm_bindgen_futures::spawn_local,
};

/// What `future` comes to, or `None` after `ms` milliseconds. What it had begun is not undone.
pub(crate) async fn within<F: Future>(ms: u64, future: F) -> Option<F::Output> {
    match select(pin!(future), pin!(Delay::from(Duration::from_millis(ms)))).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

/// What a promise comes to.
pub(crate) async fn settled(promise: Promise) -> Result<JsValue, JsValue> {
    JsFuture::from(promise).await
}

/// Lets a promise go on by itself. Without a handler its failure would be reported as nobody's.
pub(crate) fn let_go(promise: Promise) {
    spawn_local(async {
        if settled(promise).await.is_err() {
            // Whoever reads or writes the other end learns of it.
        }
    });
}
