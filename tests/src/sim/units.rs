//! Prices of calls, and what responses say of them.

use std::collections::VecDeque;

use shared::{
    policy::UnitLimits,
    prices::{Cost, Price},
    time::UnixMillis,
};

use super::Rng;

/// The limits of a key in units, and the prices of its calls.
#[derive(Clone, Copy, Debug)]
pub struct UnitDemand {
    /// The limits.
    pub limits: UnitLimits,
    /// The largest price of a call.
    pub most: u32,
    /// The probability in per mille that a response says nothing of what the call has cost, something
    /// that is no number, or more than the price.
    pub misreported: u64,
    /// The longest time in milliseconds from the start of a call until its cost is known.
    pub known_after: u64,
}

/// A call with a price.
#[derive(Clone, Copy, Debug)]
pub struct PricedCall {
    /// The declared price.
    pub price: Price,
    /// The units that the tool has really used.
    used: u32,
    report: Report,
    /// The time from the start of the call until its cost is known, in milliseconds.
    pub known_after: u64,
}

/// The `X-Usage-Units` of a response.
#[derive(Clone, Copy, Debug)]
enum Report {
    True,
    Missing,
    Malformed,
    TooMuch,
}

impl UnitDemand {
    pub(super) fn draw(&self, rng: &mut Rng) -> PricedCall {
        let most = u32::try_from(rng.range(1, u64::from(self.most) + 1)).unwrap();
        let price = if rng.chance(250) { Price::Fixed(most) } else { Price::AtMost(most) };
        let used = u32::try_from(rng.range(0, u64::from(most) + 1)).unwrap();
        let report = if rng.chance(self.misreported) {
            *rng.pick(&[Report::Missing, Report::Malformed, Report::TooMuch])
        } else {
            Report::True
        };
        PricedCall { price, used, report, known_after: rng.range(5, self.known_after) }
    }
}

impl PricedCall {
    /// Returns what the call costs by the rule of production.
    pub(super) fn cost(&self) -> Cost {
        match self.report {
            Report::True => self.price.cost(Some(&self.used.to_string())),
            Report::Missing => self.price.cost(None),
            Report::Malformed => self.price.cost(Some("many")),
            Report::TooMuch => self.price.cost(Some(&(u64::from(self.price.most()) * 7 + 1).to_string())),
        }
    }
}

/// A limiter that is exact and charges a call when its cost is known, as gateways do that count the tokens
/// of responses: a call passes while anything is left.
#[derive(Default)]
pub(super) struct ChargedAfterwards {
    /// Calls that passed: when, when their cost is known, and the cost.
    passed: VecDeque<(u64, u64, u32)>,
    /// The fullest minute of units, of calls by when they passed.
    pub(super) worst_minute: u32,
}

impl ChargedAfterwards {
    /// Decides on a call at the true time `now`.
    pub(super) fn call(&mut self, limit: u32, priced: &PricedCall, now: u64) {
        while self.passed.front().is_some_and(|&(at, ..)| at + 60_000 < now) {
            self.passed.pop_front();
        }
        let known = self.passed.iter().filter(|&&(_, known, _)| known <= now);
        if known.map(|&(.., units)| units).sum::<u32>() < limit {
            self.passed.push_back((now, now + priced.known_after, priced.cost().units));
            let minute = self.passed.iter().map(|&(.., units)| units).sum();
            self.worst_minute = self.worst_minute.max(minute);
        }
    }
}

/// The exact limiter that knows what each call will cost. No limiter admits more units, call by call.
#[derive(Default)]
pub(super) struct IdealUnits {
    minute: VecDeque<(u64, u32)>,
    day: u64,
    month: u64,
    day_used: u32,
    month_used: u32,
    pub(super) admitted: u64,
}

impl IdealUnits {
    /// Decides on a call that costs `units`, at the true time `now`.
    pub(super) fn call(&mut self, limits: &UnitLimits, units: u32, now: u64) {
        while self.minute.front().is_some_and(|&(at, _)| at + 60_000 < now) {
            self.minute.pop_front();
        }
        let day = UnixMillis(now).day();
        if std::mem::replace(&mut self.day, day.0) != day.0 {
            self.day_used = 0;
        }
        let month = day.month().0.0;
        if std::mem::replace(&mut self.month, month) != month {
            self.month_used = 0;
        }
        let minute: u32 = self.minute.iter().map(|&(_, units)| units).sum();
        let fits = |used: u32, limit: Option<std::num::NonZeroU32>| {
            limit.is_none_or(|limit| used + units <= limit.get())
        };
        if fits(minute, limits.minute)
            && fits(self.day_used, limits.day)
            && fits(self.month_used, limits.month)
        {
            self.minute.push_back((now, units));
            self.day_used += units;
            self.month_used += units;
            self.admitted += u64::from(units);
        }
    }
}
