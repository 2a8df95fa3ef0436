//! The limits of bio-link.

use shared::key::BiolinkPlan;

/// Addresses without a page that one client address may open within a minute.
pub const UNKNOWN_PAGES_PER_MINUTE: u8 = 60;
/// Reports that one network, a /24 or a /48, may send within a minute to one isolate.
pub const REPORTS_PER_NETWORK_MINUTE: u8 = 10;
/// Reports of one page that one isolate sends to the store within a minute.
pub const REPORTS_PER_PAGE_MINUTE: u32 = 8;
/// Reports of all pages that one isolate sends to the store within a minute.
pub const REPORTS_SENT_PER_MINUTE: u32 = 20;

/// Calls of the bio-link API that an account may make in any hour.
pub const CALLS_PER_HOUR: u32 = 1_000;
/// Pages of an account.
pub const PAGES: u32 = 25;
/// Images of an account.
pub const IMAGES: u32 = 200;
/// Domains of an account.
pub const DOMAINS: usize = 10;
/// Bytes of all images of an account: 100 MiB.
pub const IMAGE_BYTES: u64 = 104_857_600;
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
