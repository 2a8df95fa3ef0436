//! The problems of tools that cannot serve: a 503 with the reason and `Retry-After`.

use shared::origin::{Execution, failure_detail};
use shared::problem::{Code, Problem, codes};
use shared::route::CallMethod;

use crate::state::State;
use transport::clock::Monotonic;
use transport::hooks::{Cause, Limit};
use upstreams::{Exceeded, Pool};

/// Returns the problem of an upstream that failed before its response began. All are 503: to the
/// client it is the tool that is not available (spec section 7).
pub(crate) fn failed(pool: &Pool, method: CallMethod, cause: Cause, execution: Execution) -> Problem {
    let (code, proxy_error, what) = match cause {
        Cause::ConnectTimeout => {
            (codes::TOOL_UNAVAILABLE, "connection_timeout", "no server of the tool could be reached in time")
        }
        Cause::Refused => {
            (codes::TOOL_UNAVAILABLE, "connection_refused", "the tool's servers refuse connections")
        }
        Cause::Timeout => (codes::TOOL_TIMEOUT, "http_response_timeout", "the tool did not respond in time"),
        Cause::Unresponsive => (
            codes::TOOL_UNAVAILABLE,
            "destination_unavailable",
            "the tool's server does not respond to health checks any more",
        ),
        Cause::Terminated => (
            codes::TOOL_UNAVAILABLE,
            "connection_terminated",
            "the tool closed the connection before it responded",
        ),
        Cause::Malformed => {
            (codes::TOOL_UNAVAILABLE, "http_protocol_error", "the tool's response is not valid HTTP")
        }
        Cause::HeadersTooLarge => (
            codes::TOOL_UNAVAILABLE,
            "http_response_header_section_size",
            "the headers of the tool's response are too large",
        ),
        Cause::NoRoute => {
            (codes::TOOL_UNAVAILABLE, "destination_ip_unroutable", "there is no route to the tool's servers")
        }
        Cause::Certificate => (
            codes::TOOL_UNAVAILABLE,
            "tls_certificate_error",
            "the certificate of the tool's server is not valid",
        ),
        Cause::Tls => {
            (codes::TOOL_UNAVAILABLE, "tls_protocol_error", "the TLS handshake with the tool's server failed")
        }
        Cause::Status(_) => (
            codes::TOOL_UNAVAILABLE,
            "destination_unavailable",
            "the tool responded with an error, and no other server could be tried",
        ),
        Cause::Unreachable => {
            (codes::TOOL_UNAVAILABLE, "destination_unavailable", "the tool cannot be reached")
        }
    };
    let detail = failure_detail(pool.config.tool, method, execution, what);
    outage(pool, code, proxy_error, detail)
}

/// Returns the problem of a pool none of whose upstreams can take a call.
pub(crate) fn unavailable(pool: &Pool, method: CallMethod, what: &str) -> Problem {
    let detail = failure_detail(pool.config.tool, method, Execution::None, what);
    outage(pool, codes::TOOL_UNAVAILABLE, "destination_unavailable", detail)
}

/// Records that a limit on concurrent work was exceeded, and returns the problem.
pub(crate) fn full(state: &State, limit: Limit, detail: &'static str) -> Problem {
    state.metrics.limits.record(limit);
    overloaded(detail)
}

/// Records that a limit on the calls of a pool was exceeded, and returns the problem.
pub(crate) fn exceeded(state: &State, exceeded: Exceeded) -> Problem {
    let (limit, detail, wait_ms) = match exceeded {
        Exceeded::Rate(wait) => (Limit::CallsPerSecond, "the tool gets too many calls a second", wait),
        Exceeded::RateOfKey => {
            (Limit::CallsPerSecondPerKey, "the key makes too many calls of the tool a second", 1_000)
        }
        Exceeded::InFlightOfKey => {
            (Limit::CallsInFlightPerKey, "the key has too many calls of the tool in flight", 1_000)
        }
    };
    full(state, limit, detail).retry_after(wait_ms.div_ceil(1_000).max(1))
}

/// Returns the problem of a limit on concurrent work.
pub(crate) fn overloaded(detail: &'static str) -> Problem {
    Problem::new(codes::TOOL_OVERLOADED, detail)
        .retry_after(1)
        .with_header("proxy-status", proxy_status("connection_limit_reached"))
}

fn outage(pool: &Pool, code: Code, proxy_error: &str, detail: String) -> Problem {
    Problem::new(code, detail)
        .retry_after(pool.recovers_in(Monotonic::now()).div_ceil(1_000))
        .with_header("proxy-status", proxy_status(proxy_error))
}

/// Returns the value of `Proxy-Status` for an error type of RFC 9209, section 2.3.
pub(crate) fn proxy_status(error: &str) -> String {
    format!("utg-proxy; error={error}")
}
