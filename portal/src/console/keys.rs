//! The administrator's views of keys.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{
    Change, Row, Sorting, constant, expiry, heading, list, moment, pager, parameter, select, text,
};
use super::secrets;
use super::usage::{badge, key_facts, limit, live, rotation};

const ANY: (&str, &str) = ("", "any");
const TIERS: [(&str, &str); 3] = [("free", "free"), ("pro", "pro"), ("enterprise", "enterprise")];
const PLANS: [(&str, &str); 3] = [("none", "none"), ("standard", "standard"), ("business", "business")];
const WHEN_METER_UNREACHABLE: [(&str, &str); 2] =
    [("continue", "up to 1.25 × the limit"), ("refuse", "refuse, never more")];
const STATUSES: [(&str, &str); 4] =
    [ANY, ("active", "active"), ("disabled", "disabled"), ("revoked", "revoked")];

const COLUMNS: [&str; 7] = ["Id", "Name", "E-mail", "Tier", "Status", "Issued", "Expires"];
/// The columns that sort the list, and the fields of a key in them.
const SORTS: [(&str, &str); 3] = [("Name", "name"), ("E-mail", "email"), ("Issued", "issued_at")];

/// Returns the view of `GET /v1/keys`.
pub(super) fn all(path: &str, query: Option<&str>, keys: &Value) -> Markup {
    let row = |key: &Value| {
        vec![
            html! { a href=(address(text(key, "/id"))) { code { (text(key, "/id")) } } },
            of_holder(text(key, "/holder/name")),
            of_holder(text(key, "/holder/email")),
            html! { (text(key, "/tier")) },
            badge(text(key, "/status")),
            moment(key, "/issued_at"),
            moment(key, "/expires_at"),
        ]
    };
    let rows: Vec<Row> = list(keys, "/keys").iter().map(row).collect();
    let cursor = text(keys, "/cursor");
    let empty = if cursor.is_empty() {
        "No key matches."
    } else {
        "No key matches so far. The next page continues the search."
    };
    let sorting = Sorting { path, query, fields: &SORTS, default: "-issued_at" };
    html! {
        (heading("Keys"))
        (search(query))
        (sorting.table("Keys", &COLUMNS, &rows, empty))
        (pager(path, query, cursor))
        h3 { "Issue a key" }
        (issue())
    }
}

/// Returns a text of the holder, or a dash once the holder was erased.
fn of_holder(text: &str) -> Markup {
    html! { @if text.is_empty() { "–" } @else { (text) } }
}

fn address(id: &str) -> String {
    format!("#/v1/keys/{id}?include=usage")
}

fn search(query: Option<&str>) -> Markup {
    let tiers: Vec<(&str, &str)> = [ANY].into_iter().chain(TIERS).collect();
    html! {
        form data-view="/v1/keys" {
            label {
                "Name, e-mail or id"
                input name="q" type="search" autocomplete="off" spellcheck="false" value=(parameter(query, "q"));
            }
            (select("Tier", "tier", &tiers, &parameter(query, "tier")))
            (select("Status", "status", &STATUSES, &parameter(query, "status")))
            input type="hidden" name="sort" value=(parameter(query, "sort"));
            button { "Search" }
        }
    }
}

fn issue() -> Markup {
    let change = Change::new("POST", "/v1/keys/issue", "Issue");
    change.form(&html! {
        label { "E-mail of the holder" input name="email" type="email" autocomplete="off" required; }
        label { "Name" input name="name" autocomplete="off" required; }
        (select("Tier", "tier", &TIERS, "free"))
        (select("Plan for pages", "biolink_plan", &PLANS, "none"))
        (limits())
        (unit_limits(&Value::Null))
        (when_meter_unreachable("continue"))
        (expiry(""))
    })
}

fn when_meter_unreachable(chosen: &str) -> Markup {
    let label = "Calls while the key's meter is out of reach";
    select(label, "when_meter_unreachable", &WHEN_METER_UNREACHABLE, chosen)
}

/// Returns the view of `GET /v1/keys/{id}`.
pub(super) fn one(key: &Value) -> Markup {
    let path = format!("/v1/keys/{}", text(key, "/id"));
    let is_revoked = text(key, "/status") == "revoked";
    html! {
        (heading("Key"))
        (key_facts(key))
        p { a href=(format!("#/admin/accounts/{}", text(key, "/account"))) { "Pages of its account" } }
        @if key.get("usage").is_some() { h3 { "Usage" } (live(key)) }
        @if !list(key, "/secrets").is_empty() {
            h3 { "Secrets" }
            (secrets::of_key(key, &path))
        }
        @if !is_revoked {
            h3 { "Change" }
            (changes(key, &path))
        }
    }
}

fn changes(key: &Value, path: &str) -> Markup {
    let patch = |label, question| Change::new("PATCH", path, label).asking(question);
    let is_disabled = text(key, "/status") == "disabled";
    let wanted = if is_disabled { "false" } else { "true" };
    let switch = if is_disabled { "Enable" } else { "Disable" };
    let revoke = Change::new("POST", format!("{path}/revoke"), "Revoke")
        .asking("Revoke this key for good? Every program that uses it stops working.")
        .dangerous(true);
    html! {
        (patch("Change tier", "Change the tier of this key?").form(&select("Tier", "tier", &TIERS, text(key, "/tier"))))
        (patch("Change plan", "Change the plan of this key?")
            .form(&select("Plan for pages", "biolink_plan", &PLANS, text(key, "/biolink_plan"))))
        (patch("Change calls without a meter", "Change what happens to calls while the meter of this key is out of reach?")
            .form(&when_meter_unreachable(text(key, "/when_meter_unreachable"))))
        (patch("Change limits", "Change the limits of this key? An empty field is the limit of the tier.").form(&limits()))
        (patch("Change unit limits", "Change the limits of this key in units? An empty field is no limit.")
            .form(&unit_limits(key)))
        (patch("Change expiry", "Change when this key expires?").form(&expiry(text(key, "/expires_at"))))
        (rotation(path))
        div.actions {
            (patch(switch, "Switch this key on or off?").form(&constant("disabled", wanted)))
            (revoke.button())
        }
    }
}

fn limits() -> Markup {
    html! {
        @for (label, window) in [("Calls a minute", "minute"), ("Calls a day", "day")] {
            label { (label) input name=(format!("limits.{window}")) type="number" min="1" placeholder="of the tier" data-nullable; }
        }
    }
}

fn unit_limits(key: &Value) -> Markup {
    html! {
        @for window in ["minute", "day", "month"] {
            label {
                "Units a " (window)
                input name=(format!("limits.units.{window}")) type="number" min="1"
                    value=[limit(key, &format!("/limits/units/{window}"))] placeholder="no limit" data-nullable;
            }
        }
    }
}
