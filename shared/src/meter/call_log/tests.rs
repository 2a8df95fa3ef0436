use proptest::prelude::*;

use super::*;
use crate::key::{ApiKey, KeyEnv, KeyId, NamedSecret, Scopes, SecretHash, SecretId};
use crate::problem::codes;
use crate::request_id::RequestId;
use crate::secret::{MacKeys, sha256};
use crate::tier::Tier;

const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

/// Returns the id of the nth request.
fn id(nth: u32) -> RequestId {
    let digest = sha256(&[&nth.to_be_bytes()]);
    RequestId(digest[..16].try_into().unwrap())
}

/// Returns the nth call, of a tool, each a second after the one before.
fn call(nth: u32, status: u16) -> LoggedCall {
    let tool = Some(if nth.is_multiple_of(2) { "qr" } else { "pdf" }.to_owned());
    LoggedCall { tool, ..LoggedCall::new(id(nth), NOW.plus(u64::from(nth) * 1_000), status) }
}

/// Returns the nth call, which the gateway has refused.
fn refused(nth: u32) -> LoggedCall {
    LoggedCall { code: Some(codes::QUOTA_EXCEEDED.as_str().to_owned()), ..call(nth, 429) }
}

fn batch(calls: impl IntoIterator<Item = LoggedCall>) -> CallBatch {
    let mut batch = CallBatch::default();
    calls.into_iter().for_each(|call| batch.add(call));
    batch
}

/// A log whose shell has kept the rows.
#[derive(Default)]
struct Kept {
    log: CallLog,
    rows: Vec<CallRow>,
}

impl Kept {
    fn add(&mut self, batch: &CallBatch, now: UnixMillis) {
        for row in self.log.add(batch, None, now) {
            let pushed_out = row.pushed_out();
            self.rows.retain(|other| {
                let is_alike = other.number % 2 == row.number % 2;
                other.last_at() >= oldest(now)
                    && !(is_alike && pushed_out.is_some_and(|last| other.number <= last))
            });
            self.rows.push(row);
        }
    }

    fn page(&self, filter: &CallFilter, now: UnixMillis) -> CallPage {
        filter.page(self.log.unstored().chain(self.rows.clone()), now)
    }
}

fn all() -> CallFilter {
    CallFilter { limit: usize::MAX, ..CallFilter::default() }
}

/// Returns for how many calls the successes of a page stand.
fn weight(page: &CallPage) -> u64 {
    page.calls.iter().map(|call| u64::from(call.sampled)).sum()
}

#[test]
fn few_calls_are_all_in_the_log() {
    let mut kept = Kept::default();
    kept.add(&batch([call(1, 200), call(2, 404), refused(3)]), NOW.plus(60_000));
    let page = kept.page(&all(), NOW.plus(60_000));
    assert_eq!(page.calls, [refused(3), call(2, 404), call(1, 200)], "the latest first");
    assert_eq!((page.has_more, page.dropped), (false, 0));
}

#[test]
fn burst_of_successes_is_sampled_and_says_so() {
    let mut kept = Kept::default();
    kept.add(&batch((0..10_000).map(|nth| call(nth, 200))), NOW.plus(10_000_000));
    let page = kept.page(&all(), NOW.plus(10_000_000));
    assert!((1..=CallBatch::MAX_SUCCEEDED).contains(&page.calls.len()));
    let sampled = page.calls[0].sampled;
    assert!(sampled >= 512 && sampled.is_power_of_two(), "{sampled}");
    assert!((3_000..30_000).contains(&weight(&page)), "{}", weight(&page));
}

/// Successes never push failures out, and what is not listed is counted.
#[test]
fn burst_of_failures_is_counted_whole() {
    let mut kept = Kept::default();
    let successes = (5_000..6_000).map(|nth| call(nth, 200));
    kept.add(&batch((0..1_000).map(refused).chain(successes)), NOW.plus(10_000_000));
    let page = kept.page(&CallFilter { status: Some((400, 599)), ..all() }, NOW.plus(10_000_000));
    assert_eq!(page.calls.len(), CallBatch::MAX_FAILED);
    let counted: u32 = page.calls.iter().map(|call| call.repeated + 1).sum();
    assert_eq!((counted, page.dropped), (1_000, 0));

    let unlike = |nth: u32| LoggedCall { action: Some(nth.to_string()), ..refused(nth) };
    let unlisted = batch((0..100).map(unlike));
    let mut kept = Kept::default();
    kept.add(&unlisted, NOW.plus(10_000_000));
    assert_eq!(kept.page(&all(), NOW.plus(10_000_000)).dropped, 100 - 32);
}

/// The success was the begin of the response.
#[test]
fn response_that_breaks_off_is_one_failed_call() {
    let broken = LoggedCall { status: 503, ..call(1, 200) };
    let page = all().page(
        {
            let mut log = CallLog::default();
            assert_eq!(log.add(&batch([call(1, 200), broken.clone()]), None, NOW.plus(60_000)).count(), 0);
            log.unstored().collect::<Vec<_>>()
        },
        NOW.plus(60_000),
    );
    assert_eq!(page.calls, [broken]);
}

