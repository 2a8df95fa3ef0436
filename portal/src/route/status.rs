//! The routes of the status history and of incidents.

use shared::endpoints;
use shared::status::incident::{INCIDENTS_PATH, IncidentId};

/// The path of the feed of incidents.
pub const STATUS_FEED_PATH: &str = "/status.atom";

endpoints! {
    /// A request for the status history or for incidents.
    StatusRoute of StatusEndpoint
    History: Get "/v1/status/history",
    ListIncidents: Get INCIDENTS_PATH,
    CreateIncident: Post INCIDENTS_PATH,
    ReadIncident(IncidentId): Get "/v1/status/incidents/{incident_id}",
    DeleteIncident(IncidentId): Delete "/v1/status/incidents/{incident_id}",
    UpdateIncident(IncidentId): Post "/v1/status/incidents/{incident_id}/updates",
    Feed: Get STATUS_FEED_PATH,
}
