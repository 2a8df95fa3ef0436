//! The reasons why HTTP/2 connections are closed.

use h2::Reason;
use strum::{IntoStaticStr, VariantArray};

/// The reason why an HTTP/2 connection was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum CloseReason {
    /// The client closed it.
    Closed,
    /// The client did not send the preface, or the first request, in time.
    Timeout,
    /// The connection had no request for too long.
    Idle,
    /// The connection reached its maximum number of requests, the process is shutting down, or another
    /// client needs its file descriptor.
    Done,
    /// The client violated the protocol.
    Broken,
    /// The client opened streams only to reset them.
    Flood,
}

impl CloseReason {
    pub(super) fn of(error: &h2::Error) -> Self {
        // h2 detects floods of its own.
        let flood = error.reason() == Some(Reason::ENHANCE_YOUR_CALM) && error.is_library();
        match error.is_io() || error.is_remote() {
            true => Self::Closed,
            false if flood => Self::Flood,
            false => Self::Broken,
        }
    }
}
