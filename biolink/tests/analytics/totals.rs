//! Every report is the naive count over the events.

use jiff::tz::TimeZone;
use proptest::{collection::vec, prelude::*};
use serde_json::Value;
use shared::time::UnixMillis;

use crate::{
    buckets, naive,
    question::{Question, questions},
    store::{Stores, batches, query},
    world::{DAY, Happened, events},
};

/// From 2021 to 2030, so that every date of a change of the clocks comes up.
const NOWS: std::ops::Range<u64> = 1_609_459_200_000..1_893_456_000_000;

fn world(days: u64) -> impl Strategy<Value = (UnixMillis, Vec<Happened>, Vec<Question>)> {
    NOWS.prop_map(UnixMillis)
        .prop_flat_map(move |now| (Just(now), events(now, days + 2), vec(questions(now, days), 1..4)))
}

fn check(days: u32, now: UnixMillis, events: &[Happened], questions: &[Question]) {
    let batches = batches(events, 2, 40);
    let stores = Stores::of(&batches, 3, 30);
    for question in questions {
        let zone = buckets::built(&TimeZone::get(question.zone).unwrap(), now, days);
        let text = question.text();
        let asked = query(&text, &zone, now, days).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
        let report: Value = serde_json::from_str(&stores.report(&asked).body).unwrap();
        let earliest = UnixMillis((now.0 / DAY - u64::from(days)) * DAY);
        let expected = naive::report(question, events, earliest);
        for (member, expected) in expected.as_object().unwrap() {
            assert_eq!(&report[member], expected, "{member} of {text}");
        }
        assert_eq!((&report["meta"]["exact"], &report["meta"]["gaps"]), (&true.into(), &0.into()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn report_of_a_week_is_the_naive_count((now, events, questions) in world(7)) {
        check(7, now, &events, &questions);
    }

    #[test]
    fn report_of_ninety_days_is_the_naive_count((now, events, questions) in world(90)) {
        check(90, now, &events, &questions);
    }
}
