//! `docs/edge.md` and `docs/webhooks.md` against the source of the edge.

use std::{collections::BTreeSet, fs, path::Path};

use biolink::webhooks::WebhookKind;
use portal::openapi;
use serde_json::Value;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Returns the text of all source files of the edge, without the white space around line breaks.
fn source_of_the_edge() -> String {
    let mut folders = vec![Path::new(ROOT).join("edge-worker/src")];
    let mut source = String::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let lines = fs::read_to_string(path).unwrap();
                lines.lines().for_each(|line| source.push_str(line.trim()));
            }
        }
    }
    source
}

/// Returns the log events of the edge that the guide explains.
fn explained_events() -> BTreeSet<String> {
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/edge.md")).unwrap();
    let (_, table) = guide.split_once("| event at the edge | meaning |\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let names =
        table.lines().skip(1).flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Events that go through a parameter, such as those of alarms, were not read once.
#[test]
fn log_event_of_the_edge_is_explained_in_the_guide() {
    let (source, explained) = (source_of_the_edge(), explained_events());
    let logged: BTreeSet<_> =
        source.split("Event(\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    assert!(logged.len() > 60, "{logged:?}");
    let missing: Vec<_> = logged.difference(&explained).collect();
    assert!(missing.is_empty(), "not in the table of docs/edge.md: {missing:?}");
}

#[test]
fn log_event_in_the_guide_is_logged_by_the_edge() {
    let source = source_of_the_edge();
    for event in explained_events() {
        assert!(source.contains(&format!("\"{event}\"")), "the edge does not log `{event}`");
    }
}

/// SQL gets the names of kinds from the list in Rust: the compiler finds no kind that is missing in a text.
#[test]
fn sql_of_the_edge_names_no_kind_of_webhook() {
    let source = source_of_the_edge();
    assert!(source.contains("INTO delivery"));
    for kind in WebhookKind::ALL.map(WebhookKind::as_str) {
        assert!(!source.contains(&format!("'{kind}'")), "{kind}");
    }
}

/// The examples of the guide are those of the description, which the code made. `page_view` is shown whole. Of the
/// other kinds only `data` is, without the page and the visit that are those of `page_view`.
#[test]
fn webhooks_guide_has_the_example_of_each_kind() {
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/webhooks.md")).unwrap();
    let description = openapi::biolink::document("https://server.invalid");
    let shown = |kind: &str| -> Value {
        let (_, section) = guide.split_once(&format!("### {kind}\n")).unwrap();
        let (_, example) = section.split_once("```json\n").unwrap();
        let (example, _) = example.split_once("```\n").unwrap();
        serde_json::from_str(example).unwrap()
    };
    let page_view = shown("page_view");
    for kind in WebhookKind::ALL.map(WebhookKind::as_str) {
        let body = &description["x-webhooks"][kind]["post"]["requestBody"]["content"]["application/json"];
        let described = &body["example"];
        let mut example = page_view.clone();
        if kind != "page_view" {
            let has = |member: &str| described["data"].get(member).is_some();
            let mut data = shown(kind);
            for member in ["page", "visit"] {
                if has(member) && data.get(member).is_none() {
                    data[member] = page_view["data"][member].clone();
                }
            }
            example["type"] = kind.into();
            example["data"] = data;
            if !has("page") {
                example["page_sequence"] = 0.into();
            }
        }
        assert_eq!(example, *described, "{kind}");
    }
}

/// The table is what `make costs` measured. The goal is a dollar for a million requests.
#[test]
fn cost_above_the_goal_has_its_reason_in_the_guide() {
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/edge.md")).unwrap();
    let (_, section) = guide.split_once("writes what follows -->\n").unwrap();
    let (table, section) = section.split_once("<!-- end of costs -->").unwrap();
    let reasons = section.split("\n## ").next().unwrap();
    let prices = fs::read_to_string(Path::new(ROOT).join("loadtest/prices.json")).unwrap();
    let prices: Value = serde_json::from_str(&prices).unwrap();
    let price = |name: &str| prices["dollars_per_million"][name].as_f64().unwrap();
    let [seconds, gb] = ["seconds", "gb"].map(|part| prices["object_request"][part].as_f64().unwrap());
    let columns = [
        price("worker_requests"),
        price("object_requests") + price("object_gb_seconds") * seconds * gb,
        price("object_rows_read"),
        price("object_rows_written"),
        price("kv_reads"),
        price("kv_writes"),
        price("queue_operations"),
    ];
    let rows: Vec<_> = table.lines().skip(2).collect();
    assert!(rows.len() > 20, "{table}");
    for row in rows {
        let mut cells = row.trim_matches('|').split('|').map(str::trim);
        let name = cells.next().unwrap();
        let counts: Vec<f64> = cells.map(|cell| cell.parse().unwrap_or(0.0)).collect();
        let sum: f64 = counts.iter().zip(columns).map(|(count, price)| count * price).sum();
        let dollars = counts.last().unwrap();
        assert!(counts.len() == 8 && (sum - dollars).abs() < 0.06, "{name}: ${sum:.2}, shown ${dollars}");
        assert!(*dollars <= 1.0 || reasons.contains(&format!("**{name}**")), "{name} has no reason");
    }
}
