//! The view of `GET /v1/keys/me/alerts`.

use maud::{Markup, html};
use serde_json::Value;

use super::parts::{Row, count, heading, list, moment, table, text};

const EMPTY: &str = "None in the last 30 days. There will be one when 50, 80 or 100 % of a day's calls are used, or of the \
    units of a day or a month, with the first call of an hour that is refused for want of quota, 7 days and one day before the key or a secret expires, and \
    when a webhook fails.";

/// Returns the view.
pub(super) fn all(alerts: &Value) -> Markup {
    let rows: Vec<Row> = list(alerts, "/alerts").iter().map(row).collect();
    html! {
        (heading("Alerts"))
        p.soft { "The last 50 of 30 days, the newest first. " a href="#/webhooks" { "A webhook" } " tells your server the same." }
        (table("Alerts", &["Time", "What happened", "What to do"], &rows, EMPTY))
    }
}

fn row(alert: &Value) -> Row {
    let (happened, advice) = match text(alert, "/type") {
        "quota_threshold" => threshold(alert),
        "quota_exceeded" => exceeded(alert),
        "key_expiring" => expiring(alert),
        "webhook_failing" => failing(alert),
        // A kind that this version does not know.
        other => (html! { (other) }, html! { "–" }),
    };
    vec![moment(alert, "/timestamp"), happened, advice]
}

fn threshold(alert: &Value) -> (Markup, Markup) {
    let quota = |member: &str| count(alert, &format!("/data/quota/{member}"));
    let of = match text(alert, "/data/quota/name") {
        "day" => "the day's calls",
        "units-day" => "the day's units",
        "units-month" => "the month's units",
        other => other,
    };
    let happened = html! {
        (quota("percent")) " % of " (of) " were used: " (quota("used")) " of " (quota("limit")) "."
    };
    let advice = html! {
        @if quota("percent") >= 100 {
            "Calls beyond it are refused until " (moment(alert, "/data/quota/resets_at")) ". Ask the operator for a higher limit."
        } @else {
            "See " a href="#/v1/usage?group_by=tool" { "which tool" } " uses them. The count begins anew at "
            (moment(alert, "/data/quota/resets_at")) "."
        }
    };
    (happened, advice)
}

fn exceeded(alert: &Value) -> (Markup, Markup) {
    let quota = match text(alert, "/data/quota/name") {
        "minute" => "the calls of a minute were used up",
        "day" => "the calls of the day were used up",
        "units-minute" => "the units of a minute were used up",
        "units-day" => "the units of the day were used up",
        "units-month" => "the units of the month were used up",
        other => other,
    };
    let happened =
        html! { "A call was refused: " (quota) ". Further ones of that hour are not listed here." };
    let advice = html! {
        "Send calls more slowly, and repeat one after the seconds of Retry-After. "
        a href="#/v1/usage/calls?status=429" { "The refused calls" }
    };
    (happened, advice)
}

fn expiring(alert: &Value) -> (Markup, Markup) {
    let (name, ends) = (text(alert, "/data/secret/name"), moment(alert, "/data/expires_at"));
    if name.is_empty() {
        let advice = html! { "Ask the operator for a later end, or for another key." };
        return (html! { "This key expires at " (ends) "." }, advice);
    }
    let advice = html! { "Change its end, or make another one, under " a href="#/v1/keys/me/secrets" { "Secrets" } "." };
    (html! { "The secret " (name) " expires at " (ends) "." }, advice)
}

fn failing(alert: &Value) -> (Markup, Markup) {
    let webhook = |member: &str| text(alert, &format!("/data/webhook/{member}"));
    let view = format!("#/webhooks/{}", webhook("id"));
    let happened = html! {
        @match webhook("disabled_reason") {
            "" => {
                "A webhook failed " (count(alert, "/data/webhook/consecutive_failures")) " times in a row: "
            }
            reason => { "A webhook was disabled (" (reason) "): " }
        }
        (webhook("url"))
    };
    let advice = html! {
        "Repair its server. "
        a href=(view.clone() + "/deliveries") { "Deliveries" } " has its responses. What failed can be sent again there, and "
        a href=(view) { "the webhook" } " can be enabled."
    };
    (happened, advice)
}
