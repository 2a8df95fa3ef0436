//! The clock of the edge.

use std::cell::Cell;

use shared::time::UnixMillis;
use worker::js_sys::Date;

thread_local! {
    /// Whether a turn is in progress, and its time once it was asked for.
    static TURN: Cell<(bool, Option<UnixMillis>)> = const { Cell::new((false, None)) };
}

/// Returns the current time. On Cloudflare the clock advances only with I/O, so the runtime is asked
/// once in a turn.
pub(crate) fn now() -> UnixMillis {
    let (in_turn, known) = TURN.get();
    let now = known.unwrap_or_else(read);
    // Outside of a turn nothing is kept: a Durable Object would read an old moment after its wait.
    TURN.set((in_turn, in_turn.then_some(now)));
    now
}

/// Runs `step` as a turn: what the runtime lets run between two pieces of I/O.
pub(crate) fn turn<T>(step: impl FnOnce() -> T) -> T {
    let outer = TURN.get();
    TURN.set((true, outer.1));
    let output = step();
    TURN.set(outer);
    output
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds since 1970 are a whole number that `f64` holds"
)]
fn read() -> UnixMillis {
    UnixMillis(Date::now() as u64)
}
