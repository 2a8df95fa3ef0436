//! Merge patches.

use serde_json::{Map, Value};

/// Merges a patch into a JSON object (RFC 7396). A `null` removes a member, and one that is not there stays
/// away: a patch may be sent again.
pub fn merge(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match (target.get_mut(&name), value) {
            (_, Value::Null) => {
                target.remove(&name);
            }
            (Some(Value::Object(inner)), Value::Object(patch)) => merge(inner, patch),
            (_, Value::Object(patch)) => {
                let mut inner = Map::new();
                merge(&mut inner, patch);
                target.insert(name, Value::Object(inner));
            }
            (_, value) => {
                target.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7396, appendix A, whose target and patch are objects.
    #[test]
    fn patch_merges_as_the_examples_of_the_rfc() {
        for (target, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!({"a": "b"}), json!({"a": {"b": null, "c": 1}}), json!({"a": {"c": 1}})),
        ] {
            let mut merged = target.as_object().cloned().unwrap();
            for _ in 0..2 {
                merge(&mut merged, patch.as_object().cloned().unwrap());
                assert_eq!(Value::Object(merged.clone()), expected, "{target} {patch}");
            }
        }
    }
}
