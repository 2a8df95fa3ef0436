//! Code that stays a function of its own.
//!
//! The compiler inlines a function that has one caller, however large it is, and with it the whole
//! handling of a request becomes a few functions of 20 to 50 KB. V8 compiles wasm function by
//! function, and optimizes those first that run through the most code. In a new isolate these large
//! ones are optimized within the first 200 calls, which takes more CPU time than all the rest of
//! the calls. So the parts of what many requests run are kept below 8 KB, by boxing futures and by
//! steps that are not inlined. A test holds them to that (`tests/edge/functions.mjs`), and
//! `scripts/build-edge.sh` keeps wasm-opt from inlining them again.

use std::pin::Pin;

/// Boxes a future without its type, so that its code is a function of its own.
pub(crate) fn boxed<'a, T>(future: impl Future<Output = T> + 'a) -> Pin<Box<dyn Future<Output = T> + 'a>> {
    Box::pin(future)
}

/// Runs a step whose code is a function of its own.
#[inline(never)]
pub(crate) fn outlined<T>(step: impl FnOnce() -> T) -> T {
    step()
}
