//! The worker's objects and its queue, past the faults. Only an edge with fault injection has these
//! routes.

use serde_json::{Value, json};
use shared::time::UnixMillis;

use crate::{
    http::{Request, Response},
    stack::Edge,
};

/// The error of a request to an object that is restarted (`tests/edge/faults.mjs`).
const RESTARTED: &str = "the test restarts the object";

/// An object of the worker.
#[derive(Clone, Copy)]
pub struct Object<'a> {
    edge: &'a Edge,
    binding: &'static str,
    name: &'a str,
}

/// A message of the queue, as a test makes one.
pub struct Message {
    /// The moment at which it was sent.
    pub at: UnixMillis,
    pub body: String,
}

impl<'a> Object<'a> {
    /// Returns the store of a page's events.
    pub const fn stats(edge: &'a Edge, page: &'a str) -> Self {
        Self { edge, binding: "STATS", name: page }
    }

    /// Returns the meter of a key, of a client address or of an `Idempotency-Key`.
    pub const fn meter(edge: &'a Edge, name: &'a str) -> Self {
        Self { edge, binding: "METER", name }
    }

    /// Returns the object that draws salts.
    pub const fn salt(edge: &'a Edge) -> Self {
        Self { edge, binding: "SALT", name: "all" }
    }

    /// Returns the webhooks of an account.
    pub const fn webhooks(edge: &'a Edge, account: &'a str) -> Self {
        Self { edge, binding: "WEBHOOKS", name: account }
    }

    /// Returns the reports of all pages.
    pub const fn reports(edge: &'a Edge) -> Self {
        Self { edge, binding: "REPORTS", name: "all" }
    }

    /// Returns the key-change feed, with the directory of keys.
    pub const fn key_changes(edge: &'a Edge) -> Self {
        Self { edge, binding: "KEY_CHANGES", name: "all" }
    }

    /// Returns the status history.
    pub const fn status_history(edge: &'a Edge) -> Self {
        Self { edge, binding: "STATUS_HISTORY", name: "all" }
    }

    /// Returns the object of an account.
    pub const fn account(edge: &'a Edge, account: &'a str) -> Self {
        Self { edge, binding: "ACCOUNT", name: account }
    }

    /// Returns the object of a slug.
    pub const fn slug(edge: &'a Edge, slug: &'a str) -> Self {
        Self { edge, binding: "SLUG", name: slug }
    }

    /// Returns the object of a product source.
    pub const fn product_source(edge: &'a Edge, source: &'a str) -> Self {
        Self { edge, binding: "PRODUCT_SOURCE", name: source }
    }

    /// Restarts it from what it has stored.
    pub fn restart(&self) {
        // The request ends with the object that it reached.
        self.request("GET", "/restart", String::new());
    }

    /// Returns which instance it is: another one after a restart.
    pub fn instance(&self) -> String {
        self.step("GET", "/instance", String::new()).text()
    }

    /// Sends a message. Returns the response.
    pub fn send(&self, message: &Value) -> Response {
        self.request("POST", "", message.to_string())
    }

    /// Runs a statement in its store. Returns the rows, with blobs in base64. A reading one is repeated
    /// if a fault restarts the object meanwhile.
    pub fn sql(&self, statement: &str) -> Vec<Vec<Value>> {
        let run = || self.request("POST", "/sql", statement.to_owned());
        let was_cut_off = |response: &Response| {
            statement.starts_with("SELECT") && response.status == 500 && response.text().contains(RESTARTED)
        };
        let mut response = run();
        while was_cut_off(&response) {
            response = run();
        }
        assert_eq!(response.status, 200, "{}", response.text());
        serde_json::from_value(response.json()).unwrap()
    }

    /// Returns the moment of its alarm.
    pub fn alarm(&self) -> Option<UnixMillis> {
        self.step("GET", "/alarm", String::new()).json().as_u64().map(UnixMillis)
    }

    /// Sets its alarm.
    pub fn set_alarm(&self, at: UnixMillis) {
        self.step("PUT", "/alarm", at.0.to_string());
    }

    /// Runs its alarm now.
    pub fn run_alarm(&self) {
        self.step("POST", "/alarm", String::new());
    }

    fn step(&self, method: &str, step: &str, body: String) -> Response {
        let response = self.request(method, step, body);
        assert_eq!(response.status, 200, "{}", response.text());
        response
    }

    fn request(&self, method: &str, step: &str, body: String) -> Response {
        let request = Request::new(method, &format!("/test/{}/{}{step}", self.binding, self.name));
        let request = if method == "GET" { request } else { request.body(body) };
        request.send(self.edge.addr)
    }
}

/// Gives a batch of messages to the queue's consumer. Returns the places of those that come again,
/// each with its delay in seconds.
///
/// # Panics
/// If the consumer fails, or says nothing of one of them.
pub fn consume(edge: &Edge, messages: &[Message]) -> Vec<(usize, u64)> {
    let sent: Vec<Value> = messages
        .iter()
        .enumerate()
        .map(|(place, message)| json!({"id": place.to_string(), "timestamp": message.at.0, "body": message.body}))
        .collect();
    let response = Request::post("/test/queue", &Value::from(sent)).send(edge.addr);
    assert_eq!(response.status, 200, "{}", response.text());
    let outcome = response.json();
    assert_eq!(outcome["outcome"], "ok", "{outcome}");
    let place = |id: &Value| id.as_str().unwrap().parse::<usize>().unwrap();
    let list = |name: &str| outcome[name].as_array().cloned().unwrap_or_default();
    let again: Vec<_> = list("retryMessages")
        .iter()
        .map(|message| (place(&message["msgId"]), message["delaySeconds"].as_u64().unwrap()))
        .collect();
    let mut settled: Vec<_> =
        list("explicitAcks").iter().map(place).chain(again.iter().map(|(place, _)| *place)).collect();
    settled.sort_unstable();
    assert!(
        settled.into_iter().eq(0..messages.len()),
        "each message is acknowledged or comes again: {outcome}"
    );
    again
}
