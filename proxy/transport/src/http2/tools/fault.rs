//! How a call over HTTP/2 broke off, in the words of the relay.

use std::{error::Error, fmt, io};

use h2::Reason;

/// Why nothing more comes of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The tool has not looked at the request, and says so, or was never sent it: whatever it is, it may be sent again
    /// (RFC 9113, section 8.7).
    Unprocessed,
    /// The tool has taken back its answer, or said that it will give none.
    Reset,
    /// The connection has ended, without a word about the request.
    Lost,
    /// What the tool says is not HTTP/2.
    Malformed,
}

impl Fault {
    /// What the library's error says of a request that was sent.
    pub(super) fn of(error: &h2::Error) -> Self {
        match error.reason() {
            Some(Reason::REFUSED_STREAM) if error.is_reset() && error.is_remote() => Self::Unprocessed,
            // Those that are told of it are beyond the last stream that the tool has looked at.
            Some(_) if error.is_go_away() && error.is_remote() => Self::Unprocessed,
            Some(_) if error.is_remote() => Self::Reset,
            // What the library calls a flood was of others: nothing is known of this request.
            Some(Reason::ENHANCE_YOUR_CALM) if error.is_go_away() && error.is_library() => Self::Lost,
            Some(_) if error.is_library() => Self::Malformed,
            Some(_) | None => Self::Lost,
        }
    }

    /// The one behind an error of reading from a tool, if its connection speaks HTTP/2.
    #[must_use]
    pub fn behind(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unprocessed => "the request was not looked at",
            Self::Reset => "the stream was reset",
            Self::Lost => "the connection has ended",
            Self::Malformed => "this is not HTTP/2",
        })
    }
}

impl Error for Fault {}

impl From<Fault> for io::Error {
    fn from(fault: Fault) -> Self {
        let kind = match fault {
            Fault::Unprocessed | Fault::Reset => io::ErrorKind::ConnectionReset,
            Fault::Lost => io::ErrorKind::ConnectionAborted,
            Fault::Malformed => io::ErrorKind::InvalidData,
        };
        Self::new(kind, fault)
    }
}
