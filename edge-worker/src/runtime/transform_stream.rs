//! Transform streams of the runtime, which do not copy.

use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Array, Function, Reflect, global};
use worker::web_sys;

/// Returns a stream of bytes: what is written to one end is read at the other.
pub(crate) fn identity() -> Result<web_sys::TransformStream, JsValue> {
    construct("IdentityTransformStream", &[])
}

/// Returns a transform stream of a class.
pub(crate) fn construct(class: &str, arguments: &[JsValue]) -> Result<web_sys::TransformStream, JsValue> {
    let class: Function = Reflect::get(&global(), &class.into())?.dyn_into()?;
    Ok(Reflect::construct(&class, &arguments.iter().collect::<Array>())?.unchecked_into())
}
