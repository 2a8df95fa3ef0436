//! The rule for calls that do not count against the day.

use crate::problem::codes;

/// The status under which a call is counted whose client left before the response, as nginx logs it.
pub const CLIENT_LEFT_STATUS: u16 = 499;

/// The end of a call that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// The tool responded.
    Responded,
    /// The gateway refused it, or its client left, before any of it was sent on: to an origin by the
    /// edge, to a tool by the proxy. The beginning of an upload that a proxy holds back is not sent on.
    Refused,
    /// The gateway refused it, or its client left, after a part of it was sent on.
    CutOff,
}

impl CallEnd {
    /// Returns the end of a call to which no tool responded.
    pub const fn without_response(is_sent: bool) -> Self {
        if is_sent { Self::CutOff } else { Self::Refused }
    }
}

/// Returns true if a call that ended with `status` is refunded to its day: none of it was sent on, or
/// the tool was not available. A client that cuts its upload off is charged, because a tool may have
/// worked for it.
///
/// ```
/// use shared::quota::{CallEnd, is_uncharged};
///
/// assert!(is_uncharged(503, CallEnd::Responded) && is_uncharged(413, CallEnd::Refused));
/// assert!(!is_uncharged(200, CallEnd::Responded) && !is_uncharged(500, CallEnd::Responded));
/// assert!(!is_uncharged(400, CallEnd::CutOff) && is_uncharged(503, CallEnd::CutOff));
/// ```
pub const fn is_uncharged(status: u16, end: CallEnd) -> bool {
    match end {
        CallEnd::Responded => status == codes::TOOL_UNAVAILABLE.status(),
        CallEnd::Refused => true,
        // A fault of the gateway or of the tool is not the client's.
        CallEnd::CutOff => status >= 500,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_refunded_if_no_tool_worked_for_it() {
        for (status, uncharged) in [
            (200, [false, true, false]),
            (499, [false, true, false]),
            (500, [false, true, true]),
            (502, [false, true, true]),
            (503, [true, true, true]),
        ] {
            let ends = [CallEnd::Responded, CallEnd::Refused, CallEnd::CutOff];
            assert_eq!(ends.map(|end| is_uncharged(status, end)), uncharged, "{status}");
        }
        assert_eq!([true, false].map(CallEnd::without_response), [CallEnd::CutOff, CallEnd::Refused]);
    }
}
