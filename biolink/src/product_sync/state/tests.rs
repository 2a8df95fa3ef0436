use serde_json::json;

use super::*;
use crate::{
    page::{PageId, SourceId},
    product_feed::{FeedFormat, FormatChoice, NumberFormat, Selection},
};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn source(max_items: usize, push: bool) -> Source {
    let selection = Selection { filter: Default::default(), order: Default::default(), max_items };
    let url = "https://shop.example/feed".to_owned();
    Source {
        id: SourceId::new([3; 12]),
        page: PageId::new([2; 12]),
        settings: SourceSettings {
            url,
            format: None,
            encoding: None,
            currency: None,
            number_format: NumberFormat::Auto,
            store_url: None,
            selection,
            push,
        },
        secret: None,
        version: 1,
        created_at: UnixMillis(0),
        updated_at: UnixMillis(0),
        synced: 0,
    }
}

fn feed(ids: std::ops::Range<usize>) -> Fetched {
    let item =
        |id: usize| json!({"id": id, "title": "a", "url": "https://shop.example/a", "price": "1.00 EUR"});
    let body = json!({"items": ids.map(item).collect::<Vec<_>>()}).to_string();
    let feed = Feed::parse(body.as_bytes(), FormatChoice::Auto, "https://shop.example/", None).unwrap();
    assert_eq!((feed.faulty, feed.format), (0, FeedFormat::Items));
    Fetched::Feed { feed, status: 200, etag: Some("\"a\"".to_owned()), last_modified: None }
}

/// A source and its clock.
struct World {
    state: SyncState,
    catalog: Catalog,
    now: UnixMillis,
}

impl World {
    fn new() -> Self {
        let now = UnixMillis(1_795_000_000_000);
        let mut state = SyncState::default();
        state.configure(KeyId::new([1; 12]), source(50, false), now);
        Self { state, catalog: Catalog::default(), now }
    }

    /// Waits until the next run, and ends it so.
    fn run(&mut self, outcome: Result<Fetched, FetchError>) -> SyncAttempt {
        self.now = self.now.max(self.state.next_due().expect("a run is planned"));
        let attempt = self.state.begin(self.now).expect("a run is due");
        self.state.finish(&attempt, outcome, &mut self.catalog, self.now);
        attempt
    }

    /// Gives the products to the account. Returns their number, or `None` if it gets none.
    fn edit(&mut self) -> Option<usize> {
        let edit = self.state.edit(&self.catalog, self.now)?;
        let shown = edit.products.len();
        let applied = Applied { shown, added: shown, ..Applied::default() };
        self.state.settle(&edit, EditOutcome::Applied(applied), self.now);
        Some(shown)
    }

    fn outcome(&self) -> RunOutcome {
        self.state.runs().last().unwrap().outcome
    }

    fn status(&self) -> String {
        self.state.describe()["status"].as_str().unwrap().to_owned()
    }

    fn fail(&mut self) -> u64 {
        let before = self.now.max(self.state.next_due().unwrap());
        self.run(Err(FetchError::TimedOut { ms: 15_000 }));
        self.state.next_due().map_or(0, |next| next.since(before))
    }
}

#[test]
fn new_source_runs_at_once_and_then_every_six_hours() {
    let mut world = World::new();
    assert_eq!(world.state.next_due(), Some(world.now));
    world.run(Ok(feed(0..3)));
    assert_eq!(
        (world.edit(), world.outcome(), world.status().as_str()),
        (Some(3), RunOutcome::Updated, "ok")
    );
    let first = world.state.next_due().unwrap();
    let attempt = world.run(Ok(feed(0..3)));
    assert_eq!(attempt.validators, [("if-none-match", "\"a\"".to_owned())]);
    assert_eq!((world.edit(), world.outcome()), (None, RunOutcome::Unchanged), "nothing is published again");
    assert_eq!(world.state.next_due().unwrap().since(first), 6 * HOUR);
    world.run(Ok(Fetched::NotModified));
    assert_eq!((world.edit(), world.outcome()), (None, RunOutcome::NotModified));
}

#[test]
fn source_that_fails_is_stale_failing_and_paused() {
    let mut world = World::new();
    world.run(Ok(feed(0..3)));
    world.edit();
    assert_eq!((world.fail(), world.status().as_str()), (HOUR / 4, "stale"));
    assert_eq!((world.fail(), world.status().as_str()), (HOUR, "stale"));
    assert_eq!((world.fail(), world.status().as_str()), (4 * HOUR, "failing"));
    let begin = world.now;
    assert_eq!((world.edit(), world.state.describe()["products"].as_u64()), (None, Some(3)), "they are kept");
    while world.status() == "failing" {
        world.fail();
    }
    assert_eq!((world.status().as_str(), world.state.next_due()), ("paused", None));
    assert!((6 * DAY..8 * DAY).contains(&world.now.since(begin)));
    assert_eq!(world.state.refresh(world.now), Ok(()));
    world.run(Ok(feed(0..3)));
    assert_eq!((world.edit(), world.status().as_str()), (Some(3), "ok"), "a refresh gives them again");
}

