//! The outcome of a request.

use crate::linger::LingeringClose;

/// The outcome of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The status of the response, or 0 if there was none.
    pub(crate) status: u16,
    /// The number of bytes of the response's body.
    pub(crate) sent: usize,
    pub(crate) next: Next,
}

/// The next step of a client connection after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Serve another request.
    Request,
    /// Close the connection.
    Close,
    /// Close the connection with a lingering close, because the client may still be sending.
    Linger(LingeringClose),
}

impl Outcome {
    /// Returns the outcome of a request whose client has disconnected.
    pub(crate) const fn client_closed() -> Self {
        Self { status: 0, sent: 0, next: Next::Close }
    }
}

impl Next {
    /// Returns the step after a response. `is_read` means that the whole request was read, of whose
    /// body at most `max_body` bytes are discarded otherwise.
    pub(crate) const fn after_response(close: bool, is_read: bool, max_body: u64) -> Self {
        match (close, is_read) {
            // Closed with unread bytes, the socket is reset, and a client that is still sending
            // loses the response.
            (_, false) => Self::Linger(LingeringClose::Body(max_body)),
            (true, true) => Self::Close,
            (false, true) => Self::Request,
        }
    }
}
