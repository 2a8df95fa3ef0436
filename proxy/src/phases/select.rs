//! Which upstream serves the call.

use shared::{
    key::KeyId,
    problem::{Code, Problem},
    route::CallMethod,
    time::UnixMillis,
};

use super::fail;
use crate::{
    clock::Monotonic,
    config::{DisabledUntil, PoolSettings},
    ctx::RequestCtx,
    upstreams::Pool,
};

/// A tool that is switched off is a refusal, which says until when where that is known.
pub fn enabled(settings: &PoolSettings, now: UnixMillis) -> Result<(), Problem> {
    let switched_off = |detail: String| {
        Problem::new(Code::ToolDisabled, detail)
            .with_header("proxy-status", fail::proxy_status("destination_unavailable"))
    };
    match settings.disabled {
        Some(DisabledUntil::Moment(until)) if now < until => {
            let wait = until.since(now).div_ceil(1_000);
            Err(switched_off(format!("the tool is switched off until {}", until.to_rfc3339()))
                .retry_after(wait))
        }
        Some(DisabledUntil::FurtherNotice) => {
            Err(switched_off("the tool is switched off until further notice".to_owned()))
        }
        Some(DisabledUntil::Moment(_)) | None => Ok(()),
    }
}

/// Chooses the first upstream; none that can take the call is a refusal at once.
pub fn first(pool: &Pool, ctx: &mut RequestCtx, key: KeyId) -> Result<(), Problem> {
    if next(pool, ctx, key, Monotonic::at(ctx.started.instant)) {
        return Ok(());
    }
    let method = ctx.call.as_ref().map_or(CallMethod::Get, |call| call.method);
    Err(none(pool, method))
}

/// Returns the refusal of a call that no upstream can take.
pub fn none(pool: &Pool, method: CallMethod) -> Problem {
    fail::unavailable(pool, method, "no server of the tool is healthy")
}

/// Chooses an upstream that was not tried; whether there is one.
pub fn next(pool: &Pool, ctx: &mut RequestCtx, key: KeyId, now: Monotonic) -> bool {
    (ctx.place, ctx.upstream_seat) = pool.take(key, ctx.tried, now).unzip();
    ctx.upstream_seat.is_some()
}
