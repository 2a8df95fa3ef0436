//! Delivery of events to the stores of their pages without the queue, and through it if that fails.

use std::thread;

use biolink::events::{Event, EventKind};
use serde_json::json;
use tests::faults::{
    ACCOUNT, CHANGES, EVENTS, Fate, METER, PRODUCT_SOURCE, REPORTS, SALT, SLUG, STATS, WEBHOOKS,
};

use super::{
    pages::{created, until},
    site::{Site, person},
};

/// Opens the page and fetches the image that confirms the view, as a browser does.
fn open(site: &Site) {
    let page = site.send(&person(&site.path));
    let image = page.text().split('"').find(|part| part.contains("/seen/")).unwrap().to_owned();
    assert_eq!((page.status, site.visit(&image)), (200, 200));
}

/// What a visit costs, which `docs/analytics.md` says under Cost.
#[test]
fn quiet_visit_is_one_call_of_the_store() {
    let site = Site::start();
    let operations = || (site.faults.count(STATS), site.faults.count(EVENTS));
    open(&site);
    site.events(2);
    assert_eq!(operations(), (1, 0));
    // The visitor follows a link later.
    assert_eq!(site.visit(&site.link(0)), 302);
    site.events(3);
    assert_eq!(operations(), (2, 0));
    let totals = site.totals();
    assert_eq!(
        [&totals["views"], &totals["views_confirmed"], &totals["clicks"]],
        [&json!(1), &json!(1), &json!(1)]
    );
}

/// Campaigns of clicks, targets of links and domains of accounts ask no object (`docs/analytics.md`, Speed).
#[test]
fn redirect_alone_is_a_request_to_the_store_and_one_to_the_account() {
    let site = Site::start();
    let objects = [STATS, ACCOUNT, SALT, METER, SLUG, WEBHOOKS, PRODUCT_SOURCE, REPORTS, CHANGES];
    let requests = || objects.map(|object| site.faults.count(object));
    assert_eq!(site.visit(&site.link(0)), 302);
    site.events(1);
    let before = requests();
    assert_eq!(site.visit(&format!("{}?utm_campaign=spring&via=card", site.link(0))), 302);
    site.events(2);
    let more: Vec<_> = requests().iter().zip(before).map(|(after, before)| after - before).collect();
    // Within the second that an isolate uses the account's reply for, none.
    assert!(matches!(more[..], [1, 0 | 1, 0, 0, 0, 0, 0, 0, 0]), "{more:?}");
}

/// Twelve connections that follow one link again and again, each as its own visitor.
#[test]
fn burst_of_redirects_is_few_calls_with_every_click() {
    const CONNECTIONS: usize = 12;
    const REDIRECTS: usize = 50;
    let site = Site::start();
    let link = site.link(0);
    assert_eq!(site.visit(&link), 302);
    thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let address = format!("192.0.2.{connection}");
            let request = person(&link).header("CF-Connecting-IP", &address);
            let site = &site;
            scope.spawn(move || (0..REDIRECTS).for_each(|_| assert_eq!(site.send(&request).status, 302)));
        }
    });
    let sent = CONNECTIONS * REDIRECTS + 1;
    let events = site.events(sent);
    assert!(events.iter().all(|event| event.kind == EventKind::Click && event.is_counted()));
    let second = |event: &Event| event.at.seconds();
    let seconds = events.iter().map(second).max().unwrap() - events.iter().map(second).min().unwrap() + 1;
    let calls = site.faults.count(STATS) + site.faults.count(EVENTS);
    // Twice as many if the machine is so slow that the queue gets them too.
    assert!(calls as u64 <= 2 * (seconds + 2), "{calls} calls for {seconds} seconds");
    let report = site.report("metrics=clicks,unique_clicks");
    // The first visit had no address.
    assert_eq!(report["totals"], json!({"clicks": sent, "unique_clicks": CONNECTIONS + 1}));
    assert_eq!((&report["meta"]["counting"], &report["meta"]["gaps"]), (&json!("coalesced"), &json!(0)));
}

#[test]
fn queue_that_fails_is_not_needed_by_stores_that_work() {
    let site = Site::start();
    site.faults.set(EVENTS, Fate::Fail);
    open(&site);
    site.events(2);
    assert_eq!(site.faults.count(EVENTS), 0);
}

