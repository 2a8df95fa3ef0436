//! The certificate: what the calls of one client say about a limit.

use std::collections::BTreeMap;
use std::fmt;
use std::process::ExitCode;
use std::time::Duration;

use hyper::StatusCode;

use super::policy::LimitPolicy;
use crate::summary::fullest_window;

/// Exit code of a gateway that let more calls through than its limit.
const EXCEEDED: u8 = 3;

/// A call, with the status of its response if there was one.
pub(super) struct Call {
    pub(super) sent: Duration,
    pub(super) done: Duration,
    pub(super) status: Option<StatusCode>,
}

/// What is certain about a limit.
#[derive(Debug, PartialEq, Eq)]
enum Finding {
    /// No window held more than the limit, whatever happened to calls that failed.
    Exact,
    /// A window held more.
    Failed,
    /// Calls that failed, or got a 5xx, may have been admitted: then a window held this many.
    Unknown(usize),
    /// No call was admitted.
    NothingAdmitted,
    /// No call has a response.
    NoResponse,
}

/// The certificate of a limit.
pub(super) struct Certificate {
    policy: LimitPolicy,
    admitted: usize,
    /// Calls without a response.
    failed: usize,
    /// Responses that were neither 2xx nor 429, by status.
    others: BTreeMap<u16, usize>,
    calls: usize,
    fullest: (usize, Duration),
    finding: Finding,
}

impl Certificate {
    pub(super) fn new(policy: LimitPolicy, calls: &[Call]) -> Self {
        let window = |select: &dyn Fn(&Call) -> bool| {
            let times: Vec<_> =
                calls.iter().filter(|call| select(call)).map(|call| (call.sent, call.done)).collect();
            fullest_window(&times, policy.window)
        };
        let is_admitted = |call: &Call| call.status.is_some_and(|status| status.is_success());
        // The limiter may have let them through before they failed.
        let may_be =
            |call: &Call| is_admitted(call) || call.status.is_none_or(|status| status.is_server_error());
        let (fullest, possible) = (window(&is_admitted), window(&may_be).0);
        let admitted = calls.iter().filter(|call| is_admitted(call)).count();
        let failed = calls.iter().filter(|call| call.status.is_none()).count();
        let limit = usize::try_from(policy.calls).unwrap_or(usize::MAX);
        let finding = match () {
            // The order matters: a gateway that is down or refuses all holds any limit, and that
            // certifies nothing.
            () if failed == calls.len() => Finding::NoResponse,
            () if admitted == 0 => Finding::NothingAdmitted,
            // Before the calls in doubt: what is certain already exceeds the limit.
            () if fullest.0 > limit => Finding::Failed,
            () if possible > limit => Finding::Unknown(possible),
            () => Finding::Exact,
        };
        let mut others = BTreeMap::new();
        for status in calls.iter().filter_map(|call| call.status) {
            if !status.is_success() && status != StatusCode::TOO_MANY_REQUESTS {
                *others.entry(status.as_u16()).or_default() += 1;
            }
        }
        Self { policy, admitted, failed, others, calls: calls.len(), fullest, finding }
    }

    /// Returns 0 if the limit is exact, 3 if it was exceeded, and 1 if that is not known.
    pub(super) fn exit_code(&self) -> ExitCode {
        match self.finding {
            Finding::Exact => ExitCode::SUCCESS,
            Finding::Failed => ExitCode::from(EXCEEDED),
            Finding::Unknown(_) | Finding::NothingAdmitted | Finding::NoResponse => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, admitted, failed, others, calls, fullest: (fullest, from), finding } = self;
        let refused = calls - admitted - failed;
        let limit = policy.calls;
        writeln!(f, "limit            {policy}")?;
        writeln!(f, "calls            {calls}: {admitted} admitted, {refused} refused, {failed} failed")?;
        if !others.is_empty() {
            let list: Vec<String> =
                others.iter().map(|(status, calls)| format!("{calls} × {status}")).collect();
            writeln!(f, "                 of the refused: {}", list.join(", "))?;
        }
        let share = *fullest as f64 / f64::from(limit);
        writeln!(
            f,
            "fullest window   {fullest} calls from {:.1} s: {share:.2} of the limit",
            from.as_secs_f64()
        )?;
        f.write_str("certificate      ")?;
        match finding {
            Finding::Exact => writeln!(f, "exact: no window held more than the limit"),
            Finding::Failed => {
                writeln!(f, "FAILED: a window held {fullest} calls, and the limit is {limit}")
            }
            Finding::Unknown(possible) => writeln!(
                f,
                "unknown: calls that failed or got a 5xx may have been admitted, and then a window held {possible} \
                 calls, where the limit is {limit}"
            ),
            Finding::NothingAdmitted => {
                writeln!(f, "unknown: no call was admitted; expected a path and a key that get a 2xx")
            }
            Finding::NoResponse => writeln!(f, "unknown: no call got a response"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of the same moment with these statuses, and none for 0.
    fn finding(statuses: &[u16]) -> Finding {
        let call = |&status: &u16| Call {
            sent: Duration::ZERO,
            done: Duration::from_millis(1),
            status: StatusCode::from_u16(status).ok(),
        };
        let calls: Vec<Call> = statuses.iter().map(call).collect();
        Certificate::new(LimitPolicy { calls: 2, window: Duration::from_secs(60) }, &calls).finding
    }

    #[test]
    fn limit_is_exact_only_if_failed_calls_cannot_change_it() {
        assert_eq!(finding(&[200, 200, 429]), Finding::Exact);
        assert_eq!(finding(&[200, 0, 429]), Finding::Exact);
        assert_eq!(finding(&[200, 200, 0]), Finding::Unknown(3));
        assert_eq!(finding(&[200, 200, 503, 429]), Finding::Unknown(3));
        assert_eq!(finding(&[200, 200, 200, 0]), Finding::Failed);
        assert_eq!(finding(&[404, 429, 0]), Finding::NothingAdmitted);
        assert_eq!(finding(&[0, 0]), Finding::NoResponse);
    }
}
