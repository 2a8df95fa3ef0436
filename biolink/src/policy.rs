//! The limits of bio-link.

use shared::key::BiolinkPlan;

/// Addresses without a page that one client address may open within a minute.
pub const UNKNOWN_PAGES_PER_MINUTE: u8 = 60;

/// Calls of the bio-link API that an account may make in any hour.
pub const CALLS_PER_HOUR: u32 = 1_000;
/// Pages of an account.
pub const PAGES: u32 = 25;
/// Events of one visitor of a page that count within a minute.
pub const EVENTS_PER_MINUTE: u32 = 60;
/// Events of one network with a page that count within a minute. Whole offices, schools and carriers share
/// an address.
pub const NETWORK_EVENTS_PER_MINUTE: u32 = 600;
/// Days over which analytics reach back (specification, section 8).
pub const ANALYTICS_DAYS: u32 = 90;
/// The same without a plan.
pub const ANALYTICS_DAYS_WITHOUT_PLAN: u32 = 7;

/// Returns the days over which the analytics of a plan reach back.
pub const fn analytics_days(plan: BiolinkPlan) -> u32 {
    match plan {
        BiolinkPlan::None => ANALYTICS_DAYS_WITHOUT_PLAN,
        BiolinkPlan::Standard | BiolinkPlan::Business => ANALYTICS_DAYS,
    }
}
