//! What each scenario expects of the gateway, judged from the log alone.

use std::time::Duration;

use serde::Serialize;

use super::line::Line;
use crate::driver::{Log, Outcome, Record};
use crate::scenario::{Moments, Outage, Scenario};

/// An expectation, and whether it held.
#[derive(Debug, Serialize)]
pub struct Verdict {
    /// What is expected.
    pub expects: &'static str,
    /// Whether it held.
    pub held: bool,
    /// What was found.
    pub found: String,
}

/// How long a healed tool may stay unused (design section 3).
const HEALS_WITHIN: Duration = Duration::from_secs(10);
const MINUTE: Duration = Duration::from_secs(60);

pub(super) fn judge(scenario: Scenario, moments: &Moments, log: &Log) -> Vec<Verdict> {
    match (scenario, moments) {
        (Scenario::Steady | Scenario::Burst, _) => vec![all_answered(log), no_server_error(log)],
        (Scenario::OverLimit, _) => {
            vec![all_passed_or_denied(log), denials_say_when(log), some_denied(log), minute_kept(log)]
        }
        (Scenario::ToolDies, Moments::Outage(outage)) => {
            vec![stopped_is_503(log, moments), others_untouched(log, moments), heals(log, moments, outage)]
        }
        (Scenario::KeyRotation, Moments::Rotation { .. }) => {
            vec![all_passed_or_denied(log), new_key_used(log, moments), minute_kept(log)]
        }
        (Scenario::ToolDies | Scenario::KeyRotation, _) => {
            let found = "the run ended before it".to_owned();
            vec![Verdict { expects: "the event happens", held: false, found }]
        }
    }
}

const fn status(record: &Record) -> Option<u16> {
    match record.outcome {
        Outcome::Answered { status, .. } => Some(status),
        Outcome::Failed(_) => None,
    }
}

/// A verdict on how many of `calls` are not as they should be.
fn none_wrong<'a>(
    expects: &'static str,
    calls: impl Iterator<Item = &'a Record>,
    is_right: impl Fn(&Record) -> bool,
) -> Verdict {
    let (mut seen, mut wrong) = (0_usize, 0_usize);
    for record in calls {
        seen += 1;
        wrong += usize::from(!is_right(record));
    }
    let found =
        if seen == 0 { "no call to judge by".to_owned() } else { format!("{wrong} of {seen} were not") };
    Verdict { expects, held: seen > 0 && wrong == 0, found }
}

fn all_answered(log: &Log) -> Verdict {
    none_wrong("every call is answered", log.records.iter(), |record| status(record).is_some())
}

fn no_server_error(log: &Log) -> Verdict {
    none_wrong(
        "every answer's status is below 500",
        log.records.iter().filter(|r| status(r).is_some()),
        |record| status(record).is_some_and(|status| status < 500),
    )
}

fn all_passed_or_denied(log: &Log) -> Verdict {
    none_wrong("every call is let through (2xx) or over the limit (429)", log.records.iter(), |record| {
        record.succeeded() || status(record) == Some(429)
    })
}

fn denials_say_when(log: &Log) -> Verdict {
    let denied = log.records.iter().filter(|record| status(record) == Some(429));
    none_wrong("every 429 says when to come back (Retry-After)", denied, |record| {
        matches!(record.outcome, Outcome::Answered { retry_after: true, .. })
    })
}

fn some_denied(log: &Log) -> Verdict {
    let denied = log.records.iter().filter(|record| status(record) == Some(429)).count();
    Verdict {
        expects: "the load is over the limit",
        held: denied > 0,
        found: format!("{denied} calls denied"),
    }
}

/// A stretch of 60 seconds holds at least those calls that were sent and answered within it, whenever between
/// the two the gateway counted them. So what is found here is never more than what the gateway let through.
fn minute_kept(log: &Log) -> Verdict {
    let passed = log.records.iter().filter(|record| record.succeeded());
    let (mut sent, mut done): (Vec<Duration>, Vec<Duration>) =
        passed.map(|record| (record.sent, record.done)).unzip();
    sent.sort_unstable();
    done.sort_unstable();
    let most = sent.iter().enumerate().map(|(earlier, &from)| {
        done.partition_point(|&moment| moment < from + MINUTE).saturating_sub(earlier)
    });
    let most = most.max().unwrap_or(0);
    let quota = log.minute_quota.and_then(|quota| usize::try_from(quota).ok());
    let found = match quota {
        Some(quota) => format!("at most {most} in 60 s, {quota} allowed"),
        None => format!("at most {most} in 60 s; no answer said how many are allowed"),
    };
    let expects = "no 60 seconds hold more calls than the key may make";
    Verdict { expects, held: quota.is_some_and(|quota| most <= quota), found }
}

fn on<'a>(log: &'a Log, moments: &'a Moments, line: Line) -> impl Iterator<Item = &'a Record> {
    log.records.iter().filter(move |record| Line::of(record, moments) == line && status(record) != Some(429))
}

fn stopped_is_503(log: &Log, moments: &Moments) -> Verdict {
    none_wrong("while the tool is stopped its calls are 503", on(log, moments, Line::Stopped), |record| {
        status(record) == Some(503)
    })
}

fn others_untouched(log: &Log, moments: &Moments) -> Verdict {
    none_wrong("another tool's calls go on (2xx)", on(log, moments, Line::OtherTool), Record::succeeded)
}

