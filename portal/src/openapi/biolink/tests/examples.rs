//! The examples of the description against calls of an account in memory: no example differs from
//! what the service does.

use super::example::{self, Exchange};
use super::*;

/// Returns the example of a body. All responses with a page share one, which keeps the text short.
fn example_of<'a>(document: &'a Value, body: &'a Value) -> Option<&'a Value> {
    let json = body.pointer("/content/application~1json")?;
    let shared = json.pointer("/examples/page").map(|example| &resolve(document, example)["value"]);
    json.get("example").or(shared)
}

fn assert_exchange(document: &Value, endpoint: Endpoint, exchange: &Exchange) {
    let method = endpoint.method().as_str().to_lowercase();
    let operation = &document["paths"][endpoint.path()][method];
    let request = example_of(document, &operation["requestBody"]);
    assert_eq!(request, exchange.request.as_ref(), "{endpoint:?}");
    let response = &operation["responses"][exchange.status.to_string()];
    let shows_page = response.pointer("/content/application~1json/examples/page").is_some();
    let expected = if shows_page { Some(example::page_response()) } else { exchange.response.clone() };
    assert_eq!(example_of(document, response), expected.as_ref(), "{endpoint:?}");
}

#[test]
fn example_is_what_the_account_responds_with() {
    let document = document(SERVER);
    for own in PagesEndpoint::ALL.into_iter().filter(|own| *own != PagesEndpoint::Export) {
        assert_exchange(&document, Endpoint::Pages(own), &example::exchange(own));
    }
    for own in AdminEndpoint::ALL {
        assert_exchange(&document, Endpoint::Admin(own), &example::administered(own));
    }
    for own in WebhooksEndpoint::ALL {
        assert_exchange(&document, Endpoint::Webhooks(own), &example::webhooks(own));
    }
}

#[test]
fn examples_in_other_media_types_are_what_is_served() {
    let document = document(SERVER);
    let content = |path: &str, media_type: &str| {
        document["paths"][path]["get"]["responses"]["200"]["content"][media_type]["example"].clone()
    };
    let account = example::exchange(PagesEndpoint::Export).response.unwrap();
    let lines = format!("{account}\n{}\n", example::event());
    assert_eq!(content("/account/export", "application/x-ndjson"), lines);
    assert_eq!(content("/analytics", "text/csv"), example::csv());
}

#[test]
fn requests_to_receivers_are_what_is_sent() {
    let document = document(SERVER);
    let kinds = WebhookKind::ALL.into_iter().map(|kind| (kind.as_str(), Some(kind)));
    for (name, kind) in kinds.chain([("batch", None)]) {
        let body = &document["x-webhooks"][name]["post"]["requestBody"];
        assert_eq!(example_of(&document, body), Some(&example::delivered(kind)), "{name}");
    }
}

#[test]
fn example_of_a_dry_run_has_no_secret() {
    let document = document(SERVER);
    let responses = &document["paths"]["/webhooks"]["post"]["responses"];
    let mut created = example_of(&document, &responses["201"]).unwrap().clone();
    created["secret"] = Value::Null;
    assert_eq!(example_of(&document, &responses["200"]), Some(&created));
}

#[test]
fn example_of_a_parameter_is_the_id_in_other_examples() {
    let (ids, webhook_ids) = (example::ids(), example::webhook_ids());
    let parameters = document(SERVER)["components"]["parameters"].clone();
    for (parameter, expected) in [
        ("page_id", &ids.page),
        ("page_or_slug", &ids.page),
        ("event_page", &ids.page),
        ("link_id", &ids.link),
        ("image_id", &example::IMAGE.to_string()),
        ("source_id", &ids.source),
        ("domain_id", &ids.domain),
        ("account_id", &ids.account),
        ("confirm", &ids.account),
        ("webhook_id", &webhook_ids.webhook),
        ("delivery_id", &webhook_ids.delivery),
        ("event_id", &webhook_ids.event),
        ("sent_webhook_id", &webhook_ids.event),
    ] {
        assert_eq!(parameters[parameter]["example"], **expected, "{parameter}");
    }
    assert_eq!(parameters["page_ids"]["example"], json!([ids.page]));
    assert_eq!(parameters["interval"]["example"], example::INTERVAL);
    assert_eq!(parameters["timezone"]["example"], example::TIMEZONE);
    assert_eq!(parameters["group_by"]["example"], json!(example::GROUPS));
}
