//! The receivers that `docs/webhooks.md` shows, with the official libraries of Standard Webhooks,
//! against deliveries of the worker.

use biolink::webhooks::{
    HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, TOLERANCE_S, WebhookKind, WebhookSecret, sign,
};
use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    origin::Arrival,
    receiver::Receiver,
    recipe::{Recipe, RecipeProcess},
};

use super::{hooks::Hook, pages::until, site::Site};

/// Secrets of the receivers before and after two rotations.
const SECRETS: [&str; 3] = [
    "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
    "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY",
    "whsec_emF5YndjdmR1ZXRmc2dyaHFpcGpva25s",
];
const CHANGES_PER_ROUND: usize = 4;

/// An endpoint for single events and one for batches at each receiver.
struct Endpoints<'a> {
    site: &'a Site,
    hooks: Vec<Hook>,
}

impl<'a> Endpoints<'a> {
    fn create(site: &'a Site, recorder: &Receiver, recipes: &[RecipeProcess]) -> Self {
        let mut urls = vec![recorder.url("")];
        urls.extend(recipes.iter().map(|recipe| recipe.url("")));
        let bodies = urls.iter().flat_map(|url| {
            ["single", "batch"]
                .map(|mode| json!({"url": format!("{url}/{mode}"), "mode": mode, "secret": SECRETS[0]}))
        });
        let hooks = bodies.map(|body| site.hook(recorder, body)).collect();
        Self { site, hooks }
    }

    /// Has one event of each kind happen. Returns once every endpoint has every event so far.
    fn deliver_each_kind(&self, round: usize) {
        let site = self.site;
        site.visit(&site.path);
        site.visit(&site.link(0));
        site.visit(&site.code());
        let page = format!("/pages/{}", site.id());
        site.call("PATCH", &page, &json!({"title": format!("Ada {round}")}));
        site.call("POST", &format!("{page}/publish"), &json!({}));
        let events = round * CHANGES_PER_ROUND;
        until(|| site.logged().len() == events);
        site.send_all_now();
        until(|| self.hooks.iter().all(|hook| self.delivered(hook) == events));
    }

    /// Returns the number of events that an endpoint has.
    ///
    /// # Panics
    /// If it has refused one.
    fn delivered(&self, hook: &Hook) -> usize {
        let deliveries = self.site.deliveries(hook);
        for attempt in deliveries.iter().flat_map(|delivery| delivery["attempts"].as_array().unwrap()) {
            assert_eq!(attempt["status"], 204, "{attempt}");
        }
        let delivered = deliveries.iter().filter(|delivery| delivery["status"] == "delivered");
        delivered.map(|delivery| delivery["event_ids"].as_array().unwrap().len()).sum()
    }

    fn rotate(&self, secret: &str) {
        for hook in &self.hooks {
            let path = format!("/webhooks/{}/secret/rotate", hook.id);
            let response = self.site.call("POST", &path, &json!({"secret": secret}));
            assert_eq!(response.status, 200, "{}", response.text());
        }
    }
}

fn start_all(secret: &str) -> Vec<RecipeProcess> {
    Recipe::ALL.map(|recipe| recipe.start(secret)).into()
}

/// Sends a delivery as it arrived, with another body and other headers of Standard Webhooks.
fn send(to: &RecipeProcess, body: &[u8], [id, timestamp, signature]: [&str; 3]) -> Response {
    let request = Request::new("POST", "/again").header("Content-Type", "application/json");
    let request = request.header(HEADER_ID, id).header(HEADER_TIMESTAMP, timestamp);
    request.header(HEADER_SIGNATURE, signature).body(body).send(to.addr)
}

fn headers(arrival: &Arrival) -> [&str; 3] {
    [HEADER_ID, HEADER_TIMESTAMP, HEADER_SIGNATURE].map(|name| arrival.header(name).unwrap())
}

fn assert_refused(to: &RecipeProcess, why: &str, body: &[u8], headers: [&str; 3]) {
    let before = to.handled();
    let response = send(to, body, headers);
    assert_eq!(response.status, 400, "{:?}, {why}", to.recipe);
    assert!(response.text().starts_with("refused: "), "{}", response.text());
    assert_eq!(to.handled(), before, "{:?}, {why}", to.recipe);
}

fn assert_accepted(to: &RecipeProcess, why: &str, body: &[u8], headers: [&str; 3]) {
    let response = send(to, body, headers);
    assert_eq!(response.status, 204, "{:?}, {why}: {}", to.recipe, response.text());
    // A receiver responds before its output is read here.
    let events = event_ids(body);
    until(|| {
        let handled = to.handled();
        events.iter().all(|id| handled.contains(id))
    });
}

