//! The text of conditions.

use super::condition::{Comparison, Condition, Purpose};
use super::error::ConditionError;
use super::filter::Filter;
use super::measure::{CallSelector, LagCause, Measured, Metric, StatusFilter};

impl Condition {
    /// Parses `metric[(argument)] [of request] [in phase] sign value`.
    ///
    /// # Errors
    /// Returns an error that says what was expected.
    pub(crate) fn parse(purpose: Purpose, text: &str) -> Result<Self, ConditionError> {
        let no_sign = || ConditionError::NoSign(text.to_owned());
        let is_sign = |c: char| matches!(c, '<' | '>' | '=' | '!');
        let (left, rest) = text.split_at(text.find(is_sign).ok_or_else(no_sign)?);
        let (sign, value) = rest.split_at(rest.find(|c| !is_sign(c)).ok_or_else(no_sign)?);
        let comparison: Comparison = sign.parse().map_err(|_unknown| no_sign())?;
        let (name, filter) = split_filter(left);
        let metric = metric(&name)
            .ok_or_else(|| ConditionError::Metric { text: text.to_owned(), metric: name.clone() })?;
        let invalid = || ConditionError::Value { text: text.to_owned(), value: value.trim().to_owned() };
        let value = parse_value(value.trim()).filter(|value| metric.takes(value)).ok_or_else(invalid)?;
        Ok(Self { text: text.trim().to_owned(), purpose, metric, filter, comparison, value })
    }
}

/// Splits `… of request in phase`.
pub(super) fn split_filter(text: &str) -> (String, Filter) {
    let (text, phase) = split_word(text, " in ");
    let (text, request) = split_word(text, " of ");
    (text.trim().to_owned(), Filter { request, phase })
}

fn split_word<'a>(text: &'a str, word: &str) -> (&'a str, Option<String>) {
    match text.rsplit_once(word) {
        Some((rest, name)) => (rest, Some(name.trim().to_owned())),
        None => (text, None),
    }
}

fn metric(text: &str) -> Option<Metric> {
    let (name, argument) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.strip_suffix(')')?.trim())),
        None => (text, None),
    };
    let status = || match argument {
        Some(argument) => StatusFilter::parse(argument).map(Some),
        None => Some(None),
    };
    if let Some(percent) = percentile(name) {
        return Some(Metric::Latency(percent, status()?));
    }
    Some(match (name, argument) {
        ("max", _) => Metric::Latency(100.0, status()?),
        ("mean", _) => Metric::MeanLatency(status()?),
        ("status", Some(_)) => Metric::Calls(CallSelector::Status(status()??)),
        ("code", Some(code)) => Metric::Calls(CallSelector::Code(code.to_owned())),
        ("check_failed", None) => Metric::Calls(CallSelector::CheckFailed(None)),
        ("check_failed", Some(kind)) => Metric::Calls(CallSelector::CheckFailed(Some(kind.parse().ok()?))),
        ("failed", cause) => Metric::Calls(CallSelector::Failed(cause.map(str::to_owned))),
        (_, Some(_)) => return None,
        ("events", None) => Metric::Events,
        ("errors", None) => Metric::Calls(CallSelector::Errors),
        ("success", None) => Metric::Calls(CallSelector::Success),
        ("calls", None) => Metric::Calls(CallSelector::All),
        ("rate", None) => Metric::Rate,
        ("admitted", None) => Metric::Admitted,
        ("usable", None) => Metric::Usable,
        ("books", None) => Metric::Books,
        ("cost", None) => Metric::Cost,
        ("recovery", None) => Metric::Recovery,
        ("first_good", None) => Metric::FirstGood,
        ("last_failure", None) => Metric::LastFailure,
        ("missing_retry_after", None) => Metric::MissingRetryAfter,
        _ => {
            let (cause, percent) = name.split_once(['.', ' '])?;
            let percent = if percent == "max" { 100.0 } else { percentile(percent)? };
            let cause = match cause {
                "first_event" => return Some(Metric::FirstEvent(percent)),
                "event_gap" => return Some(Metric::EventGap(percent)),
                "lag" => LagCause::Any,
                "wake" => LagCause::Wake,
                "wait" => LagCause::Connection,
                _ => return None,
            };
            Metric::SendLag(cause, percent)
        }
    })
}

fn percentile(name: &str) -> Option<f64> {
    let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(percent)
}

fn parse_value(text: &str) -> Option<Measured> {
    let number = |suffix: &str| {
        let number: f64 = text.strip_suffix(suffix)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    match text {
        "exact" | "balanced" => return Some(Measured::Holds(true)),
        _ => {}
    }
    number("µs")
        .or_else(|| number("us"))
        .map(|us| Measured::Time(us / 1000.0))
        .or_else(|| number("ms").map(Measured::Time))
        .or_else(|| number("/s").map(Measured::Rate))
        .or_else(|| number("s").map(|seconds| Measured::Time(seconds * 1000.0)))
        .or_else(|| number("%").map(|percent| Measured::Share(percent / 100.0)))
        .or_else(|| number("").map(Measured::Number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_condition_is_error_that_names_it() {
        let error = |text| Condition::parse(Purpose::Expect, text).unwrap_err();
        assert!(matches!(error("p99"), ConditionError::NoSign(_)));
        assert!(matches!(error("p99<>4ms"), ConditionError::NoSign(_)));
        for text in
            ["p100.5<1ms", "p0<1ms", "latency<4ms", "status=4", "status(600)=0", "errors(4)=0", "lag.x<1ms"]
        {
            assert!(matches!(error(text), ConditionError::Metric { .. }), "{text}");
            assert!(error(text).to_string().contains(text));
        }
        for text in
            ["p99<50", "p99<5%", "errors<5ms", "rate>50", "admitted=1", "success>-1", "calls=", "max<infs"]
        {
            let error = error(text);
            assert!(
                matches!(error, ConditionError::Value { .. } | ConditionError::NoSign(_)),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn unknown_request_or_phase_is_error_that_lists_known_ones() {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let check = |text| {
            let condition = Condition::parse(Purpose::Expect, text).unwrap();
            condition
                .validate(&names(&["main", "mix/qr"]), &names(&["stopped"]))
                .map_err(|error| error.to_string())
        };
        for text in ["p99<1s", "p99 of main<1s", "p99 of mix in stopped<1s", "p99 in before<1s"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        assert!(
            check("p99 of man<1s")
                .unwrap_err()
                .contains("unknown request `man`: expected one of main, mix/qr")
        );
        assert!(
            check("p99 in stop<1s")
                .unwrap_err()
                .contains("unknown phase `stop`: expected one of before, stopped")
        );
    }
}
