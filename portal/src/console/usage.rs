//! The usage of a key: the view of its holder, and the part that the administrator sees too.

use maud::{Markup, html};
use serde_json::Value;
use shared::meter::THRESHOLDS;
use shared::time::UnixMillis;

use super::parts::{Change, Row, count, facts, heading, list, moment, table, text};

const WEEK_MS: u64 = 7 * 86_400_000;
/// Grace periods that a rotation offers, in seconds.
const GRACE: [(&str, &str); 4] =
    [("86400", "for a day"), ("3600", "for an hour"), ("604800", "for a week"), ("0", "not at all")];

/// The windows of limits in units: name, what their reset means, and member of the usage.
const UNITS: [(&str, &str, &str); 3] = [
    ("Units in the last 60 seconds", "The next units are given back at", "minute"),
    ("Units today (UTC)", "The count begins anew at", "day"),
    ("Units this month (UTC)", "The count begins anew at", "month"),
];

/// Returns the view of `GET /v1/keys/me`.
pub(super) fn own_key(key: &Value) -> Markup {
    html! {
        div data-refresh="5" {
            (heading("Usage"))
            (live(key))
            h3 { "The key" }
            (key_facts(key))
            @if key.pointer("/rotation/former_key_valid_until").is_some() {
                p { "The former key is valid until " (moment(key, "/rotation/former_key_valid_until")) "." }
            }
            h3 { "Change" }
            div.actions { (rotation("/v1/keys/me")) (revoke_own()) }
        }
    }
}

/// Returns what changes with every call.
pub(super) fn live(key: &Value) -> Markup {
    let held = count(key, "/usage/minute/held");
    html! {
        div #usage data-live {
            (notices(key))
            div.tiles {
                (window("In the last 60 seconds", "The next calls are given back at", key.pointer("/usage/minute")))
                (window("Today (UTC)", "The count begins anew at", key.pointer("/usage/day")))
                @for (name, reset, of) in UNITS { (window(name, reset, key.pointer(&format!("/usage/units/{of}")))) }
            }
            @if held > 0 {
                p.soft {
                    "Reserved calls are lent to the gateway's locations for 10 seconds. What they do not use is given back."
                }
            }
            p.soft { "Last used: " (moment(key, "/last_used_at")) }
            div.columns {
                (tally("Calls by tool today", "Tool", key.pointer("/today/by_tool")))
                (tally("Calls by status today", "Status", key.pointer("/today/by_status")))
            }
            @if key.get("refusals").is_some() { (refusals(list(key, "/refusals"))) }
        }
    }
}

/// Returns what the holder may want to act on: a day that is used up, and an expiry within a week.
fn notices(key: &Value) -> Markup {
    let (used, limit) = (count(key, "/usage/day/used"), count(key, "/usage/day/limit"));
    let reached =
        THRESHOLDS.into_iter().rev().find(|part| limit > 0 && used * 100 >= limit * u64::from(*part));
    let moment_of = |pointer| UnixMillis::from_rfc3339(text(key, pointer));
    // The response does not name its own moment: the end of the count is less than a day from it.
    let ends = moment_of("/expires_at").zip(moment_of("/usage/day/resets_at"));
    html! {
        @if let Some(part) = reached { p.warning { (part) " % of today's calls are used: " (used) " of " (limit) "." } }
        @if ends.is_some_and(|(ends, today)| ends.since(today) <= WEEK_MS) {
            p.warning { "This key expires at " (moment(key, "/expires_at")) "." }
        }
    }
}

/// Returns the figures of a window, which add up to its limit, and the moment at which this one is
/// less used. Units that are reserved for calls in flight count as used.
fn window(name: &str, reset: &str, window: Option<&Value>) -> Markup {
    let Some(window) = window.filter(|window| !window.is_null()) else { return html! {} };
    let (used, held) = (count(window, "/used"), count(window, "/held"));
    let limit = window.get("limit").and_then(Value::as_u64);
    let taken = used.saturating_add(held);
    html! {
        div.tile {
            strong { (name) }
            @match limit {
                Some(limit) => {
                    span.number { (used) span.soft { " of " (limit) } }
                    meter min="0" max=(limit) value=(taken) high=(limit - limit / 10) optimum="0" aria-label=(name) {}
                    span.soft {
                        (used) " used, "
                        @if window.get("held").is_some() { (held) " reserved, " }
                        (count(window, "/remaining")) " remaining"
                    }
                }
                None => {
                    span.number { (used) }
                    span.soft { (used) " used, " (held) " reserved, without limit" }
                }
            }
            @if taken > 0 { span.soft { (reset) " " (moment(window, "/resets_at")) } }
        }
    }
}

