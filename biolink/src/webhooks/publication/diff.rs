//! The difference of two JSON values.

use serde_json::Value;

/// Returns JSON Pointers (RFC 6901) to the smallest parts that differ, at most `depth` members deep.
/// Members that only one of the two has are among them. Array items are compared by place.
pub(super) fn changed(before: &Value, now: &Value, depth: usize) -> Vec<String> {
    let mut pointers = Vec::new();
    compare(Some(before), Some(now), depth, &mut String::new(), &mut pointers);
    pointers
}

fn compare(
    before: Option<&Value>,
    now: Option<&Value>,
    depth: usize,
    place: &mut String,
    pointers: &mut Vec<String>,
) {
    if before == now {
        return;
    }
    let inner = depth.saturating_sub(1);
    match (before, now) {
        (Some(Value::Object(before)), Some(Value::Object(now))) if depth > 0 => {
            let removed = before.keys().filter(|name| !now.contains_key(*name));
            for name in now.keys().chain(removed) {
                // In this order: the other way around, the tilde of `~1` would be escaped again
                // (RFC 6901, section 3).
                let escaped = name.replace('~', "~0").replace('/', "~1");
                within(place, &escaped, |place| {
                    compare(before.get(name), now.get(name), inner, place, pointers);
                });
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(now))) if depth > 0 => {
            for at in 0..before.len().max(now.len()) {
                within(place, itoa::Buffer::new().format(at), |place| {
                    compare(before.get(at), now.get(at), inner, place, pointers);
                });
            }
        }
        _ => pointers.push(place.clone()),
    }
}

fn within(place: &mut String, name: &str, run: impl FnOnce(&mut String)) {
    let length = place.len();
    place.push('/');
    place.push_str(name);
    run(place);
    place.truncate(length);
}
