//! The decision on a call, and the step that leads to it.

use super::{Charge, Timeouts};
use crate::key::KeyError;
use crate::meter::MeterRequest;
use crate::problem::{Problem, codes};
use crate::quota::{Denial, QuotaStatus};

/// The next step for a call.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "lives for one call and is never kept in bulk")]
pub enum Step {
    /// The call is decided. A request that comes with it renews a lease and is sent in the
    /// background.
    Decided(Admission, Option<MeterRequest>),
    /// The request must be sent to the meter, and the call waits for the response until then.
    Ask(MeterRequest, Timeouts),
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// The call passes.
    Allow {
        /// The key's quota status.
        quota: QuotaStatus,
        /// True if the local budget let it pass, because the meter was out of reach.
        degraded: bool,
        /// The record of where the call is counted, for
        /// [`LeaseCache::record_outcome`](super::LeaseCache::record_outcome).
        charge: Charge,
    },
    /// The call would exceed a quota.
    Deny(Denial, QuotaStatus),
    /// The key may not be used.
    Refuse(KeyError),
    /// The meter is out of reach, and calls of the tier then wait, because one could exceed the
    /// limit.
    Unavailable {
        /// Milliseconds until the meter is asked again. 0 if the next call asks it.
        retry_ms: u64,
    },
}

impl Admission {
    /// Returns the refusal as the client sees it; `None` for a call that passes.
    pub fn problem(&self) -> Option<Problem> {
        match self {
            Self::Allow { .. } => None,
            Self::Deny(denial, quota) => Some(denial.problem(quota)),
            Self::Refuse(error) => Some(Problem::from(*error)),
            Self::Unavailable { retry_ms } => Some(
                Problem::new(
                    codes::METER_UNAVAILABLE,
                    "the meter of this key does not respond; nothing was counted",
                )
                .retry_after(retry_ms.div_ceil(1000)),
            ),
        }
    }

    /// Returns the key's quota status, if it is known.
    pub const fn quota(&self) -> Option<&QuotaStatus> {
        match self {
            Self::Allow { quota, .. } | Self::Deny(_, quota) => Some(quota),
            Self::Refuse(_) | Self::Unavailable { .. } => None,
        }
    }
}
