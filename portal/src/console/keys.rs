//! The administrator's views of keys.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{
    Change, Row, constant, count, expiry, heading, list, moment, pager, parameter, select, table, text,
};
use super::secrets;
use super::usage::{badge, holder, key_facts, live, rotation};

const ANY: (&str, &str) = ("", "any");
const TIERS: [(&str, &str); 3] = [("free", "free"), ("pro", "pro"), ("enterprise", "enterprise")];
const PLANS: [(&str, &str); 3] = [("none", "none"), ("standard", "standard"), ("business", "business")];
const WHEN_METER_UNREACHABLE: [(&str, &str); 2] =
    [("continue", "up to 1.25 × the limit"), ("refuse", "refuse, never more")];
const STATUSES: [(&str, &str); 4] =
    [ANY, ("active", "active"), ("disabled", "disabled"), ("revoked", "revoked")];

/// Returns the view of `GET /v1/keys`.
pub(super) fn all(path: &str, query: Option<&str>, keys: &Value) -> Markup {
    let row = |key: &Value| {
        vec![
            html! { a href=(address(text(key, "/id"))) { code { (text(key, "/id")) } } },
            holder(key),
            html! { (text(key, "/tier")) },
            badge(text(key, "/status")),
            moment(key, "/issued_at"),
            moment(key, "/expires_at"),
        ]
    };
    let rows: Vec<Row> = list(keys, "/keys").iter().map(row).collect();
    let columns = ["Id", "Holder", "Tier", "Status", "Issued", "Expires"];
    html! {
        (heading("Keys"))
        (search(query))
        (table("Keys", &columns, &rows, "No key matches."))
        (pager(path, query, text(keys, "/cursor")))
        h3 { "Issue a key" }
        (issue())
    }
}

fn address(id: &str) -> String {
    format!("#/v1/keys/{id}?include=usage")
}

fn search(query: Option<&str>) -> Markup {
    let tiers: Vec<(&str, &str)> = [ANY].into_iter().chain(TIERS).collect();
    html! {
        form data-view="/v1/keys" {
            label { "E-mail" input name="email" type="email" autocomplete="off" value=(parameter(query, "email")); }
            (select("Tier", "tier", &tiers, &parameter(query, "tier")))
            (select("Status", "status", &STATUSES, &parameter(query, "status")))
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
        input type="hidden" name="admin_secret" data-secret;
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
        (patch("Change calls without a meter", "Change what becomes of calls while the meter of this key is out of reach?")
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
    let limit = |window: &str| {
        let of_window = |limit: &&Value| text(limit, "/name").strip_prefix("units-") == Some(window);
        list(key, "/unit_limits").iter().find(of_window).map(|limit| count(limit, "/units"))
    };
    html! {
        @for window in ["minute", "day", "month"] {
            label {
                "Units a " (window)
                input name=(format!("limits.units.{window}")) type="number" min="1" value=[limit(window)] placeholder="no limit" data-nullable;
            }
        }
    }
}
