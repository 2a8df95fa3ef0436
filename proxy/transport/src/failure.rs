//! Failures of upstreams, and their causes.

use std::io;

use pingora::{Error, ErrorType};
use rustix::io::Errno;

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
    /// The upstream does not respond to probes any more.
    Unresponsive,
    /// The upstream closed or reset the connection.
    Terminated,
    /// The response is not valid HTTP.
    Malformed,
    /// The head of the response is too large.
    HeadersTooLarge,
    /// The upstream responded with an error status, which the product does not pass on.
    Status(u16),
    /// Any other cause.
    Unreachable,
}

/// The error of a connection that this process has no file descriptor left for. It is no evidence
/// about the upstream.
pub const OUT_OF_FILES: ErrorType = ErrorType::Custom("OutOfFiles");

/// Returns the type of the error of a connection attempt.
pub(crate) fn connect_error(error: &Error) -> ErrorType {
    match error.root_cause().downcast_ref() {
        // To Pingora this is a failed connection, for which healthy upstreams would be ejected.
        Some(error) if is_out_of_files(error) => OUT_OF_FILES,
        Some(_) | None => error.etype().clone(),
    }
}

/// Returns true if this process or this machine has no file descriptors or buffers left.
pub fn is_out_of_files(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM].contains(&errno))
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
