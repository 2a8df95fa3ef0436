//! The administrator's view of `GET /v1/status/incidents`.

use maud::{Markup, html};
use serde_json::Value;
use shared::status::incident::{INCIDENTS_PATH, IncidentImpact, IncidentState, MAX_MESSAGE, MAX_TITLE};
use shared::tool::Tool;

use super::parts::{Change, heading, list, moment, select, text};
use super::usage::badge;

/// Returns the view.
pub(super) fn all(incidents: &Value) -> Markup {
    html! {
        (heading("Incidents"))
        p.soft { "Everyone sees them on the " a href="/status" { "status page" } " and in its feed." }
        @for incident in list(incidents, "/incidents") { (one(incident)) }
        h3 { "New incident" }
        (create())
    }
}

fn one(incident: &Value) -> Markup {
    let path = format!("{INCIDENTS_PATH}/{}", text(incident, "/id"));
    let tools: Vec<_> = list(incident, "/tools").iter().filter_map(Value::as_str).collect();
    let delete = Change::new("DELETE", path.clone(), "Delete")
        .asking("Delete this incident from the page and the feed? One that is over is rather resolved.")
        .dangerous(true);
    html! {
        section {
            h3 { (text(incident, "/title")) }
            p { (badge(text(incident, "/state"))) " " (text(incident, "/impact")) " " (tools.join(", ")) }
            ul {
                @for update in list(incident, "/updates") {
                    li { (moment(update, "/at")) " " b { (text(update, "/state")) } ": " (text(update, "/message")) }
                }
            }
            details {
                summary { "Post an update" }
                (Change::new("POST", format!("{path}/updates"), "Add update").form(&html! { (state("resolved")) (message()) }))
                (delete.button())
            }
        }
    }
}

fn create() -> Markup {
    Change::new("POST", INCIDENTS_PATH, "Publish").form(&html! {
        label { "Title" input name="title" autocomplete="off" maxlength=(MAX_TITLE) required; }
        (select("Impact", "impact", &IncidentImpact::ALL.map(|impact| (impact.as_str(), impact.as_str())), "minor"))
        fieldset {
            legend { "Tools, none if it is the gateway itself" }
            @for tool in Tool::ALL {
                label { input type="checkbox" name="tools" value=(tool.as_str()); " " (tool.as_str()) }
            }
        }
        (state("investigating"))
        (message())
    })
}

fn state(chosen: &str) -> Markup {
    select("State", "state", &IncidentState::ALL.map(|state| (state.as_str(), state.as_str())), chosen)
}

fn message() -> Markup {
    html! { label { "Message" input name="message" autocomplete="off" maxlength=(MAX_MESSAGE) required; } }
}
