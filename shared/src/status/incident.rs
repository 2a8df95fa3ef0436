//! Incidents: what an administrator says of a failure, with its updates.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};
use thiserror::Error;

use crate::fields::{Fields, LineError, TypeError, line, text};
use crate::idempotency::KEEP_MS;
use crate::problem::{FieldError, Problem, codes};
use crate::sorting::sort_by_key;
use crate::time::UnixMillis;
use crate::tool::Tool;

crate::id! {
    /// The public name of an incident: 96 random bits, written `inc_` and 17 of `[0-9A-Za-z]`.
    IncidentId "inc_" 12
}

/// The path of the incidents.
pub const INCIDENTS_PATH: &str = "/v1/status/incidents";
/// Longest title, in characters.
pub const MAX_TITLE: usize = 120;
/// Longest message of an update, in characters.
pub const MAX_MESSAGE: usize = 2_000;
/// Most updates of an incident.
pub const MAX_UPDATES: usize = 50;
/// Most incidents that are kept. The oldest ones give way.
pub const MAX_INCIDENTS: usize = 50;

/// The state of an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum IncidentState {
    /// The cause is looked for.
    Investigating,
    /// The cause is known.
    Identified,
    /// It is fixed, and watched.
    Monitoring,
    /// It is over.
    Resolved,
}

/// How much of the service an incident affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum IncidentImpact {
    /// Some calls are slow or fail.
    Minor,
    /// Many calls fail.
    Major,
    /// Nothing works.
    Critical,
}

impl IncidentState {
    /// Every state once, in their usual order.
    pub const ALL: [Self; 4] = *Self::VARIANTS.as_array().unwrap();
}

impl IncidentImpact {
    /// Every impact once.
    pub const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();
}

crate::named!(IncidentState, IncidentImpact);

/// A request to post an update of an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewUpdate {
    state: IncidentState,
    message: String,
}

/// A request to create an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewIncident {
    title: String,
    impact: IncidentImpact,
    tools: Vec<Tool>,
    first: NewUpdate,
}

/// What was said of an incident at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentUpdate {
    /// The time.
    pub at: UnixMillis,
    /// The state from then on.
    pub state: IncidentState,
    /// The message.
    pub message: String,
}

/// An incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// The public name.
    pub id: IncidentId,
    /// The title.
    pub title: String,
    /// How much of the service it affects.
    pub impact: IncidentImpact,
    /// The tools that it affects; empty if it is the service itself.
    pub tools: Vec<Tool>,
    /// What was said, the oldest first. There is at least one.
    pub updates: Vec<IncidentUpdate>,
    /// The name of the `Idempotency-Key` under which it was created.
    request: Option<String>,
}

/// Why an incident is not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentRefusal {
    /// There is no such incident.
    Unknown,
    /// The `Idempotency-Key` was used for another one.
    Reused,
    /// It has as many updates as one may have.
    Full,
}

impl From<IncidentRefusal> for Problem {
    fn from(refusal: IncidentRefusal) -> Self {
        match refusal {
            IncidentRefusal::Unknown => incident_unknown(),
            IncidentRefusal::Reused => Self::new(
                codes::IDEMPOTENCY_KEY_REUSED,
                "this Idempotency-Key was sent with another incident within the last 24 hours",
            ),
            IncidentRefusal::Full => {
                let detail = format!("the incident has {MAX_UPDATES} updates, the most that one may have");
                Self::invalid_fields(&[FieldError { pointer: "#".to_owned(), detail }])
            }
        }
    }
}

/// Returns the refusal of an incident that there is not.
pub fn incident_unknown() -> Problem {
    Problem::new(codes::INCIDENT_UNKNOWN, "there is no incident with this id, or it was deleted")
}

/// An error of a value. It follows the pointer to the value.
#[derive(Debug, Error)]
enum ValueError {
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("must be one of {}", IncidentState::ALL.map(IncidentState::as_str).join(", "))]
    NotAState,
    #[error("must be one of {}", IncidentImpact::ALL.map(IncidentImpact::as_str).join(", "))]
    NotAnImpact,
    #[error("must be one of {}", Tool::ALL.map(Tool::as_str).join(", "))]
    NotATool,
}

impl NewIncident {
    /// Reads the body of `POST /v1/status/incidents`. An incident begins as one that is looked into, unless it says
    /// otherwise.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let title = fields.required("title", |value| parse_line(value, MAX_TITLE));
        let impact = fields.required("impact", parse_impact);
        let mut tools = match fields.contains("tools") {
            true => fields.required_items("tools", Tool::ALL.len(), parse_tool),
            false => Vec::new(),
        };
        sort_by_key(&mut tools, |tool| *tool);
        tools.dedup();
        let state = fields.optional("state", parse_state).unwrap_or(IncidentState::Investigating);
        let message = fields.required("message", |value| parse_line(value, MAX_MESSAGE));
        fields.finish()?;
        match (title, impact, message) {
            (Some(title), Some(impact), Some(message)) => {
                Ok(Self { title, impact, tools, first: NewUpdate { state, message } })
            }
            // `finish` has refused already.
            _ => Err(Problem::invalid_fields(&[])),
        }
    }
}

