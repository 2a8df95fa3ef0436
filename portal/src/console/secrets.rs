//! The view of `GET /v1/keys/me/secrets`.

use maud::{Markup, html};
use serde_json::Value;
use shared::tool::Tool;

use super::parts::{Change, Row, expiry, flag, heading, list, moment, select, table, text};

const BIOLINK: [(&str, &str); 4] = [
    ("none", "nothing"),
    ("read", "read"),
    ("write", "read and change"),
    ("admin", "all, with secrets, export and erasure"),
];
const KEYS: [(&str, &str); 2] = [("false", "no"), ("true", "yes")];

const COLUMNS: [&str; 7] = ["Name", "Id", "Tools", "Pages", "Keys", "Expires", "Change"];

/// Returns the view.
pub(super) fn all(secrets: &Value) -> Markup {
    let row = |secret| row(secret, changes(&format!("/v1/keys/me/secrets/{}", text(secret, "/id"))));
    let rows: Vec<Row> = list(secrets, "/secrets").iter().map(row).collect();
    html! {
        (heading("Secrets"))
        p.soft { "Each program can have a secret of its own. All of them are this key: they share its limits." }
        (table("Secrets", &COLUMNS, &rows, "None yet. Make one below, for a program that needs less than the key can do."))
        h3 { "New secret" }
        (create())
    }
}

/// Returns the secrets of a key at this path, for an administrator, who can end them.
pub(super) fn of_key(key: &Value, path: &str) -> Markup {
    let row = |secret| row(secret, revoke(&format!("{path}/secrets/{}", text(secret, "/id"))).button());
    let rows: Vec<Row> = list(key, "/secrets").iter().map(row).collect();
    table("Secrets", &COLUMNS, &rows, "None.")
}

fn row(secret: &Value, changes: Markup) -> Row {
    let tools = list(secret, "/scopes/tools").iter().filter_map(Value::as_str).collect::<Vec<_>>();
    let may_keys = if flag(secret, "/scopes/keys") { "yes" } else { "no" };
    vec![
        html! { (text(secret, "/name")) },
        html! { code { (text(secret, "/id")) } },
        html! { @if tools.is_empty() { "none" } @else { (tools.join(", ")) } },
        html! { (text(secret, "/scopes/biolink")) },
        html! { (may_keys) },
        moment(secret, "/expires_at"),
        changes,
    ]
}

fn changes(path: &str) -> Markup {
    let rotate = Change::new("POST", format!("{path}/rotate"), "Rotate")
        .asking("Replace this secret? The new one is shown once, and the present one stays valid for a day.");
    html! { div.actions { (rotate.button()) (revoke(path).button()) } }
}

fn revoke(path: &str) -> Change<'_> {
    Change::new("DELETE", path, "Revoke")
        .asking("Revoke this secret for good? The program that uses it stops working.")
        .dangerous(true)
}

fn create() -> Markup {
    Change::new("POST", "/v1/keys/me/secrets", "Make secret").form(&html! {
        label { "Name" input name="name" autocomplete="off" maxlength="100" required; }
        fieldset {
            legend { "Tools" }
            label { input type="checkbox" name="scopes.tools" value="all"; " all" }
            @for tool in Tool::ALL {
                label { input type="checkbox" name="scopes.tools" value=(tool.as_str()); " " (tool.as_str()) }
            }
        }
        (select("Pages and webhooks", "scopes.biolink", &BIOLINK, "none"))
        label {
            "Manage secrets"
            select name="scopes.keys" data-json {
                @for (value, name) in KEYS { option value=(value) { (name) } }
            }
        }
        (expiry(""))
    })
}
