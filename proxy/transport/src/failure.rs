//! Failures of upstreams, and their causes.

use pingora_core::ErrorType;

/// The failure of a call that was sent to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The cause.
    pub cause: Cause,
    /// The kind, which decides on retries and outlier detection.
    pub kind: FailureKind,
    /// Whether the whole request was kept, so that it can be sent again.
    pub is_replayable: bool,
}

/// The kind of a failure: outlier detection and retries depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The upstream failed.
    Failed,
    /// The upstream closed an idle connection before the request reached it.
    Stale,
    /// The upstream stated that it has not processed the request.
    Unprocessed,
}

/// The cause of an upstream's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The connection was not established in time.
    ConnectTimeout,
    /// The upstream refuses connections.
    Refused,
    /// There is no route to the upstream.
    NoRoute,
    /// The upstream's certificate is not valid for it.
    Certificate,
    /// The TLS handshake failed.
    Tls,
    /// The upstream did not respond in time.
    Timeout,
    /// The upstream closed or reset the connection.
    Terminated,
    /// The response is not valid HTTP.
    Malformed,
    /// The head of the response is too large.
    HeadersTooLarge,
    /// Any other cause.
    Unreachable,
}

impl From<&ErrorType> for Cause {
    fn from(error: &ErrorType) -> Self {
        match error {
            ErrorType::ConnectTimedout | ErrorType::TLSHandshakeTimedout => Self::ConnectTimeout,
            ErrorType::ConnectRefused => Self::Refused,
            ErrorType::ConnectNoRoute => Self::NoRoute,
            ErrorType::InvalidH2 => Self::Malformed,
            ErrorType::InvalidCert => Self::Certificate,
            ErrorType::TLSHandshakeFailure | ErrorType::TLSWantX509Lookup | ErrorType::HandshakeError => {
                Self::Tls
            }
            _ => Self::Unreachable,
        }
    }
}
