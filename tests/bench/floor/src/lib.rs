//! A worker that only forwards. It is the least that a worker of wasm costs in workerd.

use wasm_bindgen::JsCast;
use worker::{
    Context, Env, event,
    js_sys::{self, futures::JsFuture},
    web_sys,
};

/// Forwards a request to the origin of the variable `ORIGIN_URLS`. `/healthz` is its own.
#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, _ctx: Context) -> worker::Result<web_sys::Response> {
    let url = request.url();
    let path = url.splitn(4, '/').nth(3).unwrap_or_default();
    if path == "healthz" {
        return Ok(web_sys::Response::new_with_opt_str(Some("ok"))?);
    }
    let target = format!("{}/{path}", env.var("ORIGIN_URLS")?);
    let forwarded = web_sys::Request::new_with_str_and_init(&target, request.unchecked_ref())?;
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    Ok(JsFuture::from(scope.fetch_with_request(&forwarded)).await?.dyn_into()?)
}
