//! The decision on a call in direct mode, whoever made it.

use shared::key::{SecretId, VerifiedKey};
use shared::lease_cache::{Admission, Charge};
use shared::problem::Problem;
use shared::quota::{Decision, QuotaStatus, ReservedUnits};
use shared::tier::Tier;
use shared::time::UtcDay;
use tokio::sync::oneshot;

use super::key_table::CountedCall;
use super::meters::KeyDecision;

/// The next step for a call.
#[allow(clippy::large_enum_variant, reason = "lives for one call and is never kept in bulk")]
pub enum CallStep {
    /// The call is decided.
    Decided(CallDecision),
    /// The meter of its key decides.
    Wait(oneshot::Receiver<KeyDecision>),
}

/// The decision on a call.
pub struct CallDecision {
    /// The tier of the key.
    pub tier: Tier,
    /// The named secret that calls.
    pub secret_id: Option<SecretId>,
    /// The quota status of the key, if it is known.
    pub quota: Option<QuotaStatus>,
    /// How the call was admitted, or the problem with which it is refused.
    pub outcome: Result<AdmittedCall, Problem>,
}

/// An admitted call.
#[derive(Clone, Copy, Debug)]
pub struct AdmittedCall {
    /// Where it is counted.
    pub charged: Charged,
    /// Whether it passed on the local budget, because its meter was out of reach.
    pub degraded: bool,
}

/// Where an admitted call is counted.
#[derive(Clone, Copy, Debug)]
pub enum Charged {
    /// In this process.
    Here {
        /// The day.
        day: UtcDay,
        /// The units that are reserved for it.
        reserved: Option<ReservedUnits>,
    },
    /// By the meter of the key.
    Meter(VerifiedKey, Charge),
}

impl From<CountedCall> for CallDecision {
    fn from(CountedCall { tier, secret_id, decision, day, reserved }: CountedCall) -> Self {
        let (quota, outcome) = match decision {
            Decision::Allow(quota) => {
                (quota, Ok(AdmittedCall { charged: Charged::Here { day, reserved }, degraded: false }))
            }
            Decision::Deny(denial, quota) => (quota, Err(denial.problem(&quota))),
        };
        Self { tier, secret_id, quota: Some(quota), outcome }
    }
}

impl CallDecision {
    /// Returns the decision of a key's meter, for which a call has waited. `None` is that of a process that exits.
    ///
    /// # Errors
    /// If the key must not be used, or it is undecided.
    pub fn after_wait(key: &VerifiedKey, decision: Option<KeyDecision>) -> Result<Self, Problem> {
        Self::from_meter(key, decision.ok_or_else(super::meters::unavailable)?)
    }

    /// Returns the decision of a key's meter or of its leases.
    ///
    /// # Errors
    /// If the key must not be used.
    pub(crate) fn from_meter(
        key: &VerifiedKey,
        KeyDecision { admission, tier, secret_id }: KeyDecision,
    ) -> Result<Self, Problem> {
        let quota = admission.quota().copied();
        let outcome = match (&admission, admission.problem()) {
            (Admission::Refuse(error), _) => return Err((*error).into()),
            (Admission::Allow { degraded, charge, .. }, _) => {
                Ok(AdmittedCall { charged: Charged::Meter(*key, *charge), degraded: *degraded })
            }
            (Admission::Deny(..) | Admission::Unavailable { .. }, problem) => {
                Err(problem.unwrap_or_else(super::meters::unavailable))
            }
        };
        Ok(Self { tier, secret_id, quota, outcome })
    }
}
