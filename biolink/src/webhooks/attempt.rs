//! The result of one attempt to deliver.

use serde::{Deserialize, Serialize};

use shared::time::UnixMillis;

/// The time that a receiver has for its response, in milliseconds.
pub const ATTEMPT_TIMEOUT_MS: u64 = 15_000;
/// The bytes of a response that are kept.
pub const MAX_EXCERPT: usize = 4_096;

/// The result of an attempt, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// The receiver responded in time.
    Response {
        /// The HTTP status.
        status: u16,
        /// The pause that `Retry-After` asks for, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// There was no response within [`ATTEMPT_TIMEOUT_MS`].
    TimedOut,
    /// No connection, or a response that cannot be read.
    ConnectionFailed,
    /// The address may not be called any more, so nothing was sent.
    AddressRefused,
}

impl AttemptResult {
    /// Returns true if the event was delivered: any 2xx.
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Response { status: 200..=299, .. })
    }

    /// Returns true if the receiver wants nothing any more: a 410.
    pub const fn is_gone(self) -> bool {
        matches!(self, Self::Response { status: 410, .. })
    }

    /// Returns true if the receiver seems to be overloaded.
    pub const fn is_overload(self) -> bool {
        matches!(self, Self::TimedOut | Self::Response { status: 429 | 502 | 504, .. })
    }

    /// Returns the HTTP status, if there was a response.
    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Response { status, .. } => Some(status),
            Self::TimedOut | Self::ConnectionFailed | Self::AddressRefused => None,
        }
    }

    /// Returns the class of the failure; `None` for a success.
    pub const fn error(self) -> Option<&'static str> {
        match self {
            Self::Response { status: 200..=299, .. } => None,
            Self::Response { status: 300..=399, .. } => Some("redirect"),
            Self::Response { .. } => Some("status"),
            Self::TimedOut => Some("timeout"),
            Self::ConnectionFailed => Some("connection"),
            Self::AddressRefused => Some("address_refused"),
        }
    }

    /// Returns the pause that `Retry-After` asked for, in milliseconds.
    pub(super) const fn retry_after_ms(self) -> Option<u64> {
        match self {
            Self::Response { retry_after_ms, .. } => retry_after_ms,
            Self::TimedOut | Self::ConnectionFailed | Self::AddressRefused => None,
        }
    }
}

/// Reads `Retry-After` (RFC 9110, section 10.2.3): seconds, or an HTTP date. Returns milliseconds from
/// `now`; `None` for anything else.
pub fn retry_after_ms(value: &str, now: UnixMillis) -> Option<u64> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(seconds.saturating_mul(1000));
    }
    UnixMillis::from_http_date(value).map(|moment| moment.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn response(status: u16) -> AttemptResult {
        AttemptResult::Response { status, retry_after_ms: None }
    }

    #[test]
    fn only_2xx_is_a_success() {
        for status in 100..=599 {
            let result = response(status);
            assert_eq!(result.is_success(), (200..300).contains(&status), "{status}");
            assert_eq!(result.error().is_none(), result.is_success());
            assert_eq!(result.is_gone(), status == 410);
        }
        assert_eq!((response(302).error(), response(404).error()), (Some("redirect"), Some("status")));
        for result in
            [AttemptResult::TimedOut, AttemptResult::ConnectionFailed, AttemptResult::AddressRefused]
        {
            assert!(!result.is_success() && result.error().is_some() && result.status().is_none());
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = UnixMillis(784_111_717_500);
        assert_eq!(retry_after_ms(" 120 ", now), Some(120_000));
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(retry_after_ms(date, UnixMillis(784_111_767_000)), Some(10_000), "{date}");
            assert_eq!(retry_after_ms(date, UnixMillis(784_111_777_001)), Some(0), "{date}");
        }
        for text in ["", "-1", "1.5", "soon", "Sun, 06 Nov 1994"] {
            assert_eq!(retry_after_ms(text, now), None, "{text}");
        }
        assert_eq!(retry_after_ms(&u64::MAX.to_string(), now), Some(u64::MAX));
    }
}
