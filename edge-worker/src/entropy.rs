//! Randomness: the runtime's `crypto.getRandomValues`, which works inside a handler only.

use wasm_bindgen::JsCast;
use worker::{js_sys, web_sys};

/// Returns `N` random bytes of cryptographic quality.
pub(crate) fn random<const N: usize>() -> worker::Result<[u8; N]> {
    let mut bytes = [0; N];
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    scope.crypto()?.get_random_values_with_u8_array(&mut bytes)?;
    Ok(bytes)
}