/// The second event comes within a minute of the failure, so its store is not asked directly.
#[test]
fn events_of_a_store_that_fails_go_through_the_queue() {
    let site = Site::start();
    site.faults.set(STATS, Fate::Fail);
    assert_eq!(site.visit(&site.path), 200);
    until(|| site.faults.count(EVENTS) == 1);
    // workerd prints a line after what it is about.
    until(|| site.edge.output().contains("events not stored"));
    site.faults.set(STATS, Fate::Pass);
    assert_eq!(site.visit(&site.path), 200);
    until(|| site.faults.count(EVENTS) == 2);
    site.events(2);
    let batches = site.batches();
    assert_eq!([batches[0].number, batches[1].number], [1, 2]);
    assert_eq!(site.report("")["meta"]["gaps"], 0);
}

#[test]
fn events_of_a_store_that_hangs_go_through_the_queue() {
    let site = Site::start();
    site.faults.set(STATS, Fate::Hang);
    assert_eq!(site.visit(&site.path), 200);
    until(|| site.faults.count(STATS) == 1);
    site.faults.set(STATS, Fate::Pass);
    site.events(1);
    assert_eq!(site.faults.count(EVENTS), 1);
}

/// The isolate cannot know that the store has the batch, so the queue delivers it again.
#[test]
fn batch_whose_reply_is_lost_counts_once() {
    let site = Site::start();
    site.faults.set_once(STATS, Fate::LoseReply);
    open(&site);
    until(|| site.faults.count(STATS) == 2);
    assert_eq!(site.faults.count(EVENTS), 1);
    site.events(2);
    // The queue's other messages are behind it, so it has been taken.
    assert_eq!(site.visit(&site.link(0)), 302);
    site.events(3);
    let report = site.report("metrics=views,clicks,views_confirmed");
    assert_eq!(report["totals"], json!({"views": 1, "clicks": 1, "views_confirmed": 1}));
    assert_eq!(report["meta"]["gaps"], 0);
}

/// What docs/analytics.md says of a crash: up to one second of events is lost, and nothing shows it.
#[test]
fn crashed_isolate_takes_its_last_second_along_without_a_trace() {
    let site = Site::start_stored();
    assert_eq!(site.visit(&site.path), 200);
    site.events(1);
    site.faults.set(STATS, Fate::Hang);
    site.faults.set(EVENTS, Fate::Hang);
    let sent = site.faults.count(STATS);
    assert_eq!(site.visit(&site.path), 200);
    until(|| site.faults.count(STATS) > sent);
    let site = site.crash();
    site.faults.set(STATS, Fate::Pass);
    site.faults.set(EVENTS, Fate::Pass);
    assert_eq!(site.visit(&site.path), 200);
    site.events(2);
    let report = site.report("metrics=views");
    assert_eq!(report["totals"]["views"], 2, "of three");
    assert_eq!((&report["meta"]["gaps"], &report["meta"]["exact"]), (&json!(0), &json!(true)));
}

/// An isolate calls at most six stores at the same time.
#[test]
fn batch_of_seven_pages_goes_through_the_queue() {
    let site = Site::start();
    let slugs: Vec<_> = (0..7).map(|nth| format!("page-{nth}")).collect();
    let publish = |slug: &String| {
        let body = json!({"title": slug, "slug": slug, "status": "published"});
        created(&site.edge, &site.key, &body).0
    };
    let pages: Vec<_> = slugs.iter().map(publish).collect();
    for slug in &slugs {
        until(|| site.visit(&format!("/{slug}/card.vcf")) == 200);
    }
    // A slow machine may take longer for them than an isolate waits.
    let mut visits = 0;
    until(|| {
        for slug in &slugs {
            assert_eq!(site.visit(&format!("/{slug}")), 200);
        }
        visits += 1;
        for page in &pages {
            site.events_of(page, visits);
        }
        site.batches().iter().any(|batch| batch.pages.len() == pages.len())
    });
    for page in &pages {
        assert_eq!(site.report(&format!("page_id={page}&metrics=views"))["totals"]["views"], visits);
    }
}