#[test]
fn shop_that_asks_for_time_gets_it() {
    let mut world = World::new();
    let error = FetchError::Status { status: 503, retry_after_ms: Some(2 * HOUR) };
    world.run(Err(error));
    assert_eq!(world.state.next_due().unwrap().since(world.now), 2 * HOUR);
    assert_eq!(world.state.runs().last().unwrap().http_status, Some(503));
}

#[test]
fn feed_that_lacks_most_products_is_held_for_one_run() {
    let mut world = World::new();
    world.run(Ok(feed(0..10)));
    world.edit();
    world.run(Ok(feed(0..2)));
    assert_eq!((world.edit(), world.outcome()), (Some(2), RunOutcome::Updated), "80 % is not more than that");
    world.run(Ok(feed(0..20)));
    world.edit();
    world.run(Ok(feed(0..1)));
    assert_eq!(
        (world.edit(), world.outcome(), world.state.describe()["held"].as_bool()),
        (None, RunOutcome::Held, Some(true))
    );
    world.run(Ok(feed(0..20)));
    assert_eq!(
        (world.edit(), world.state.describe()["held"].as_bool()),
        (None, Some(false)),
        "it was a mistake"
    );
    for held in [true, false] {
        world.run(Ok(feed(30..31)));
        assert_eq!(world.edit().is_none(), held);
    }
    world.run(Ok(feed(0..20)));
    world.edit();
    world.now = world.now.plus(10_000);
    world.state.refresh(world.now).unwrap();
    world.run(Ok(feed(0..1)));
    assert_eq!(world.edit(), Some(1), "the owner asked for it");
}

#[test]
fn run_that_a_shop_asks_for_does_not_end_a_hold() {
    let mut world = World::new();
    world.run(Ok(feed(0..20)));
    world.edit();
    world.run(Ok(feed(0..1)));
    for _ in 0..3 {
        world.state.ping(world.now);
        world.run(Ok(feed(0..1)));
        assert_eq!((world.edit(), world.outcome()), (None, RunOutcome::Held));
    }
    world.run(Ok(feed(0..1)));
    assert_eq!(world.edit(), Some(1), "the next run of the schedule applies it");
}

#[test]
fn refresh_is_limited() {
    let mut world = World::new();
    assert_eq!(world.state.refresh(world.now), Ok(()));
    world.now = world.now.plus(60_000);
    assert_eq!(world.state.refresh(world.now), Err(14 * 60));
    let (account, _) = world.state.source().unwrap();
    world.state.configure(account, source(50, true), world.now);
    assert_eq!(world.state.refresh(world.now), Ok(()), "a source with push can be refreshed every minute");
    assert_eq!(world.state.refresh(world.now.plus(59_999)), Err(1));
}

#[test]
fn shop_has_the_feed_fetched_once_a_minute() {
    let mut world = World::new();
    world.run(Ok(feed(0..3)));
    world.edit();
    world.state.ping(world.now.plus(1_000));
    assert_eq!(world.state.next_due(), Some(world.now.plus(60_000)));
    world.state.ping(world.now.plus(2_000));
    assert_eq!(world.state.next_due(), Some(world.now.plus(60_000)));
}

#[test]
fn pushed_changes_are_given_at_once_and_then_together() {
    let mut world = World::new();
    world.run(Ok(feed(0..3)));
    world.edit();
    world.now = world.now.plus(10_000);
    let Fetched::Feed { feed: changed, .. } = feed(1..5) else { panic!() };
    let push = |world: &mut World, upserts, deletes: &[String]| {
        world.state.push(&mut world.catalog, upserts, deletes, &[], world.now)
    };
    assert_eq!(push(&mut world, changed.products.clone(), &["0".to_owned()]), 5);
    assert_eq!(world.edit(), Some(4));
    push(&mut world, Vec::new(), &["1".to_owned()]);
    push(&mut world, Vec::new(), &["2".to_owned()]);
    assert_eq!(world.edit(), None, "it is too early");
    assert_eq!(world.state.next_due(), Some(world.now.plus(EDIT_MS)));
    world.now = world.now.plus(EDIT_MS);
    assert_eq!(world.edit(), Some(2));
    assert_eq!(world.state.runs().last().unwrap().trigger, RunTrigger::Push);
}

