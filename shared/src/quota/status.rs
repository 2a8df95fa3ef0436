//! The status of a key's quotas, and the rate-limit headers that show it to the client.
//!
//! Why: docs/decisions/limits.md, "`RateLimit` says what is certain at a place".

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::headers::{Header, RATE_LIMIT, RATE_LIMIT_POLICY};
use crate::policy::{Policy, Window};
use crate::problem::{Problem, codes};

const MINUTE_MS: u64 = 60_000;

/// The status of one quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowStatus {
    /// Calls or units of the whole quota.
    pub limit: u32,
    /// Calls or units that would pass now.
    pub remaining: u32,
    /// Milliseconds until more is to be had; 0 when the quota is whole.
    pub reset_ms: u64,
}

/// The status of a key's quotas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaStatus {
    /// Against the rolling minute.
    pub minute: WindowStatus,
    /// Against the UTC day; `None` is without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<WindowStatus>,
    /// Against limits in units; `None` for a key without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<UnitsStatus>,
}

/// The status of a key's limits in units; `None` for a window without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitsStatus {
    /// Against the rolling minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minute: Option<WindowStatus>,
    /// Against the UTC day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<WindowStatus>,
    /// Against the UTC month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub month: Option<WindowStatus>,
}

/// A call that was refused, and what would let it pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The quota that was used up; when both are, the one that stays so longer.
    pub window: Window,
    /// Milliseconds until a call will pass, or [`Denial::NEVER`].
    pub retry_ms: u64,
}

impl WindowStatus {
    /// Returns the status some time later, if nothing was called since.
    #[must_use]
    const fn after(self, elapsed_ms: u64) -> Self {
        Self { reset_ms: self.reset_ms.saturating_sub(elapsed_ms), ..self }
    }
}

impl UnitsStatus {
    /// Returns each status that there is, with its window.
    pub fn each(self) -> impl Iterator<Item = (Window, WindowStatus)> {
        let all = [
            (Window::UnitsMinute, self.minute),
            (Window::UnitsDay, self.day),
            (Window::UnitsMonth, self.month),
        ];
        all.into_iter().filter_map(|(window, status)| Some((window, status?)))
    }

    /// Returns the status some time later, if nothing was called since.
    fn after(self, elapsed_ms: u64) -> Self {
        let later = |own: WindowStatus| own.after(elapsed_ms);
        Self { minute: self.minute.map(later), day: self.day.map(later), month: self.month.map(later) }
    }
}

impl QuotaStatus {
    /// Returns the status some time later, if nothing was called since: what resets in the
    /// meantime is left to the next response, so this never promises too much.
    #[must_use]
    pub fn after(self, elapsed_ms: u64) -> Self {
        Self {
            minute: self.minute.after(elapsed_ms),
            day: self.day.map(|day| day.after(elapsed_ms)),
            units: self.units.map(|units| units.after(elapsed_ms)),
        }
    }

    /// Returns the status for a cache that holds `held` calls beside what is free.
    #[must_use]
    pub(crate) fn with_held(self, held: u32) -> Self {
        let more = |own: WindowStatus| WindowStatus {
            remaining: own.remaining.saturating_add(held).min(own.limit),
            ..own
        };
        Self { minute: more(self.minute), day: self.day.map(more), ..self }
    }

