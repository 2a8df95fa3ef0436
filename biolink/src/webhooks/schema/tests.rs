use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::{
    events::Dimension,
    page::{PageDocument, PageId},
    webhooks::{Card, MAX_CHANGES, MAX_ENVELOPE, Publication, Trigger, Visit},
};

fn head(sequence: u64) -> EventHead {
    let id = EventId::numbered(sequence, [9; 8]);
    EventHead { id, at: EXAMPLE_AT, is_test: true, sequence, page_sequence: 1 }
}

/// Returns a validator that also refuses members which the schema does not describe.
fn validator(kind: WebhookKind) -> Validator {
    fn close(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.values_mut().for_each(close);
                if members.contains_key("properties") {
                    members.insert("additionalProperties".to_owned(), false.into());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            _ => {}
        }
    }
    let mut schema: Value = serde_json::from_str(&schema(kind)).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    close(&mut schema);
    jsonschema::validator_for(&schema).unwrap()
}

fn check(kind: WebhookKind, text: &str) -> Result<(), String> {
    let value = serde_json::from_str(text).unwrap();
    let validator = validator(kind);
    let errors: Vec<_> =
        validator.iter_errors(&value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    if errors.is_empty() { Ok(()) } else { Err(format!("{errors:?} in {text}")) }
}

#[test]
fn example_and_sample_match_the_schema() {
    for kind in WebhookKind::ALL {
        let described: Value = serde_json::from_str(&describe_schema(kind)).unwrap();
        assert_eq!(
            (&described["type"], &described["example_event"]["type"]),
            (&kind.as_str().into(), &kind.as_str().into())
        );
        assert_eq!(check(kind, &described["example_event"].to_string()), Ok(()));
        assert_eq!(check(kind, &head(0).render_sample(kind)), Ok(()));
        assert!(described["json_schema"]["$defs"][kind.as_str()].is_object());
    }
}

#[test]
fn samples_have_each_kind_once_and_match_the_schema() {
    let samples: Vec<Value> = serde_json::from_str(&sample_events(None)).unwrap();
    let kinds: Vec<_> = samples.iter().map(|sample| sample["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, WebhookKind::ALL.map(WebhookKind::as_str));
    for (kind, sample) in WebhookKind::ALL.into_iter().zip(&samples) {
        assert_eq!(check(kind, &sample.to_string()), Ok(()));
        let only: Value = serde_json::from_str(&sample_events(Some(kind))).unwrap();
        assert_eq!(only, serde_json::json!([sample]));
    }
    let newest_first = samples.is_sorted_by(|a, b| a["sequence"].as_u64() > b["sequence"].as_u64());
    assert!(newest_first, "{samples:?}");
}

#[test]
fn schema_refuses_another_kind_and_a_missing_member() {
    for kind in WebhookKind::ALL {
        for other in WebhookKind::ALL.into_iter().filter(|other| *other != kind) {
            assert!(check(kind, &head(1).render_sample(other)).is_err());
        }
        let whole: Value = serde_json::from_str(&head(1).render_sample(kind)).unwrap();
        for name in whole.as_object().unwrap().keys() {
            let mut cut = whole.clone();
            cut.as_object_mut().unwrap().remove(name);
            assert!(check(kind, &cut.to_string()).is_err(), "{name}");
        }
    }
}

#[test]
fn event_of_a_deleted_page_matches_the_schema() {
    let card = Card::unknown(PageId::new([1; 12]));
    for kind in WebhookKind::ALL.into_iter().filter(|kind| kind.is_visit()) {
        let visit = Visit::new(kind, EXAMPLE_AT, 0, |_| String::new());
        assert_eq!(check(kind, &head(1).render_visit(&visit, &card)), Ok(()));
    }
    let publication = Publication::new(Trigger::Schedule, EXAMPLE_AT, (1, &PageDocument::default()), None);
    let text = head(1).render_publication(&publication, &card);
    assert_eq!(check(WebhookKind::PagePublished, &text), Ok(()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_envelope_matches_the_schema_and_its_limit(
        values in prop::collection::vec("[a-zé\"\\\\]{0,100}|lnk_1|prd_1|qr", Dimension::COUNT),
        visitor in 0u64..1 << 48,
        title in ".{0,80}",
    ) {
        let document = PageDocument { title, ..PageDocument::default() };
        let slug = crate::page::Slug::parse("ada").unwrap();
        let card = Card::new(PageId::new([1; 12]), &slug, "https://example.com", Some("x"), 3, &document);
        for kind in WebhookKind::ALL.into_iter().filter(|kind| kind.is_visit()) {
            let visit = Visit::new(kind, EXAMPLE_AT, visitor, |dimension| values[dimension.index()].clone());
            let text = head(7).render_visit(&visit, &card);
            prop_assert_eq!(check(kind, &text), Ok(()));
            prop_assert!(text.len() <= MAX_ENVELOPE);
        }
        let before = PageDocument::default();
        let publication =
            Publication::new(Trigger::ProductSync, EXAMPLE_AT, (2, &document), Some((1, &before)));
        prop_assert!(publication.changes.len() <= MAX_CHANGES);
        let text = head(7).render_publication(&publication, &card);
        prop_assert_eq!(check(WebhookKind::PagePublished, &text), Ok(()));
    }
}
