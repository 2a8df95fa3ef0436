//! What descriptions say in their own words and code has too: names in braces, members, and headers.

use ::biolink::analytics::Metric;
use ::biolink::{webhooks, webhooks_api};
use shared::headers::API_KEY;

use super::super::facts::Facts;
use super::*;

fn texts(value: &Value, see: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, see)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            see(name);
            texts(member, see);
        }),
        _ => {}
    }
}

/// A name that code does not know would be served as it is, and one that no description has is of no use.
#[test]
fn every_name_in_braces_is_known_and_used() {
    let mut used = BTreeSet::new();
    for yaml in [DESCRIPTION, biolink::DESCRIPTION] {
        let description: Value = serde_saphyr::from_str(yaml).unwrap();
        texts(&description, &mut |text| {
            used.insert(text.to_owned());
        });
    }
    let facts = Facts::new();
    for name in facts.names() {
        assert!(used.contains(&format!("{{{name}}}")), "{name}");
    }
    for document in [document(SERVER), biolink::document(SERVER)] {
        texts(&document, &mut |text| {
            let name = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            // The address of a page's source in an example is a template too.
            assert!(name.is_none_or(|name| name == "slug" || name.contains('"')), "{text}");
        });
    }
}

#[test]
fn descriptions_have_the_version_and_the_header_of_the_key() {
    for document in [document(SERVER), biolink::document(SERVER)] {
        assert_eq!(document["info"]["version"], VERSION);
        let name = &document["components"]["securitySchemes"]["ApiKey"]["name"];
        assert_eq!(name.as_str().map(str::to_lowercase).as_deref(), Some(API_KEY));
    }
}

#[test]
fn totals_have_every_metric() {
    let schemas = biolink::document(SERVER)["components"]["schemas"].clone();
    let totals = schemas["Analytics"]["properties"]["totals"]["properties"].as_object().unwrap();
    let metrics: BTreeSet<_> = Metric::ALL.map(Metric::as_str).into();
    assert_eq!(totals.keys().map(String::as_str).collect::<BTreeSet<_>>(), metrics);
}

#[test]
fn headers_of_deliveries_are_those_that_are_sent() {
    let parameters = biolink::document(SERVER)["components"]["parameters"].clone();
    for (parameter, header) in [
        ("sent_webhook_id", webhooks::HEADER_ID),
        ("sent_webhook_timestamp", webhooks::HEADER_TIMESTAMP),
        ("sent_webhook_signature", webhooks::HEADER_SIGNATURE),
        ("sent_webhook_attempt", webhooks_api::HEADER_ATTEMPT),
    ] {
        assert_eq!(parameters[parameter]["name"], header);
    }
}
