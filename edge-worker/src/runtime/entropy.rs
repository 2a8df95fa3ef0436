//! Randomness: the runtime's `crypto.getRandomValues`, which works inside a handler only.

use std::cell::RefCell;

use shared::key::KeyEntropy;
use shared::problem::{Problem, codes};
use shared::request_id::RequestId;
use wasm_bindgen::JsCast;
use worker::{js_sys, web_sys};

use crate::runtime::log;

/// Number of random bytes that are generated together for ids.
const POOL_BYTES: usize = 1_024;

thread_local! {
    static POOL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns `N` random bytes of cryptographic quality.
///
/// # Errors
/// If the runtime has none.
pub(crate) fn random<const N: usize>() -> worker::Result<[u8; N]> {
    let mut bytes = [0; N];
    let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    scope.crypto()?.get_random_values_with_u8_array(&mut bytes)?;
    Ok(bytes)
}

/// Returns `N` random bytes of a pool, which is generated as a whole. They name things, and must not be
/// secrets: the pool shows in the isolate's memory what comes next.
///
/// # Errors
/// If the runtime has none.
pub(crate) fn random_of_pool<const N: usize>() -> worker::Result<[u8; N]> {
    POOL.with_borrow_mut(|pool| {
        if pool.len() < N {
            *pool = random::<POOL_BYTES>()?.to_vec();
        }
        let rest = pool.len().saturating_sub(N);
        // Taken away, so that no two ids have the same bytes.
        let drawn = pool.split_off(rest);
        drawn.try_into().map_err(|_| worker::Error::from("the pool is smaller than what is drawn"))
    })
}

/// Draws the id and the secret of a new key.
///
/// # Errors
/// `internal` if the runtime has no randomness.
pub(crate) fn draw_key(id: RequestId) -> Result<KeyEntropy, Problem> {
    let drawn = random().and_then(|key_id| Ok(KeyEntropy { id: key_id, secret: random()? }));
    drawn.map_err(|error| unavailable(&error, Some(id)))
}

/// Logs that the runtime has no randomness. Returns the problem for the client.
pub(crate) fn unavailable(error: &worker::Error, id: Option<RequestId>) -> Problem {
    log::error(log::Event("random number generator failed"), id, &[("error", error)]);
    Problem::new(codes::INTERNAL, "the system random number generator failed")
}
