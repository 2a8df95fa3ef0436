//! Messages to the object that keeps history and incidents, and its replies.

use serde::{Deserialize, Serialize};

use super::history::AvailabilityHistory;
use super::incident::{Incident, IncidentId, IncidentRefusal, Incidents, NewIncident, NewUpdate};

/// A message to the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusMessage {
    /// Reads all that it keeps: a [`StatusRecord`].
    Read,
    /// Changes the incidents. The reply is an [`IncidentReply`].
    Change(IncidentChange),
}

/// A change of the incidents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentChange {
    /// Creates an incident.
    Create {
        /// Its id, unless the request was sent before.
        id: IncidentId,
        /// The incident.
        new: NewIncident,
        /// The name of the `Idempotency-Key` of the request.
        request: Option<String>,
    },
    /// Adds an update to an incident.
    Update {
        /// The incident.
        id: IncidentId,
        /// The update.
        new: NewUpdate,
    },
    /// Deletes an incident.
    Delete {
        /// The incident.
        id: IncidentId,
    },
}

/// The reply to a change: the incident as it is now, or as it was last.
pub type IncidentReply = Result<Incident, IncidentRefusal>;

/// All that the object keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRecord {
    /// The availability of each tool.
    pub history: AvailabilityHistory,
    /// The incidents.
    pub incidents: Incidents,
}
