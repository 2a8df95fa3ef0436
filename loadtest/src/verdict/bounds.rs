//! The values that a metric can still have at the end of a run.

use super::Evidence;
use super::filter::Filter;
use super::measure::{self, Measured, Metric};

/// Returns the least and the greatest value of a metric after at most `remaining` more calls, in the
/// unit of `value`. Returns `None` if it is known at the end only.
pub(super) fn of(
    metric: &Metric,
    filter: &Filter,
    evidence: &Evidence<'_>,
    value: &Measured,
    remaining: u64,
) -> Option<(f64, f64)> {
    match metric {
        Metric::Latency(percent, status) => {
            let times = measure::latencies(*status, filter, evidence);
            Some(times.percentile_bounds(*percent, remaining))
        }
        Metric::FirstEvent(percent) => {
            Some(measure::streams(filter, evidence).first_event.percentile_bounds(*percent, remaining))
        }
        Metric::EventGap(percent) => {
            Some(measure::streams(filter, evidence).event_gap.percentile_bounds(*percent, remaining))
        }
        Metric::SendLag(cause, percent) => {
            Some(cause.times(evidence.summary).percentile_bounds(*percent, remaining))
        }
        Metric::Calls(select) => {
            let (selected, all) = select.count(filter, evidence);
            let (low, high) = (selected as f64, (selected + remaining) as f64);
            match value {
                Measured::Share(_) if all + remaining == 0 => None,
                Measured::Share(_) => {
                    let all = (all + remaining) as f64;
                    Some((low / all, high / all))
                }
                _ => Some((low, high)),
            }
        }
        Metric::MissingRetryAfter => {
            let missing = measure::missing_retry_after(filter, evidence);
            Some((missing as f64, (missing + remaining) as f64))
        }
        Metric::MeanLatency(_)
        | Metric::Events
        | Metric::Rate
        | Metric::Admitted
        | Metric::Usable
        | Metric::Books
        | Metric::Cost
        | Metric::Recovery
        | Metric::FirstGood
        | Metric::LastFailure => None,
    }
}
