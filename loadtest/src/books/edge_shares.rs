//! The parts of the completed calls behind an edge.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The parts of the completed calls: `refused + forwarded + served` are all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EdgeShares {
    /// Calls that the edge refused with its own problem.
    pub(crate) refused: u64,
    /// Calls that it forwarded to an origin.
    pub(crate) forwarded: u64,
    /// Calls that it responded to itself, such as visits of pages.
    pub(crate) served: u64,
    /// Attempts at origins beyond the first.
    pub(crate) retried: u64,
}

impl EdgeShares {
    /// Divides `completed` calls. `problems` are those that the driver got, and `of_gateway` those
    /// that the gateway behind the edge responded with. `in_doubt` calls have no complete response.
    pub(super) fn new(
        completed: u64,
        problems: &BTreeMap<String, u64>,
        of_gateway: Option<&BTreeMap<String, u64>>,
        in_doubt: u64,
        origin_requests: u64,
    ) -> Self {
        let by_gateway = |code: &str| of_gateway.and_then(|counts| counts.get(code)).copied().unwrap_or(0);
        // Both refuse with the same codes. What the gateway did not count was the edge's.
        let by_edge = |(code, count): (&String, &u64)| count.saturating_sub(by_gateway(code));
        let refused: u64 = problems.iter().map(by_edge).sum();
        let passed = completed - refused;
        // Retries and calls in doubt are attempts too, so there may be more attempts than calls.
        let forwarded = origin_requests.min(passed);
        let retried = origin_requests.saturating_sub(forwarded + in_doubt);
        Self { refused, forwarded, served: passed - forwarded, retried }
    }
}

impl fmt::Display for EdgeShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { refused, forwarded, served, retried } = self;
        write!(f, "{refused} refused by the edge + {forwarded} forwarded + {served} served by the edge")?;
        if *retried > 0 { write!(f, "; {retried} further attempts at origins") } else { Ok(()) }
    }
}
