//! What becomes of a call.

use super::Charge;
use crate::{
    key::KeyFault,
    meter::MeterRequest,
    problem::{Code, Problem},
    quota::{Denial, QuotaStatus},
};

/// The next step for a call.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "lives for one call and is never kept in bulk")]
pub enum Step {
    /// Decided here and now. `renew`, when there, is to be asked in the background.
    Decided(Admission, Option<MeterRequest>),
    /// The meter must be asked, and the call waits.
    Ask(MeterRequest),
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// It passes. `degraded` when the meter was out of reach and the local budget let it pass.
    Allow {
        /// The key's quota status.
        standing: QuotaStatus,
        /// The policy was kept by the local budget.
        degraded: bool,
        /// The record of where the call is counted, for
        /// [`LeaseCache::ended`](super::LeaseCache::ended).
        charge: Charge,
    },
    /// It would exceed a quota.
    Deny(Denial, QuotaStatus),
    /// The key may not be used.
    Refuse(KeyFault),
    /// The meter is out of reach, and the tier waits rather than risk a call too many.
    Unavailable {
        /// Milliseconds until it is asked again.
        retry_ms: u64,
    },
}

impl Admission {
    /// Returns the refusal as the client sees it; `None` for a call that passes.
    #[must_use]
    pub fn problem(&self) -> Option<Problem> {
        match self {
            Self::Allow { .. } => None,
            Self::Deny(denial, standing) => Some(denial.problem(standing)),
            Self::Refuse(fault) => Some(Problem::from(*fault)),
            Self::Unavailable { retry_ms } => Some(
                Problem::new(
                    Code::MeterUnavailable,
                    "the meter of this key does not answer; nothing was counted",
                )
                .retry_after(retry_ms.div_ceil(1000)),
            ),
        }
    }

    /// Returns the key's quota status, if it is known.
    #[must_use]
    pub const fn standing(&self) -> Option<&QuotaStatus> {
        match self {
            Self::Allow { standing, .. } | Self::Deny(_, standing) => Some(standing),
            Self::Refuse(_) | Self::Unavailable { .. } => None,
        }
    }
}
