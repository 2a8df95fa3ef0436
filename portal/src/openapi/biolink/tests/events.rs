//! The schemas of events against the envelopes that are sent.

use biolink::webhooks::EventHead;
use shared::time::UnixMillis;

use super::*;

#[test]
fn sample_of_each_kind_matches_its_component() {
    let document = document(SERVER);
    let event = &document["components"]["schemas"]["Event"];
    let mapping = event["discriminator"]["mapping"].as_object().unwrap();
    let names: BTreeSet<_> = mapping.keys().map(String::as_str).collect();
    assert_eq!(names, WebhookKind::ALL.map(WebhookKind::as_str).into());
    assert_eq!(event["oneOf"].as_array().unwrap().len(), names.len());
    for kind in WebhookKind::ALL {
        let id = EventId::numbered(1, [1; 8]);
        let head = EventHead { id, at: UnixMillis(1), is_test: true, sequence: 1, page_sequence: 1 };
        let sample: Value = serde_json::from_str(&head.render_sample(kind)).unwrap();
        let schema = document.pointer(mapping[kind.as_str()].as_str().unwrap().trim_start_matches('#'));
        assert_eq!(schema.unwrap()["properties"]["type"]["enum"], json!([kind.as_str()]));
        assert_described(&document, schema.unwrap(), &sample, "");
    }
}