/// Returns the ids of the events of a delivery: a single one, or those of a batch.
fn event_ids(body: &[u8]) -> Vec<String> {
    let delivery: Value = serde_json::from_slice(body).unwrap();
    let batch = delivery["data"]["events"].as_array().cloned();
    let events = batch.unwrap_or_else(|| vec![delivery]);
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

fn signatures(arrival: &Arrival) -> usize {
    arrival.header(HEADER_SIGNATURE).unwrap().split(' ').count()
}

/// The receivers keep the first secret, which is one of two and then of three.
#[test]
fn recipe_verifies_each_kind_in_each_mode_during_rotations() {
    let (site, recorder, recipes) = (Site::start(), Receiver::start(), start_all(SECRETS[0]));
    let endpoints = Endpoints::create(&site, &recorder, &recipes);
    endpoints.deliver_each_kind(1);
    endpoints.rotate(SECRETS[1]);
    endpoints.deliver_each_kind(2);
    endpoints.rotate(SECRETS[2]);
    endpoints.deliver_each_kind(3);

    let logged = site.logged();
    for kind in WebhookKind::ALL.into_iter().filter(|kind| !kind.is_alert()) {
        assert_eq!(logged.iter().filter(|event| event["type"] == kind.as_str()).count(), 3, "{logged:?}");
    }
    let mut expected: Vec<_> = logged.iter().map(|event| event["id"].as_str().unwrap()).collect();
    expected.sort_unstable();
    for recipe in &recipes {
        // Each event came in a single delivery and in a batch.
        until(|| recipe.handled().len() >= expected.len());
        let mut handled = recipe.handled();
        handled.sort_unstable();
        assert_eq!(handled, expected, "{:?}", recipe.recipe);
    }
    let arrivals = recorder.arrivals();
    for secrets in 1..=3 {
        assert!(arrivals.iter().any(|arrival| signatures(arrival) == secrets), "{secrets} secrets");
    }
}

#[test]
fn recipe_refuses_changed_bodies_old_timestamps_and_wrong_secrets() {
    let (site, recorder) = (Site::start(), Receiver::start());
    let (recipes, rotated) = (start_all(SECRETS[0]), start_all(SECRETS[1]));
    let endpoints = Endpoints::create(&site, &recorder, &[]);
    site.visit(&site.path);
    until(|| site.logged().len() == 1);
    site.send_all_now();
    let signed_once = recorder.wait(2);
    endpoints.rotate(SECRETS[1]);
    site.visit(&site.link(0));
    until(|| site.logged().len() == 2);
    site.send_all_now();
    let signed_twice = recorder.wait(4).split_off(2);
    for (before, after) in recipes.iter().zip(&rotated) {
        for arrival in &signed_once {
            let (body, headers) = (&arrival.body, headers(arrival));
            assert_accepted(before, "as it arrived", body, headers);
            assert_refused(after, "wrong secret", body, headers);
            let [id, timestamp, signature] = headers;
            let changed = [body.as_slice(), b" "].concat();
            assert_refused(before, "changed body", &changed, headers);
            assert_refused(before, "changed id", body, ["evt_other", timestamp, signature]);
            assert_refused(before, "no signature", body, [id, timestamp, ""]);
        }
        for arrival in &signed_twice {
            assert_eq!(signatures(arrival), 2);
            assert_accepted(before, "old secret during a rotation", &arrival.body, headers(arrival));
            assert_accepted(after, "new secret during a rotation", &arrival.body, headers(arrival));
        }
        assert_timestamps_are_checked(before, &signed_once[0]);
    }
}

/// A margin for slow machines is on the side that a test expects.
fn assert_timestamps_are_checked(to: &RecipeProcess, arrival: &Arrival) {
    const MARGIN_S: u64 = 60;
    let secret = WebhookSecret::parse(SECRETS[0]).unwrap();
    let (id, now) = (arrival.header(HEADER_ID).unwrap(), keys::now().seconds());
    let signed = |timestamp: u64| {
        let signature = sign(id, timestamp, &arrival.body, std::slice::from_ref(&secret));
        (timestamp.to_string(), signature)
    };
    for timestamp in [now, now - TOLERANCE_S + MARGIN_S] {
        let (timestamp, signature) = signed(timestamp);
        assert_accepted(to, "signed now", &arrival.body, [id, &timestamp, &signature]);
    }
    for timestamp in [now - TOLERANCE_S - 1, now + TOLERANCE_S + MARGIN_S] {
        let (timestamp, signature) = signed(timestamp);
        assert_refused(to, "signed too long ago", &arrival.body, [id, &timestamp, &signature]);
    }
}
