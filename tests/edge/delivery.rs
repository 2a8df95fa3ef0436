//! Delivery of events to the store of their page: in any order, repeated, in bursts, and while a part
//! fails that they need. No visitor waits for any of it.

use biolink::{
    events::{Batch, Buffer, Event, EventKind},
    page::PageId,
};
use serde_json::{Value, json};
use tests::{
    faults::{EVENTS, Fate, SALT, STATS},
    http::Request,
    keys,
    objects::{Message, consume},
};

use super::{
    pages::{create, until},
    site::{Site, person},
};

const DAY_MS: u64 = 86_400_000;

/// Gives batches to the consumer as messages of now. Returns the places of those that come again.
fn deliver(site: &Site, batches: &[&Batch]) -> Vec<usize> {
    let message = |batch: &&Batch| Message { at: keys::now(), body: batch.to_json() };
    let messages: Vec<_> = batches.iter().map(message).collect();
    consume(&site.edge, &messages).into_iter().map(|(place, _)| place).collect()
}

/// Returns a report about a week in which nothing is expected but views: their number, and the gaps.
fn counted(site: &Site) -> (u64, u64) {
    let report = site.report("interval=7d&metrics=views");
    (report["totals"]["views"].as_u64().unwrap(), report["meta"]["gaps"].as_u64().unwrap())
}

#[test]
fn repeated_reordered_and_split_messages_count_once() {
    let site = Site::shared();
    let now = keys::now();
    // Three isolates, whose batches are of two days.
    let views = [(now.minus(DAY_MS), 2), (now.minus(DAY_MS), 3), (now, 4), (now, 5)];
    let batches: Vec<_> = (1..=3).flat_map(|isolate| site.batches_of(isolate, &views)).collect();
    assert_eq!(batches.len(), 12);
    // Backwards, one by one.
    for batch in batches.iter().rev().take(5) {
        assert!(deliver(&site, &[batch]).is_empty());
    }
    // Everything, shuffled, in several messages at once, and each message twice.
    let shuffled: Vec<_> =
        (0..24).map(|place| &batches[place * if place < 12 { 5 } else { 7 } % 12]).collect();
    for part in shuffled.chunks(4) {
        assert!(deliver(&site, part).is_empty());
    }
    assert_eq!(counted(&site), (3 * 14, 0));
    assert_eq!(site.events(3 * 14).len(), 42);
}

#[test]
fn missing_message_is_a_gap_until_it_arrives() {
    let site = Site::shared();
    let now = keys::now();
    let batches = site.batches_of(1, &[(now, 1), (now, 2), (now, 4)]);
    deliver(&site, &[&batches[0], &batches[2]]);
    assert_eq!(counted(&site), (5, 1));
    deliver(&site, &[&batches[1]]);
    assert_eq!(counted(&site), (7, 0));
}

/// The owner wants to begin anew. What is still on its way belongs to the past.
#[test]
fn reset_page_counts_from_zero_without_gaps() {
    let site = Site::start();
    let before = keys::now();
    let views = [(before, 1), (before, 2), (before, 4)];
    let batches = site.batches_of(1, &views);
    deliver(&site, &[&batches[0], &batches[1]]);
    let path = format!("/pages/{}/analytics/reset", site.id());
    let reset = site.send(&Request::new("POST", &path).key(&site.key));
    assert_eq!(reset.status, 204, "{}", reset.text());
    // Events have whole seconds, so that those of the same second belong to the past too.
    let second = keys::now().seconds();
    until(|| keys::now().seconds() > second);
    let batches = site.batches_of(1, &[views.as_slice(), &[(keys::now(), 8)]].concat());
    deliver(&site, &[&batches[3], &batches[0]]);
    assert_eq!(counted(&site), (8, 1), "one is missing");
    deliver(&site, &[&batches[2]]);
    site.faults.set_once(STATS, Fate::Restart);
    assert_eq!(counted(&site), (8, 0));
    let lifetime = site.report("interval=7d")["lifetime"].clone();
    assert_eq!(lifetime, json!({"views": 8, "clicks": 0, "scans": 0}));
}

/// The store fails at first. It takes nothing that arrives later.
#[test]
fn deleted_page_takes_its_events_along() {
    let site = Site::start();
    let rows = || site.stats().sql("SELECT COUNT(*) FROM segment")[0][0].as_u64().unwrap();
    let now = keys::now();
    let batches = site.batches_of(1, &[(now, 1), (now, 2)]);
    deliver(&site, &[&batches[0]]);
    site.events(1);
    let asked = site.faults.count(STATS);
    site.faults.set_once(STATS, Fate::Fail);
    let path = format!("/pages/{}", site.id());
    assert_eq!(site.send(&Request::new("DELETE", &path).key(&site.key)).status, 204);
    until(|| rows() == 0);
    assert!(site.faults.count(STATS) > asked + 1, "it was asked again");
    assert!(deliver(&site, &[&batches[0], &batches[1]]).is_empty());
    assert_eq!(rows(), 0);
}

