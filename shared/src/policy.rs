//! The gateway's limit numbers (spec section 8), in this file only.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::tier::Tier;

/// What a quota counts, and the stretch of time it counts over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
pub enum Window {
    /// Any 60 seconds.
    Minute,
    /// A UTC calendar day.
    Day,
    /// Units in any 60 seconds.
    #[strum(serialize = "units-minute")]
    #[serde(rename = "units-minute")]
    UnitsMinute,
    /// Units of a UTC calendar day.
    #[strum(serialize = "units-day")]
    #[serde(rename = "units-day")]
    UnitsDay,
    /// Units of a UTC calendar month.
    #[strum(serialize = "units-month")]
    #[serde(rename = "units-month")]
    UnitsMonth,
}

crate::named!(Window);

impl Window {
    /// Returns the window's length in seconds; of a month, that of the longest.
    pub const fn seconds(self) -> u32 {
        match self {
            Self::Minute | Self::UnitsMinute => 60,
            Self::Day | Self::UnitsDay => 86_400,
            Self::UnitsMonth => 31 * 86_400,
        }
    }

    /// Returns true if the window counts units, and not calls.
    pub const fn is_of_units(self) -> bool {
        match self {
            Self::Minute | Self::Day => false,
            Self::UnitsMinute | Self::UnitsDay | Self::UnitsMonth => true,
        }
    }
}

/// The limits of a key: calls in any minute and, unless unlimited, calls on any UTC day.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use shared::{policy::{LimitOverrides, Policy}, tier::Tier};
///
/// let pro = Policy::for_tier("pro".parse::<Tier>().unwrap());
/// assert_eq!((pro.minute.get(), pro.day.map(NonZeroU32::get)), (100, Some(10_000)));
///
/// // A key's own limits replace those of its tier that they name.
/// let own = pro.with(LimitOverrides { minute: NonZeroU32::new(250), ..LimitOverrides::NONE });
/// assert_eq!((own.minute.get(), own.day), (250, pro.day));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Calls in any 60 seconds.
    pub minute: NonZeroU32,
    /// Calls on a UTC day; `None` is without limit.
    pub day: Option<NonZeroU32>,
}

/// Limits of one key in place of its tier's. Absent fields keep the tier's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitOverrides {
    /// Calls in any 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minute: Option<NonZeroU32>,
    /// Calls on a UTC day. It bounds an Enterprise key too; a limit can be set, not lifted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<NonZeroU32>,
    /// Units, which no tier limits.
    #[serde(default, skip_serializing_if = "UnitLimits::is_none")]
    pub units: UnitLimits,
}

/// The limits of a key in units. A call costs as many as its price says
/// ([`Prices`](crate::prices::Prices)). Absent limits do not bound anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitLimits {
    /// Units in any 60 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minute: Option<NonZeroU32>,
    /// Units on a UTC day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<NonZeroU32>,
    /// Units in a UTC calendar month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month: Option<NonZeroU32>,
}

impl UnitLimits {
    /// No limit in units.
    pub const NONE: Self = Self { minute: None, day: None, month: None };

    /// Returns true if units are not limited.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub const fn is_none(&self) -> bool {
        matches!(self, Self { minute: None, day: None, month: None })
    }

    /// Returns each limit that there is, with its window.
    pub fn each(self) -> impl Iterator<Item = (Window, NonZeroU32)> {
        let all = [
            (Window::UnitsMinute, self.minute),
            (Window::UnitsDay, self.day),
            (Window::UnitsMonth, self.month),
        ];
        all.into_iter().filter_map(|(window, limit)| Some((window, limit?)))
    }
}

impl LimitOverrides {
    /// No own limits.
    pub const NONE: Self = Self { minute: None, day: None, units: UnitLimits::NONE };

