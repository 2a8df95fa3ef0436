//! `conf/proxy.schema.json` accepts what the reader accepts.

use std::collections::BTreeSet;

use config::Config;
use serde_json::{Value, json};
use shared::tool::Tool;

use super::{conf, page, parse, with};

fn schema() -> Value {
    serde_json::from_str(&conf("proxy.schema.json")).unwrap()
}

fn valid(text: &str) -> bool {
    let validator = jsonschema::validator_for(&schema()).unwrap();
    validator.is_valid(&toml::from_str::<Value>(text).unwrap())
}

/// Resolves the reference of a node.
fn resolved<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let reference = node["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    reference.map_or(node, |pointer| schema.pointer(pointer).unwrap())
}

/// Returns every key of the schema with its node. A section comes before its keys.
fn keys<'a>(schema: &'a Value, node: &'a Value, prefix: &str, found: &mut Vec<(String, &'a Value)>) {
    let node = resolved(schema, node);
    for (name, child) in node["properties"].as_object().into_iter().flatten() {
        let name = if prefix == "pools." { "{tool}" } else { name };
        let path = format!("{prefix}{name}");
        let child = resolved(schema, child);
        if child["type"] == "object" {
            assert_eq!(child["additionalProperties"], false, "{path} takes any key");
        }
        found.push((path.clone(), child));
        keys(schema, child, &format!("{path}."), found);
        for items in
            std::iter::once(&child["items"]).chain(child["items"]["anyOf"].as_array().into_iter().flatten())
        {
            keys(schema, items, &format!("{path}[]."), found);
        }
    }
}

fn all_keys(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    keys(schema, schema, "", &mut found);
    found
}

#[test]
fn schema_has_exactly_the_keys_of_the_reader() {
    let schema = schema();
    let in_schema: BTreeSet<_> = all_keys(&schema).into_iter().map(|(path, _)| path).collect();
    let known = Config::keys();
    let missing: Vec<_> = known.difference(&in_schema).collect();
    let unknown: Vec<_> = in_schema.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
    let tools: BTreeSet<_> =
        schema["properties"]["pools"]["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(tools, Tool::ALL.map(|tool| tool.as_str().to_owned()).into());
}

#[test]
fn schema_and_page_describe_keys_alike() {
    let schema = schema();
    for row in page::rows() {
        let found = all_keys(&schema).into_iter().find(|(path, _)| *path == row.path);
        let (path, node) = found.unwrap_or_else(|| panic!("{} is not in the schema", row.path));
        assert_eq!(node["description"], row.about.as_str(), "{path}");
        let default = row.default.map(|text| serde_json::from_str(&text).unwrap_or_else(|_| json!(text)));
        assert_eq!(node.get("default"), default.as_ref(), "{path}");
    }
}

#[test]
fn schema_bounds_are_the_bounds_of_the_reader() {
    let schema = schema();
    let mut tried = 0;
    for (path, node) in all_keys(&schema) {
        let Some(number) =
            node["anyOf"].as_array().and_then(|kinds| kinds.iter().find(|kind| kind["type"] == "integer"))
        else {
            continue;
        };
        let path = path.replace("{tool}", "qr");
        let takes = |number: i64| parse(&with(&format!("{path} = {number}"))).is_ok();
        let (least, most) = (number["minimum"].as_i64().unwrap(), number["maximum"].as_i64().unwrap());
        assert_eq!([least - 1, least, most, most + 1].map(takes), [false, true, true, false], "{path}");
        tried += 1;
    }
    assert!(tried >= 10, "{tried}");
}

#[test]
fn sample_is_valid_and_names_the_schema() {
    for name in ["proxy.toml", "proxy.edge.toml", "proxy.direct.toml"] {
        let text = conf(name);
        assert!(text.starts_with("#:schema ./proxy.schema.json\n"), "{name}");
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let document: Value = toml::from_str(&text).unwrap();
        let faults: Vec<_> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}");
    }
}

#[test]
fn schema_rejects_what_the_reader_rejects() {
    assert!(valid(&with("")));
    for line in [
        "server.lisen = \"127.0.0.1:8080\"",
        "server.grace = \"30\"",
        "server.grace = 30",
        "server.threads = 0",
        "defaults.max_body = \"10MB\"",
        "log.level = \"verbose\"",
        "server.listen = \"127.0.0.1\"",
        "pools.video.upstreams = [\"127.0.0.1:1\"]",
        "defaults.probe.statuses = []",
        "keys.direct = true",
        "keys.environment = \"production\"",
    ] {
        let text = with(line);
        assert!(!valid(&text) && parse(&text).is_err(), "{line}");
    }
}
