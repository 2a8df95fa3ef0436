//! A client that waits for each answer and keeps to what its headers say, in the whole seconds it is told.

use shared::{lease_cache::Admission, request_id::RequestId};

/// How a client spreads its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Calls on while `RateLimit` says that something remains, then waits for the reset.
    Eager,
    /// Spreads what remains over the time to the reset.
    Even,
    /// Calls on until it is refused, then waits for `Retry-After` and calls at that very moment.
    Obedient,
}

/// What a client sees of an answer.
pub(super) struct Seen {
    pub(super) status: u16,
    retry_after: Option<u64>,
    /// `r` and `t` of each item of `RateLimit`.
    limits: Vec<(u64, u64)>,
}

/// How long a tool takes to answer such a client, in milliseconds.
const ANSWERS_WITHIN: u64 = 40;

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
    /// Milliseconds until the next call.
    pub(super) fn wait_ms(self, seen: &Seen) -> u64 {
        if let Some(seconds) = seen.retry_after {
            return seconds * 1000;
        }
        // The minute comes first. To spread a day's calls over the day would be another client.
        let waits = seen.limits.iter().enumerate().map(|(place, &(r, t))| match (self, r) {
            (Self::Eager | Self::Even, 0) => t * 1000,
            (Self::Even, r) if place == 0 => t * 1000 / r,
            (Self::Eager | Self::Even | Self::Obedient, _) => 0,
        });
        waits.max().unwrap_or(0) + ANSWERS_WITHIN
    }
}