#[test]
fn edit_that_the_account_did_not_take_is_repeated() {
    let mut world = World::new();
    world.run(Ok(feed(0..3)));
    for wait in [5_000, 10_000, 20_000] {
        let edit = world.state.edit(&world.catalog, world.now).unwrap();
        world.state.settle(&edit, EditOutcome::Failed("no response".to_owned()), world.now);
        assert_eq!(world.edit(), None);
        assert_eq!(world.state.next_due(), Some(world.now.plus(wait)));
        world.now = world.now.plus(wait);
    }
    assert_eq!(world.edit(), Some(3));
}

#[test]
fn run_under_former_settings_counts_for_nothing() {
    let mut world = World::new();
    let attempt = world.state.begin(world.now).unwrap();
    let (account, _) = world.state.source().unwrap();
    world.state.configure(account, Source { version: 2, ..source(1, false) }, world.now);
    world.state.finish(&attempt, Ok(feed(0..3)), &mut world.catalog, world.now);
    assert_eq!((world.edit(), world.state.next_due()), (None, Some(world.now)));
    world.run(Ok(feed(0..3)));
    assert_eq!(world.edit(), Some(1));
}

#[test]
fn push_during_a_fetch_is_applied_over_its_feed() {
    let mut world = World::new();
    world.run(Ok(feed(0..3)));
    world.edit();
    world.now = world.state.next_due().unwrap();
    let attempt = world.state.begin(world.now).unwrap();
    let Fetched::Feed { feed: pushed, .. } = feed(5..6) else { panic!() };
    world.state.push(&mut world.catalog, pushed.products, &["1".to_owned()], &[], world.now);
    world.state.finish(&attempt, Ok(feed(0..3)), &mut world.catalog, world.now);
    let edit = world.state.edit(&world.catalog, world.now.plus(EDIT_MS)).unwrap();
    let ids: Vec<_> = edit.products.iter().map(|product| product.external_id.as_str()).collect();
    assert_eq!(ids, ["5", "0", "2"]);
}

#[test]
fn too_many_pushes_during_a_fetch_have_the_feed_fetched_again() {
    let mut world = World::new();
    let attempt = world.state.begin(world.now).unwrap();
    let Fetched::Feed { feed: pushed, .. } = feed(0..251) else { panic!() };
    world.state.push(&mut world.catalog, pushed.products, &[], &[], world.now);
    world.state.finish(&attempt, Ok(feed(0..251)), &mut world.catalog, world.now);
    assert_eq!(world.state.next_due(), Some(world.now), "the edit");
    world.edit();
    assert_eq!(world.state.next_due().unwrap().since(world.now), PUSHED_REFRESH_MS);
}

#[test]
fn push_during_an_edit_is_given_after_it() {
    let mut world = World::new();
    world.run(Ok(feed(0..3)));
    let edit = world.state.edit(&world.catalog, world.now).unwrap();
    world.state.push(&mut world.catalog, Vec::new(), &["1".to_owned()], &[], world.now);
    let applied = Applied { shown: 3, added: 3, ..Applied::default() };
    world.state.settle(&edit, EditOutcome::Applied(applied), world.now);
    assert_eq!(world.edit(), Some(2));
}

#[test]
fn settings_that_arrive_behind_newer_ones_are_ignored() {
    let mut world = World::new();
    let (account, _) = world.state.source().unwrap();
    world.state.configure(account, Source { version: 3, ..source(2, false) }, world.now);
    world.state.configure(account, Source { version: 2, ..source(1, false) }, world.now);
    world.run(Ok(feed(0..3)));
    assert_eq!(world.edit(), Some(2));
}

#[test]
fn push_is_read_in_the_number_format_of_the_last_feed() {
    let mut world = World::new();
    let item = |id: usize, price: &str| json!({"id": id, "title": "a", "url": "https://shop.example/a", "price": price});
    let body = json!({"items": [item(1, "12,50 EUR")]}).to_string();
    let feed = Feed::parse(body.as_bytes(), FormatChoice::Auto, "https://shop.example/", None).unwrap();
    let pushed = json!({"upsert": [item(2, "1.299")]});
    let amount = |world: &World| {
        let (read, _) = crate::product_feed::read_push(&pushed, world.state.price_rules(&world.catalog));
        read.into_iter().next().unwrap().map(|(product, _)| product.price.unwrap().amount)
    };
    assert!(amount(&world).is_err(), "nothing shows what it means");
    world.run(Ok(Fetched::Feed { feed, status: 200, etag: None, last_modified: None }));
    assert_eq!(amount(&world).as_deref(), Ok("1299"));
}
