//! Promises of the runtime, with timeouts.

use std::{pin::pin, time::Duration};

use futures_util::future::{Either, select};
use wasm_bindgen::JsValue;
use worker::{
    Delay,
    js_sys::{Promise, futures::JsFuture},
    wasm_bindgen_futures::spawn_local,
};

/// Returns the output of `future`, or `None` after `ms` milliseconds. A timeout does not undo side
/// effects.
pub(crate) async fn timeout<F: Future>(ms: u64, future: F) -> Option<F::Output> {
    match select(pin!(future), pin!(Delay::from(Duration::from_millis(ms)))).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(((), _)) => None,
    }
}

/// Awaits a promise. Returns its value or its rejection.
pub(crate) async fn settled(promise: Promise) -> Result<JsValue, JsValue> {
    JsFuture::from(promise).await
}

/// Detaches a promise. Ignores a rejection, which the runtime would otherwise report as unhandled.
pub(crate) fn detach(promise: Promise) {
    spawn_local(async {
        if settled(promise).await.is_err() {
            // The other end of the stream reports the error.
        }
    });
}
