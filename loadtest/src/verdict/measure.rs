//! The metrics of conditions.

use std::fmt;
use std::time::Duration;

use super::Evidence;
use super::filter::Filter;
use crate::record::CheckKind;
use crate::summary::{Distribution, GroupKey, OutcomeKey, Recovery, Streams, Summary};

/// A metric of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Metric {
    /// A percentile of latencies, of all calls or of those with a status.
    Latency(f64, Option<StatusFilter>),
    /// The mean latency.
    MeanLatency(Option<StatusFilter>),
    /// A percentile of the times to the first event of streams.
    FirstEvent(f64),
    /// A percentile of the longest times between two events of streams.
    EventGap(f64),
    /// The number of events of every stream.
    Events,
    /// A percentile of send lags.
    SendLag(LagCause, f64),
    /// Calls with an outcome.
    Calls(CallSelector),
    /// Completed calls per second.
    Rate,
    /// The limit certificate.
    Admitted,
    /// The share of its limit that the worst limited key could use.
    Usable,
    /// The books.
    Books,
    /// Dollars for a million calls.
    Cost,
    /// The time from an event until calls succeed and no longer fail.
    Recovery,
    /// The time from an event to the first good response.
    FirstGood,
    /// The time from an event to the last failed call.
    LastFailure,
    /// 429 without `Retry-After`.
    MissingRetryAfter,
}

/// The outcomes that a count is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallSelector {
    /// A 5xx, no complete response, or one that fails its check.
    Errors,
    /// A 2xx or 3xx.
    Success,
    /// A status.
    Status(StatusFilter),
    /// A problem code.
    Code(String),
    /// No complete response, of all causes or of one.
    Failed(Option<String>),
    /// A response that fails its check, any part of it or one.
    CheckFailed(Option<CheckKind>),
    /// Any outcome.
    All,
}

/// A cause of send lag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LagCause {
    /// The driver woke up late, or no connection was free.
    Any,
    /// The driver woke up late.
    Wake,
    /// No connection was free.
    Connection,
}

/// A status, or a class such as `5xx`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusFilter {
    One(u16),
    Class(u16),
}

impl StatusFilter {
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(class) = text.strip_suffix("xx") {
            return class.parse().ok().filter(|class| (1..=5).contains(class)).map(Self::Class);
        }
        text.parse().ok().filter(|status| (100..=599).contains(status)).map(Self::One)
    }

    pub(super) const fn has(self, status: u16) -> bool {
        match self {
            Self::One(one) => status == one,
            Self::Class(class) => status / 100 == class,
        }
    }
}

/// A measured value, or the value that a condition compares with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    /// Milliseconds.
    Time(f64),
    /// A share between 0 and 1.
    Share(f64),
    Number(f64),
    /// Calls per second.
    Rate(f64),
    /// True if something is exact or balanced.
    Holds(bool),
}

impl Measured {
    pub(super) fn number(self) -> f64 {
        match self {
            Self::Time(number) | Self::Share(number) | Self::Number(number) | Self::Rate(number) => number,
            Self::Holds(holds) => f64::from(u8::from(holds)),
        }
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Time(ms) if ms >= 1000.0 => write!(f, "{:.2} s", ms / 1000.0),
            Self::Time(ms) => write!(f, "{ms:.2} ms"),
            Self::Share(share) => {
                // Not rounded up: 99.996 % is not 100 %.
                let percent = (share * 1e6).floor() / 1e4;
                write!(f, "{percent} %")
            }
            Self::Number(number) => write!(f, "{number}"),
            Self::Rate(rate) => write!(f, "{rate:.1}/s"),
            Self::Holds(true) => f.write_str("yes"),
            Self::Holds(false) => f.write_str("no"),
        }
    }
}

impl Metric {
    /// Returns true if `value` has the unit of the metric.
    pub(super) const fn takes(&self, value: &Measured) -> bool {
        match self {
            Self::Latency(..)
            | Self::MeanLatency(_)
            | Self::FirstEvent(_)
            | Self::EventGap(_)
            | Self::SendLag(..)
            | Self::Recovery
            | Self::FirstGood
            | Self::LastFailure => matches!(value, Measured::Time(_)),
            Self::Calls(CallSelector::All) | Self::MissingRetryAfter | Self::Cost | Self::Events => {
                matches!(value, Measured::Number(_))
            }
            Self::Calls(_) => matches!(value, Measured::Share(_) | Measured::Number(_)),
            Self::Rate => matches!(value, Measured::Rate(_)),
            Self::Usable => matches!(value, Measured::Share(_)),
            Self::Admitted | Self::Books => matches!(value, Measured::Holds(_)),
        }
    }

