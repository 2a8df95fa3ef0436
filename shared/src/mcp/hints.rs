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

/// Returns the annotations of an operation: by its method, and for `POST` by its id.
pub(super) fn annotations(id: &str, method: &str) -> Value {
    json!({
        "readOnlyHint": method == "get",
        "destructiveHint": matches!(method, "delete" | "put" | "patch") || DESTRUCTIVE.contains(&id),
        "idempotentHint": matches!(method, "get" | "put" | "delete") || REPEATABLE.contains(&id),
        "openWorldHint": OUTWARD.contains(&id),
    })
}

/// Returns the operations that the tables name.
#[cfg(test)]
pub(super) fn named() -> impl Iterator<Item = &'static str> {
    DESTRUCTIVE.into_iter().chain(REPEATABLE).chain(OUTWARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(id: &str, method: &str) -> [bool; 4] {
        let annotations = annotations(id, method);
        ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
            .map(|hint| annotations[hint].as_bool().unwrap())
    }

    #[test]
    fn hints_follow_the_method_and_for_post_the_operation() {
        assert_eq!(hints("list_events", "get"), [true, false, true, false]);
        assert_eq!(hints("erase_account", "delete"), [false, true, true, false]);
        assert_eq!(hints("patch_page", "patch"), [false, true, false, false]);
        assert_eq!(hints("add_link", "post"), [false, false, false, false]);
        assert_eq!(hints("reset_analytics", "post"), [false, true, true, false]);
        assert_eq!(hints("rotate_webhook_secret", "post"), [false, true, false, false]);
        assert_eq!(hints("refresh_product_source", "post"), [false, false, false, true]);
    }
}
