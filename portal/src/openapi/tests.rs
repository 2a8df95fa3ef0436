//! The description against the router and the table of problems.

mod agreement;
mod examples;
mod keys;

use std::collections::{BTreeMap, BTreeSet};

use ::biolink::codes;
use serde_json::{Map, json};
use shared::method::Method;
use shared::problem::{Code, MEDIA_TYPE};
use shared::route::ServiceRoute;
use shared::tool::Tool;

use super::*;
use crate::asset::Asset;
use crate::docs_page::DocsPage;
use crate::endpoint::Endpoint;
use crate::route::Route;

/// Codes that no response to these operations has: those between edge and proxy, those of the pages
/// API, that of a signed-in browser, that of a WebSocket, and that of an event.
pub(super) const NOT_AT_THESE_OPERATIONS: [Code; 31] = [
    codes::SIGN_IN_REQUIRED,
    codes::SIGNATURE_INVALID,
    codes::GRANT_INVALID,
    codes::ORIGIN_TOKEN_INVALID,
    codes::PLAN_REQUIRED,
    codes::PAGE_LIMIT_REACHED,
    codes::WEBHOOK_LIMIT_REACHED,
    codes::PAGE_SUSPENDED,
    codes::SOURCE_LIMIT_REACHED,
    codes::IMAGE_LIMIT_REACHED,
    codes::IMAGE_UNKNOWN,
    codes::DOMAIN_LIMIT_REACHED,
    codes::DOMAIN_UNKNOWN,
    codes::DOMAIN_TAKEN,
    codes::ANALYTICS_WINDOW_EXCEEDED,
    codes::PAGE_UNKNOWN,
    codes::LINK_UNKNOWN,
    codes::REVISION_UNKNOWN,
    codes::WEBHOOK_UNKNOWN,
    codes::DELIVERY_UNKNOWN,
    codes::EVENT_UNKNOWN,
    codes::SOURCE_UNKNOWN,
    codes::SLUG_TAKEN,
    codes::PAGE_GONE,
    codes::REVISION_MISMATCH,
    codes::ANALYTICS_TOO_WIDE,
    codes::REFRESH_TOO_EARLY,
    codes::UPGRADE_UNSUPPORTED,
    codes::RESPONSE_ABORTED,
    codes::PAGES_UNAVAILABLE,
    codes::IMAGES_UNAVAILABLE,
];

/// Returns true if the description has the endpoint. The pages API is a separate product.
fn is_described(endpoint: Endpoint) -> bool {
    match endpoint {
        Endpoint::CallTool(..)
        | Endpoint::Keys(_)
        | Endpoint::Service(ServiceRoute::Health | ServiceRoute::Status)
        | Endpoint::Asset(Asset::OpenApi | Asset::Docs(DocsPage::Start))
        | Endpoint::StatusHistory(_)
        | Endpoint::ProblemPage => true,
        Endpoint::Service(ServiceRoute::KeyChanges | ServiceRoute::Meters)
        | Endpoint::Asset(_)
        | Endpoint::Tools(_)
        | Endpoint::Site(_)
        | Endpoint::Portal(_)
        | Endpoint::OAuth(_)
        | Endpoint::Pages(_)
        | Endpoint::Webhooks(_)
        | Endpoint::Admin(_)
        | Endpoint::Console
        | Endpoint::ConsolePart
        | Endpoint::PushProducts
        | Endpoint::Image
        | Endpoint::Visit(_)
        | Endpoint::Session(_)
        | Endpoint::Preflight => false,
    }
}

/// Returns the response components that an operation refers to, with their statuses.
fn referred(document: &Value, operation: &Value) -> Vec<(String, Value)> {
    let responses = operation["responses"].as_object().unwrap().iter();
    let reference = |response: &Value| response["$ref"].as_str().map(|target| target[1..].to_owned());
    let refer = |(status, response): (&String, &Value)| {
        Some((status.clone(), document.pointer(&reference(response)?).unwrap().clone()))
    };
    responses.filter_map(refer).collect()
}

/// Returns the codes of a response's problems.
pub(super) fn codes_of(response: &Value) -> Vec<Code> {
    let examples = response["content"][MEDIA_TYPE]["examples"].as_object();
    examples.into_iter().flatten().map(|(code, _)| codes::parse(code).unwrap()).collect()
}

