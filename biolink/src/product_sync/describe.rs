//! Sources as the API shows them.

use serde_json::{Value, json};

use super::{Run, SyncState};
use crate::webhooks::SealedSecret;

/// Completes each source in a response of its account: with the address for pushes below `base`, the
/// secret if it is to be shown, and how the source is. `status` returns the reply to
/// [`SourceMessage::Status`](super::SourceMessage::Status), or `None` for a source that has not begun.
pub fn complete(
    body: &mut Value,
    base: &str,
    reveal: impl Fn(&SealedSecret) -> Option<String>,
    status: impl Fn(&str) -> Option<Value>,
) {
    match body.get_mut("data") {
        Some(Value::Array(sources)) => {
            sources.iter_mut().for_each(|source| complete_one(source, base, &reveal, &status));
        }
        _ => complete_one(body, base, &reveal, &status),
    }
}

fn complete_one(
    source: &mut Value,
    base: &str,
    reveal: &impl Fn(&SealedSecret) -> Option<String>,
    status: &impl Fn(&str) -> Option<Value>,
) {
    let Some(id) = source.get("id").and_then(Value::as_str).map(str::to_owned) else { return };
    if let Some(Value::Object(push)) = source.get_mut("push") {
        let sealed =
            push.remove("sealed").and_then(|sealed| serde_json::from_value::<SealedSecret>(sealed).ok());
        let is_enabled = push.get("enabled").and_then(Value::as_bool).unwrap_or_default();
        let url = is_enabled.then(|| format!("{base}/hooks/products/{id}"));
        push.insert("url".to_owned(), json!(url));
        push.insert("secret".to_owned(), json!(sealed.and_then(|sealed| reveal(&sealed))));
    }
    if let Some(members) = source.as_object_mut() {
        let status = status(&id).unwrap_or_else(|| SyncState::default().describe());
        members.insert("sync".to_owned(), status);
    }
}

/// Returns the body of the list of runs, the newest first.
pub fn runs_body(runs: &[Run]) -> String {
    let data: Vec<_> = runs.iter().rev().map(Run::describe).collect();
    json!({ "object": "list", "data": data }).to_string()
}
