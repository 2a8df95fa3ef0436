//! Bindings of `runtime.js`: the calls into the runtime that every request makes.
//!
//! Why: docs/decisions/edge.md, "The runtime's objects cost more than our code".

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Array, Function, Promise, Reflect, Uint8Array, global};
use worker::{web_sys, worker_sys};

#[wasm_bindgen(module = "/src/runtime/runtime.js")]
extern "C" {
    #[wasm_bindgen(js_name = setSettle)]
    pub(crate) fn set_settle(callback: &Function);

    #[wasm_bindgen(js_name = setRecordAborted)]
    pub(crate) fn set_record_aborted(callback: &Function);

    pub(crate) fn watch(promise: &Promise, slot: u32);

    #[wasm_bindgen(js_name = startTimer)]
    pub(crate) fn start_timer(ms: f64, slot: u32) -> JsValue;

    #[wasm_bindgen(js_name = stopTimer)]
    pub(crate) fn stop_timer(timer: &JsValue);

    #[wasm_bindgen(catch, js_name = receiveBody)]
    pub(crate) fn receive_body(
        request: &web_sys::Request,
        ms: u32,
        stall_ms: u32,
        slot: u32,
    ) -> Result<(), JsValue>;

    #[wasm_bindgen(js_name = askObject)]
    pub(crate) fn ask_object(namespace: &JsValue, name: &str, message: &str) -> Promise;

    #[wasm_bindgen(js_name = readAsset)]
    pub(crate) fn read_asset(assets: &FetchBinding, name: &str) -> Promise;

    #[wasm_bindgen(js_name = openAsset)]
    pub(crate) fn open_asset(assets: &FetchBinding, name: &str) -> Promise;

    #[wasm_bindgen(js_name = readText)]
    pub(crate) fn read_text(store: &JsValue, name: &str, cache_s: u32) -> Promise;

    #[wasm_bindgen(js_name = writeText)]
    pub(crate) fn write_text(store: &JsValue, name: &str, text: &str, lifetime_s: Option<u32>) -> Promise;

    #[wasm_bindgen(js_name = deleteText)]
    pub(crate) fn delete_text(store: &JsValue, name: &str) -> Promise;

    #[wasm_bindgen(js_name = listTexts)]
    pub(crate) fn list_texts(store: &JsValue, prefix: &str, limit: u32, cursor: &str) -> Promise;

    #[wasm_bindgen(js_name = readFile)]
    pub(crate) fn read_file(bucket: &JsValue, name: &str, is_head: bool) -> Promise;

    #[wasm_bindgen(js_name = writeFile)]
    pub(crate) fn write_file(bucket: &JsValue, name: &str, content: &Uint8Array, media_type: &str)
    -> Promise;

    #[wasm_bindgen(js_name = markFile)]
    pub(crate) fn mark_file(bucket: &JsValue, name: &str, is_hidden: bool) -> Promise;

    #[wasm_bindgen(js_name = sendText)]
    pub(crate) fn send_text(queue: &JsValue, text: &str) -> Promise;

    #[wasm_bindgen(catch, js_name = callOrigin)]
    pub(crate) fn call_origin(
        fetcher: Option<&FetchBinding>,
        head: &str,
        client: &web_sys::Request,
        body: &JsValue,
        controller: Option<&web_sys::AbortController>,
        timeout_ms: u32,
    ) -> Result<Promise, JsValue>;

    #[cfg(not(feature = "pages"))]
    #[wasm_bindgen(js_name = handOver)]
    pub(crate) fn hand_over(worker: &FetchBinding, request: &web_sys::Request) -> Promise;

    #[wasm_bindgen(js_name = pipeBody)]
    pub(crate) fn pipe_body(source: &web_sys::ReadableStream, writable: &web_sys::WritableStream) -> Promise;

    #[wasm_bindgen(js_name = hasLeft)]
    pub(crate) fn has_left(request: &web_sys::Request) -> bool;

    #[wasm_bindgen(catch, js_name = responseLines)]
    pub(crate) fn response_lines(response: &web_sys::Response) -> Result<String, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn follow(
        client: &web_sys::Request,
        response: &web_sys::Response,
        event: &str,
        call: &str,
        ctx: &worker_sys::Context,
    ) -> Result<web_sys::Response, JsValue>;

    #[wasm_bindgen(catch, js_name = ownRequest)]
    pub(crate) fn own_request(
        url: &str,
        method: &str,
        lines: &str,
        body: Option<&str>,
    ) -> Result<web_sys::Request, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn respond(
        status: u16,
        lines: &str,
        body: Option<&mut [u8]>,
        drained: Option<&Promise>,
    ) -> Result<web_sys::Response, JsValue>;

    #[wasm_bindgen(catch)]
    pub(crate) fn relay(response: &web_sys::Response, lines: &str) -> Result<web_sys::Response, JsValue>;
}

#[wasm_bindgen]
extern "C" {
    /// A binding with its own `fetch`. `worker::Fetcher` returns a `worker::Response`, which
    /// every call would have to convert back.
    pub(crate) type FetchBinding;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn fetch(this: &FetchBinding, request: &web_sys::Request) -> Result<Promise, JsValue>;
}

/// Returns a stream of bytes: what is written to one end is read at the other.
pub(crate) fn identity_stream() -> Result<web_sys::TransformStream, JsValue> {
    construct_stream("IdentityTransformStream", &[])
}

/// Returns a transform stream of a class.
pub(crate) fn construct_stream(
    class: &str,
    arguments: &[JsValue],
) -> Result<web_sys::TransformStream, JsValue> {
    let class: Function = Reflect::get(&global(), &class.into())?.dyn_into()?;
    Ok(Reflect::construct(&class, &arguments.iter().collect::<Array>())?.unchecked_into())
}
