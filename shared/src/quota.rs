//! Counting calls against a [`Policy`](crate::policy::Policy): a rolling minute and the UTC day,
//! exactly.

mod charge;
mod clock;
mod counts;
mod rolling;
mod status;
mod units;
mod usage;

pub use charge::{CLIENT_LEFT_STATUS, CallEnd, is_uncharged};
pub use clock::Clock;
pub use counts::Counts;
pub use rolling::Rolling;
pub use status::{Denial, QuotaStatus, UnitsStatus, WindowStatus};
pub use units::{ReservedUnits, SpentUnits, UnitUsage};
pub use usage::{Decision, MARGIN_MS, RollingMinute, Usage};