/// Fails if a description is not YAML, or has a code that there is not.
#[test]
fn descriptions_are_yaml_with_known_codes() {
    fn check(value: &Value) {
        match value {
            Value::Object(members) => {
                for code in members.get("x-problems").and_then(Value::as_array).into_iter().flatten() {
                    assert!(codes::parse(code.as_str().unwrap()).is_some(), "{code}");
                }
                members.values().for_each(check);
            }
            Value::Array(items) => items.iter().for_each(check),
            _ => {}
        }
    }
    for yaml in [DESCRIPTION, biolink::DESCRIPTION] {
        let description: Map<String, Value> =
            serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}"));
        check(&description.into());
    }
}

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
fn document_has_one_server_and_each_tag_is_used() {
    let document = document(SERVER);
    assert_eq!((&document["openapi"], &document["info"]["version"]), (&json!("3.0.3"), &json!("1.0.0")));
    assert_eq!(document["servers"].as_array().map(Vec::len), Some(1));
    let tags: Vec<_> = document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    let others = ["keys", "usage", "status", "administration", "description"];
    let expected = Tool::ALL.iter().map(|tool| tool.as_str()).chain(others);
    assert_eq!(tags, expected.map(Value::from).collect::<Vec<_>>());
    let used: Vec<_> = operations().into_iter().map(|(_, _, operation)| operation["tags"].clone()).collect();
    for tag in &tags {
        assert!(used.contains(&json!([tag])), "{tag}");
    }
    for of_operation in &used {
        assert!(tags.iter().any(|tag| *of_operation == json!([tag])), "{of_operation}");
    }
}

fn is_of_tool(operation: &Value) -> bool {
    operation["tags"][0].as_str().is_some_and(|tag| tag.parse::<Tool>().is_ok())
}

#[test]
fn each_tool_has_two_operations_with_action_and_key() {
    let operations: BTreeMap<_, _> = operations()
        .into_iter()
        .map(|(path, method, operation)| {
            (operation["operationId"].as_str().unwrap().to_owned(), (path, method, operation))
        })
        .collect();
    let of_tools = operations.values().filter(|(_, _, operation)| is_of_tool(operation)).count();
    assert_eq!(of_tools, 2 * Tool::ALL.len());
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
        let path = path.replace("{incident_id}", "inc_00000000000000000");
        path.replace("{id}", "key_00000000000000000").replace("{secret_id}", "sec_00000000000")
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
    for endpoint in Endpoint::all().filter(|endpoint| is_described(*endpoint)) {
        let path = concrete(&endpoint.path());
        let Ok(Route::Preflight(methods)) = Route::parse("OPTIONS", &path) else { panic!("{path}") };
        for method in methods.iter().filter(|method| *method != Method::Head) {
            let route = Route::parse(method.as_str(), &path).unwrap();
            let described = is_described(Endpoint::of(&route));
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
    let document = document(SERVER);
    let mut documented = BTreeSet::new();
    for (path, method, operation) in operations() {
        for (status, response) in referred(&document, &operation) {
            for code in codes_of(&response) {
                assert_eq!(code.status().to_string(), status, "{method} {path} {}", code.as_str());
                documented.insert(code.as_str());
            }
        }
    }
    let hidden: BTreeSet<_> =
        codes::all().map(|code| code.as_str()).filter(|code| !documented.contains(code)).collect();
    assert_eq!(hidden, NOT_AT_THESE_OPERATIONS.map(|code| code.as_str()).into());
}

#[test]
fn tool_may_respond_with_any_body_and_every_status() {
    let document = document(SERVER);
    for (path, method, operation) in operations().into_iter().filter(|(_, _, own)| is_of_tool(own)) {
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
    for document in [document(SERVER), biolink::document(SERVER)] {
        for (name, response) in document["components"]["responses"].as_object().unwrap() {
            let may_be_repeated = codes_of(response).iter().any(|code| matches!(code.status(), 429 | 503));
            assert!(!may_be_repeated || response["headers"].get("Retry-After").is_some(), "{name}");
        }
    }
}

#[test]
fn served_text_has_title_and_example_of_every_problem() {
    for text in [text(), biolink::text()] {
        let served = response(&text, "https://api.example.com").body;
        assert!(text.contains(SERVER) && !served.contains(SERVER));
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
