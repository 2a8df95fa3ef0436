//! Who is refused again and again, since nobody knows him, is told to stop.

use shared::problem::{Code, Problem};

use crate::{client::ClientStream, config::Callers, metrics::Bound, state::State};

/// The same problem, unless the address sends too many requests without a valid grant or key.
#[must_use]
pub fn flood(state: &State, client: &ClientStream, problem: Problem) -> Problem {
    let config = state.config.load();
    // Behind somebody who ends TLS all clients have his address: the many would be refused for one.
    let is_shared = matches!(&config.callers, Callers::Clients(keys) if keys.behind_tls);
    match client.address() {
        Some(address)
            if problem.code().is_for_strangers()
                && !is_shared
                && state.guards.is_flood(address, &config.clients) =>
        {
            state.metrics.hit(Bound::RefusalsPerSecond);
            Problem::new(Code::TooManyRequests, "too many requests without a valid grant or key")
                .retry_after(1)
        }
        _ => problem,
    }
}
