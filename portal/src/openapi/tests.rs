//! The description against the router and the table of problems.

use std::collections::{BTreeMap, BTreeSet};

use ::biolink::codes;
use shared::method::Method;

use super::*;
use crate::route::Route;

/// Returns every operation of the document: path, method, operation.
fn operations() -> Vec<(String, String, Value)> {
    let document = document(SERVER);
    let paths = document["paths"].as_object().unwrap().clone();
    let each = |(path, item): (String, Value)| {
        let methods = item.as_object().unwrap().clone();
        methods.into_iter().map(move |(method, operation)| (path.clone(), method, operation))
    };
    paths.into_iter().flat_map(each).collect()
}

/// Every `$ref` of a value.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| match value {
            Value::String(target) if name == "$ref" => {
                found.insert(target.clone());
            }
            _ => references(value, found),
        }),
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn document_has_one_server_and_a_tag_for_each_tool() {
    let document = document(SERVER);
    assert_eq!((&document["openapi"], &document["info"]["version"]), (&json!("3.0.3"), &json!("1.0.0")));
    assert_eq!(document["servers"].as_array().map(Vec::len), Some(1));
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    assert_eq!(tags, Tool::ALL.map(|tool| json!(tool.as_str())));
}

#[test]
fn each_tool_has_two_operations_with_action_and_key() {
    let operations: BTreeMap<_, _> = operations()
        .into_iter()
        .map(|(path, method, operation)| {
            (operation["operationId"].as_str().unwrap().to_owned(), (path, method, operation))
        })
        .collect();
    let tagged = operations.values().filter(|(_, _, operation)| operation.get("tags").is_some()).count();
    assert_eq!(tagged, 2 * Tool::ALL.len());
    for tool in Tool::ALL {
        for method in ["get", "post"] {
            let (path, taken, operation) = &operations[&format!("{tool}_{method}")];
            assert_eq!((path, taken.as_str()), (&format!("/v1/{tool}/{{action}}"), method));
            assert_eq!(operation["tags"], json!([tool.as_str()]));
            assert_eq!(operation["security"], json!([{ "ApiKey": [] }]));
            let action = &operation["parameters"][0];
            assert_eq!(
                (&action["name"], &action["in"], &action["required"]),
                (&json!("action"), &json!("path"), &json!(true))
            );
            for status in ["200", "401", "429", "503"] {
                assert!(operation["responses"].get(status).is_some(), "{tool}_{method} {status}");
            }
        }
    }
}

#[test]
fn document_and_router_have_the_same_operations() {
    let concrete = |path: &str| {
        let path = path.replace("{action}", "generate").replace("{code}", "key-missing");
        path.replace("{id}", "key_00000000000000000")
    };
    let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, method, _) in operations() {
        let concrete = concrete(&path);
        assert!(!concrete.contains('{'), "{path} has a parameter that this test does not know");
        let route = Route::parse(&method.to_uppercase(), &concrete).unwrap();
        assert_eq!(
            (Endpoint::of(&route).path(), Endpoint::of(&route).method().as_str().to_lowercase()),
            (path, method.clone())
        );
        documented.entry(concrete).or_default().insert(method);
    }
    for endpoint in Endpoint::all().filter(|endpoint| operation(*endpoint).is_some()) {
        let path = concrete(&endpoint.path());
        let Ok(Route::Preflight(methods)) = Route::parse("OPTIONS", &path) else { panic!("{path}") };
        for method in methods.iter().filter(|method| *method != Method::Head) {
            let route = Route::parse(method.as_str(), &path).unwrap();
            let described = operation(Endpoint::of(&route)).is_some();
            assert_eq!(
                documented[&path].contains(&method.as_str().to_lowercase()),
                described,
                "{method} {path}"
            );
        }
    }
}

#[test]
fn every_reference_and_every_component_is_used() {
    let document = document(SERVER);
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for kind in ["schemas", "headers", "responses"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(found.contains(&format!("#/components/{kind}/{name}")), "{kind} {name}");
        }
    }
    for reference in found {
        let target = document.pointer(reference.strip_prefix('#').unwrap());
        assert!(target.is_some(), "{reference}");
    }
}

#[test]
fn every_problem_is_documented_under_its_status() {
    let mut documented = BTreeSet::new();
    for (path, method, operation) in operations() {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let Some(reference) = response["$ref"].as_str() else { continue };
            let name = reference.rsplit('/').next().unwrap();
            let named = |group: &Group| [group.name(), group.name_at_tools()].iter().any(|own| own == name);
            let group = Group::ALL.into_iter().find(named).unwrap();
            for code in group.codes() {
                assert_eq!(code.status().to_string(), *status, "{method} {path} {}", code.as_str());
                documented.insert(code.as_str());
            }
        }
    }
    let hidden: Vec<_> = codes::all().filter(|code| !documented.contains(code.as_str())).collect();
    assert_eq!(hidden, outcome::NOT_AT_THESE_OPERATIONS);
}

#[test]
fn tool_may_respond_with_any_body_and_every_status() {
    let document = document(SERVER);
    for (path, method, operation) in operations().into_iter().filter(|(_, _, own)| own.get("tags").is_some())
    {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let reference = response["$ref"].as_str().map(|own| own.strip_prefix('#').unwrap());
            let response = reference.map_or(response, |own| document.pointer(own).unwrap());
            let content = &response["content"];
            assert_eq!(
                content["application/octet-stream"]["schema"]["format"], "binary",
                "{method} {path} {status}"
            );
            assert!(content.get(ANY).is_some(), "{method} {path} {status}");
            let is_problem = content.get(MEDIA_TYPE).is_some();
            assert_eq!(
                is_problem,
                response["headers"].get("X-Gateway-Problem").is_some(),
                "{method} {path} {status}"
            );
        }
    }
}

/// Generators take the first media type: one that every client can hold.
#[test]
fn text_is_the_document_with_ranges_last() {
    let text = response(&text(), SERVER).body;
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document(SERVER));
    assert!(text.contains(r#","*/*":{"schema":{}}}"#) && !text.contains(r#"{"*/*""#));
}

#[test]
fn responses_429_and_503_have_retry_after() {
    let document = document(SERVER);
    for group in Group::ALL.into_iter().filter(|group| matches!(group.status(), 429 | 503)) {
        let responses = &document["components"]["responses"];
        let response = responses.get(group.name()).or_else(|| responses.get(group.name_at_tools())).unwrap();
        let headers = &response["headers"];
        assert!(headers.get("Retry-After").is_some(), "{}", group.name());
    }
}

/// No mark is left, and each has become what the table of problems says.
#[test]
fn served_text_has_title_and_example_of_every_problem() {
    for text in [text(), biolink::text()] {
        let served = response(&text, "https://api.example.com").body;
        assert!(text.contains("\\u0001") && !served.contains("\\u0001") && !served.contains(SERVER));
        let served: Value = serde_json::from_str(&served).unwrap();
        for (name, component) in served["components"]["responses"].as_object().unwrap() {
            let content = &component["content"][MEDIA_TYPE]["examples"];
            for (code, example) in content.as_object().unwrap_or_else(|| panic!("{name}")) {
                let title = codes::parse(code).unwrap().title();
                assert_eq!(
                    (&example["value"]["code"], &example["value"]["title"]),
                    (&json!(code), &json!(title))
                );
                let description = component["description"].as_str().unwrap();
                assert!(description.contains(&format!("`{code}`: {title}.")), "{name}: {description}");
            }
        }
    }
}
