//! Merge patches.

use serde_json::{Map, Value};

/// Merges a patch into a JSON object (RFC 7396). A `null` for a member that does not exist stays,
/// so that a misspelt name is refused and not ignored.
pub fn merge(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match (target.get_mut(&name), value) {
            (Some(_), Value::Null) => {
                target.remove(&name);
            }
            (Some(Value::Object(inner)), Value::Object(patch)) => merge(inner, patch),
            (_, value) => {
                target.insert(name, value);
            }
        }
    }
}