/// Both are acknowledged, because they would never become readable.
#[test]
fn unreadable_messages_stop_no_others() {
    let site = Site::start();
    let now = keys::now();
    let batches = site.batches_of(1, &[(now, 1), (now, 2)]);
    let mut garbage: Value = serde_json::from_str(&batches[0].to_json()).unwrap();
    garbage["isolate"] = json!("garbage");
    garbage["pages"][0]["rows"] = json!("AAAA");
    let text = |body: &str| Message { at: now, body: body.to_owned() };
    let messages = [
        text(""),
        text(&batches[0].to_json()),
        text(&garbage.to_string()),
        text("{\"isolate\":\"1\"}"),
        text(&batches[1].to_json()),
    ];
    assert_eq!(consume(&site.edge, &messages), []);
    assert_eq!(counted(&site), (3, 0));
    until(|| {
        let log = site.edge.output();
        log.matches("event batch is unreadable").count() == 2 && log.contains("event rows are unreadable")
    });
}

/// The isolate of a queue that was down for long says how many events it has dropped.
#[test]
fn dropped_events_are_reported() {
    let site = Site::start();
    let (now, page) = (keys::now(), PageId::parse(site.id()).unwrap());
    let mut buffer = Buffer::new([1; 8]);
    let mut pushed = 0;
    let kept = loop {
        for visitor in 1..=400 {
            let event = Event { visitor: visitor << 40, ..Event::new(now, EventKind::View) };
            buffer.push(site.account, page, &event);
            pushed += 1;
        }
        let batches = buffer.take();
        if batches.iter().any(|batch| batch.pages[0].dropped > 0) {
            break batches;
        }
        buffer.restore(batches);
    };
    for part in kept.chunks(100) {
        assert!(deliver(&site, &part.iter().collect::<Vec<_>>()).is_empty());
    }
    let report = site.report("metrics=views");
    let (views, dropped) = (&report["totals"]["views"], &report["meta"]["dropped"]);
    assert!(dropped.as_u64().unwrap() > 0);
    assert_eq!(views.as_u64().unwrap() + dropped.as_u64().unwrap(), pushed);
    assert!(report["meta"]["gaps"].as_u64().unwrap() > 0, "the batches that they were in are missing");
}

/// Opens one of each, and checks that visitors get what they always get.
fn visit_everything(site: &Site) -> usize {
    let ping = Request { method: "POST".to_owned(), ..person(&site.ping()) };
    let statuses = [
        site.visit(&site.path),
        site.visit(&site.link(0)),
        site.visit(&site.product()),
        site.visit(&site.code()),
        site.send(&ping.body("PING")).status,
    ];
    assert_eq!(statuses, [200, 302, 302, 302, 204]);
    statuses.len()
}

#[test]
fn visitors_wait_for_nothing_that_hangs() {
    let site = Site::start();
    for binding in [EVENTS, STATS, SALT] {
        site.faults.set(binding, Fate::Hang);
    }
    visit_everything(&site);
    until(|| site.faults.count(SALT) > 0);
    site.faults.set(SALT, Fate::Pass);
    visit_everything(&site);
    until(|| site.faults.count(EVENTS) > 0);
    visit_everything(&site);
}

#[test]
fn failing_queue_gets_its_batches_again_and_each_counts_once() {
    let site = Site::start();
    site.faults.set_once(STATS, Fate::Fail);
    site.faults.set(EVENTS, Fate::Fail);
    let visits = visit_everything(&site) + visit_everything(&site);
    until(|| site.edge.output().contains("event batch not queued"));
    site.faults.set(EVENTS, Fate::Pass);
    let events = site.events(visits);
    assert!(events.iter().all(Event::is_counted));
    assert_eq!(site.report("")["meta"]["gaps"], 0);
    let batches = site.batches();
    let again = batches.iter().filter(|batch| **batch == batches[0]).count();
    assert!(again > 1, "the first was sent again as it was");
}

