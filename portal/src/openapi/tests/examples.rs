//! The examples against the schemas that they stand beside.

use super::*;

/// Returns the examples of components: those of bodies that refer to the component alone.
fn examples(value: &Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            let schema = members.get("schema").and_then(|schema| schema["$ref"].as_str());
            if let (Some(schema), Some(example)) = (schema, members.get("example")) {
                found.push((schema.to_owned(), example.clone()));
            }
            members.values().for_each(|member| examples(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| examples(item, found)),
        _ => {}
    }
}

/// Writes `nullable` as JSON Schema has it.
fn make_null_a_type(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.get("nullable").is_some_and(Value::is_boolean) {
                members.remove("nullable");
                let kind = members["type"].clone();
                members.insert("type".to_owned(), json!([kind, "null"]));
            }
            members.values_mut().for_each(make_null_a_type);
        }
        Value::Array(items) => items.iter_mut().for_each(make_null_a_type),
        _ => {}
    }
}

#[test]
fn example_fits_its_schema() {
    for (document, least) in [(document(SERVER), 11), (biolink::document(SERVER), 50)] {
        let mut found = Vec::new();
        examples(&document, &mut found);
        let mut components = document["components"].clone();
        make_null_a_type(&mut components);
        let mut validators = BTreeMap::new();
        for (schema, example) in &found {
            let validator = validators.entry(schema).or_insert_with(|| {
                let schema = json!({ "$ref": schema, "components": components });
                jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
            });
            let errors: Vec<_> = validator.iter_errors(example).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{schema}: {errors:?}");
        }
        assert!(found.len() >= least, "{}", found.len());
    }
}