    /// Measures in the unit of `value`. Returns `None` if there is nothing to measure.
    pub(super) fn measure(
        &self,
        filter: &Filter,
        evidence: &Evidence<'_>,
        value: &Measured,
    ) -> Option<Measured> {
        let summary = evidence.summary;
        match self {
            Self::Latency(percent, status) => {
                let times = latencies(*status, filter, evidence);
                (!times.is_empty()).then(|| Measured::Time(times.percentiles([*percent])[0]))
            }
            Self::MeanLatency(status) => {
                let times = latencies(*status, filter, evidence);
                (!times.is_empty()).then(|| Measured::Time(times.mean()))
            }
            Self::FirstEvent(percent) => at(&streams(filter, evidence).first_event, *percent),
            Self::EventGap(percent) => at(&streams(filter, evidence).event_gap, *percent),
            Self::Events => {
                streams(filter, evidence).by_events.keys().next().map(|&least| Measured::Number(least.into()))
            }
            Self::SendLag(cause, percent) => {
                Some(Measured::Time(cause.times(summary).percentiles([*percent])[0]))
            }
            Self::Calls(select) => {
                let (selected, all) = select.count(filter, evidence);
                match value {
                    Measured::Share(_) => (all > 0).then(|| Measured::Share(selected as f64 / all as f64)),
                    _ => Some(Measured::Number(selected as f64)),
                }
            }
            Self::Rate => Some(Measured::Rate(summary.completed_rate(evidence.duration))),
            Self::Admitted => Some(Measured::Holds(summary.certificate.is_exact())),
            Self::Usable => summary.certificate.usable.map(Measured::Share),
            Self::Books => evidence.books.map(|books| Measured::Holds(books.is_balanced())),
            Self::Cost => evidence.costs.map(|costs| Measured::Number(costs.dollars_per_million_calls)),
            Self::Recovery => worst(filter, evidence, Recovery::duration),
            Self::FirstGood => worst(filter, evidence, |recovery| recovery.first_good),
            Self::LastFailure => {
                worst(filter, evidence, |recovery| Some(recovery.last_bad.unwrap_or(Duration::ZERO)))
            }
            Self::MissingRetryAfter => Some(Measured::Number(missing_retry_after(filter, evidence) as f64)),
        }
    }
}

impl CallSelector {
    fn has(&self, outcome: OutcomeKey) -> bool {
        match self {
            Self::Errors => {
                outcome.failed_check().is_some() || outcome.status().is_none_or(|status| status >= 500)
            }
            Self::Success => outcome.is_success(),
            Self::Status(wanted) => outcome.status().is_some_and(|status| wanted.has(status)),
            Self::Code(wanted) => {
                matches!(outcome, OutcomeKey::Completed { code: Some(code), .. } if code == wanted)
            }
            Self::Failed(None) => matches!(outcome, OutcomeKey::Failed(_)),
            Self::Failed(Some(cause)) => {
                matches!(outcome, OutcomeKey::Failed(error) if error.to_string() == *cause)
            }
            Self::CheckFailed(None) => outcome.failed_check().is_some(),
            Self::CheckFailed(kind) => outcome.failed_check() == *kind,
            Self::All => true,
        }
    }

    /// Returns the number of calls with these outcomes, and of all calls that the filter has.
    pub(super) fn count(&self, filter: &Filter, evidence: &Evidence<'_>) -> (u64, u64) {
        let (mut selected, mut all) = (0, 0);
        for (key, group) in evidence.summary.groups(|key| filter.has(key, evidence)) {
            all += group.calls;
            selected += if self.has(key.outcome) { group.calls } else { 0 };
        }
        (selected, all)
    }
}

impl LagCause {
    pub(super) const fn times(self, summary: &Summary) -> &Distribution {
        match self {
            Self::Any => &summary.send_lag,
            Self::Wake => &summary.wake_lag,
            Self::Connection => &summary.connection_wait,
        }
    }
}

/// Returns the latencies of all calls that the filter has, or of those with a status.
pub(super) fn latencies(
    status: Option<StatusFilter>,
    filter: &Filter,
    evidence: &Evidence<'_>,
) -> Distribution {
    let has_status = |key: &GroupKey| match status {
        None => true,
        Some(wanted) => key.outcome.status().is_some_and(|status| wanted.has(status)),
    };
    evidence.summary.latencies(|key| has_status(key) && filter.has(key, evidence))
}

/// Returns the streams of all calls that the filter has.
pub(super) fn streams(filter: &Filter, evidence: &Evidence<'_>) -> Streams {
    evidence.summary.streams(|key| filter.has(key, evidence))
}

fn at(times: &Distribution, percent: f64) -> Option<Measured> {
    (!times.is_empty()).then(|| Measured::Time(times.percentiles([percent])[0]))
}

/// Returns the number of 429 without `Retry-After`.
pub(super) fn missing_retry_after(filter: &Filter, evidence: &Evidence<'_>) -> u64 {
    let groups =
        evidence.summary.groups(|key| key.outcome.status() == Some(429) && filter.has(key, evidence));
    groups.map(|(_, group)| group.calls - group.retry_after).sum()
}

/// Returns the longest time over the selected events, or `None` if one has none.
fn worst(
    filter: &Filter,
    evidence: &Evidence<'_>,
    time: impl Fn(&Recovery) -> Option<Duration>,
) -> Option<Measured> {
    let selected = evidence.summary.recoveries.iter().filter(|recovery| {
        let phase = u16::try_from(recovery.event * 2 + 2).unwrap_or(u16::MAX);
        filter.has_request(recovery.request, evidence) && filter.has_phase(phase, evidence)
    });
    let times: Option<Vec<Duration>> = selected.map(time).collect();
    let longest = times?.into_iter().max()?;
    Some(Measured::Time(longest.as_secs_f64() * 1000.0))
}
