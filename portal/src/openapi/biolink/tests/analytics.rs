//! The parameters of analytics against the reader of queries, and the examples of reports.

use std::collections::BTreeSet;

use biolink::analytics::{AnalyticsRequest, GroupBy, LiveRequest, Metric};

use super::*;

/// Returns the parameters of an operation, without references.
fn parameters(path: &str) -> Vec<Value> {
    let document = document(SERVER);
    let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap().clone();
    parameters.iter().map(|parameter| resolve(&document, parameter).clone()).collect()
}

/// Returns a value of a parameter that suits its schema.
fn valid(name: &str, schema: &Value) -> String {
    let schema = schema.get("items").unwrap_or(schema);
    match schema["enum"].as_array() {
        Some(names) => names[0].as_str().unwrap().to_owned(),
        None if name == "page_id" => PageId::new([1; 12]).to_string(),
        None if name == "link" => LinkId::new([1; 12]).to_string(),
        None if name == "product" => format!("prd_{}", "0".repeat(17)),
        None if name == "country" => "DE".to_owned(),
        None if name == "start" || name == "end" => "2026-01-01".to_owned(),
        None if schema["type"] == "integer" => schema["maximum"].to_string(),
        None => "a".to_owned(),
    }
}

#[test]
fn parameters_of_analytics_and_reader_agree() {
    let accepts = |query: &str| AnalyticsRequest::parse(Some(query)).is_ok();
    for parameter in parameters("/analytics") {
        let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
        // An end needs a start.
        let prefix = if name == "end" { "start=2026-01-01&" } else { "" };
        let value = valid(name, schema);
        assert!(accepts(&format!("{prefix}{name}={value}")), "{name}={value}");
        assert!(!accepts(&format!("{prefix}{name}=")), "{name} is empty");
        for known in schema.get("items").unwrap_or(schema)["enum"].as_array().into_iter().flatten() {
            assert!(accepts(&format!("{name}={}", known.as_str().unwrap())), "{name}={known}");
        }
        if let Some(max) = schema["maxItems"].as_u64() {
            let list = |length: u64| vec![value.as_str(); usize::try_from(length).unwrap()].join(",");
            assert!(accepts(&format!("{name}={}", list(max))), "the longest {name}");
            assert!(!accepts(&format!("{name}={}", list(max + 1))), "too long a {name}");
        }
        if let (Some(min), Some(max)) = (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            assert!(accepts(&format!("{name}={min}")) && accepts(&format!("{name}={max}")));
            assert!(!accepts(&format!("{name}={}", min - 1)) && !accepts(&format!("{name}={}", max + 1)));
        }
    }
    let names: BTreeSet<_> = parameters("/analytics").iter().map(|one| one["name"].to_string()).collect();
    let filters = GroupBy::ALL.into_iter().filter(|group| group.dimension().is_some());
    assert!(filters.map(|group| format!("\"{}\"", group.as_str())).all(|name| names.contains(&name)));
    assert_eq!(names.len(), 11 + 19);
}

#[test]
fn parameter_of_live_analytics_is_read() {
    let parameters = parameters("/analytics/live");
    let names: Vec<_> = parameters.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["page_id"]);
    assert!(LiveRequest::parse(Some(&format!("page_id={}", PageId::new([1; 12])))).is_ok());
}

/// The query that the examples of the parameters make is the one that the example responds to.
#[test]
fn example_of_analytics_responds_to_the_examples_of_its_parameters() {
    let report = example::exchange(PagesEndpoint::Analytics).response.unwrap();
    let mut exampled = Vec::new();
    for parameter in parameters("/analytics") {
        let Some(example) = parameter.get("example") else { continue };
        let name = parameter["name"].as_str().unwrap();
        exampled.push(name.to_owned());
        match name {
            "timezone" => assert_eq!(&report["meta"]["timezone"], example),
            "compare" => assert!(report["previous"].is_object()),
            "group_by" => {
                let groups = report["groups"].as_object().unwrap();
                let asked = example.as_array().unwrap();
                assert_eq!(groups.len(), asked.len());
                assert!(asked.iter().all(|group| groups.contains_key(group.as_str().unwrap())));
            }
            _ => assert!(matches!(name, "page_id" | "interval"), "{name}"),
        }
    }
    assert_eq!(exampled, ["page_id", "interval", "timezone", "group_by", "compare"]);
}

#[test]
fn example_of_analytics_counts_the_visits() {
    let report = example::exchange(PagesEndpoint::Analytics).response.unwrap();
    let expected = json!({
        "views": 2, "visitors": 2, "clicks": 1, "unique_clicks": 1, "ctr": 0.5, "unique_ctr": 0.5,
        "scans": 1, "unique_scans": 1, "views_confirmed": 2, "bots": 1,
    });
    assert_eq!(report["totals"], expected);
    assert_eq!(report["ignored"]["bot"], json!({ "search-engine": 1 }));
    assert_eq!(report["groups"]["link"][0]["title"], "Newsletter");
    assert_eq!(report["totals"].as_object().unwrap().len(), Metric::ALL.len());
    let live = example::exchange(PagesEndpoint::LiveAnalytics).response.unwrap();
    assert_eq!(live["totals"], json!({ "views": 1, "visitors": 1, "clicks": 0, "scans": 1 }));
    assert_eq!(example::csv().lines().next(), Some("channel,views,clicks,ctr"));
    assert_eq!(example::event()["kind"], "click");
}
