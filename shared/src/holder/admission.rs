//! What becomes of a call.

use super::Charge;
use crate::{
    key::KeyFault,
    meter::Ask,
    problem::{Code, Problem},
    quota::{Denial, Standing},
};

/// What to do with a call.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "lives for one call and is never kept in bulk")]
pub enum Step {
    /// Decided here and now. `renew`, when there, is to be asked in the background.
    Decided(Admission, Option<Ask>),
    /// The meter must be asked, and the call waits.
    Ask(Ask),
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Admission {
    /// It passes. `degraded` when the meter was out of reach and the local budget let it pass.
    Allow {
        /// How the key stands now.
        standing: Standing,
        /// The policy was kept by the local budget.
        degraded: bool,
        /// Where the call is counted: for [`Holder::ended`](super::Holder::ended).
        charge: Charge,
    },
    /// It would exceed a quota.
    Deny(Denial, Standing),
    /// The key may not be used.
    Refuse(KeyFault),
    /// The meter is out of reach, and the tier waits rather than risk a call too many.
    Unavailable {
        /// Milliseconds until it is asked again.
        retry_ms: u64,
    },
}

impl Admission {
    /// The refusal as the client sees it; `None` for a call that passes.
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

    /// How the key stands, where that is known.
    #[must_use]
    pub const fn standing(&self) -> Option<&Standing> {
        match self {
            Self::Allow { standing, .. } | Self::Deny(_, standing) => Some(standing),
            Self::Refuse(_) | Self::Unavailable { .. } => None,
        }
    }
}
