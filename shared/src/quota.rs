//! Counting calls against a [`Policy`](crate::policy::Policy): a rolling minute and the UTC day, exactly.

mod clock;
mod counts;
mod rolling;
mod standing;
mod usage;

pub use clock::Clock;
pub use counts::Counts;
pub use rolling::Rolling;
pub use standing::{Denial, Left, Standing};
pub use usage::{Decision, RollingMinute, Usage};
