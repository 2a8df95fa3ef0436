//! The reasons why a condition or tolerance is invalid.

use thiserror::Error;

/// The reason why a condition or tolerance is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ConditionError {
    /// There is no comparison.
    #[error(
        "invalid condition `{0}`: expected a metric, a sign (<, <=, =, !=, >=, >) and a value, for example p99<=50ms"
    )]
    NoSign(String),
    /// The metric is unknown.
    #[error(
        "invalid condition `{text}`: unknown metric `{metric}`: expected p50 to p99.99, max, mean, lag.p99, wake.p99, wait.p99, errors, \
         success, status(503), code(quota-exceeded), failed, check_failed, first_event.p99, event_gap.p99, events, calls, rate, admitted, usable, books, cost, recovery, \
         first_good, last_failure or missing_retry_after"
    )]
    Metric {
        /// The condition.
        text: String,
        /// The metric.
        metric: String,
    },
    /// The value does not fit the metric.
    #[error(
        "invalid condition `{text}`: `{value}` is no value of this metric: expected a time (50ms, 2s) for latencies, a \
         number or a share (99.9%) for calls, 100/s for rate, admitted=exact or books=balanced"
    )]
    Value {
        /// The condition.
        text: String,
        /// The value.
        value: String,
    },
    /// A name is unknown.
    #[error("`{text}`: unknown {kind} `{name}`: expected one of {known}")]
    UnknownName {
        /// The condition or tolerance.
        text: String,
        /// Request or phase.
        kind: &'static str,
        /// The name.
        name: String,
        /// The known names.
        known: String,
    },
    /// A tolerance is invalid.
    #[error(
        "invalid tolerance `{0}`: expected a status, a class or `failed`, for example 429, 5xx or `401 key-revoked in revoked`"
    )]
    Tolerance(String),
}
