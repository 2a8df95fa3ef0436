//! The table of faults: each binding of both workers has each fault of its kind.

use std::{collections::BTreeSet, fs};

use tests::{
    faults::{Fate, Faults},
    http::{Request, Response},
    process::root,
    stack::{Edge, NOWHERE},
};
use toml::{Table, Value};

/// Returns each binding of a worker with its kind: the key of its file that it stands under.
fn bindings(kind: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Array(all) => all.iter().flat_map(|one| bindings(kind, one)).collect(),
        Value::Table(table) => {
            let is_object = table.contains_key("class_name");
            let name = table.get("binding").or_else(|| table.get("name").filter(|_| is_object));
            let own = name.and_then(Value::as_str).map(|name| (kind.to_owned(), name.to_owned()));
            let inner = table.iter().filter(|(key, _)| *key != "env");
            own.into_iter().chain(inner.flat_map(|(key, value)| bindings(key, value))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the operations of a kind of binding that the worker uses.
fn operations(kind: &str) -> &'static [&'static str] {
    match kind {
        "kv_namespaces" => &["get", "put", "list", "delete"],
        "r2_buckets" => &["get", "head", "put", "delete"],
        "producers" => &["send"],
        // Those of `durable_objects`.
        "bindings" | "assets" | "services" => &["fetch"],
        _ => panic!("tests/edge/faults.mjs has no faults for a binding of the kind {kind}"),
    }
}

#[test]
fn every_binding_of_a_worker_has_every_fault() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    // The gateway's are its own. Those that it lacks are the other worker's.
    let all: BTreeSet<_> = ["wrangler.toml", "wrangler.pages.toml"]
        .iter()
        .flat_map(|file| {
            let config: Table = fs::read_to_string(root().join(file)).unwrap().parse().unwrap();
            bindings("", &config.into())
        })
        .collect();
    assert!(all.len() > 10, "{all:?}");
    for (kind, name) in &all {
        for operation in operations(kind) {
            let (path, done) = (format!("/{name}/{operation}"), format!("/{name}/done"));
            let used = |fate| -> (Response, usize) {
                let before = faults.count(&done);
                faults.set_once(&path, fate);
                let response = Request::get(&format!("/test/use{path}")).send(edge.addr);
                (response, faults.count(&done) - before)
            };
            let seen = |fate| {
                let (response, done) = used(fate);
                (response.status, done)
            };
            let before = used(Fate::Far { ms: 2 }).0;
            assert_eq!(before.status, 200, "{path}: {}", before.text());
            assert_eq!(seen(Fate::Late { ms: 1 }), (200, 1), "{path}: late");
            assert_eq!(seen(Fate::LoseReply), (500, 1), "{path}: its reply is lost");
            assert_eq!(seen(Fate::Fail), (500, 0), "{path}: an error");
            if kind == "bindings" {
                let after = used(Fate::Restart).0;
                assert_eq!(after.status, 200, "{path}: {}", after.text());
                assert_ne!(before.text(), after.text(), "{path}: the same instance, not restarted");
            }
        }
    }
}