fn tally(caption: &str, column: &str, counts: Option<&Value>) -> Markup {
    let rows: Vec<Row> = counts
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, calls)| vec![html! { (name) }, html! { (calls.as_u64().unwrap_or_default()) }])
        .collect();
    html! { div { h3 { (caption) } (table(caption, &[column, "Calls"], &rows, "None yet.")) } }
}

fn refusals(refusals: &[Value]) -> Markup {
    let row = |refusal: &Value| {
        let code = text(refusal, "/code");
        vec![
            html! { a href=(format!("/problems/{code}")) { code { (code) } } },
            html! { code { (text(refusal, "/route")) } },
            html! { (count(refusal, "/count")) },
            moment(refusal, "/last_at"),
        ]
    };
    let rows: Vec<Row> = refusals.iter().map(row).collect();
    html! {
        h3 { "Last refusals" }
        (table("Last refusals", &["Code", "Route", "Refusals", "Last"], &rows, "None."))
    }
}

/// Returns what is stored of a key.
pub(super) fn key_facts(key: &Value) -> Markup {
    facts(&[
        ("Id", html! { code { (text(key, "/id")) } }),
        ("Holder", holder(key)),
        ("Status", badge(text(key, "/status"))),
        ("Tier", html! { (text(key, "/tier")) }),
        ("Limits", html! { ul.list { @for text in limits(key) { li { (text) } } } }),
        ("Plan for pages", html! { (text(key, "/biolink_plan")) }),
        ("Without its meter", html! { (text(key, "/when_meter_unreachable")) }),
        ("Issued", moment(key, "/issued_at")),
        ("Expires", moment(key, "/expires_at")),
    ])
}

/// Returns the limits that a key has, as a sentence says them.
fn limits(key: &Value) -> Vec<String> {
    let names = [
        ("minute", " a minute"),
        ("day", " a day"),
        ("units/minute", " units a minute"),
        ("units/day", " units a day"),
        ("units/month", " units a month"),
    ];
    let said = |(name, words)| limit(key, &format!("/limits/{name}")).map(|limit| format!("{limit}{words}"));
    names.into_iter().filter_map(said).collect()
}

/// Returns a limit of a key, if it has this one.
pub(super) fn limit(key: &Value, pointer: &str) -> Option<u64> {
    key.pointer(pointer).and_then(Value::as_u64)
}

/// Returns the name and the e-mail address of a key's holder.
fn holder(key: &Value) -> Markup {
    html! {
        @if key.pointer("/holder/email").is_some() {
            (text(key, "/holder/name")) " " span.soft { (text(key, "/holder/email")) }
        } @else { "–" }
    }
}

/// Returns a state as a badge.
pub(super) fn badge(state: &str) -> Markup {
    let is_good = matches!(state, "active" | "published" | "enabled" | "delivered" | "closed" | "available");
    html! { span.badge.good[is_good] { (state) } }
}

/// Returns the form that replaces the secret of the key at this path.
pub(super) fn rotation(path: &str) -> Markup {
    let change = Change::new("POST", format!("{path}/rotate"), "Rotate")
        .asking("Replace the secret of this key? The new key is shown once.");
    let grace = html! {
        label {
            "The present key stays valid"
            select name="grace_seconds" data-json {
                @for (seconds, name) in GRACE { option value=(seconds) { (name) } }
            }
        }
    };
    change.form(&grace)
}

fn revoke_own() -> Markup {
    let change = Change::new("DELETE", "/v1/keys/me", "Revoke this key")
        .asking("Revoke this key for good? Every program that uses it stops working immediately.")
        .dangerous(true);
    change.button()
}
