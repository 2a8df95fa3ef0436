//! What a meter must not forget, but for the calls that it counts.

use super::Meter;
use crate::meter::alerts::Alerts;
use crate::meter::budget_shares::BudgetShares;

/// The parts of a state that no lease stands for. A message that changes one of them must be stored
/// before its reply leaves.
#[derive(PartialEq, Eq)]
pub(in crate::meter) struct Lasting {
    version: Option<u64>,
    alerts: Alerts,
    budget: BudgetShares,
    hour: u64,
}

impl Lasting {
    pub(in crate::meter) fn of(meter: &Meter) -> Self {
        Self {
            version: meter.record.as_ref().map(|record| record.version),
            alerts: meter.alerts.clone(),
            budget: meter.budget.without_moments(),
            hour: meter.hour,
        }
    }
}
