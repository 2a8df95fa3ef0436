//! An edge with fault injection and one published page, with what its visitors do and what is counted
//! of it.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use biolink::{
    events::{Batch, Buffer, Columns, Dimension, Event, EventKind, Segment},
    page::PageId,
};
use serde_json::{Value, json};
use shared::{
    key::KeyId,
    time::{UnixMillis, UtcDay},
};
use tests::{
    faults::Faults,
    http::{Request, Response},
    objects::Object,
    stack::{Edge, NOWHERE},
    wait::wait_for,
};

use super::pages::{create, issue, unique};

/// The agent of a person.
pub(crate) const PERSON: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0";

/// An edge with faults that no test uses.
static SHARED: LazyLock<(Arc<Edge>, Arc<Faults>)> = LazyLock::new(|| {
    let faults = Faults::start();
    (Arc::new(Edge::start_with_faults(NOWHERE, &faults)), Arc::new(faults))
});

/// An edge with one published page.
pub(crate) struct Site {
    pub(crate) edge: Arc<Edge>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) key: String,
    pub(crate) account: KeyId,
    /// The page as the API shows it.
    pub(crate) page: Value,
    /// The path of the page.
    pub(crate) path: String,
}

/// Returns a request of a person.
pub(crate) fn person(path: &str) -> Request {
    Request::get(path).header("User-Agent", PERSON)
}

impl Site {
    /// Starts it with empty state in memory.
    pub(crate) fn start() -> Self {
        let faults = Faults::start();
        Self::publish(Arc::new(Edge::start_with_faults(NOWHERE, &faults)), Arc::new(faults))
    }

    /// Publishes a page at a worker that tests share. It has every route of tests, and its objects that
    /// belong to the page or its account are the test's own. Nothing fails, and nothing is counted.
    pub(crate) fn shared() -> Self {
        let (edge, faults) = SHARED.clone();
        Self::publish(edge, faults)
    }

    /// Starts it with its state on disk.
    pub(crate) fn start_stored() -> Self {
        let faults = Faults::start();
        Self::publish(Arc::new(Edge::start_stored_with_faults(NOWHERE, &faults)), Arc::new(faults))
    }

    /// Stops the worker and starts it again with the same state on disk.
    pub(crate) fn restart(self) -> Self {
        let edge = Arc::into_inner(self.edge).unwrap().restart_with_faults(NOWHERE, &self.faults);
        Self { edge: Arc::new(edge), ..self }
    }

    /// Kills the worker and starts it again with the same state on disk.
    pub(crate) fn crash(mut self) -> Self {
        let edge = Arc::get_mut(&mut self.edge).unwrap();
        edge.kill();
        edge.start_again(NOWHERE, &self.faults);
        self
    }

    pub(crate) fn publish(edge: Arc<Edge>, faults: Arc<Faults>) -> Self {
        let (key, account) = issue(&edge, None);
        let account = serde_json::from_value(json!(account)).unwrap();
        let slug = unique("ada");
        let path = format!("/{slug}");
        let price = json!({"amount": "9.50", "currency": "EUR"});
        let body = json!({"title": "Ada Example", "slug": slug, "status": "published", "links": [
            {"title": "News", "url": "https://example.com/news"},
            {"type": "email", "title": "Mail", "url": "ada@example.com"},
            {"title": "Casino", "url": "https://example.com/casino", "gate": {"kind": "age", "min": 18}}],
            "products": {"title": "Shop", "items": [
                {"title": "Engine", "url": "https://example.com/engine", "price": price}]}});
        let response = create(&edge, &key, &body);
        assert_eq!(response.status, 201, "{}", response.text());
        Self { edge, faults, key, account, page: response.json(), path }
    }

    /// Returns the page's id.
    pub(crate) fn id(&self) -> &str {
        self.page["id"].as_str().unwrap()
    }

    /// Returns the path of a part of the page.
    pub(crate) fn at(&self, rest: &str) -> String {
        format!("{}{rest}", self.path)
    }

    /// Returns the path of its code.
    pub(crate) fn code(&self) -> String {
        format!("/q{}", self.path)
    }

