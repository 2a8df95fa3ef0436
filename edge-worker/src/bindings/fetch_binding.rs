//! A binding with a `fetch` of its own: a certificate for origins, or static assets.

use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::Promise;
use worker::web_sys;

#[wasm_bindgen]
extern "C" {
    /// A binding with a `fetch` of its own. `worker::Fetcher` returns a `worker::Response`, which
    /// every call would have to convert back.
    pub(crate) type FetchBinding;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &FetchBinding, request: &web_sys::Request) -> Result<Promise, JsValue>;
}
