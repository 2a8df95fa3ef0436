//! A condition on a run, as text.

use strum::EnumString;

use super::bounds;
use super::error::ConditionError;
use super::filter::Filter;
use super::measure::{self, CallSelector, Measured, Metric};
use super::{Check, Evidence};

/// The purpose of a condition: it must hold, or it must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `--expect`: the run fails unless the condition holds.
    Expect,
    /// `--fail-if`: the run fails if the condition holds.
    FailIf,
}

/// A condition such as `p99<=50ms`, `status(503) of main in stopped >= 99%` or `admitted=exact`.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(super) text: String,
    pub(super) purpose: Purpose,
    pub(super) metric: Metric,
    pub(super) filter: Filter,
    pub(super) comparison: Comparison,
    pub(super) value: Measured,
}

/// The sign between metric and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
pub(super) enum Comparison {
    #[strum(serialize = "<")]
    Less,
    #[strum(serialize = "<=")]
    AtMost,
    #[strum(serialize = "=", serialize = "==")]
    Equal,
    #[strum(serialize = "!=")]
    NotEqual,
    #[strum(serialize = ">=")]
    AtLeast,
    #[strum(serialize = ">")]
    Greater,
}

impl Comparison {
    /// Returns the comparison that holds if this one does not.
    const fn opposite(self) -> Self {
        match self {
            Self::Less => Self::AtLeast,
            Self::AtMost => Self::Greater,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::AtLeast => Self::Less,
            Self::Greater => Self::AtMost,
        }
    }

    /// Returns true if it holds for a number from `low` to `high`.
    fn can_hold(self, low: f64, high: f64, value: f64) -> bool {
        match self {
            Self::Less | Self::AtMost => self.holds(low, value),
            Self::AtLeast | Self::Greater => self.holds(high, value),
            Self::Equal => Self::AtMost.holds(low, value) && Self::AtLeast.holds(high, value),
            Self::NotEqual => low < high || self.holds(low, value),
        }
    }

    fn holds(self, found: f64, value: f64) -> bool {
        // Shares are quotients: one in a thousand is 0.1 % in spite of rounding.
        let equal = (found - value).abs() <= 1e-9 * value.abs().max(1.0);
        match self {
            Self::Less => found < value && !equal,
            Self::AtMost => found < value || equal,
            Self::Equal => equal,
            Self::NotEqual => !equal,
            Self::AtLeast => found > value || equal,
            Self::Greater => found > value && !equal,
        }
    }
}

impl Condition {
    /// Checks that the requests and phases of the condition exist.
    pub(crate) fn validate(&self, requests: &[String], phases: &[String]) -> Result<(), ConditionError> {
        self.filter.validate(&self.text, requests, phases)
    }

    /// Returns true if the condition is about errors, so that it replaces the default check.
    pub(super) const fn is_about_errors(&self) -> bool {
        matches!(self.metric, Metric::Calls(CallSelector::Errors | CallSelector::Success))
            && self.filter.is_empty()
    }

    /// Returns true if the condition is about times, so that the driver must be in time.
    pub(super) const fn is_about_times(&self) -> bool {
        match self.metric {
            Metric::Latency(..)
            | Metric::MeanLatency(_)
            | Metric::FirstEvent(_)
            | Metric::EventGap(_)
            | Metric::SendLag(..) => true,
            Metric::Calls(_)
            | Metric::Events
            | Metric::Rate
            | Metric::Admitted
            | Metric::Usable
            | Metric::Books
            | Metric::Cost
            | Metric::Recovery
            | Metric::FirstGood
            | Metric::LastFailure
            | Metric::MissingRetryAfter => false,
        }
    }

    /// Evaluates the condition.
    pub(crate) fn evaluate(&self, evidence: &Evidence<'_>) -> Check {
        if self.metric == Metric::Events {
            return self.evaluate_events(evidence);
        }
        let found = self.metric.measure(&self.filter, evidence, &self.value);
        let check = self.expectation();
        let Some(found) = found else {
            return Check::new(check, false, "nothing to measure");
        };
        let holds = self.comparison.holds(found.number(), self.value.number());
        let passed = holds == (self.purpose == Purpose::Expect);
        Check::new(check, passed, found.to_string())
    }

    /// Evaluates the condition for each stream: all must have such a number of events, or none may.
    fn evaluate_events(&self, evidence: &Evidence<'_>) -> Check {
        let streams = measure::streams(&self.filter, evidence).by_events;
        let wanted = |events: u32| {
            self.comparison.holds(events.into(), self.value.number()) == (self.purpose == Purpose::Expect)
        };
        let wrong: u64 = streams.iter().filter(|(events, _)| !wanted(**events)).map(|(_, calls)| calls).sum();
        let all: u64 = streams.values().sum();
        let list: Vec<String> = streams.keys().map(u32::to_string).collect();
        let found = match (all, wrong) {
            (0, _) => "no streams of events".to_owned(),
            (_, 0) => format!("{} in each of {all} streams", list.join(", ")),
            _ => format!("{wrong} of {all} streams have another number: {}", list.join(", ")),
        };
        Check::new(self.expectation(), all > 0 && wrong == 0, found)
    }

    /// Returns true if the condition fails whatever the outcomes of `remaining` more calls are.
    pub(super) fn is_lost(&self, evidence: &Evidence<'_>, remaining: u64) -> bool {
        let Some((low, high)) = bounds::of(&self.metric, &self.filter, evidence, &self.value, remaining)
        else {
            return false;
        };
        let wanted = match self.purpose {
            Purpose::Expect => self.comparison,
            Purpose::FailIf => self.comparison.opposite(),
        };
        !wanted.can_hold(low, high, self.value.number())
    }

    /// Returns the expectation as text.
    pub(super) fn expectation(&self) -> String {
        match self.purpose {
            Purpose::Expect => self.text.clone(),
            Purpose::FailIf => format!("not {}", self.text),
        }
    }
}
