mod fragment;

pub(super) use fragment::assert_known;

use std::io::Write as _;

use serde_json::json;
use shared::route::Target;

use super::*;
use crate::openapi::{self, biolink};
use crate::route::Route;
use crate::script::Script;

/// Returns the view of a path, with its query, given the response of the API.
fn view(target: &str, value: &Value) -> String {
    let (route, Target { query, .. }) = Route::read("GET", target).unwrap();
    let Route::Console(call) = route else { panic!("{target}: {route:?}") };
    let shown = respond(&call, query, Response::json(value.to_string()).into_bytes()).unwrap();
    assert_eq!(shown.header("content-type"), Some("text/html; charset=utf-8"), "{target}");
    assert_eq!(shown.header("cache-control"), Some("no-store"), "{target}");
    let html = String::from_utf8(shown.body).unwrap();
    assert_known(&html);
    html
}

/// Returns the example that the description of the pages API has for a read.
fn example(path: &str) -> Value {
    let document = biolink::document("https://api.example.com");
    let content = &document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"];
    match content.get("example") {
        Some(example) => example.clone(),
        None => document["components"]["examples"]["Page"]["value"].clone(),
    }
}

fn key() -> Value {
    json!({
        "id": "key_0123456789abcdefg", "account": "key_0123456789abcdefg", "tier": "free", "status": "active",
        "biolink_plan": "none", "when_meter_unreachable": "refuse", "holder": { "email": "ada@example.com", "name": "Ada" },
        "issued_at": "2026-01-05T09:00:00.25Z", "expires_at": null, "last_used_at": "2026-01-05T09:01:00Z",
        "limits": { "minute": 10, "day": 100, "units": { "minute": null, "day": null, "month": null } },
        "rotation": null,
        "today": { "by_status": { "200": 2, "503": 1 }, "by_tool": { "qr": 3 } },
        "usage": {
            "minute": { "held": 0, "limit": 10, "used": 3, "remaining": 7, "resets_at": "2026-01-05T09:02:00Z" },
            "day": { "held": 0, "limit": 100, "used": 3, "remaining": 97, "resets_at": "2026-01-06T00:00:00Z" },
        },
    })
}

fn secret() -> Value {
    json!({
        "id": "sec_0123456789a", "name": "Build server", "scopes": { "tools": ["pdf", "qr"], "biolink": "read", "keys": false },
        "created_at": "2026-01-05T09:30:00Z", "expires_at": null,
    })
}

fn calls() -> Value {
    let refused = json!({
        "time": "2026-01-05T09:41:07Z", "request_id": "7e4c1b6a90d24d1f8f3c5a2b6d7e8f90", "tool": "qr", "action": "generate",
        "path": null, "status": 429, "code": "quota-exceeded", "secret_id": "sec_0123456789a", "tool_ms": null, "edge_ms": 0,
        "request_bytes": 48, "response_bytes": null, "sampled": 1, "repeated": 11,
    });
    let sampled = json!({
        "time": "2026-01-05T09:41:02Z", "request_id": "1f0c9a5e3b7d42c68e5f7a9b1c2d3e4f", "tool": null, "action": null,
        "path": "/pages", "status": 200, "code": null, "secret_id": null, "tool_ms": 12, "edge_ms": 1,
        "request_bytes": 0, "response_bytes": 2310, "sampled": 8, "repeated": 0,
    });
    json!({ "object": "calls", "calls": [refused, sampled], "dropped": 3, "cursor": "1-2" })
}

/// Returns the example that the description of the gateway has, with an alert of each kind.
fn alerts() -> Value {
    let document = openapi::document("https://api.example.com");
    let read = &document["paths"]["/v1/keys/me/alerts"]["get"];
    read["responses"]["200"]["content"]["application/json"]["example"].clone()
}