fn new_key_used(log: &Log, moments: &Moments) -> Verdict {
    let passed = |line| on(log, moments, line).filter(|record| record.succeeded()).count();
    let (old, new) = (passed(Line::OldKeyInGrace), passed(Line::NewKey));
    let found = format!("{old} calls let through with the old key, {new} with the new one");
    Verdict { expects: "after the rotation both keys are good", held: old > 0 && new > 0, found }
}

fn heals(log: &Log, moments: &Moments, outage: &Outage) -> Verdict {
    let after = || on(log, moments, Line::StartedAgain);
    let first = after().filter(|record| record.succeeded()).map(|record| record.done).min();
    let last_refused = after().filter(|record| !record.succeeded()).map(|record| record.sent).max();
    let healed_at = first.max(last_refused).unwrap_or_default();
    let took = healed_at.saturating_sub(outage.started);
    let found = match first {
        Some(_) => format!("{:.1} s", took.as_secs_f64()),
        None => "no call got through again".to_owned(),
    };
    let expects = "a tool that is started again serves within 10 s";
    Verdict { expects, held: first.is_some() && took <= HEALS_WITHIN, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Stream;

    fn record(stream: Stream, at_ms: u64, status: u16) -> Record {
        let sent = Duration::from_millis(at_ms);
        let outcome = Outcome::Answered { status, code: None, retry_after: status == 429, bytes: 0 };
        Record { stream, due: sent, sent, done: sent + Duration::from_millis(1), outcome }
    }

    fn log(calls: impl IntoIterator<Item = (u64, u16)>) -> Log {
        let records = calls.into_iter().map(|(at_ms, status)| record(Stream::Main, at_ms, status)).collect();
        Log { records, minute_quota: Some(10) }
    }

    fn held(scenario: Scenario, moments: &Moments, log: &Log) -> Vec<bool> {
        judge(scenario, moments, log).iter().map(|verdict| verdict.held).collect()
    }

    #[test]
    fn one_call_too_many_within_any_60_seconds_is_found() {
        let ten_in_a_minute = (0..10).map(|n| (n * 6000, 200));
        // The eleventh comes in the 60th second after the first, then in the 61st.
        assert!(!minute_kept(&log(ten_in_a_minute.clone().chain([(59_900, 200)]))).held);
        assert!(minute_kept(&log(ten_in_a_minute.clone().chain([(60_100, 200)]))).held);
        assert!(minute_kept(&log(ten_in_a_minute.chain([(59_900, 429)]))).held);
    }

    #[test]
    fn a_call_that_was_answered_later_than_60_seconds_after_the_first_is_no_proof() {
        let mut log = log((0..11).map(|n| (n, 200)));
        log.records[10].done = Duration::from_millis(60_500);
        assert!(minute_kept(&log).held);
    }

    #[test]
    fn a_limit_that_no_answer_names_is_not_taken_for_kept() {
        let unknown = Log { minute_quota: None, ..log([(0, 200)]) };
        assert!(!minute_kept(&unknown).held);
    }

    #[test]
    fn over_limit_expects_a_load_that_is_over_the_limit() {
        let load = |denied: u64| log((0..10).map(|n| (n, 200)).chain((0..denied).map(|n| (10 + n, 429))));
        assert_eq!(held(Scenario::OverLimit, &Moments::Quiet, &load(3)), [true; 4]);
        assert_eq!(held(Scenario::OverLimit, &Moments::Quiet, &load(0)), [true, false, false, true]);
        let mut broken = load(3);
        broken.records.push(record(Stream::Main, 50, 503));
        assert_eq!(held(Scenario::OverLimit, &Moments::Quiet, &broken), [false, true, true, true]);
    }

    const OUTAGE: Moments = Moments::Outage(Outage {
        stopping: Duration::from_millis(1000),
        stopped: Duration::from_millis(1010),
        starting: Duration::from_millis(2000),
        started: Duration::from_millis(2010),
    });

    fn outage_log(calls: &[(u64, u16)], other: u16) -> Log {
        let mut log = log(calls.iter().copied());
        log.records.push(record(Stream::Bystander, 1500, other));
        log
    }

    #[test]
    fn a_stopped_tool_is_to_be_503_alone_and_to_heal() {
        let good = [(500, 200), (1005, 200), (1500, 503), (2005, 503), (3000, 503), (5000, 200)];
        assert_eq!(held(Scenario::ToolDies, &OUTAGE, &outage_log(&good, 200)), [true; 3]);
        assert_eq!(held(Scenario::ToolDies, &OUTAGE, &outage_log(&good, 503)), [true, false, true]);
        let served_while_stopped = [(1500, 200), (5000, 200)];
        assert_eq!(
            held(Scenario::ToolDies, &OUTAGE, &outage_log(&served_while_stopped, 200)),
            [false, true, true]
        );
    }

    #[test]
    fn healing_is_dated_by_the_last_refusal_not_by_the_first_success() {
        let flapping = [(1500, 503), (3000, 200), (13_000, 503), (13_001, 200)];
        assert!(!heals_at_all(&flapping));
        assert!(!heals_at_all(&[(1500, 503), (2500, 503)]));
        assert!(heals_at_all(&[(1500, 503), (2500, 200)]));
    }

    fn heals_at_all(calls: &[(u64, u16)]) -> bool {
        held(Scenario::ToolDies, &OUTAGE, &outage_log(calls, 200))[2]
    }

    #[test]
    fn a_scenario_whose_event_never_came_proves_nothing() {
        for scenario in [Scenario::ToolDies, Scenario::KeyRotation] {
            assert_eq!(held(scenario, &Moments::Quiet, &log([(0, 200)])), [false]);
        }
    }
}