    /// Returns what is certain of this status some time later, when others may have used the rest: the `held`
    /// calls of a cache, which end after `held_ms`. Of the day others can have used no more than passes in
    /// that many minutes. Of units nothing is known.
    #[must_use]
    pub(crate) fn certain(self, held: u32, held_ms: u64, elapsed_ms: u64) -> Self {
        let Self { minute, day, .. } = self.after(elapsed_ms);
        let minutes = u32::try_from(elapsed_ms / MINUTE_MS).unwrap_or(u32::MAX).saturating_add(1);
        // The most that others can have used since. Less would promise calls that are gone.
        let others = minute.limit.saturating_mul(minutes);
        let certain = |own: WindowStatus, remaining: u32| WindowStatus {
            remaining: remaining.saturating_add(held).min(own.limit),
            ..own
        };
        let day = day.map(|day| certain(day, day.remaining.saturating_sub(others)));
        // A client that spreads `r` over `t` calls at the pace of the whole key then, and not at that of a lease.
        let all = u64::from(minute.remaining.saturating_add(held)).max(1);
        let share_ms = (minute.reset_ms.saturating_mul(held.into()) / all).min(held_ms);
        let minute = certain(minute, 0);
        let reset_ms = if held > 0 { share_ms } else { minute.reset_ms };
        Self { minute: WindowStatus { reset_ms, ..minute }, day, units: None }
    }

    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). A quota
    /// without limit is left out.
    pub fn headers(&self) -> [Header; 2] {
        let policy =
            |window: Window, own: WindowStatus| [("q", own.limit.into()), ("w", window.seconds().into())];
        let limit = |_, own: WindowStatus| [("r", own.remaining.into()), ("t", own.reset_ms.div_ceil(1000))];
        [(RATE_LIMIT_POLICY.into(), self.list(policy)), (RATE_LIMIT.into(), self.list(limit))]
    }

    /// Returns a List of String Items (RFC 9651), one for each quota. Every response has two lists, so
    /// that they are put together without the formatter.
    fn list(
        &self,
        parameters: impl Fn(Window, WindowStatus) -> [(&'static str, u64); 2],
    ) -> Cow<'static, str> {
        // 96 characters hold any two items.
        let (mut text, mut number) = (String::with_capacity(96), itoa::Buffer::new());
        let day = self.day.map(|day| (Window::Day, day));
        let units = self.units.into_iter().flat_map(UnitsStatus::each);
        for (window, status) in [(Window::Minute, self.minute)].into_iter().chain(day).chain(units) {
            let quote = if text.is_empty() { "\"" } else { ", \"" };
            text.extend([quote, window.as_str(), "\""]);
            for (name, value) in parameters(window, status) {
                text.extend([";", name, "=", number.format(value)]);
            }
        }
        text.into()
    }

    /// Returns the status of a key without limits in units that has used nothing.
    pub fn whole(policy: &Policy) -> Self {
        let whole = |limit: u32| WindowStatus { limit, remaining: limit, reset_ms: 0 };
        let day = policy.day.map(|day| whole(day.get()));
        Self { minute: whole(policy.minute.get()), day, units: None }
    }

    /// Returns the status of one quota, if there is such a limit.
    pub fn of(&self, window: Window) -> Option<WindowStatus> {
        match window {
            Window::Minute => Some(self.minute),
            Window::Day => self.day,
            Window::UnitsMinute => self.units?.minute,
            Window::UnitsDay => self.units?.day,
            Window::UnitsMonth => self.units?.month,
        }
    }
}

impl Denial {
    /// The time until a call passes that can cost more units than the key may spend in the window.
    pub const NEVER: u64 = u64::MAX;

    /// Returns the one of two denials that lasts longer.
    #[must_use]
    pub(crate) fn longer(self, other: Option<Self>) -> Self {
        other.filter(|other| other.retry_ms > self.retry_ms).unwrap_or(self)
    }

