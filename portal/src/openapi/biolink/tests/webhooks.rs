//! The schemas and parameters of webhooks against the readers of bodies and queries.

use biolink::fetch_url::FetchPolicy;
use biolink::webhooks::{EndpointInput, RotationInput, read_test};
use biolink::webhooks_api::{DeliveryQuery, EventQuery};
use shared::problem::Problem;

use super::*;

fn parameters(path: &str) -> Vec<Value> {
    let document = document(SERVER);
    let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap().clone();
    parameters.iter().map(|parameter| resolve(&document, parameter).clone()).collect()
}

fn assert_agrees(path: &str, accepts: impl Fn(&str) -> bool) {
    let mut names = 0;
    for parameter in parameters(path).iter().filter(|parameter| parameter["in"] == "query") {
        names += 1;
        let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
        for known in schema["enum"].as_array().into_iter().flatten() {
            assert!(accepts(&format!("{name}={}", known.as_str().unwrap())), "{name}={known}");
        }
        if schema.get("enum").is_some() || schema.get("pattern").is_some() {
            assert!(!accepts(&format!("{name}=none")), "{name}");
        }
        if let (Some(min), Some(max)) = (schema["minimum"].as_u64(), schema["maximum"].as_u64()) {
            assert!(accepts(&format!("{name}={min}")) && accepts(&format!("{name}={max}")), "{name}");
            assert!(!accepts(&format!("{name}={}", max + 1)), "{name}");
        }
        let id = match name {
            "event_id" => EventId::numbered(1, [1; 8]).to_string(),
            "page_id" => PageId::new([1; 12]).to_string(),
            "cursor" => DeliveryId::numbered(1, [1; 8]).to_string(),
            "since" => "2026-01-01T00:00:00Z".to_owned(),
            _ => continue,
        };
        assert!(accepts(&format!("{name}={id}")), "{name}={id}");
    }
    assert!(names > 4, "{path}: {names}");
}

#[test]
fn parameters_of_lists_and_reader_agree() {
    assert_agrees("/webhooks/{webhook_id}/deliveries", |query| DeliveryQuery::read(Some(query)).is_ok());
    assert_agrees("/events", |query| EventQuery::read(Some(query)).is_ok());
}

fn known_pages() -> Vec<PageId> {
    (0..=200).map(|byte| PageId::new([byte; 12])).collect()
}

/// Returns true if the reader of a request's schema accepts a body.
fn accepts(schema: &str, body: &Value) -> bool {
    let text = body.to_string();
    let refused: Option<Problem> = match schema {
        "WebhookInput" => {
            EndpointInput::create(text.as_bytes(), &FetchPolicy::new([], false), &known_pages()).err()
        }
        "WebhookRotation" => RotationInput::read(text.as_bytes()).err(),
        _ => read_test(text.as_bytes()).err(),
    };
    refused.is_none()
}

#[test]
fn input_schema_of_webhooks_and_reader_agree() {
    let document = document(SERVER);
    let cases = [
        ("WebhookInput", json!({ "url": "https://hooks.example.com/", "events": ["click"] })),
        ("WebhookRotation", json!({})),
        ("WebhookTest", json!({ "type": "click" })),
    ];
    let mut checked = 0;
    for (name, whole) in cases {
        let schema = &document["components"]["schemas"][name];
        assert!(accepts(name, &whole), "{name}");
        let mut expect = |member: &str, value: Option<Value>, accepted: bool| {
            checked += 1;
            let mut body = whole.clone();
            let members = body.as_object_mut().unwrap();
            match &value {
                Some(value) => members.insert(member.to_owned(), value.clone()),
                None => members.remove(member),
            };
            assert_eq!(accepts(name, &body), accepted, "{name} {member} {value:?}");
        };
        expect("unknown", Some(json!(1)), false);
        for (member, own) in schema["properties"].as_object().unwrap() {
            let required = schema["required"].as_array().into_iter().flatten().any(|name| name == member);
            expect(member, None, !required);
            let Some(kind) = own.get("type") else {
                expect(member, Some(json!({ "of": "any type" })), true);
                continue;
            };
            expect(member, Some(Value::Null), own.get("nullable").is_some());
            expect(member, Some(if kind == "string" { json!(1) } else { json!("text") }), false);
            if let Some(max) = own["maxLength"].as_u64().filter(|_| own.get("format").is_none()) {
                let text = |length: u64| Some(json!("x".repeat(usize::try_from(length).unwrap())));
                expect(member, text(max), true);
                expect(member, text(max + 1), false);
            }
            for known in own["enum"].as_array().into_iter().flatten() {
                expect(member, Some(known.clone()), true);
            }
            if let Some(max) = own["maximum"].as_u64() {
                expect(member, Some(json!(max)), true);
                expect(member, Some(json!(max + 1)), false);
            }
            if own["minItems"] == 1 {
                expect(member, Some(json!([])), false);
            }
            if let Some(max) = own["maxItems"].as_u64() {
                let pages = |count: u64| (0..count).map(|at| PageId::new([u8::try_from(at).unwrap(); 12]));
                expect(member, Some(pages(max).map(|id| id.to_string()).collect()), true);
                expect(member, Some(pages(max + 1).map(|id| id.to_string()).collect()), false);
            }
            if let Some(max) = own["maxProperties"].as_u64().filter(|_| member == "headers") {
                let headers = |count: u64| {
                    Some((0..count).map(|at| (format!("x-{at}"), json!("1"))).collect::<Map<_, _>>().into())
                };
                expect(member, headers(max), true);
                expect(member, headers(max + 1), false);
            }
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn every_kind_of_request_to_a_receiver_is_described() {
    let document = document(SERVER);
    let described: BTreeSet<_> = document["x-webhooks"].as_object().unwrap().keys().cloned().collect();
    let kinds = WebhookKind::ALL.map(|kind| kind.as_str().to_owned());
    assert_eq!(described, kinds.into_iter().chain(["batch".to_owned()]).collect());
    for kind in described {
        let content = &document["x-webhooks"][&kind]["post"]["requestBody"]["content"]["application/json"];
        assert_eq!(content["example"]["type"], kind);
        assert_described(&document, &content["schema"], &content["example"], "");
    }
}

/// Fails if a schema has what OpenAPI 3.0 does not know.
#[test]
fn schemas_of_events_have_no_newer_keywords() {
    let document = document(SERVER);
    objects(&document["components"]["schemas"], &mut |members| {
        // A member of a body may have one of these names too: its value is an object then.
        assert!(members.get("const").is_none_or(Value::is_object) && !members.contains_key("$defs"));
        assert!(!members.get("type").is_some_and(Value::is_array), "{members:?}");
        if let Some(Value::String(target)) = members.get("$ref") {
            assert_eq!(members.len(), 1, "{target}");
            assert!(target.starts_with("#/components/"), "{target}");
        }
    });
}
