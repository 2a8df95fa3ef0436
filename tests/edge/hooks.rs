//! A site whose account has webhooks: what tests of deliveries share.

use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    objects::Object,
    receiver::Receiver,
};

use super::{pages::request, site::Site};

/// An endpoint of the site's account.
pub(crate) struct Hook {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Site {
    /// Calls the API with the site's key.
    pub(crate) fn call(&self, method: &str, path: &str, body: &Value) -> Response {
        let call = match method {
            "GET" | "DELETE" => Request::new(method, path),
            _ => request(method, path, body),
        };
        self.send(&call.key(&self.key))
    }

    /// Returns the body of a GET that succeeds.
    pub(crate) fn get(&self, path: &str) -> Value {
        let response = self.call("GET", path, &Value::Null);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    /// Creates an endpoint at a receiver, and waits until the page's store knows of it.
    pub(crate) fn hook(&self, receiver: &Receiver, more: Value) -> Hook {
        let mut body = json!({"url": receiver.url("/hook"), "events": ["click", "page_view", "qr_scan", "page_published"]});
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        let response = self.call("POST", "/webhooks", &body);
        assert_eq!(response.status, 201, "{}", response.text());
        let created = response.json();
        let text = |name: &str| created[name].as_str().unwrap().to_owned();
        let hook = Hook { id: text("id"), secret: text("secret") };
        self.wait_for_wanted(&body["events"]);
        hook
    }

    /// Waits until the store of the page writes rows of these kinds for webhooks.
    pub(crate) fn wait_for_wanted(&self, kinds: &Value) {
        let mut expected: Vec<String> = serde_json::from_value(kinds.clone()).unwrap();
        expected.sort_unstable();
        super::pages::until(|| {
            self.stats().send(&json!({"export": 0}));
            let stored = self.stats().sql("SELECT j FROM settings");
            let Some(settings) = stored.first().and_then(|row| row[0].as_str()) else { return false };
            let settings: Value = serde_json::from_str(settings).unwrap();
            let mut wanted: Vec<String> =
                serde_json::from_value(settings["wanted"].clone()).unwrap_or_default();
            wanted.sort_unstable();
            wanted == expected
        });
    }

    /// Returns the object of the account's webhooks.
    pub(crate) fn webhooks<'a>(&'a self, account: &'a str) -> Object<'a> {
        Object::webhooks(&self.edge, account)
    }

    /// Returns the deliveries of an endpoint, the newest first.
    pub(crate) fn deliveries(&self, hook: &Hook) -> Vec<Value> {
        let list = self.get(&format!("/webhooks/{}/deliveries?limit=100", hook.id));
        list["data"].as_array().unwrap().clone()
    }

    /// Returns the account's log of events.
    pub(crate) fn logged(&self) -> Vec<Value> {
        let (mut events, mut after) = (Vec::new(), json!(0));
        loop {
            let page = self.get(&format!("/events?limit=100&after={after}"));
            events.extend(page["data"].as_array().unwrap().iter().cloned());
            if page["has_more"] == false {
                return events;
            }
            after = page["next_after"].clone();
        }
    }

    /// Has everything that waits, batches too, sent now.
    pub(crate) fn send_all_now(&self) {
        let account = self.account.to_string();
        let webhooks = self.webhooks(&account);
        webhooks.sql("UPDATE delivery SET due = 0 WHERE state < 2");
        webhooks.set_alarm(keys::now());
    }

    /// Lets time pass for the webhooks: what they have stored becomes older, and their object reads it
    /// again. Nothing may be in flight.
    pub(crate) fn pass_time(&self, ms: u64) {
        let account = self.account.to_string();
        let webhooks = self.webhooks(&account);
        webhooks.sql(&format!(
            "UPDATE delivery SET due = MAX(0, due - {ms}),
            j = json_set(j, '$.first_at', MAX(0, json_extract(j, '$.first_at') - {ms})) WHERE state < 2"
        ));
        self.change_endpoints(|endpoint| {
            let health = &mut endpoint["health"];
            for moment in ["/failing_since", "/last_failure_at", "/last_success_at", "/probe/at"] {
                if let Some(at) = health.pointer_mut(moment).filter(|at| at.is_u64()) {
                    *at = json!(at.as_u64().unwrap() - ms);
                }
            }
        });
    }

    /// Changes each endpoint as it is stored. The object reads them again, and sends what is due.
    pub(crate) fn change_endpoints(&self, change: impl FnMut(&mut Value)) {
        let account = self.account.to_string();
        let webhooks = self.webhooks(&account);
        let stored = webhooks.sql("SELECT j FROM state WHERE k = 'endpoints'");
        let mut endpoints: Value = serde_json::from_str(stored[0][0].as_str().unwrap()).unwrap();
        endpoints["list"].as_array_mut().unwrap().iter_mut().for_each(change);
        let text = endpoints.to_string().replace('\'', "''");
        webhooks.sql(&format!("UPDATE state SET j = '{text}' WHERE k = 'endpoints'"));
        webhooks.restart();
        webhooks.set_alarm(keys::now());
    }

    /// Returns each endpoint as it is stored.
    pub(crate) fn stored_endpoints(&self) -> Vec<Value> {
        let stored =
            self.webhooks(&self.account.to_string()).sql("SELECT j FROM state WHERE k = 'endpoints'");
        let mut endpoints: Value = serde_json::from_str(stored[0][0].as_str().unwrap()).unwrap();
        serde_json::from_value(endpoints["list"].take()).unwrap()
    }

    /// Returns all deliveries as they are stored.
    pub(crate) fn stored_deliveries(&self) -> Vec<Value> {
        let rows = self.webhooks(&self.account.to_string()).sql("SELECT j FROM delivery ORDER BY number");
        rows.iter().map(|row| serde_json::from_str(row[0].as_str().unwrap()).unwrap()).collect()
    }

    /// Waits until nothing is due: all has been attempted that may be attempted now.
    pub(crate) fn settle(&self) {
        let account = self.account.to_string();
        super::pages::until(|| {
            let open = |endpoint: &Value| endpoint["health"]["probe"]["at"].as_u64() > Some(keys::now().0);
            // By the clock of the store. What became due after a time that is asked with was in flight.
            let is_due = |id: &str| {
                let due = format!(
                    "SELECT COUNT(*) FROM delivery WHERE endpoint = '{id}' AND state < 2
                    AND due <= CAST(1000 * unixepoch('subsec') AS INTEGER)"
                );
                self.webhooks(&account).sql(&due)[0][0] != 0
            };
            // An alarm that comes late would send while time passes, and the restart would cut it off.
            let has_run = self.webhooks(&account).alarm().is_none_or(|at| at > keys::now());
            let is_settled = |endpoint: &Value| open(endpoint) || !is_due(endpoint["id"].as_str().unwrap());
            has_run && self.stored_endpoints().iter().all(is_settled)
        });
    }
}
