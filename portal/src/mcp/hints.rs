//! The annotations of a tool: what a client may do without asking its user.

use serde_json::{Value, json};

/// `POST`s that replace or remove something, while the others add.
const DESTRUCTIVE: [&str; 5] =
    ["publish_page", "unpublish_page", "restore_revision", "reset_analytics", "rotate_webhook_secret"];
/// `POST`s that change nothing more if they are repeated.
const REPEATABLE: [&str; 3] = ["publish_page", "unpublish_page", "reset_analytics"];
/// Operations that send a request to an address of the user.
const OUTWARD: [&str; 6] = [
    "create_product_source",
    "patch_product_source",
    "refresh_product_source",
    "test_webhook",
    "retry_delivery",
    "replay_deliveries",
];

/// Returns the annotations of an operation: by its method, and for `POST` by its id. What a hint is
/// by default is left out, and what has no meaning for a read.
pub(super) fn annotations(id: &str, method: &str) -> Value {
    let is_read = method == "get";
    let mut hints = json!({ "readOnlyHint": is_read });
    let mut hint = |name: &str, value: bool| {
        if let Some(members) = hints.as_object_mut() {
            members.insert(name.to_owned(), value.into());
        }
    };
    if !is_read {
        hint("destructiveHint", matches!(method, "delete" | "put" | "patch") || DESTRUCTIVE.contains(&id));
        if matches!(method, "put" | "delete") || REPEATABLE.contains(&id) {
            hint("idempotentHint", true);
        }
        if !OUTWARD.contains(&id) {
            hint("openWorldHint", false);
        }
    }
    hints
}

/// Returns the operations that the tables name.
#[cfg(test)]
pub(super) fn named() -> impl Iterator<Item = &'static str> {
    DESTRUCTIVE.into_iter().chain(REPEATABLE).chain(OUTWARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_follow_the_method_and_for_post_the_operation() {
        assert_eq!(annotations("list_events", "get"), json!({"readOnlyHint": true}));
        for (id, method, destructive, idempotent) in [
            ("delete_page", "delete", true, true),
            ("patch_page", "patch", true, false),
            ("add_link", "post", false, false),
            ("reset_analytics", "post", true, true),
            ("rotate_webhook_secret", "post", true, false),
        ] {
            let mut hints =
                json!({"readOnlyHint": false, "destructiveHint": destructive, "openWorldHint": false});
            if idempotent {
                hints["idempotentHint"] = true.into();
            }
            assert_eq!(annotations(id, method), hints, "{id}");
        }
        let outward = json!({"readOnlyHint": false, "destructiveHint": false});
        assert_eq!(annotations("refresh_product_source", "post"), outward);
    }
}
