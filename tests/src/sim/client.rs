//! A client in a closed loop that obeys the headers of each response.

use shared::{lease_cache::Admission, request_id::RequestId};

/// The pacing of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Calls while `RateLimit` has calls remaining, then waits for the reset.
    Eager,
    /// Spreads the remaining calls over the time to the reset.
    Even,
    /// Calls until it is refused, then waits exactly for `Retry-After`.
    Obedient,
}

/// The part of a response that a client obeys.
pub(super) struct Seen {
    pub(super) status: u16,
    retry_after: Option<u64>,
    /// `r` and `t` of each item of `RateLimit`.
    limits: Vec<(u64, u64)>,
}

/// The response time of the tool in milliseconds.
const TOOL_MS: u64 = 40;

impl Seen {
    pub(super) fn of(admission: &Admission) -> Self {
        let problem = admission.problem().map(|problem| problem.render(&RequestId([0; 16])));
        let header =
            problem.iter().flat_map(|problem| &problem.headers).find(|(name, _)| *name == "retry-after");
        let limits = admission.quota().map(|standing| standing.headers()[1].1.clone()).unwrap_or_default();
        Self {
            status: problem.as_ref().map_or(200, |problem| problem.status),
            retry_after: header.map(|(_, seconds)| seconds.parse().unwrap()),
            limits: limits.split(", ").filter(|item| !item.is_empty()).map(parse).collect(),
        }
    }
}

/// Reads `"minute";r=7;t=41`.
fn parse(item: &str) -> (u64, u64) {
    let number =
        |name: &str| item.split(';').find_map(|part| part.strip_prefix(name)).unwrap().parse().unwrap();
    (number("r="), number("t="))
}

impl Pace {
    /// Returns the milliseconds until the next call.
    pub(super) fn wait_ms(self, seen: &Seen) -> u64 {
        if let Some(seconds) = seen.retry_after {
            return seconds * 1000;
        }
        // The minute comes first. A client that spreads calls over the day is another one.
        let waits = seen.limits.iter().enumerate().map(|(place, &(r, t))| match (self, r) {
            (Self::Eager | Self::Even, 0) => t * 1000,
            (Self::Even, r) if place == 0 => t * 1000 / r,
            (Self::Eager | Self::Even | Self::Obedient, _) => 0,
        });
        waits.max().unwrap_or(0) + TOOL_MS
    }
}
