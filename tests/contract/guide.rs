//! The operating guide against the source of the edge.

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
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/operating.md")).unwrap();
    let (_, table) = guide.split_once("| event at the edge | meaning |\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let names =
        table.lines().skip(1).flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

#[test]
fn log_event_of_the_edge_is_explained_in_the_guide() {
    let (source, explained) = (source_of_the_edge(), explained_events());
    let logged: BTreeSet<_> = source
        .split("log::error(\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    assert!(logged.len() > 30, "{logged:?}");
    let missing: Vec<_> = logged.difference(&explained).collect();
    assert!(missing.is_empty(), "not in the table of docs/operating.md: {missing:?}");
}

#[test]
fn log_event_in_the_guide_is_logged_by_the_edge() {
    let source = source_of_the_edge();
    for event in explained_events() {
        assert!(source.contains(&format!("\"{event}\"")), "the edge does not log `{event}`");
    }
}

/// The examples of the guide are those of the description, which the code made.
#[test]
fn webhooks_guide_has_the_example_of_each_kind() {
    let guide = fs::read_to_string(Path::new(ROOT).join("docs/webhooks.md")).unwrap();
    let description = openapi::biolink::document("https://server.invalid");
    for kind in WebhookKind::ALL.map(WebhookKind::as_str) {
        let (_, section) = guide.split_once(&format!("### {kind}\n")).unwrap();
        let (_, example) = section.split_once("```json\n").unwrap();
        let (example, _) = example.split_once("```\n").unwrap();
        let body = &description["x-webhooks"][kind]["post"]["requestBody"]["content"]["application/json"];
        assert_eq!(serde_json::from_str::<Value>(example).unwrap(), body["example"], "{kind}");
    }
}