/// A row costs as much with one call as with many.
#[test]
fn row_is_stored_for_every_64_calls() {
    let mut kept = Kept::default();
    let mut log = CallLog::default();
    let mut rows = 0;
    for nth in 0..640 {
        let next = batch([call(nth, if nth < 320 { 200 } else { 503 })]);
        kept.add(&next, NOW.plus(1_000_000));
        rows += log.add(&next, None, NOW.plus(1_000_000)).count();
    }
    assert_eq!((rows, kept.rows.len()), (10, 10));
    assert_eq!(kept.page(&all(), NOW.plus(1_000_000)).calls.len(), 640);
    let size = serde_json::to_string(&kept.rows[0]).unwrap().len();
    assert!(size < 8_192, "{size} bytes");
}

#[test]
fn log_has_a_bounded_number_of_rows_and_drops_the_oldest_of_a_kind() {
    let mut kept = Kept::default();
    let later = NOW.plus(100_000_000);
    kept.add(&batch([refused(0)]), later);
    for nth in 1..10_000 {
        kept.add(&batch([call(nth, 200)]), later);
    }
    let page = kept.page(&all(), later);
    assert!(kept.rows.len() <= 33 && page.calls.len() <= 64 * 34, "{}", page.calls.len());
    assert_eq!(page.calls.last(), Some(&refused(0)), "successes do not push it out");
    assert_eq!(page.calls[0].request_id, id(9_999));
}

#[test]
fn call_is_gone_after_seven_days() {
    let mut kept = Kept::default();
    kept.add(&batch((0..50).map(refused)), NOW.plus(1_000_000));
    kept.add(&batch([refused(60)]), NOW.plus(1_000_000));
    let last = NOW.plus(60_000 + KEPT_MS);
    assert_eq!(kept.page(&all(), last).calls.len(), 1);
    assert_eq!(kept.page(&all(), last.plus(1)).calls, []);
    kept.add(&batch([LoggedCall { at: last.plus(1), ..refused(70) }]), last.plus(1));
    let stored = serde_json::to_string(&kept.log).unwrap();
    assert_eq!(stored.matches("\"i\":").count(), 1, "the next one has dropped them: {stored}");
}

#[test]
fn call_is_not_from_the_future() {
    let mut kept = Kept::default();
    kept.add(&batch([call(9, 200)]), NOW);
    assert_eq!(kept.page(&all(), NOW).calls[0].at, NOW);
}

#[test]
fn filter_takes_calls_that_meet_every_condition() {
    let mut kept = Kept::default();
    let later = NOW.plus(60_000);
    kept.add(&batch([call(1, 200), call(2, 404), refused(3), refused(4), call(5, 503)]), later);
    let seen = |filter: CallFilter| -> Vec<u64> {
        let page = kept.page(&CallFilter { limit: 9, ..filter }, later);
        page.calls.iter().map(|call| call.at.since(NOW) / 1_000).collect()
    };
    let none = CallFilter::default;
    assert_eq!(seen(none()), [5, 4, 3, 2, 1]);
    assert_eq!(seen(CallFilter { tool: Some("qr".to_owned()), ..none() }), [4, 2]);
    assert_eq!(seen(CallFilter { status: Some((400, 499)), ..none() }), [4, 3, 2]);
    assert_eq!(seen(CallFilter { code: Some("quota-exceeded".to_owned()), ..none() }), [4, 3]);
    assert_eq!(seen(CallFilter { request_id: Some(id(5)), ..none() }), [5]);
    let (from, to) = (NOW.plus(2_000), Some(NOW.plus(4_000)));
    assert_eq!(seen(CallFilter { from, to, ..none() }), [3, 2]);
    assert_eq!(seen(CallFilter { tool: Some("qr".to_owned()), status: Some((429, 429)), ..none() }), [4]);
}

#[test]
fn refusals_are_grouped_the_latest_first_and_the_last_thousand_count() {
    let other = LoggedCall {
        tool: None,
        path: Some("/webhooks".to_owned()),
        code: Some("plan-required".to_owned()),
        ..call(700, 403)
    };
    let mut log = CallLog::default();
    let later = NOW.plus(10_000_000);
    let failed = (0..600).map(|nth| refused(nth * 2)).chain([other, call(701, 404), call(702, 200)]);
    let _rows: Vec<_> = log.add(&batch(failed), None, later).collect();
    let groups = |log: &CallLog| -> Vec<(String, u32)> {
        let groups = RefusedCalls::of(log.unstored(), oldest(later));
        groups.into_iter().map(|group| (group.route, group.count)).collect()
    };
    assert_eq!(groups(&log), [("/v1/qr/{action}".to_owned(), 600)], "the others were dropped");
    let many = LoggedCall { repeated: 998, ..refused(5_001) };
    let _rows: Vec<_> = log.add(&batch([many]), None, later).collect();
    assert_eq!(groups(&log), [("/v1/pdf/{action}".to_owned(), 999), ("/v1/qr/{action}".to_owned(), 1)]);
}

