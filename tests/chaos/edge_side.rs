//! The worker of a run with its bindings, its disk, and the receiver of webhooks.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use serde_json::{Value, json};
use tests::{
    edge_host::HostedEdge,
    faults::{ACCOUNT, Fate, Faults, KV_GET, METER, PAGES_GET, SALT, STATS, WEBHOOKS},
    http::Request,
    keys,
    objects::Object,
    process::send_signal,
    receiver::Receiver,
    stack::Edge,
    wait::{PATIENCE, wait_for},
};

use crate::{origin_side::Pids, plan::Fault, sandbox::Disk};

/// The worker, its bindings, its disk, and the receiver of webhooks.
pub(crate) struct EdgeSide {
    pub(crate) edge: Edge,
    pub(crate) receiver: Receiver,
    faults: Faults,
    origins: String,
    pids: Pids,
    disk: Option<Disk>,
}

/// A published page whose link is clicked.
pub(crate) struct Page {
    pub(crate) id: String,
    pub(crate) account: String,
    pub(crate) key: String,
    /// The path of its link.
    pub(crate) link: String,
}

impl EdgeSide {
    pub(crate) fn start(has_mounts: bool, origins: &str, pids: &Pids) -> Self {
        let faults = Faults::start();
        let state = tempfile::tempdir().unwrap();
        let disk = has_mounts.then(|| Disk::mount(state.path(), "512m"));
        let edge = Edge::start_at_with_faults(origins, state, &faults);
        let (pids, origins) = (Arc::clone(pids), origins.to_owned());
        let side = Self { edge, receiver: Receiver::start(), faults, origins, pids, disk };
        side.note_pids();
        side
    }

    fn note_pids(&self) {
        let mut pids = self.pids.lock();
        pids.insert("workerd", self.edge.runtime());
        pids.insert("miniflare", HostedEdge::host());
    }

    /// Returns true if the machine allows the fault.
    pub(crate) const fn allows(&self, fault: Fault) -> bool {
        !matches!(fault, Fault::FullDisk) || self.disk.is_some()
    }

    pub(crate) fn begin(&mut self, fault: Fault) {
        match fault {
            Fault::KillEdge => self.edge.kill(),
            Fault::StopEdge => send_signal(self.edge.runtime(), "STOP"),
            Fault::FullDisk => self.disk.as_ref().unwrap().fill(),
            Fault::ReceiverFails => self.receiver.respond("500 Internal Server Error"),
            Fault::KvDown => self.set(&[KV_GET, PAGES_GET], Fate::Fail),
            Fault::MeterDown => self.set(&[METER], Fate::Fail),
            Fault::ObjectsLate => self.set(&[METER, ACCOUNT, STATS, SALT, WEBHOOKS], Fate::Far { ms: 400 }),
            _ => unreachable!("{fault} is a fault of the origins"),
        }
    }

    pub(crate) fn end(&mut self, fault: Fault) {
        match fault {
            Fault::KillEdge => {
                self.edge.start_again(&self.origins, &self.faults);
                self.note_pids();
            }
            Fault::StopEdge => send_signal(self.edge.runtime(), "CONT"),
            Fault::FullDisk => self.disk.as_ref().unwrap().free(),
            Fault::ReceiverFails => self.receiver.respond("204 No Content"),
            _ => self.set(&[KV_GET, PAGES_GET, METER, ACCOUNT, STATS, SALT, WEBHOOKS], Fate::Pass),
        }
    }

    fn set(&self, operations: &[&'static str], fate: Fate) {
        operations.iter().for_each(|operation| self.faults.set(operation, fate));
    }

    /// Issues a key with these fields besides its holder.
    pub(crate) fn issue(&self, fields: &Value) -> Value {
        let mut body = json!({"email": "ada@example.com", "name": "Ada", "admin_secret": keys::ADMIN_SECRET});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let response = Request::post("/v1/keys/issue", &body).send(self.edge.addr);
        assert_eq!(response.status, 201, "{}", response.text());
        response.json()
    }

    /// Publishes a page and subscribes the receiver to the clicks on its link.
    pub(crate) fn publish(&self) -> Page {
        let issued = self.issue(&json!({"tier": "free", "biolink_plan": "business"}));
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (key, account) = (text(&issued["key"]), text(&issued["account"]));
        let link = json!({"title": "News", "url": "https://example.com/news"});
        let page = json!({"title": "Ada", "slug": "ada", "status": "published", "links": [link]});
        let created = Request::post("/pages", &page).key(&key).send(self.edge.addr);
        assert_eq!(created.status, 201, "{}", created.text());
        let hook = json!({"url": self.receiver.url("/hook"), "events": ["click"]});
        let hook = Request::post("/webhooks", &hook).key(&key).send(self.edge.addr);
        assert_eq!(hook.status, 201, "{}", hook.text());
        let page = created.json();
        let link = format!("/ada/l/{}", text(&page["links"][0]["id"]));
        let page = Page { id: text(&page["id"]), account, key, link };
        wait_for(PATIENCE, || self.is_subscribed(&page).then_some(()));
        page
    }

    /// Returns true if the store of the page writes clicks to its outbox.
    fn is_subscribed(&self, page: &Page) -> bool {
        let stats = Object::stats(&self.edge, &page.id);
        stats.send(&json!({"export": 0}));
        let stored = stats.sql("SELECT j FROM settings");
        stored.first().and_then(|row| row[0].as_str()).is_some_and(|settings| settings.contains("click"))
    }

    /// Returns the clicks that the report counts today.
    pub(crate) fn counted(&self, page: &Page) -> Option<u64> {
        let report = Request::get("/analytics?metrics=clicks").key(&page.key).try_send(self.edge.addr)?;
        report.json()["totals"]["clicks"].as_u64()
    }

    /// Returns the number of events in the outbox of the page's store, and of deliveries that are
    /// neither delivered nor failed. Makes them due now, and closes the circuit of the receiver.
    pub(crate) fn undelivered(&self, page: &Page) -> u64 {
        let (stats, webhooks) =
            (Object::stats(&self.edge, &page.id), Object::webhooks(&self.edge, &page.account));
        let count = |rows: Vec<Vec<Value>>| rows[0][0].as_u64().unwrap();
        let left = count(stats.sql("SELECT COUNT(*) FROM outbox"))
            + count(webhooks.sql("SELECT COUNT(*) FROM delivery WHERE state < 2"));
        if left > 0 {
            stats.set_alarm(keys::now());
            webhooks.sql("UPDATE delivery SET due = 0 WHERE state < 2");
            webhooks
                .sql("UPDATE state SET j = json_remove(j, '$.list[0].health.probe') WHERE k = 'endpoints'");
            webhooks.restart();
            webhooks.set_alarm(keys::now());
        }
        left
    }

    /// Returns the folder of the worker's state.
    pub(crate) fn state(&self) -> PathBuf {
        self.edge.state().to_owned()
    }

    pub(crate) const fn addr(&self) -> SocketAddr {
        self.edge.addr
    }
}