    /// Returns these limits with those of `former` for the windows in `kept`.
    #[must_use]
    pub(crate) fn keeping(self, kept: &[Window], former: Self) -> Self {
        let of = |window: Window, own, former| if kept.contains(&window) { former } else { own };
        let units = UnitLimits {
            minute: of(Window::UnitsMinute, self.units.minute, former.units.minute),
            day: of(Window::UnitsDay, self.units.day, former.units.day),
            month: of(Window::UnitsMonth, self.units.month, former.units.month),
        };
        Self {
            minute: of(Window::Minute, self.minute, former.minute),
            day: of(Window::Day, self.day, former.day),
            units,
        }
    }
}

/// Maximum of a key's own limit for the minute: 50,000 calls a second. The meter of a key is one
/// object, and takes the requests of about 500 isolates (docs/limits.md).
pub const MAX_MINUTE_LIMIT: u32 = 3_000_000;

/// Maximum of a limit in units. Sums of units stay far below what their counters hold.
pub const MAX_UNIT_LIMIT: u32 = 1_000_000_000;

/// Maximum of the price of one call, in units.
pub const MAX_PRICE: u32 = 1_000_000;

/// The local budget of a key is one part in this many of its limit for the minute: what all lease
/// caches together may admit in any 60 seconds while its meter is out of reach.
pub const LOCAL_BUDGET_PART: u32 = 4;

/// Wrong admin secrets that one client address may send within a minute and within a day.
pub(crate) const ADMIN_ATTEMPTS: Policy = Policy { minute: nonzero(10), day: Some(nonzero(100)) };

/// Wrong admin secrets that one network, a /24 or a /48, may send within a minute to one isolate.
pub(crate) const ADMIN_ATTEMPTS_PER_NETWORK: u8 = 100;
/// Wrong admin secrets within a minute that one isolate reports to the meters of their callers. It
/// decides on further ones alone.
pub(crate) const ADMIN_ATTEMPTS_REPORTED: u32 = 60;

/// Calls of a key within a minute that ask its meter and that no quota counts, at one isolate: as many
/// as an account may make of the bio-link API within an hour.
pub(crate) const KEY_READS_PER_MINUTE: u32 = 1_000;
/// Changes of a key by itself within a minute, at one isolate. Each is written to KV.
pub(crate) const KEY_CHANGES_PER_MINUTE: u32 = 30;

impl Policy {
    /// Returns the numbers of spec section 8; Enterprise's 500 is the default of its "500+".
    pub const fn for_tier(tier: Tier) -> Self {
        match tier {
            Tier::Free => Self { minute: nonzero(10), day: Some(nonzero(100)) },
            Tier::Pro => Self { minute: nonzero(100), day: Some(nonzero(10_000)) },
            Tier::Enterprise => Self { minute: nonzero(500), day: None },
        }
    }

    /// Returns the tier's numbers with one key's own in their place.
    #[must_use]
    pub fn with(self, own: LimitOverrides) -> Self {
        Self { minute: own.minute.unwrap_or(self.minute), day: own.day.or(self.day) }
    }
}

/// Returns a literal limit. Zero, which no caller passes, reads as one.
const fn nonzero(n: u32) -> NonZeroU32 {
    match NonZeroU32::new(n) {
        Some(n) => n,
        None => NonZeroU32::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(policy: Policy) -> (u32, Option<u32>) {
        (policy.minute.get(), policy.day.map(NonZeroU32::get))
    }

    #[test]
    fn tiers_have_the_limits_of_the_spec() {
        assert_eq!(numbers(Policy::for_tier(Tier::Free)), (10, Some(100)));
        assert_eq!(numbers(Policy::for_tier(Tier::Pro)), (100, Some(10_000)));
        assert_eq!(numbers(Policy::for_tier(Tier::Enterprise)), (500, None));
    }

    #[test]
    fn own_limits_replace_only_what_they_name() {
        let own = LimitOverrides { minute: NonZeroU32::new(2_000), ..LimitOverrides::NONE };
        assert_eq!(numbers(Policy::for_tier(Tier::Enterprise).with(own)), (2_000, None));
        assert_eq!(numbers(Policy::for_tier(Tier::Pro).with(own)), (2_000, Some(10_000)));
    }
}
