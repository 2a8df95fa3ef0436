//! The isolate's count of calls that no quota counts.

use std::cell::RefCell;

use shared::key::{FreeCall, FreeCallGuard, KeyId};
use shared::problem::Problem;

use crate::runtime::clock;

thread_local! {
    static GUARD: RefCell<FreeCallGuard> = const { RefCell::new(FreeCallGuard::new()) };
}

/// Counts a free call of a verified key, before its meter is asked.
///
/// # Errors
/// `too-many-requests`.
pub(super) fn record(key: &KeyId, call: FreeCall) -> Result<(), Problem> {
    GUARD.with_borrow_mut(|guard| guard.record(key, call, clock::now()))
}