impl NewUpdate {
    /// Reads the body of `POST /v1/status/incidents/{id}/updates`.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let state = fields.required("state", parse_state);
        let message = fields.required("message", |value| parse_line(value, MAX_MESSAGE));
        fields.finish()?;
        match (state, message) {
            (Some(state), Some(message)) => Ok(Self { state, message }),
            // `finish` has refused already.
            _ => Err(Problem::invalid_fields(&[])),
        }
    }

    fn at(self, at: UnixMillis) -> IncidentUpdate {
        IncidentUpdate { at, state: self.state, message: self.message }
    }

    fn is_said_by(&self, update: &IncidentUpdate) -> bool {
        (self.state, &self.message) == (update.state, &update.message)
    }
}

impl Incident {
    /// Returns the time at which it was created.
    pub fn created_at(&self) -> UnixMillis {
        self.updates.first().map(|update| update.at).unwrap_or_default()
    }

    /// Returns the time of its last update.
    pub fn updated_at(&self) -> UnixMillis {
        self.updates.last().map(|update| update.at).unwrap_or_default()
    }

    /// Returns the state.
    pub fn state(&self) -> IncidentState {
        self.updates.last().map_or(IncidentState::Investigating, |update| update.state)
    }

    /// Returns the incident as its readers see it.
    pub fn describe(&self) -> Value {
        let update = |update: &IncidentUpdate| json!({ "at": update.at.to_rfc3339(), "state": update.state, "message": update.message });
        let resolved_at = (self.state() == IncidentState::Resolved).then(|| self.updated_at().to_rfc3339());
        json!({
            "id": self.id,
            "title": self.title,
            "impact": self.impact,
            "tools": self.tools,
            "state": self.state(),
            "created_at": self.created_at().to_rfc3339(),
            "resolved_at": resolved_at,
            "updates": self.updates.iter().rev().map(update).collect::<Value>(),
        })
    }

    fn is_of(&self, new: &NewIncident) -> bool {
        (&self.title, self.impact, &self.tools) == (&new.title, new.impact, &new.tools)
            && self.updates.first().is_some_and(|first| new.first.is_said_by(first))
    }
}

/// The incidents that are kept, the newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incidents(pub Vec<Incident>);

impl Incidents {
    /// Adds an incident, or returns the one that the same request has created within a day.
    ///
    /// # Errors
    /// Returns [`IncidentRefusal::Reused`].
    pub fn create(
        &mut self,
        id: IncidentId,
        new: NewIncident,
        request: Option<String>,
        now: UnixMillis,
    ) -> Result<Incident, IncidentRefusal> {
        let is_same = |known: &&Incident| {
            request.is_some() && known.request == request && now.since(known.created_at()) < KEEP_MS
        };
        if let Some(known) = self.0.iter().find(is_same) {
            return if known.is_of(&new) { Ok(known.clone()) } else { Err(IncidentRefusal::Reused) };
        }
        let NewIncident { title, impact, tools, first } = new;
        let incident = Incident { id, title, impact, tools, updates: vec![first.at(now)], request };
        self.0.insert(0, incident.clone());
        self.0.truncate(MAX_INCIDENTS);
        Ok(incident)
    }

    /// Adds an update. One that says what the last one says changes nothing, so that it can be sent again.
    ///
    /// # Errors
    /// Returns [`IncidentRefusal::Unknown`] or [`IncidentRefusal::Full`].
    pub fn update(
        &mut self,
        id: IncidentId,
        new: NewUpdate,
        now: UnixMillis,
    ) -> Result<Incident, IncidentRefusal> {
        let known = self.0.iter_mut().find(|incident| incident.id == id).ok_or(IncidentRefusal::Unknown)?;
        if !known.updates.last().is_some_and(|last| new.is_said_by(last)) {
            if known.updates.len() >= MAX_UPDATES {
                return Err(IncidentRefusal::Full);
            }
            known.updates.push(new.at(now));
        }
        Ok(known.clone())
    }

    /// Deletes an incident.
    ///
    /// # Errors
    /// Returns [`IncidentRefusal::Unknown`].
    pub fn delete(&mut self, id: IncidentId) -> Result<Incident, IncidentRefusal> {
        let place = self.0.iter().position(|incident| incident.id == id).ok_or(IncidentRefusal::Unknown)?;
        Ok(self.0.remove(place))
    }

    /// Returns an incident.
    ///
    /// # Errors
    /// Returns `incident-unknown`.
    pub fn find(&self, id: IncidentId) -> Result<&Incident, Problem> {
        self.0.iter().find(|incident| incident.id == id).ok_or_else(incident_unknown)
    }

