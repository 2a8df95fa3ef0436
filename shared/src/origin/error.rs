//! Calls to an origin that failed: whether they may be retried, and the problem that the client
//! gets.

use thiserror::Error;

use super::AVOID_MS;
use crate::problem::{Code, Problem, codes};
use crate::route::CallMethod;
use crate::tool::Tool;

/// An error of a call to an origin: it got no response of our proxy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OriginError {
    /// No connection was made.
    #[error("no data center could be reached")]
    Refused,
    /// The connection was closed before a response.
    #[error("the connection was lost before a response came")]
    Lost,
    /// The connection was made, and no response came in time.
    #[error("no response came in time")]
    TimedOut,
    /// Something responded that cannot prove to be our proxy.
    #[error("another server responded in the data center's place")]
    Foreign,
    /// The proxy does not accept our grant: the two do not share a secret, a name or a clock.
    #[error("the data center does not take calls from this edge")]
    Rejected,
}

/// Whether a tool may have executed a call that got no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// It has not.
    None,
    /// It may have.
    Possible,
}

/// Returns the detail of a failed call: the tool, what happened and, for a POST, whether the tool
/// may have executed it, so that the client knows whether it may send it again.
pub fn failure_detail(tool: Tool, method: CallMethod, execution: Execution, what: &str) -> String {
    match (method, execution) {
        (CallMethod::Get, _) => format!("{tool}: {what}"),
        (CallMethod::Post, Execution::None) => format!("{tool}: {what}; the call was not executed"),
        (CallMethod::Post, Execution::Possible) => format!("{tool}: {what}; the call may have been executed"),
    }
}

impl OriginError {
    /// Returns what a response means that carries no [`Proof`](crate::proof::Proof). The platform
    /// responds with 521 to 530 itself if it cannot connect, and with 524 if a response is late.
    /// Anything else is of some other server, whatever its status.
    ///
    /// A POST may then have been executed all the same: a load balancer in front of the proxy may
    /// have passed it on before it responded itself.
    pub const fn of_unproven_response(status: u16) -> Self {
        match status {
            521 | 522 | 523 | 525 | 526 | 530 => Self::Refused,
            524 => Self::TimedOut,
            _ => Self::Foreign,
        }
    }

    /// Returns true if the origin itself is out of reach, and not just this one call's connection.
    /// A proxy that is alive responds before a call can be [`OriginError::TimedOut`].
    pub(crate) const fn is_unreachable(self) -> bool {
        match self {
            Self::Refused | Self::TimedOut | Self::Rejected | Self::Foreign => true,
            Self::Lost => false,
        }
    }

    /// Returns true if the call may be sent to another origin: not if an origin may have executed
    /// it, unless it only reads. A late response is no reason: the tool is slow, not the origin
    /// dead.
    pub const fn is_retryable(self, method: CallMethod) -> bool {
        match (self, method) {
            (Self::Refused | Self::Rejected, _) | (Self::Lost | Self::Foreign, CallMethod::Get) => true,
            // The tool may be working on it. Sent again, a POST could be executed twice, and a slow
            // GET would load a second tool.
            (Self::TimedOut, _) | (Self::Lost | Self::Foreign, CallMethod::Post) => false,
        }
    }

    /// Returns the problem that the client of a call gets: always a 503, with `Proxy-Status` (RFC
    /// 9209).
    // Rare. Kept out of the edge's `forward`, which would have 1 KB more.
    #[inline(never)]
    pub fn problem(self, tool: Tool, method: CallMethod) -> Problem {
        self.render(failure_detail(tool, method, self.execution(), &self.to_string()))
    }

    /// Returns the problem for a request that calls no tool.
    pub fn problem_without_call(self) -> Problem {
        self.render(self.to_string())
    }

    fn render(self, detail: String) -> Problem {
        let (code, error) = self.code();
        Problem::new(code, detail)
            .retry_after(AVOID_MS.div_ceil(1_000))
            .with_header("proxy-status", format!("edge; error={error}"))
    }

    /// Returns the code, and the error type of `Proxy-Status`.
    const fn code(self) -> (Code, &'static str) {
        match self {
            Self::Refused => (codes::TOOL_UNAVAILABLE, "destination_unavailable"),
            Self::Lost => (codes::TOOL_UNAVAILABLE, "connection_terminated"),
            Self::TimedOut => (codes::TOOL_TIMEOUT, "http_response_timeout"),
            Self::Foreign => (codes::ORIGIN_INVALID, "http_protocol_error"),
            Self::Rejected => (codes::TOOL_UNAVAILABLE, "proxy_configuration_error"),
        }
    }

    const fn execution(self) -> Execution {
        match self {
            Self::Refused | Self::Rejected => Execution::None,
            Self::Lost | Self::TimedOut | Self::Foreign => Execution::Possible,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [OriginError; 5] = [
        OriginError::Refused,
        OriginError::Lost,
        OriginError::TimedOut,
        OriginError::Foreign,
        OriginError::Rejected,
    ];

    #[test]
    fn post_that_may_have_been_executed_is_not_retried() {
        for error in [OriginError::Lost, OriginError::TimedOut, OriginError::Foreign] {
            assert!(!error.is_retryable(CallMethod::Post), "{error:?}");
        }
        assert!(
            !OriginError::TimedOut.is_retryable(CallMethod::Get),
            "the tool is slow, not the origin dead"
        );
        assert!(OriginError::Refused.is_retryable(CallMethod::Post));
        assert!(OriginError::Rejected.is_retryable(CallMethod::Post));
        assert!(OriginError::Lost.is_retryable(CallMethod::Get));
    }

    #[test]
    fn failed_post_says_whether_it_may_have_been_executed() {
        for error in ALL {
            let post = error.problem(Tool::Pdf, CallMethod::Post).detail().to_owned();
            let possible = post.ends_with("; the call may have been executed");
            assert!(post.starts_with("pdf: ") && (possible || post.ends_with("; the call was not executed")));
            let repeated = error.is_retryable(CallMethod::Post);
            assert_eq!(possible, !repeated, "{error:?}: what is sent again cannot have been executed");
            let get = error.problem(Tool::Pdf, CallMethod::Get);
            assert!(get.detail().starts_with("pdf: ") && !get.detail().contains("executed"));
        }
    }

    #[test]
    fn every_error_is_503_with_retry_after() {
        for error in ALL {
            let problem = error.problem(Tool::Qr, CallMethod::Get);
            let rendered = problem.render(&crate::request_id::RequestId([0; 16]));
            assert_eq!(rendered.status, 503, "{error:?}");
            for name in ["retry-after", "proxy-status"] {
                assert!(rendered.headers.iter().any(|(n, _)| *n == name), "{error:?} {name}");
            }
        }
    }

    #[test]
    fn unproven_response_is_the_platforms_or_foreign() {
        assert_eq!(OriginError::of_unproven_response(522), OriginError::Refused);
        assert_eq!(OriginError::of_unproven_response(524), OriginError::TimedOut);
        for status in [200, 403, 404, 502] {
            assert_eq!(OriginError::of_unproven_response(status), OriginError::Foreign);
        }
    }
}
