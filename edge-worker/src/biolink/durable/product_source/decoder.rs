//! Decodes feeds with the platform's `TextDecoder`, which has all encodings of WHATWG's Encoding Standard.
//!
//! Why: docs/decisions/products.md, "The platform decodes what is not UTF-8".

use biolink::product_feed::{Encoding, FeedError};
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Array, Function, Object, Reflect, Uint8Array, global};

/// Returns the text of a body in this encoding. Bytes that are none in it are refused: with the decoder's
/// replacement characters, a page would show garbage.
///
/// # Errors
/// If the platform does not know the encoding, or the body is not in it.
pub(super) fn decode(encoding: &Encoding, body: &[u8]) -> Result<String, FeedError> {
    let decoder = decoder(encoding.label()).map_err(|_| encoding.unknown())?;
    let text = call(&decoder, body).ok().and_then(|text| text.as_string());
    text.ok_or_else(|| encoding.mismatch())
}

fn decoder(label: &str) -> Result<JsValue, JsValue> {
    let class: Function = Reflect::get(&global(), &"TextDecoder".into())?.dyn_into()?;
    let options = Object::new();
    // Without it, the decoder replaces what it cannot decode and reports nothing.
    Reflect::set(&options, &"fatal".into(), &true.into())?;
    Reflect::construct(&class, &Array::of2(&label.into(), &options))
}

fn call(decoder: &JsValue, body: &[u8]) -> Result<JsValue, JsValue> {
    let decode: Function = Reflect::get(decoder, &"decode".into())?.dyn_into()?;
    decode.call1(decoder, &Uint8Array::from(body))
}
