//! What code generators refuse, or turn into what does not compile, in either description.

use super::*;

/// progenitor knows one type of success for each operation.
#[test]
fn operation_has_one_schema_of_success() {
    for (path, method, operation) in operations() {
        let responses = operation["responses"].as_object().unwrap().iter();
        let successes = responses.filter(|(status, _)| status.starts_with('2'));
        let schemas: BTreeSet<_> = successes
            .filter_map(|(_, response)| response.pointer("/content/application~1json/schema"))
            .map(Value::to_string)
            .collect();
        assert!(schemas.len() <= 1, "{method} {path}: {schemas:?}");
    }
}

/// progenitor names the type of a member `source` of `Product` `ProductSource`.
#[test]
fn inline_schema_has_no_name_of_a_component() {
    for document in [document(SERVER), openapi::document(SERVER)] {
        let schemas = document["components"]["schemas"].as_object().unwrap();
        for (component, schema) in schemas {
            for (member, own) in schema["properties"].as_object().into_iter().flatten() {
                let words = member.split(['_', '-']).map(|word| word[..1].to_uppercase() + &word[1..]);
                let name = format!("{component}{}", words.collect::<String>());
                let is_named =
                    ["pattern", "enum", "properties"].iter().any(|keyword| own.get(keyword).is_some());
                assert!(!is_named || !schemas.contains_key(&name), "{component}.{member} is {name}");
            }
        }
    }
}

/// In TypeScript a member that may be absent does not suit an index of texts.
#[test]
fn object_has_named_members_or_a_schema_for_all() {
    for document in [document(SERVER), openapi::document(SERVER)] {
        objects(&document["components"]["schemas"], &mut |members| {
            let is_map =
                members.get("additionalProperties").is_some_and(|values| values.get("type").is_some());
            assert!(!is_map || !members.contains_key("properties"), "{members:?}");
        });
    }
}

#[test]
fn parameter_has_one_type() {
    for document in [document(SERVER), openapi::document(SERVER)] {
        objects(&document["components"]["parameters"], &mut |members| {
            assert!(!members.contains_key("anyOf") && !members.contains_key("oneOf"), "{members:?}");
            assert!(members.get("explode") != Some(&Value::Bool(false)), "{members:?}");
        });
    }
}