/// Returns every view of the pages API with its example.
fn examples() -> impl Iterator<Item = (String, Value)> {
    let own = [
        ConsoleView::OwnKey,
        ConsoleView::History,
        ConsoleView::Calls,
        ConsoleView::Alerts,
        ConsoleView::Secrets,
        ConsoleView::Keys,
        ConsoleView::Key,
        ConsoleView::Status,
        ConsoleView::Incidents,
    ];
    let views = ConsoleView::ALL.into_iter().filter(move |view| !own.contains(view));
    views.map(|view| {
        let path = view.api_path();
        let ids = [
            ("{page_id}", "pg_08YYTcdbmMH1lMgsW"),
            ("{id}", "key_0bPELAU4eqF07yhS3"),
            ("{webhook_id}", "whe_F8ilatlehuG4fNrZJ"),
            ("{delivery_id}", "dlv_000000000077kwgft5p2Xy"),
            ("{source_id}", "src_KAUWiorRuAf2Km7xM"),
        ];
        let target = ids.iter().fold(format!("/console{path}"), |path, (name, id)| path.replace(name, id));
        (target, example(path))
    })
}

#[test]
fn administrator_chooses_what_calls_do_without_a_meter() {
    let one = view("/console/v1/keys/key_0bPELAU4eqF07yhS3", &key());
    assert!(one.contains(r#"<option value="refuse" selected>"#), "{one}");
    assert!(one.contains("Change calls without a meter"), "{one}");
    let all = view("/console/v1/keys", &json!({ "keys": [] }));
    assert!(
        all.contains(r#"<select name="when_meter_unreachable"><option value="continue" selected>"#),
        "{all}"
    );
}

#[test]
fn every_example_of_the_api_has_a_view() {
    let mut shown = 0;
    for (target, example) in examples() {
        let html = view(&target, &example);
        assert!(html.contains("<h2 tabindex=\"-1\">"), "{target}: {html}");
        assert!(!html.contains("<script") && !html.contains("style="), "{target}: the policy forbids both");
        shown += 1;
    }
    assert_eq!(shown, ConsoleView::ALL.len() - 9);
}

#[test]
fn text_of_a_user_is_escaped_in_every_view() {
    const HOSTILE: &str = "\"><img src=x onerror=alert(1)>";
    fn poison(value: &mut Value) {
        match value {
            Value::String(text) => *text = HOSTILE.to_owned(),
            Value::Array(entries) => entries.iter_mut().for_each(poison),
            Value::Object(members) => members.values_mut().for_each(poison),
            _ => {}
        }
    }
    let keys = [
        ("/console/v1/keys/me".to_owned(), key()),
        ("/console/v1/keys/key_0bPELAU4eqF07yhS3".to_owned(), key()),
        ("/console/v1/keys".to_owned(), json!({ "keys": [key()], "cursor": "x" })),
        ("/console/v1/keys/me/secrets".to_owned(), json!({ "secrets": [secret()] })),
        ("/console/v1/usage/calls".to_owned(), calls()),
        ("/console/v1/keys/me/alerts".to_owned(), alerts()),
        (
            "/console/v1/usage".to_owned(),
            json!({ "group_by": "tool", "data": [{ "tool": "x", "calls": 1 }] }),
        ),
    ];
    for (target, mut value) in examples().chain(keys) {
        poison(&mut value);
        let query = "?q=%22%3E%3Cimg%20src=x%3E&email=%22%3E%3Cimg%20src=x%3E&status=%3Cimg";
        let html = view(&(target.clone() + query), &value);
        assert!(!html.contains("<img"), "{target}: {html}");
    }
}

#[test]
fn holder_sees_usage_and_calls_of_today() {
    let html = view("/console/v1/keys/me", &key());
    for text in ["data-refresh", "<meter", "value=\"3\"", "7 remaining", "97 remaining", "503", "qr"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(html.contains(r#"data-method="POST" data-action="/v1/keys/me/rotate""#), "{html}");
    assert!(html.contains(r#"data-method="DELETE" data-action="/v1/keys/me""#), "{html}");
    assert!(!html.contains("Last refusals"), "the response has none");
}

#[test]
fn holder_sees_past_calls_by_hour_tool_and_secret() {
    let hours = json!({ "object": "usage", "group_by": "hour", "calls": 5, "from": "2026-01-05T08:00:00Z",
        "to": "2026-01-05T09:42:00Z", "data": [
            { "start": "2026-01-05T08:00:00Z", "calls": 3, "by_tool": { "qr": 3 }, "by_status": { "200": 3 } },
            { "start": "2026-01-05T09:00:00Z", "calls": 2, "by_tool": { "qr": 2 }, "by_status": { "200": 2 } }] });
    let html = view("/console/v1/usage?group_by=hour", &hours);
    for text in ["Calls by hour: 5 in all, at most 3", "2026-01-05 08:00", "value=\"hour\" selected"] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(html.rfind("2026-01-05 09:00") < html.rfind("2026-01-05 08:00"), "the newest hour comes first");
    let tools = json!({ "object": "usage", "group_by": "tool", "calls": 5, "from": "2026-01-05T00:00:00Z",
        "to": "2026-01-05T09:42:00Z", "data": [{ "tool": "qr", "calls": 5 }] });
    let html = view("/console/v1/usage?group_by=tool", &tools);
    assert!(html.contains("<th scope=\"row\">qr</th>") && html.contains("class=\"bar-of\""), "{html}");
    let secrets = json!({ "object": "usage", "group_by": "secret", "calls": 5, "from": "2026-01-05T00:00:00Z",
        "to": "2026-01-05T09:42:00Z",
        "data": [{ "secret": null, "calls": 2 }, { "secret": "sec_0123456789a", "calls": 3 }] });
    let html = view("/console/v1/usage?group_by=secret", &secrets);
    for text in ["the key's own</th>", "sec_0123456789a</th>", "value=\"secret\" selected"] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn holder_sees_the_last_calls_and_what_is_missing() {
    let html = view("/console/v1/usage/calls?status=4xx&tool=qr", &calls());
    for text in [
        "2026-01-05 09:41:07 UTC",
        "href=\"/problems/quota-exceeded\"",
        "and 11 more alike",
        "one of 8",
        "qr / generate",
        "sec_0123456789a",
        "48 / –",
        "0 / 2310",
        "3 failed calls are missing",
        "<option value=\"4xx\" selected>",
        "name=\"tool\" value=\"qr\"",
        "href=\"#/v1/usage/calls?cursor=1-2&amp;status=4xx&amp;tool=qr\"",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let empty = json!({ "object": "calls", "calls": [], "dropped": 0, "cursor": null });
    let html = view("/console/v1/usage/calls", &empty);
    assert!(html.contains("None yet.") && !html.contains("missing") && !html.contains("Next page"), "{html}");
}

#[test]
fn holder_sees_what_happened_and_what_to_do() {
    let mut alerts = alerts();
    let html = view("/console/v1/keys/me/alerts", &alerts);
    for text in [
        "2026-01-05 15:02:11 UTC",
        "80 % of the day's calls were used: 8000 of 10000.",
        "href=\"#/v1/usage?group_by=tool\"",
        "the calls of a minute were used up",
        "href=\"#/v1/usage/calls?status=429\"",
        "The secret Build server expires at",
        "href=\"#/v1/keys/me/secrets\"",
        "A webhook failed 5 times in a row: https://hooks.example.com/crm",
        "href=\"#/webhooks/whe_0123456789abcdefg/deliveries\"",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    alerts["alerts"][0]["data"]["quota"]["percent"] = json!(100);
    alerts["alerts"][0]["data"]["quota"]["name"] = json!("units-month");
    alerts["alerts"][2]["data"]["secret"] = Value::Null;
    alerts["alerts"][3]["data"]["webhook"]["disabled_reason"] = json!("gone");
    let html = view("/console/v1/keys/me/alerts", &alerts);
    for text in [
        "100 % of the month's units were used",
        "are refused until",
        "This key expires at",
        "A webhook was disabled (gone)",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    let empty = view("/console/v1/keys/me/alerts", &json!({ "object": "alerts", "alerts": [] }));
    assert!(empty.contains("There will be one when 50, 80 or 100 %") && !empty.contains("<table"), "{empty}");
}

#[test]
fn holder_sees_secrets_and_can_make_rotate_and_revoke_them() {
    let html = view("/console/v1/keys/me/secrets", &json!({ "secrets": [secret()] }));
    for text in ["Build server", "sec_0123456789a", "pdf, qr", r#"name="scopes.tools" value="qr""#] {
        assert!(html.contains(text), "{text}: {html}");
    }
    for (method, path) in [("POST", ""), ("POST", "/sec_0123456789a/rotate"), ("DELETE", "/sec_0123456789a")]
    {
        let action = format!(r#"data-method="{method}" data-action="/v1/keys/me/secrets{path}""#);
        assert!(html.contains(&action), "{action}: {html}");
    }
    assert!(view("/console/v1/keys/me/secrets", &json!({ "secrets": [] })).contains("None yet."));
}

#[test]
fn holder_is_told_of_a_day_that_is_used_up_and_of_an_expiry() {
    let with = |used: u64, expires_at: &Value| {
        let mut key = key();
        key["usage"]["day"]["used"] = json!(used);
        key["expires_at"] = expires_at.clone();
        view("/console/v1/keys/me", &key)
    };
    assert!(!with(49, &Value::Null).contains("class=\"warning\""));
    for (used, part) in [(50, "50 %"), (79, "50 %"), (80, "80 %"), (100, "100 %")] {
        let html = with(used, &Value::Null);
        assert!(html.contains(&format!("{part} of today's calls are used: {used} of 100.")), "{html}");
    }
    let soon = with(0, &json!("2026-01-12T00:00:00Z"));
    assert!(soon.contains("This key expires at") && soon.contains("2026-01-12 00:00:00 UTC"), "{soon}");
    assert!(!with(0, &json!("2026-01-14T00:00:00Z")).contains("This key expires at"));
    let disabled =
        json!({ "data": [{ "id": "whe_1", "url": "https://a.example/", "disabled_reason": "failing" }] });
    assert!(view("/console/webhooks", &disabled).contains("https://a.example/ was disabled: failing."));
}

#[test]
fn administrator_sees_the_secrets_of_a_key_and_can_revoke_them() {
    let path = "/console/v1/keys/key_0bPELAU4eqF07yhS3";
    assert!(!view(path, &key()).contains("Build server"));
    for status in ["active", "revoked"] {
        let mut of_key = key();
        of_key["status"] = json!(status);
        of_key["secrets"] = json!([secret()]);
        let html = view(path, &of_key);
        let address = "/v1/keys/key_0123456789abcdefg/secrets/sec_0123456789a";
        let revoke = format!(r#"data-method="DELETE" data-action="{address}""#);
        assert!(html.contains("Build server") && html.contains(&revoke), "{html}");
        assert!(!html.contains("sec_0123456789a/rotate"), "only its holder gets a new text");
    }
}

/// Of a hundred calls, 12 were made and 23 are lent. Nothing says that the rest ends at a time.
#[test]
fn used_reserved_and_remaining_calls_add_up() {
    let mut key = key();
    key["usage"]["minute"] =
        json!({ "held": 23, "limit": 100, "used": 12, "remaining": 65, "resets_at": "2026-01-05T09:02:00Z" });
    let html = view("/console/v1/keys/me", &key);
    for text in
        ["12 used, 23 reserved, 65 remaining", "value=\"35\"", "given back at", "Reserved calls are lent"]
    {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("remain until"), "{html}");
}

#[test]
fn day_without_limit_has_no_meter() {
    let mut key = key();
    key["usage"]["day"]["limit"] = Value::Null;
    let html = view("/console/v1/keys/me", &key);
    assert!(html.matches("<meter").count() == 1 && html.contains("without limit"), "{html}");
}

#[test]
fn limits_in_units_are_shown_and_changed() {
    let mut key = key();
    let without = view("/console/v1/keys/key_0bPELAU4eqF07yhS3", &key);
    assert!(!without.contains("Units today") && !without.contains("units a "), "{without}");
    key["limits"]["units"]["day"] = json!(500);
    let day = json!({ "limit": 500, "used": 40, "remaining": 460, "resets_at": "2026-01-06T00:00:00Z" });
    key["usage"]["units"] = json!({ "minute": null, "day": day, "month": null });
    for target in ["/console/v1/keys/me", "/console/v1/keys/key_0bPELAU4eqF07yhS3"] {
        let html = view(target, &key);
        for text in ["Units today (UTC)", "40 used, 460 remaining", "500 units a day"] {
            assert!(html.contains(text), "{text}: {html}");
        }
        assert!(!html.contains("Units this month"), "it has no limit: {html}");
    }
    let html = view("/console/v1/keys/key_0bPELAU4eqF07yhS3", &key);
    let field = |window: &str| html.split(&format!(r#"name="limits.units.{window}""#)).nth(1).unwrap();
    assert!(field("day").starts_with(r#" type="number" min="1" value="500""#), "{html}");
    assert!(field("month").starts_with(r#" type="number" min="1" placeholder"#), "{html}");
    let issue = view("/console/v1/keys", &json!({ "keys": [] }));
    assert!(
        issue.contains(r#"name="limits.units.day""#) && issue.contains(r#"name="limits.minute""#),
        "{issue}"
    );
}

#[test]
fn refusals_are_shown_by_code_and_route() {
    let mut key = key();
    key["refusals"] = json!([]);
    assert!(view("/console/v1/keys/me?include=refusals", &key).contains("<p class=\"soft\">None.</p>"));
    key["refusals"] = json!([{ "code": "quota-exceeded", "route": "/v1/qr/{action}", "count": 12, "last_at": "2026-01-05T09:01:00Z" }]);
    let html = view("/console/v1/keys/me?include=refusals", &key);
    for text in ["href=\"/problems/quota-exceeded\"", "/v1/qr/{action}", ">12<", "2026-01-05 09:01:00 UTC"] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn report_has_charts_with_a_table() {
    let report = json!({
        "meta": { "start": "2026-01-05T00:00:00Z", "end": "2026-01-06T09:00:00Z", "granularity": "day", "clamped": false },
        "totals": { "views": 40, "visitors": 9, "clicks": 4, "scans": 0, "bots": 2 },
        "groups": {
            "timeseries": [
                { "start": "2026-01-05T00:00:00Z", "views": 30, "visitors": 5, "clicks": 1, "scans": 0 },
                { "start": "2026-01-06T00:00:00Z", "views": 10, "visitors": 4, "clicks": 3, "scans": 0 },
            ],
            "link": [{ "id": "lnk_1", "title": "Newsletter", "clicks": 4, "url": "https://example.com" }],
            "source": [{ "source": "Google", "views": 30, "clicks": 0 }, { "other": true, "views": 3 }],
            "country": [{ "country": null, "views": 40, "clicks": 0 }],
            "page": [{ "id": "pg_1", "title": "Ada Lovelace", "slug": "ada", "views": 40, "visitors": 9, "clicks": 4 }],
        },
    });
    let html = view("/console/analytics?interval=7d", &report);
    assert_eq!(html.matches("role=\"img\"").count(), 3, "nothing was scanned: {html}");
    assert!(html.contains("aria-label=\"Views by day: 40 in all, at most 30\""), "{html}");
    for text in
        ["Newsletter", "Google", "All others", "Unknown", "Ada Lovelace", "<option value=\"7d\" selected>"]
    {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(html.contains("<th scope=\"row\">2026-01-05</th><td class=\"figure\">30</td>"), "{html}");
    assert!(!html.contains("Short links"), "only groups of the report have a table: {html}");
    let crash = "Of each server that crashed, up to a second of events may be missing.";
    assert!(html.contains(crash) && !html.contains("missing batches"), "{html}");
    let mut with_losses = report.clone();
    (with_losses["meta"]["gaps"], with_losses["meta"]["dropped"]) = (json!(2), json!(31));
    let lossy = view("/console/analytics?interval=7d", &with_losses);
    assert!(lossy.contains("2 missing batches of events") && lossy.contains("31 dropped events"), "{lossy}");
    let mut of_campaigns = report.clone();
    of_campaigns["groups"] = json!({ "timeseries": [], "via": [{ "via": "flyer", "views": 4 }],
        "variant": [{ "variant": "DE", "clicks": 2, "views": 0 }] });
    let groups = "timeseries%2Clink%2Cvariant%2Cvia%2Cchannel%2Cutm_source%2Cutm_medium%2Cutm_campaign";
    let html = view(&format!("/console/analytics?interval=7d&group_by={groups}"), &of_campaigns);
    for text in [
        "<h3>Short links and QR codes</h3>",
        "flyer",
        "<h3>Destinations of links</h3>",
        "DE",
        "utm_campaign\" selected>",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
    assert!(!html.contains("<h3>Pages</h3>") && !html.contains("<h3>Top links</h3>"), "{html}");
    let of_page = view("/console/analytics?interval=7d&page_id=pg_1", &report);
    assert!(!of_page.contains("<h3>Pages</h3>"), "a report about one page has no list of pages");
}

#[test]
fn domain_has_its_records_and_can_be_checked_and_removed() {
    let html = view("/console/domains", &example("/domains"));
    for text in [
        "links.ada.example",
        "_utg-verify.links.ada.example",
        "customers.example.net",
        "data-method=\"POST\" data-action=\"/domains/dom_",
        "/verify\"",
        "data-method=\"DELETE\"",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn page_is_edited_in_a_form_that_knows_its_version() {
    let call = Route::read("GET", "/console/pages/pg_08YYTcdbmMH1lMgsW");
    let Ok((Route::Console(call), _)) = call else { panic!() };
    let response = Response::json(example("/pages/{page_id}").to_string()).with_headers([("etag", "\"v7\"")]);
    let html = String::from_utf8(respond(&call, None, response.into_bytes()).unwrap().body).unwrap();
    for text in [
        r#"novalidate data-method="PUT" data-action="/pages/pg_08YYTcdbmMH1lMgsW" data-template="page-form""#,
        r#"data-match="&quot;v7&quot;""#,
        "&quot;title&quot;:&quot;Ada Lovelace&quot;",
        r##"href="#/pages/pg_08YYTcdbmMH1lMgsW/revisions""##,
        r#"data-method="DELETE" data-action="/pages/pg_08YYTcdbmMH1lMgsW""#,
        r#"data-next="/pages""#,
        "browsers of visitors load images from these hosts",
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn revision_is_restored_and_its_page_follows() {
    let html = view("/console/pages/pg_08YYTcdbmMH1lMgsW/revisions", &example("/pages/{page_id}/revisions"));
    for text in [
        r#"data-action="/pages/pg_08YYTcdbmMH1lMgsW/revisions/1/restore""#,
        r#"data-next="/pages/pg_08YYTcdbmMH1lMgsW""#,
    ] {
        assert!(html.contains(text), "{text}: {html}");
    }
}

#[test]
fn source_is_made_changed_synced_and_deleted() {
    let path = "/pages/pg_08YYTcdbmMH1lMgsW/product-sources";
    let all = view(&format!("/console{path}"), &json!({ "data": [] }));
    assert!(
        all.contains(&format!(r#"data-method="POST" data-action="{path}" data-reveals="The secret for pushes" data-next="{path}/{{id}}""#)),
        "{all}"
    );
    assert!(
        all.contains(r#"data-template="source-form" data-value="{}""#) && all.contains("None yet."),
        "{all}"
    );
    let path = format!("{path}/src_KAUWiorRuAf2Km7xM");
    let one = view(&format!("/console{path}"), &example("/pages/{page_id}/product-sources/{source_id}"));
    for (method, rest) in
        [("POST", "/refresh"), ("DELETE", ""), ("DELETE", "?keep_products=true"), ("PATCH", "")]
    {
        let change = format!(r#"data-method="{method}" data-action="{path}{rest}""#);
        assert!(one.contains(&change), "{change}: {one}");
    }
    assert!(one.contains("pending") && one.contains("/hooks/products/src_KAUWiorRuAf2Km7xM"), "{one}");
    let runs =
        view(&format!("/console{path}/runs"), &example("/pages/{page_id}/product-sources/{source_id}/runs"));
    for text in ["3 read, 1 left out", "2 new, 0 changed, 0 removed", "has no title"] {
        assert!(runs.contains(text), "{text}: {runs}");
    }
}

/// The page has its style and the templates of its forms.
#[test]
fn console_has_at_most_60_kb_compressed() {
    let compressed = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap().len()
    };
    let total = compressed(&page().body) + compressed(&crate::docs::script(Script::Console).body);
    assert!(total <= 60_000, "{total} bytes");
}

#[test]
fn failed_delivery_can_be_retried() {
    let html = view(
        "/console/webhooks/whe_F8ilatlehuG4fNrZJ/deliveries",
        &example("/webhooks/{webhook_id}/deliveries"),
    );
    let action = "/webhooks/whe_F8ilatlehuG4fNrZJ/deliveries/dlv_000000000077kwgft5p2Xy/retry";
    assert!(html.contains(&format!("data-method=\"POST\" data-action=\"{action}\"")), "{html}");
    assert!(html.contains("503"), "{html}");
}

#[test]
fn webhook_can_be_made_changed_tried_and_deleted() {
    let none = view("/console/webhooks", &json!({ "data": [] }));
    for text in
        ["None yet. Make one below", r#"name="events" value="qr_scan""#, "a visitor scanned a QR code"]
    {
        assert!(none.contains(text), "{text}: {none}");
    }
    assert!(none.contains(r#"data-reveals="The signing secret""#) && !none.contains("checked"), "{none}");
    let path = "/webhooks/whe_F8ilatlehuG4fNrZJ";
    let one = view(&format!("/console{path}"), &example("/webhooks/{webhook_id}"));
    for (method, rest) in [("PATCH", ""), ("DELETE", ""), ("POST", "/test"), ("POST", "/secret/rotate")] {
        let action = format!(r#"data-method="{method}" data-action="{path}{rest}""#);
        assert!(one.contains(&action), "{action}: {one}");
    }
    assert!(one.contains(r#"value="click" checked"#) && !one.contains(r#"value="qr_scan" checked"#), "{one}");
    assert!(one.contains(r#"data-next="/webhooks""#), "{one}");
    let deliveries = view(&format!("/console{path}/deliveries"), &json!({ "data": [] }));
    let replay = format!(r#"data-method="POST" data-action="{path}/replay""#);
    assert!(deliveries.contains(&replay) && deliveries.contains("send a test"), "{deliveries}");
}

/// "Done." said nothing of a receiver that responds with 500.
#[test]
fn test_of_a_webhook_shows_its_response_and_payload() {
    let path = "/console/webhooks/whe_F8ilatlehuG4fNrZJ/deliveries/dlv_000000000087kwgft5p2Xy";
    let one = view("/console/webhooks/whe_F8ilatlehuG4fNrZJ", &example("/webhooks/{webhook_id}"));
    let next = r#"data-next="/webhooks/whe_F8ilatlehuG4fNrZJ/deliveries/{id}""#;
    assert!(one.contains(next), "{one}");
    let test = |attempts: Value| json!({ "type": "test", "status": "failed", "attempts": attempts, "payload": { "id": "evt_1" } });
    let failed = json!({ "status": 500, "duration_ms": 87, "error": "status", "response": "no mapper" });
    let silent = json!({ "status": null, "duration_ms": 15_000, "error": "timeout", "response": null });
    for (attempts, text) in [
        (json!([failed]), "Your server responded with 500 in 87 ms."),
        (json!([silent]), "Your server did not respond: timeout after 15000 ms."),
        (json!([]), "The test waits for other requests"),
    ] {
        let html = view(path, &test(attempts));
        assert!(html.contains(text) && html.contains("evt_1"), "{text}: {html}");
    }
    let html = view(path, &json!({ "type": "click", "attempts": [failed], "payload": null }));
    assert!(
        html.contains("no mapper") && !html.contains("Your server") && !html.contains("What was sent"),
        "{html}"
    );
}

#[test]
fn next_page_keeps_the_search() {
    let keys = json!({ "keys": [key()], "cursor": "abc" });
    let html = view("/console/v1/keys?q=ada%40example.com&cursor=old&tier=free&sort=-name", &keys);
    for part in [
        "href=\"#/v1/keys?cursor=abc&amp;q=ada%40example.com&amp;tier=free&amp;sort=-name\"",
        "href=\"#/v1/keys?sort=name&amp;q=ada%40example.com&amp;tier=free\"",
        "value=\"ada@example.com\"",
        "<option value=\"free\" selected>",
        "<input type=\"hidden\" name=\"sort\" value=\"-name\">",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let sought = view("/console/v1/keys?q=x", &json!({ "keys": [], "cursor": "abc" }));
    assert!(sought.contains("The next page continues the search."), "{sought}");
}

#[test]
fn revoked_key_cannot_be_changed() {
    let path = "/console/v1/keys/key_0bPELAU4eqF07yhS3?include=usage";
    let mut key = key();
    assert!(view(path, &key).contains("data-action=\"/v1/keys/key_0123456789abcdefg/revoke\""));
    key["status"] = json!("revoked");
    assert!(!view(path, &key).contains("data-action"));
}

#[test]
fn suspended_page_can_be_restored() {
    let mut page = example("/admin/pages/{page_id}");
    assert!(view("/console/admin/pages/ada", &page).contains("/suspend\""));
    page["suspension"] = json!({ "at": "2026-01-05T09:00:00Z", "reason": "Phishing" });
    let html = view("/console/admin/pages/ada", &page);
    assert!(
        html.contains("Phishing") && html.contains("/restore\"") && !html.contains("/suspend\""),
        "{html}"
    );
}

#[test]
fn unavailable_tool_is_named() {
    let status = json!({ "status": "degraded", "tools": [{ "tool": "qr", "available": false }] });
    let html = view("/console/v1/status", &status);
    assert!(html.contains("degraded") && html.contains("unavailable"), "{html}");
}

#[test]
fn incident_can_be_published_resolved_and_deleted() {
    let incidents = json!({ "incidents": [{
        "id": "inc_0123456789abcdefg", "title": "Slow <b>", "impact": "minor", "tools": ["qr"], "state": "identified",
        "created_at": "2026-01-05T09:30:00Z", "resolved_at": null,
        "updates": [{ "at": "2026-01-05T09:30:00Z", "state": "identified", "message": "A server is faulty." }],
    }] });
    let html = view("/console/v1/status/incidents", &incidents);
    for part in [
        "Slow &lt;b&gt;",
        "A server is faulty.",
        "data-method=\"POST\" data-action=\"/v1/status/incidents\"",
        "data-action=\"/v1/status/incidents/inc_0123456789abcdefg/updates\"",
        "data-method=\"DELETE\" data-action=\"/v1/status/incidents/inc_0123456789abcdefg\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

/// What is no JSON may have the text of a visitor as it is, and the script would take it for HTML.
#[test]
fn response_that_is_not_json_is_refused_in_every_view() {
    const HOSTILE: &[u8] = b"utm_campaign,views\r\n<form data-method=POST data-action=/webhooks>,1\r\n";
    for (target, _) in examples() {
        let Ok((Route::Console(call), _)) = Route::read("GET", &target) else { panic!("{target}") };
        for (status, media_type) in [
            (200, "text/csv; charset=utf-8; header=present"),
            (200, "text/html; charset=utf-8"),
            (200, "application/json"),
            (201, "application/json"),
            (404, "text/html; charset=utf-8"),
            (304, ""),
        ] {
            let response = Response::new(status, media_type, "no-store", HOSTILE.to_vec());
            let Err(problem) = respond(&call, None, response) else {
                panic!("{target}: {status} {media_type}")
            };
            assert_eq!(problem.code().as_str(), "route-unknown", "{target}: {status} {media_type}");
        }
        let problem = Response::new(403, "application/problem+json", "no-store", b"{}".to_vec());
        let shown = respond(&call, None, problem).unwrap();
        assert_eq!((shown.status, shown.body.as_slice()), (403, &b"{}"[..]), "{target}");
    }
}

#[test]
fn page_keeps_the_key_out_of_forms_and_search_engines() {
    let page = page();
    assert_eq!(page.header("x-robots-tag"), Some("noindex"));
    let policy = page.header("content-security-policy").unwrap();
    for directive in [
        // Frames have it too: no other directive is about them.
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types console",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.split("; ").any(|each| each == directive), "{directive}: {policy}");
    }
    assert!(!policy.contains("frame-src") && !policy.contains("child-src"), "{policy}");
    assert!(!page.body.contains("name=\"secret\""), "a browser could send a field with a name");
    assert_eq!(page.body.matches("<script").count(), 1);
}