    /// Returns the response body of `GET /v1/status/incidents`.
    pub fn describe(&self) -> Value {
        json!({ "incidents": self.0.iter().map(Incident::describe).collect::<Value>() })
    }
}

fn parse_line(value: &Value, limit: usize) -> Result<String, ValueError> {
    Ok(line(value, limit)?)
}

fn parse_state(value: &Value) -> Result<IncidentState, ValueError> {
    text(value)?.parse().map_err(|_| ValueError::NotAState)
}

fn parse_impact(value: &Value) -> Result<IncidentImpact, ValueError> {
    text(value)?.parse().map_err(|_| ValueError::NotAnImpact)
}

fn parse_tool(value: &Value) -> Result<Tool, ValueError> {
    text(value)?.parse().map_err(|_| ValueError::NotATool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestId;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn id(number: u8) -> IncidentId {
        IncidentId::new([number; 12])
    }

    fn new(title: &str) -> NewIncident {
        let body =
            json!({ "title": title, "impact": "major", "tools": ["qr", "pdf", "qr"], "message": "We look." });
        NewIncident::read(body.to_string().as_bytes()).unwrap()
    }

    fn update(state: &str, message: &str) -> NewUpdate {
        NewUpdate::read(json!({ "state": state, "message": message }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn incident_goes_from_investigating_to_resolved() {
        let mut incidents = Incidents::default();
        let created = incidents.create(id(1), new("Slow"), None, NOW).unwrap().describe();
        assert_eq!((&created["state"], &created["resolved_at"]), (&json!("investigating"), &Value::Null));
        assert_eq!(created["tools"], json!(["pdf", "qr"]));
        let resolved = incidents.update(id(1), update("resolved", "Mended."), NOW.plus(60_000)).unwrap();
        let body = resolved.describe();
        assert_eq!(
            (&body["state"], &body["resolved_at"]),
            (&json!("resolved"), &json!("2025-11-21T08:01:00Z"))
        );
        assert_eq!(body["updates"][0]["message"], "Mended.", "the newest first");
        assert_eq!(incidents.update(id(1), update("resolved", "Mended."), NOW.plus(90_000)), Ok(resolved));
        assert_eq!(incidents.update(id(2), update("resolved", "x"), NOW), Err(IncidentRefusal::Unknown));
        incidents.delete(id(1)).unwrap();
        assert_eq!(incidents.delete(id(1)), Err(IncidentRefusal::Unknown));
        assert_eq!(incidents.find(id(1)).unwrap_err().code(), codes::INCIDENT_UNKNOWN);
    }

    #[test]
    fn repeated_request_creates_one_incident() {
        let mut incidents = Incidents::default();
        let name = || Some("a".to_owned());
        let first = incidents.create(id(1), new("Slow"), name(), NOW).unwrap();
        assert_eq!(incidents.create(id(2), new("Slow"), name(), NOW.plus(KEEP_MS - 1)), Ok(first));
        assert_eq!(incidents.create(id(2), new("Fast"), name(), NOW.plus(1)), Err(IncidentRefusal::Reused));
        incidents.create(id(2), new("Slow"), name(), NOW.plus(KEEP_MS)).unwrap();
        incidents.create(id(3), new("Slow"), None, NOW.plus(KEEP_MS)).unwrap();
        assert_eq!(incidents.0.iter().map(|incident| incident.id).collect::<Vec<_>>(), [id(3), id(2), id(1)]);
    }

    #[test]
    fn incidents_and_updates_have_a_limit() {
        let mut incidents = Incidents::default();
        for number in 0..=u8::try_from(MAX_INCIDENTS).unwrap() {
            incidents.create(id(number), new("Slow"), None, NOW).unwrap();
        }
        assert_eq!(incidents.0.len(), MAX_INCIDENTS);
        assert!(incidents.find(id(0)).is_err(), "the oldest one gave way");
        for number in 1..MAX_UPDATES {
            incidents.update(id(1), update("monitoring", &number.to_string()), NOW).unwrap();
        }
        let full = incidents.update(id(1), update("resolved", "x"), NOW);
        assert_eq!(full, Err(IncidentRefusal::Full));
        assert_eq!(Problem::from(IncidentRefusal::Full).code(), codes::FIELDS_INVALID);
    }

    #[test]
    fn every_fault_of_a_request_is_named() {
        let body = json!({ "title": " ", "impact": "big", "tools": ["hologram"], "state": "over", "message": "a\u{0}b", "tool": 1 });
        let refused = NewIncident::read(body.to_string().as_bytes()).unwrap_err().render(&RequestId([0; 16]));
        let body: Value = serde_json::from_str(&refused.body).unwrap();
        let pointers: Vec<_> =
            body["errors"].as_array().unwrap().iter().map(|fault| fault["pointer"].clone()).collect();
        assert_eq!(pointers, ["#/title", "#/impact", "#/tools/0", "#/state", "#/message", "#/tool"]);
        assert!(NewUpdate::read(b"{}").is_err());
    }
}
