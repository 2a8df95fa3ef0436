//! The routes of the status history and of incidents.

use shared::method::{Method, Methods};
use shared::problem::Problem;
use shared::route::{Path, malformed_id};
use shared::status::incident::IncidentId;
use strum::VariantArray;

/// The path of the feed of incidents.
pub const STATUS_FEED_PATH: &str = "/status.atom";

/// A request for the status history or for incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusRoute {
    /// `GET /v1/status/history`
    History,
    /// `GET /v1/status/incidents`
    ListIncidents,
    /// `POST /v1/status/incidents`
    CreateIncident,
    /// `GET /v1/status/incidents/{incident_id}`
    ReadIncident(IncidentId),
    /// `DELETE /v1/status/incidents/{incident_id}`
    DeleteIncident(IncidentId),
    /// `POST /v1/status/incidents/{incident_id}/updates`
    UpdateIncident(IncidentId),
    /// `GET /status.atom`
    Feed,
}

/// A [`StatusRoute`] without its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, VariantArray)]
#[allow(missing_docs, reason = "`StatusRoute` says what each one is")]
pub enum StatusEndpoint {
    History,
    ListIncidents,
    CreateIncident,
    ReadIncident,
    DeleteIncident,
    UpdateIncident,
    Feed,
}

impl StatusRoute {
    /// Returns the endpoint.
    pub const fn endpoint(self) -> StatusEndpoint {
        match self {
            Self::History => StatusEndpoint::History,
            Self::ListIncidents => StatusEndpoint::ListIncidents,
            Self::CreateIncident => StatusEndpoint::CreateIncident,
            Self::ReadIncident(_) => StatusEndpoint::ReadIncident,
            Self::DeleteIncident(_) => StatusEndpoint::DeleteIncident,
            Self::UpdateIncident(_) => StatusEndpoint::UpdateIncident,
            Self::Feed => StatusEndpoint::Feed,
        }
    }
}

impl StatusEndpoint {
    /// Every endpoint once.
    pub const ALL: [Self; 7] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the method.
    pub const fn method(self) -> Method {
        match self {
            Self::CreateIncident | Self::UpdateIncident => Method::Post,
            Self::DeleteIncident => Method::Delete,
            Self::History | Self::ListIncidents | Self::ReadIncident | Self::Feed => Method::Get,
        }
    }

    /// Returns the path, with a parameter in braces.
    pub const fn path(self) -> &'static str {
        match self {
            Self::History => "/v1/status/history",
            Self::ListIncidents | Self::CreateIncident => "/v1/status/incidents",
            Self::ReadIncident | Self::DeleteIncident => "/v1/status/incidents/{incident_id}",
            Self::UpdateIncident => "/v1/status/incidents/{incident_id}/updates",
            Self::Feed => STATUS_FEED_PATH,
        }
    }
}

/// A path of these, whatever the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusPlace {
    History,
    Incidents,
    Incident(IncidentId),
    Updates(IncidentId),
    Feed,
}

impl StatusPlace {
    /// Finds a path; `None` if it is not one of these.
    ///
    /// # Errors
    /// Returns `route-unknown`, which names an id that is malformed.
    pub(super) fn parse(path: Path<'_>) -> Result<Option<Self>, Problem> {
        let id = |segment| {
            let example = || IncidentId::new([0; IncidentId::BYTES]).to_string();
            IncidentId::parse(segment).ok_or_else(|| malformed_id(segment, "an incident", &example()))
        };
        Ok(Some(match path.segments() {
            [Some("status.atom"), None, ..] => Self::Feed,
            [Some("v1"), Some("status"), Some("history"), None, ..] => Self::History,
            [Some("v1"), Some("status"), Some("incidents"), None, ..] => Self::Incidents,
            [Some("v1"), Some("status"), Some("incidents"), Some(segment), None, ..] => {
                Self::Incident(id(segment)?)
            }
            [Some("v1"), Some("status"), Some("incidents"), Some(segment), Some("updates"), None] => {
                Self::Updates(id(segment)?)
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn methods(self) -> Methods {
        match self {
            Self::History | Self::Feed => Methods::of([Method::Get]).with_head(),
            Self::Incidents => Methods::of([Method::Get, Method::Post]).with_head(),
            Self::Incident(_) => Methods::of([Method::Get, Method::Delete]).with_head(),
            Self::Updates(_) => Methods::of([Method::Post]),
        }
    }

    /// Returns the route of a method, which the path must take.
    pub(super) const fn route(self, method: Method) -> StatusRoute {
        match (self, method) {
            (Self::History, _) => StatusRoute::History,
            (Self::Feed, _) => StatusRoute::Feed,
            (Self::Incidents, Method::Post) => StatusRoute::CreateIncident,
            (Self::Incidents, _) => StatusRoute::ListIncidents,
            (Self::Incident(id), Method::Delete) => StatusRoute::DeleteIncident(id),
            (Self::Incident(id), _) => StatusRoute::ReadIncident(id),
            (Self::Updates(id), _) => StatusRoute::UpdateIncident(id),
        }
    }
}
