//! The status of a key's quotas, and the rate-limit headers that show it to the client.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::headers::{Header, RATE_LIMIT, RATE_LIMIT_POLICY};
use crate::policy::{Policy, Window};
use crate::problem::{Problem, codes};

/// The status of one quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowStatus {
    /// Calls of the whole quota.
    pub limit: u32,
    /// Calls that would pass now.
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
}

/// A call that was refused, and what would let it pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denial {
    /// The quota that was used up; when both are, the one that stays so longer.
    pub window: Window,
    /// Milliseconds until a call will pass.
    pub retry_ms: u64,
}

impl QuotaStatus {
    /// Returns the status some time later, if nothing was called since: what resets in the
    /// meantime is left to the next response, so this never promises too much.
    #[must_use]
    pub fn after(self, elapsed_ms: u64) -> Self {
        let later =
            |own: WindowStatus| WindowStatus { reset_ms: own.reset_ms.saturating_sub(elapsed_ms), ..own };
        Self { minute: later(self.minute), day: self.day.map(later) }
    }

    /// Returns the status for a cache that holds `held` calls beside what is free.
    #[must_use]
    pub(crate) fn with_held(self, held: u32) -> Self {
        let more = |own: WindowStatus| WindowStatus {
            remaining: own.remaining.saturating_add(held).min(own.limit),
            ..own
        };
        Self { minute: more(self.minute), day: self.day.map(more) }
    }

    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11). A quota
    /// without limit is left out.
    pub fn headers(&self) -> [Header; 2] {
        let policy =
            |window: Window, own: WindowStatus| [("q", own.limit.into()), ("w", window.seconds().into())];
        let limit = |_, own: WindowStatus| [("r", own.remaining.into()), ("t", own.reset_ms.div_ceil(1000))];
        [(RATE_LIMIT_POLICY.into(), self.list(policy)), (RATE_LIMIT.into(), self.list(limit))]
    }

    /// Returns a List of String Items (RFC 9651), one for each quota. Every response has two, so
    /// that they are put together without the formatter.
    fn list(
        &self,
        parameters: impl Fn(Window, WindowStatus) -> [(&'static str, u64); 2],
    ) -> Cow<'static, str> {
        // 96 characters hold any two items.
        let (mut text, mut number) = (String::with_capacity(96), itoa::Buffer::new());
        for (window, status) in [(Window::Minute, Some(self.minute)), (Window::Day, self.day)] {
            let Some(status) = status else { continue };
            let quote = if text.is_empty() { "\"" } else { ", \"" };
            text.extend([quote, window.as_str(), "\""]);
            for (name, value) in parameters(window, status) {
                text.extend([";", name, "=", number.format(value)]);
            }
        }
        text.into()
    }

    /// Returns the status of a key that has used nothing.
    pub fn whole(policy: &Policy) -> Self {
        let whole = |limit: u32| WindowStatus { limit, remaining: limit, reset_ms: 0 };
        Self { minute: whole(policy.minute.get()), day: policy.day.map(|day| whole(day.get())) }
    }
}

impl Denial {
    /// Returns the 429, with the moment at which the next call will pass. The rate-limit headers
    /// are for the caller to add, as on every response.
    pub fn problem(&self, quota: &QuotaStatus) -> Problem {
        let seconds = self.retry_ms.div_ceil(1000).max(1);
        let (limit, span, violated) = match self.window {
            Window::Minute => (quota.minute.limit, "any 60 seconds", r#"["minute"]"#),
            Window::Day => (quota.day.map_or(0, |day| day.limit), "a UTC day", r#"["day"]"#),
        };
        let (mut calls, mut wait) = (itoa::Buffer::new(), itoa::Buffer::new());
        let detail = [
            "the key may make ",
            calls.format(limit),
            " calls in ",
            span,
            "; the next one passes in ",
            wait.format(seconds),
            " s",
        ]
        .concat();
        Problem::new(codes::QUOTA_EXCEEDED, detail)
            .retry_after(seconds)
            .with_json("violated-policies", violated)
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
        };
        let [policy, limit] = quota.headers();
        assert_eq!(policy, (RATE_LIMIT_POLICY.into(), r#""minute";q=10;w=60, "day";q=100;w=86400"#.into()));
        assert_eq!(limit, (RATE_LIMIT.into(), r#""minute";r=7;t=41, "day";r=93;t=51234"#.into()));
        let [policy, _] = QuotaStatus::whole(&Policy::for_tier(Tier::Enterprise)).headers();
        assert_eq!(policy.1, r#""minute";q=500;w=60"#);
    }

    #[test]
    fn later_status_resets_sooner_and_promises_no_more_calls() {
        let window = |reset_ms| WindowStatus { limit: 10, remaining: 7, reset_ms };
        let quota = QuotaStatus { minute: window(40_000), day: Some(window(60_000)) };
        for (elapsed_ms, minute, day) in [(0, 40_000, 60_000), (40_001, 0, 19_999), (90_000, 0, 0)] {
            let expected = QuotaStatus { minute: window(minute), day: Some(window(day)) };
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
}