    /// Returns the 429, with the moment at which the next call will pass. The rate-limit headers
    /// are for the caller to add, as on every response.
    pub fn problem(&self, quota: &QuotaStatus) -> Problem {
        let status = quota.of(self.window);
        let (limit, left) = status.map_or((0, 0), |status| (status.limit, status.remaining));
        let (span, violated) = match self.window {
            Window::Minute => ("any 60 seconds", r#"["minute"]"#),
            Window::Day => ("a UTC day", r#"["day"]"#),
            Window::UnitsMinute => ("any 60 seconds", r#"["units-minute"]"#),
            Window::UnitsDay => ("a UTC day", r#"["units-day"]"#),
            Window::UnitsMonth => ("a UTC month", r#"["units-month"]"#),
        };
        let (mut most, mut rest, mut wait) = (itoa::Buffer::new(), itoa::Buffer::new(), itoa::Buffer::new());
        let (most, rest) = (most.format(limit), rest.format(left));
        let problem = |detail: String| {
            Problem::new(codes::QUOTA_EXCEEDED, detail).with_json("violated-policies", violated)
        };
        if self.retry_ms == Self::NEVER {
            let spend = ["the key may spend ", most, " units in ", span].concat();
            return problem([&spend, ", and this call can cost more; it never passes"].concat());
        }
        let seconds = self.retry_ms.div_ceil(1000).max(1);
        let wait = wait.format(seconds);
        let detail = if self.window.is_of_units() {
            let spend = ["the key may spend ", most, " units in ", span, ", ", rest, " are left"].concat();
            [&spend, ", and this call can cost more; it passes in ", wait, " s"].concat()
        } else {
            ["the key may make ", most, " calls in ", span, "; the next one passes in ", wait, " s"].concat()
        };
        problem(detail).retry_after(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestId;
    use crate::tier::Tier;

    #[test]
    fn headers_name_limited_quotas_only() {
        let quota = QuotaStatus {
            minute: WindowStatus { limit: 10, remaining: 7, reset_ms: 40_001 },
            day: Some(WindowStatus { limit: 100, remaining: 93, reset_ms: 51_234_000 }),
            units: None,
        };
        let [policy, limit] = quota.headers();
        assert_eq!(policy, (RATE_LIMIT_POLICY.into(), r#""minute";q=10;w=60, "day";q=100;w=86400"#.into()));
        assert_eq!(limit, (RATE_LIMIT.into(), r#""minute";r=7;t=41, "day";r=93;t=51234"#.into()));
        let month = Some(WindowStatus { limit: 900, remaining: 31, reset_ms: 1 });
        let units = Some(UnitsStatus { month, ..UnitsStatus::default() });
        let [policy, limit] = QuotaStatus { day: None, units, ..quota }.headers();
        assert_eq!(policy.1, r#""minute";q=10;w=60, "units-month";q=900;w=2678400"#);
        assert_eq!(limit.1, r#""minute";r=7;t=41, "units-month";r=31;t=1"#);
        let [policy, _] = QuotaStatus::whole(&Policy::for_tier(Tier::Enterprise)).headers();
        assert_eq!(policy.1, r#""minute";q=500;w=60"#);
    }

    #[test]
    fn later_status_resets_sooner_and_promises_no_more_calls() {
        let window = |reset_ms| WindowStatus { limit: 10, remaining: 7, reset_ms };
        let quota = QuotaStatus { minute: window(40_000), day: Some(window(60_000)), units: None };
        for (elapsed_ms, minute, day) in [(0, 40_000, 60_000), (40_001, 0, 19_999), (90_000, 0, 0)] {
            let expected = QuotaStatus { minute: window(minute), day: Some(window(day)), units: None };
            assert_eq!(quota.after(elapsed_ms), expected);
        }
        let held = quota.with_held(2);
        assert_eq!((held.minute.remaining, held.day.map(|day| day.remaining)), (9, Some(9)));
        assert_eq!(quota.with_held(5).minute.remaining, 10);
    }

    #[test]
    fn denial_is_429_with_retry_after_and_quota() {
        let quota = QuotaStatus::whole(&Policy::for_tier(Tier::Free));
        let problem = Denial { window: Window::Minute, retry_ms: 40_001 }.problem(&quota);
        let rendered = problem.render(&RequestId([0; 16]));
        assert_eq!(rendered.status, 429);
        assert_eq!(rendered.header("retry-after"), Some("41"));
        assert!(rendered.body.contains(r#""violated-policies":["minute"]"#), "{}", rendered.body);
        assert!(rendered.body.contains("iana.org/assignments/http-problem-types#quota-exceeded"));
    }

    #[test]
    fn denial_of_units_says_what_is_left_and_whether_it_ever_passes() {
        let day = Some(WindowStatus { limit: 100, remaining: 7, reset_ms: 40_001 });
        let units = Some(UnitsStatus { day, ..UnitsStatus::default() });
        let quota = QuotaStatus { units, ..QuotaStatus::whole(&Policy::for_tier(Tier::Pro)) };
        let of = |retry_ms| {
            let problem = Denial { window: Window::UnitsDay, retry_ms }.problem(&quota);
            problem.render(&RequestId([0; 16]))
        };
        let later = of(40_001);
        assert_eq!((later.status, later.header("retry-after")), (429, Some("41")));
        assert!(later.body.contains("may spend 100 units in a UTC day, 7 are left"), "{}", later.body);
        assert!(later.body.contains(r#""violated-policies":["units-day"]"#), "{}", later.body);
        let never = of(Denial::NEVER);
        assert_eq!((never.status, never.header("retry-after")), (429, None));
        assert!(never.body.contains("it never passes"), "{}", never.body);
    }
}