/// A hash is never stored: it is that of a secret, and tells nothing to who reads the log.
#[test]
fn secret_has_its_id_in_place_of_its_hash() {
    let (own, unknown) = (SecretHash::of(&[2; 16]), SecretHash::of(&[3; 16]));
    let id = SecretId::new([7; 8]);
    let named = NamedSecret {
        id,
        name: "CI".to_owned(),
        scopes: Scopes::ALL,
        hash: own,
        former: None,
        created_at: NOW,
        expires_at: Some(NOW),
        connection: None,
    };
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, NOW, [9; 16], &keys);
    let record = KeyRecord { secrets: vec![named], ..KeyRecord::provisional(&key) };
    let by = |nth, secret| LoggedCall { secret, ..call(nth, 404) };
    let known = LoggedCall { secret_id: Some(SecretId::new([8; 8])), ..by(4, Some(own)) };
    let sent = batch([by(1, Some(own)), by(2, Some(unknown)), by(3, None), known]);
    let sent: CallBatch = serde_json::from_str(&serde_json::to_string(&sent).unwrap()).unwrap();
    for (record, expected) in [(Some(&record), Some(id)), (None, None)] {
        let mut log = CallLog::default();
        assert_eq!(log.add(&sent, record, NOW).count(), 0);
        let found: Vec<_> = log.failed.calls.iter().map(|call| call.secret_id).collect();
        assert_eq!(found, [expected, None, None, Some(SecretId::new([8; 8]))]);
        assert!(log.failed.calls.iter().all(|call| call.secret.is_none()));
    }
}

#[test]
fn log_survives_storage() {
    let full = LoggedCall {
        action: Some("generate".to_owned()),
        secret_id: Some(SecretId::new([7; 8])),
        tool_ms: Some(12),
        edge_ms: Some(0),
        request_bytes: Some(0),
        response_bytes: Some(9),
        sampled: 4,
        repeated: 2,
        ..refused(1)
    };
    for call in [full, call(2, 200)] {
        let text = serde_json::to_string(&call).unwrap();
        assert_eq!(serde_json::from_str::<LoggedCall>(&text).unwrap(), call, "{text}");
    }
    let sent = batch([call(1, 200), refused(2)]);
    let text = serde_json::to_string(&sent).unwrap();
    assert_eq!(serde_json::from_str::<CallBatch>(&text).unwrap(), sent);
    let mut log = CallLog::default();
    assert_eq!(log.add(&sent, None, NOW).count(), 0);
    let text = serde_json::to_string(&log).unwrap();
    assert_eq!(serde_json::from_str::<CallLog>(&text).unwrap(), log);
}

proptest! {
    /// Whatever comes in whatever batches: nothing is listed twice, pages join without a gap, and every
    /// failure is listed or counted.
    #[test]
    fn pages_have_each_call_once(
        statuses in prop::collection::vec(prop::sample::select(vec![200u16, 201, 404, 429, 503]), 1..400),
        size in 1usize..60,
        limit in 1usize..50,
    ) {
        let mut kept = Kept::default();
        let later = NOW.plus(10_000_000);
        let calls: Vec<_> = (0..).zip(&statuses).map(|(nth, status)| call(nth, *status)).collect();
        for part in calls.chunks(size) {
            kept.add(&batch(part.iter().cloned()), later);
        }
        let whole = kept.page(&all(), later);
        let failed = |call: &&LoggedCall| call.status >= 400;
        let listed: u32 = whole.calls.iter().filter(failed).map(|call| call.repeated + 1).sum();
        prop_assert_eq!(listed + whole.dropped, u32::try_from(calls.iter().filter(failed).count()).unwrap());
        let mut pages = Vec::new();
        let mut filter = CallFilter { limit, ..CallFilter::default() };
        loop {
            let page = kept.page(&filter, later);
            filter.after = page.calls.last().map(|call| (call.at, call.request_id));
            pages.extend(page.calls);
            if !page.has_more { break }
        }
        prop_assert_eq!(&pages, &whole.calls);
        let mut ids: Vec<_> = pages.iter().map(|call| call.request_id).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), pages.len());
    }

    /// The sample is fair: its calls stand for about as many as there were.
    #[test]
    fn batch_is_bounded_and_takes_what_it_says(count in 0u32..5_000, first in 0u32..1_000_000) {
        let mut batch = CallBatch::default();
        for nth in first..first + count {
            let (before, takes) = (batch.succeeded.len(), batch.takes(id(nth), 200));
            batch.add(call(nth, 200));
            prop_assert!(takes || batch.succeeded.len() == before);
        }
        prop_assert!(batch.succeeded.len() <= CallBatch::MAX_SUCCEEDED);
        prop_assert!(count > 16 || batch.succeeded.len() == count as usize);
        prop_assert!(batch.one_of() <= count.max(1).next_power_of_two());
    }
}
