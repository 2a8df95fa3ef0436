//! Throttles addresses that keep sending requests without a valid grant or key.

use std::net::IpAddr;

use shared::problem::{Code, Problem};

use crate::{config::Callers, observe::metrics::Bound, state::State};

/// Returns the same problem, unless the address sends too many requests without a valid grant or key.
#[must_use]
pub fn flood(state: &State, address: impl FnOnce() -> Option<IpAddr>, problem: Problem) -> Problem {
    if !problem.code().is_unauthenticated() {
        return problem;
    }
    let config = state.config.load();
    // Behind a proxy that terminates TLS all clients have its address: many would be refused for one.
    let is_shared = matches!(&config.callers, Callers::Clients(keys) if keys.behind_tls);
    match address().filter(|_| !is_shared) {
        Some(address) if state.guards.is_flood(address, &config.clients) => {
            state.metrics.hit(Bound::RefusalsPerSecond);
            Problem::new(Code::TooManyRequests, "too many requests without a valid grant or key")
                .retry_after(1)
        }
        Some(_) | None => problem,
    }
}
