//! Throttles addresses that keep sending requests without a valid grant or key.

use std::net::IpAddr;

use shared::problem::Problem;
use shared::problem::codes::{self, is_unauthenticated};

use crate::state::State;
use transport::hooks::Limit;

/// Counts a refusal of an unauthenticated request. Returns `too-many-requests` instead of the
/// problem if the address exceeds its rate.
pub(crate) fn throttle_refusal(
    state: &State,
    address: impl FnOnce() -> Option<IpAddr>,
    problem: Problem,
) -> Problem {
    if !is_unauthenticated(problem.code()) {
        return problem;
    }
    let config = state.config.load();
    // Behind a load balancer that terminates TLS, all clients share its address, unless it announces theirs.
    let is_shared = state.mode.is_behind_tls() && config.clients.proxy_protocol.is_empty();
    match address().filter(|_| !is_shared) {
        Some(address) if state.limits.record_refusal(address, &config.clients) => {
            state.metrics.limits.record(Limit::RefusalsPerSecond);
            Problem::new(codes::TOO_MANY_REQUESTS, "too many requests without a valid grant or key")
                .retry_after(1)
        }
        Some(_) | None => problem,
    }
}
