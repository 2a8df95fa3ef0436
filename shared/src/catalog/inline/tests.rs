use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::bounded_json::Bounds;
use crate::catalog::KEPT;

fn inlined(document: &Value, value: &Value) -> Result<(Value, Map<String, Value>), DescriptionError> {
    let (mut inliner, mut json, mut schemas) =
        (Inliner::new(document, "qr"), BoundedJson::new(KEPT), BoundedJson::new(KEPT));
    inliner.write(&mut json, value)?;
    schemas.object(|json| inliner.write_schemas(json))?;
    let read = |json: BoundedJson| serde_json::from_str(&json.into_text()).unwrap();
    let Value::Object(schemas) = read(schemas) else { panic!("an object is read") };
    Ok((read(json), schemas))
}

#[test]
fn schemas_get_the_prefix_and_bring_those_that_they_refer_to() {
    let of = |name: &str| json!({ "$ref": format!("{SCHEMAS}{name}") });
    let document = json!({ "components": { "schemas": {
        "A": { "properties": { "b": of("B"), "$ref": { "type": "string" } } },
        "B": { "items": of("A") },
        "C": {},
    } } });
    let (value, schemas) = inlined(&document, &of("A")).unwrap();
    assert_eq!(value, of("qr.A"));
    assert_eq!(schemas.keys().collect::<Vec<_>>(), ["qr.A", "qr.B"]);
    assert_eq!(schemas["qr.A"]["properties"]["b"], of("qr.B"));
    assert_eq!(schemas["qr.A"]["properties"]["$ref"], json!({ "type": "string" }));
}

#[test]
fn other_references_are_replaced_by_what_they_lead_to() {
    let document = json!({ "components": { "responses": { "Ok": { "description": "yes" } } } });
    let (value, _) = inlined(&document, &json!({ "200": { "$ref": "#/components/responses/Ok" } })).unwrap();
    assert_eq!(value, json!({ "200": { "description": "yes" } }));
}

#[test]
fn data_is_not_searched_for_references() {
    let data = json!({ "example": { "$ref": "x" }, "enum": [{ "nullable": true }] });
    assert_eq!(inlined(&json!({}), &data).unwrap().0, data);
}

#[test]
fn reference_that_leads_nowhere_or_in_a_circle_is_refused() {
    let document = json!({ "components": { "responses": { "A": { "$ref": "#/components/responses/A" } } } });
    for reference in [
        "https://example.com/a",
        "#/paths/~1a",
        "#/components/schemas/None",
        "#/components/schemas/a~1b",
        "#",
    ] {
        let refused = inlined(&document, &json!({ "$ref": reference })).unwrap_err();
        assert_eq!(refused, DescriptionError::Reference(reference.to_owned()));
    }
    let circle = "#/components/responses/A";
    let refused = inlined(&document, &json!({ "$ref": circle })).unwrap_err();
    assert_eq!(refused, DescriptionError::Circle(circle.to_owned()));
}

/// Each component names the next one ten times, so that seven of them are ten million values.
#[test]
fn references_that_multiply_are_refused() {
    let item = |n: usize| {
        let next = json!({ "$ref": format!("#/components/headers/h{}", n + 1) });
        (format!("h{n}"), Value::Array(vec![next; 10]))
    };
    let mut headers: Map<_, _> = (0..7).map(item).collect();
    headers.insert("h7".to_owned(), json!({}));
    let document = json!({ "components": { "headers": headers } });
    let refused = inlined(&document, &json!({ "$ref": "#/components/headers/h0" })).unwrap_err();
    assert_eq!(refused, DescriptionError::TooMuch { full: Full::Values, at: String::new() });
}

#[test]
fn member_with_any_name_is_searched_for_references() {
    let schema = json!({ "$ref": format!("{SCHEMAS}A") });
    let document = json!({ "components": {
        "schemas": { "A": {} }, "responses": { "Ok": { "description": "yes" } },
    } });
    for name in ["value", "default", "enum", "nullable", "discriminator", "properties"] {
        let (value, schemas) = inlined(&document, &json!({ "properties": { name: schema } })).unwrap();
        assert_eq!(value["properties"][name]["$ref"], format!("{SCHEMAS}qr.A"), "{name}");
        assert!(schemas.contains_key("qr.A"), "{name}");
    }
    let responses = json!({ "responses": { "default": { "$ref": "#/components/responses/Ok" } } });
    let value = inlined(&document, &responses).unwrap().0;
    assert_eq!(value["responses"]["default"]["description"], "yes");
    let data = json!({ "examples": [{ "$ref": "x" }] });
    assert_eq!(inlined(&document, &data).unwrap().0, data);
}

#[test]
fn schema_of_openapi_3_0_becomes_one_of_3_1() {
    for (old, new) in [
        (json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] })),
        (
            json!({ "type": "string", "enum": ["a"], "nullable": true }),
            json!({ "type": ["string", "null"], "enum": ["a", null] }),
        ),
        (json!({ "type": "string", "nullable": false }), json!({ "type": "string" })),
        (json!({ "allOf": [], "nullable": true }), json!({ "anyOf": [{ "allOf": [] }, { "type": "null" }] })),
        (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
        (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
        (json!({ "exclusiveMinimum": 1 }), json!({ "exclusiveMinimum": 1 })),
    ] {
        assert_eq!(inlined(&json!({}), &old).unwrap().0, new);
    }
}

/// Components `0` to `4`, each of which may refer to later ones any number of times.
fn any_components() -> impl Strategy<Value = Value> {
    let any_header = |number: usize| {
        let later = (number + 1..6).prop_map(|n| json!({ "$ref": format!("#/components/headers/{n}") }));
        let leaf = prop_oneof!["[a-z\"]{0,40}".prop_map(Value::from), any::<u16>().prop_map(Value::from)];
        prop_oneof![2 => later, 1 => leaf].prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-e]", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    };
    (any_header(0), any_header(1), any_header(2), any_header(3), any_header(4)).prop_map(|headers| {
        let (a, b, c, d, e) = headers;
        json!({ "components": { "headers": { "0": a, "1": b, "2": c, "3": d, "4": e, "5": "end" } } })
    })
}

/// Puts what references lead to in their place, one value after the other and without any bound.
fn opened(document: &Value, value: &Value) -> Value {
    match value {
        Value::Object(members) => match members.get("$ref").and_then(Value::as_str) {
            Some(reference) => opened(document, &document["components"]["headers"][&reference[21..]]),
            None => members.iter().map(|(name, value)| (name.clone(), opened(document, value))).collect(),
        },
        Value::Array(items) => items.iter().map(|item| opened(document, item)).collect(),
        plain => plain.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn opened_references_are_written_up_to_the_bound(document in any_components(), bytes in 1..2_000_usize) {
        let value = &document["components"]["headers"]["0"];
        let expected = opened(&document, value).to_string();
        let mut json = BoundedJson::new(Bounds { bytes, ..KEPT });
        let result = Inliner::new(&document, "qr").write(&mut json, value);
        prop_assert!(json.len() <= bytes);
        if expected.len() <= bytes {
            prop_assert_eq!(result, Ok(()));
            prop_assert_eq!(json.into_text(), expected);
        } else {
            let full = DescriptionError::TooMuch { full: Full::Bytes, at: String::new() };
            prop_assert_eq!(result, Err(full));
        }
    }
}
