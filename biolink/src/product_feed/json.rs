//! Members of JSON objects, taken leniently: shops write numbers as texts and texts as numbers.

use serde_json::Value;

/// Returns a text or a number as text.
pub(super) fn text(value: &Value, name: &str) -> Option<String> {
    match value.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns two moments with a slash between them; `None` if there is neither.
pub(super) fn sale_dates(value: &Value, from: &str, until: &str) -> Option<String> {
    let moment = |name: &str| text(value, name).unwrap_or_default();
    Some(format!("{}/{}", moment(from), moment(until))).filter(|dates| dates != "/")
}

/// Returns the members of this name of each object in a list.
pub(super) fn each(value: &Value, list: &str, name: &str) -> Vec<String> {
    value
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|item| text(item, name))
        .collect()
}

/// Returns the texts of a list, or the parts of a text between commas.
pub(super) fn words(value: &Value, name: &str) -> Vec<String> {
    match value.get(name) {
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(text)) => text.split(',').map(|word| word.trim().to_owned()).collect(),
        _ => Vec::new(),
    }
}