    /// Returns the path of a link.
    pub(crate) fn link(&self, nth: usize) -> String {
        self.at(&format!("/l/{}", self.page["links"][nth]["id"].as_str().unwrap()))
    }

    /// Returns the path that a browser pings when the email link is followed.
    pub(crate) fn ping(&self) -> String {
        self.at(&format!("/ping/{}", self.page["links"][1]["id"].as_str().unwrap()))
    }

    /// Returns the path of the product.
    pub(crate) fn product(&self) -> String {
        self.at(&format!("/p/{}", self.page["products"]["items"][0]["id"].as_str().unwrap()))
    }

    pub(crate) fn send(&self, request: &Request) -> Response {
        request.send(self.edge.addr)
    }

    /// Opens a path as a person. Returns the status.
    pub(crate) fn visit(&self, path: &str) -> u16 {
        self.send(&person(path)).status
    }

    /// Returns the store of the page's events.
    pub(crate) fn stats(&self) -> Object<'_> {
        Object::stats(&self.edge, self.id())
    }

    /// Returns the events of the page as [`Site::events_of`] does.
    pub(crate) fn events(&self, count: usize) -> Vec<Event> {
        self.events_of(self.id(), count)
    }

    /// Waits until the store of a page has so many events, ignored ones too. Returns them in the order
    /// in which it stored them.
    ///
    /// # Panics
    /// If it has more.
    pub(crate) fn events_of(&self, page: &str, count: usize) -> Vec<Event> {
        let stats = Object::stats(&self.edge, page);
        // The first message makes the table.
        stats.send(&json!({"export": 0}));
        let rows = || stats.sql("SELECT COALESCE(SUM(rows), 0) FROM segment")[0][0].as_u64().unwrap();
        wait_for(Duration::from_secs(30), || (rows() >= count as u64).then_some(()));
        let names = Dimension::ALL.map(Dimension::as_str).join(", ");
        let query = format!("SELECT day, rows, time, kind, visitor, {names} FROM segment ORDER BY id");
        let events: Vec<_> = stats.sql(&query).iter().flat_map(|row| decode(row)).collect();
        assert_eq!(events.len(), count, "{events:?}");
        events
    }

    /// Returns the batches that the worker has given to the queue so far.
    pub(crate) fn batches(&self) -> Vec<Batch> {
        self.faults.messages().iter().map(|text| Batch::from_json(text).unwrap()).collect()
    }

    /// Returns batches as an isolate makes them: each number of `views` is a batch of so many views.
    pub(crate) fn batches_of(&self, isolate: u8, views: &[(UnixMillis, usize)]) -> Vec<Batch> {
        let page = PageId::parse(self.id()).unwrap();
        let mut buffer = Buffer::new([isolate; 8]);
        let batches = views.iter().flat_map(|(at, count)| {
            for _ in 0..*count {
                buffer.push(self.account, page, &Event::new(*at, EventKind::View));
            }
            buffer.take()
        });
        batches.collect()
    }

    /// Returns the response to `GET /analytics` with this query.
    ///
    /// # Panics
    /// If it is an error.
    pub(crate) fn report(&self, query: &str) -> Value {
        let response = self.send(&Request::get(&format!("/analytics?{query}")).key(&self.key));
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()
    }

    /// Returns today's totals.
    pub(crate) fn totals(&self) -> Value {
        self.report("metrics=views,visitors,clicks,unique_clicks,scans,unique_scans,views_confirmed,bots")["totals"]
            .clone()
    }
}

/// Returns the events of a row of the store.
fn decode(row: &[Value]) -> Vec<Event> {
    let number = |value: &Value| value.as_u64().unwrap();
    let mut blobs = row[2..].iter().map(|blob| STANDARD.decode(blob.as_str().unwrap()).unwrap());
    let mut next = || blobs.next().unwrap();
    let columns =
        Columns { time: next(), kind: next(), visitor: next(), dimensions: std::array::from_fn(|_| next()) };
    let rows = usize::try_from(number(&row[1])).unwrap();
    Segment::decode(UtcDay(number(&row[0])), rows, &columns).unwrap().events().collect()
}
