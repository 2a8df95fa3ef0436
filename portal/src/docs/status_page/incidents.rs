//! Incidents on the page and in the feed.

use maud::{Markup, html};
use shared::response::Response;
use shared::status::incident::{Incident, IncidentImpact, IncidentState, Incidents};
use shared::time::UnixMillis;

use super::time;
use crate::NAME;
use crate::feed::{Entry, Feed, MEDIA_TYPE};
use crate::route::STATUS_FEED_PATH;

/// Returns the incidents that are not over.
pub(super) fn open(incidents: &Incidents) -> Markup {
    let open: Vec<_> = incidents.0.iter().filter(|incident| !is_over(incident)).collect();
    html! {
        @if !open.is_empty() {
            h2 { "Open incidents" }
            @for incident in open { (section(incident)) }
        }
    }
}

/// Returns the incidents that are over.
pub(super) fn past(incidents: &Incidents) -> Markup {
    let past: Vec<_> = incidents.0.iter().filter(|incident| is_over(incident)).collect();
    html! {
        h2 { "Past incidents" }
        @if past.is_empty() { p.soft { "None." } }
        @for incident in past { (section(incident)) }
    }
}

fn is_over(incident: &Incident) -> bool {
    incident.state() == IncidentState::Resolved
}

fn section(incident: &Incident) -> Markup {
    html! {
        section.note id=(incident.id) {
            h3 { (incident.title) }
            p {
                span.badge.(color(incident)) { (state(incident.state())) } " " (impact(incident.impact))
                @if !incident.tools.is_empty() {
                    ": " @for (at, tool) in incident.tools.iter().enumerate() { @if at > 0 { ", " } (tool) }
                }
            }
            (updates(incident))
        }
    }
}

fn updates(incident: &Incident) -> Markup {
    html! {
        dl {
            @for update in incident.updates.iter().rev() {
                dt { (state(update.state)) " " (time(update.at)) }
                dd { (update.message) }
            }
        }
    }
}

fn color(incident: &Incident) -> &'static str {
    match (incident.state(), incident.impact) {
        (IncidentState::Resolved, _) => "good",
        (_, IncidentImpact::Critical) => "bad",
        _ => "warn",
    }
}

const fn state(state: IncidentState) -> &'static str {
    match state {
        IncidentState::Investigating => "Investigating",
        IncidentState::Identified => "Identified",
        IncidentState::Monitoring => "Monitoring",
        IncidentState::Resolved => "Resolved",
    }
}

const fn impact(impact: IncidentImpact) -> &'static str {
    match impact {
        IncidentImpact::Minor => "Minor impact",
        IncidentImpact::Major => "Major impact",
        IncidentImpact::Critical => "Critical impact",
    }
}

/// Returns the feed of incidents. `server` is the server's address.
pub fn incident_feed(incidents: &Incidents, server: &str) -> Response {
    let entry = |incident: &Incident| Entry {
        anchor: incident.id.to_string(),
        title: format!("{}: {}", state(incident.state()), incident.title),
        published: Some(incident.created_at()),
        updated: incident.updated_at(),
        html: updates(incident).into_string(),
    };
    let feed = Feed {
        title: &format!("{NAME}: incidents"),
        path: STATUS_FEED_PATH,
        page: "/status",
        updated: UnixMillis::default(),
        entries: incidents.0.iter().map(entry).collect(),
    };
    Response::feed(MEDIA_TYPE, feed.to_xml(server))
}