/// The queue has the batch, and the isolate gives it the same one again.
#[test]
fn batch_whose_queue_reply_is_lost_counts_once() {
    let site = Site::start();
    site.faults.set_once(STATS, Fate::Fail);
    site.faults.set_once(EVENTS, Fate::LoseReply);
    assert_eq!(site.visit(&site.path), 200);
    until(|| site.faults.count(EVENTS) == 2);
    assert_eq!(site.visit(&site.path), 200);
    site.events(2);
    // The queue's other messages are behind it, so it has been taken twice.
    until(|| site.faults.count(EVENTS) == 3);
    let batches = site.batches();
    assert_eq!(batches[0], batches[1]);
    assert_eq!(counted(&site), (2, 0));
}

/// The isolate cannot know whether the queue has the message, so it does not send it again. If it is
/// missing, that shows.
#[test]
fn batch_in_a_hanging_queue_is_a_gap() {
    let site = Site::start();
    assert_eq!(site.visit(&site.path), 200);
    site.events(1);
    site.faults.set_once(STATS, Fate::Fail);
    site.faults.set(EVENTS, Fate::Hang);
    assert_eq!(site.visit(&site.path), 200);
    until(|| site.faults.count(EVENTS) == 1);
    site.faults.set(EVENTS, Fate::Pass);
    assert_eq!(site.visit(&site.path), 200);
    site.events(2);
    assert_eq!(counted(&site), (2, 1));
    deliver(&site, &[&site.batches()[0]]);
    assert_eq!(counted(&site), (3, 0));
}

#[test]
fn failing_store_gets_its_message_again_and_counts_it_once() {
    let site = Site::start();
    site.faults.set(STATS, Fate::Fail);
    let now = keys::now();
    let batches = site.batches_of(1, &[(now, 2)]);
    let message = |age: u64| Message { at: now.minus(age), body: batches[0].to_json() };
    let again = consume(&site.edge, &[message(0), message(3_600_000)]);
    let delays: Vec<_> = again.iter().map(|(_, delay)| *delay).collect();
    assert!(delays[0] == 2 && (1_800..1_900).contains(&delays[1]), "{delays:?}");
    site.faults.set(STATS, Fate::Pass);
    assert_eq!(consume(&site.edge, &[message(0), message(3_600_000)]), []);
    assert_eq!(counted(&site), (2, 0));
}

/// One message has events of two pages. The store of one of them fails.
#[test]
fn store_that_fails_holds_no_other_back() {
    let site = Site::start();
    let body = json!({"title": "Bob", "slug": "bob", "status": "published"});
    let bob = create(&site.edge, &site.key, &body).json()["id"].as_str().unwrap().to_owned();
    let now = keys::now();
    let mut buffer = Buffer::new([1; 8]);
    for page in [site.id(), &bob] {
        let page = PageId::parse(page).unwrap();
        buffer.push(site.account, page, &Event::new(now, EventKind::View));
    }
    let batches = buffer.take();
    site.faults.set_once(STATS, Fate::Fail);
    assert_eq!(deliver(&site, &[&batches[0]]), [0]);
    assert_eq!(counted(&site).0, 1, "the other has it");
    assert_eq!(deliver(&site, &[&batches[0]]), [0; 0]);
    assert_eq!(counted(&site), (2, 0));
}

#[test]
fn restarted_store_knows_what_it_has_received() {
    let site = Site::start();
    let batches = site.batches_of(1, &[(keys::now(), 1); 3]);
    for batch in &batches {
        assert!(deliver(&site, &[batch]).is_empty());
    }
    site.faults.set_once(STATS, Fate::Restart);
    assert!(deliver(&site, &batches.iter().collect::<Vec<_>>()).is_empty());
    assert_eq!(site.visit(&site.path), 200);
    site.events(4);
    assert_eq!(counted(&site), (4, 0));
}

#[test]
fn visitor_has_no_number_while_the_salt_fails() {
    let site = Site::start();
    site.faults.set(SALT, Fate::Fail);
    assert_eq!([site.visit(&site.path), site.visit(&site.link(0))], [200, 302]);
    let events = site.events(2);
    assert!(events.iter().all(|event| event.is_counted() && event.visitor == 0));
    until(|| site.edge.output().contains("visitor salt unavailable"));
    site.faults.set(SALT, Fate::Pass);
    assert_eq!(site.visit(&site.path), 200);
    assert!(site.events(3)[2].visitor != 0);
    assert_eq!(site.totals()["visitors"], 1);
}

#[test]
fn event_does_not_wait_for_a_salt_that_hangs() {
    let site = Site::start();
    site.faults.set(SALT, Fate::Hang);
    assert_eq!(site.visit(&site.path), 200);
    let events = site.events(1);
    assert!(events[0].is_counted() && events[0].visitor == 0);
    until(|| site.edge.output().contains("visitor salt unavailable"));
}
