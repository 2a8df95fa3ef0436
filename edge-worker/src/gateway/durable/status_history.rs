//! The object that samples the status of the tools each minute, and keeps the samples of 90 days and
//! the incidents. There is one for the deployment. No tool call waits for it.
//!
//! Why: docs/decisions/portal.md, "One object samples the status by its alarm"

use std::cell::Cell;

use shared::json;
use shared::request_id::RequestId;
use shared::status::StatusReport;
use shared::status::history::{AvailabilityHistory, DaySamples, SAMPLE_MS};
use shared::status::incident::{Incident, Incidents};
use shared::status::message::{IncidentChange, IncidentReply, StatusMessage, StatusRecord};
use shared::time::{UnixMillis, UtcDay};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use crate::bindings::Bindings;
use crate::gateway::origin;
use crate::runtime::log;
use crate::runtime::message::{parse, respond};
use crate::runtime::sql::{integer, rows, text};
use crate::runtime::{alarm, clock, entropy};

/// A row has the samples of all tools on a day, or an incident, as JSON.
const CREATE: &str = "CREATE TABLE IF NOT EXISTS day (day INTEGER PRIMARY KEY, j TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS incident (place INTEGER PRIMARY KEY, j TEXT NOT NULL)";
const DAYS: &str = "SELECT j FROM day WHERE day >= ? ORDER BY day";
const STORE_DAY: &str =
    "INSERT INTO day (day, j) VALUES (?, ?) ON CONFLICT (day) DO UPDATE SET j = excluded.j";
const FORGET_DAYS: &str = "DELETE FROM day WHERE day < ?";
const INCIDENTS: &str = "SELECT j FROM incident ORDER BY place";
const FORGET_INCIDENTS: &str = "DELETE FROM incident";
const STORE_INCIDENT: &str = "INSERT INTO incident (place, j) VALUES (?, ?)";

/// The status history.
#[durable_object(alarm)]
pub struct StatusHistory {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    /// Whether the tables exist and the alarm is set.
    is_begun: Cell<bool>,
}

impl DurableObject for StatusHistory {
    fn new(object: ObjectState, env: Env) -> Self {
        let sql = object.storage().sql();
        Self { object, env, sql, is_begun: Cell::new(false) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        self.begin().await?;
        respond(request, log::Event("status history step failed"), |message| self.handle(message)).await
    }

    async fn alarm(&self) -> Result<Response> {
        // The next message sets an alarm if this one cannot.
        self.is_begun.set(false);
        let ran = self.sample().await.map(|()| Some(next_sample(clock::now())));
        let events = [log::Event("status sample failed"), log::Event("status alarm not set")];
        alarm::end(&self.object, ran, SAMPLE_MS, events).await
    }
}

impl StatusHistory {
    /// Creates the tables, and sets the first alarm.
    async fn begin(&self) -> Result<()> {
        if self.is_begun.replace(true) {
            return Ok(());
        }
        self.sql.exec(CREATE, None)?;
        if self.object.storage().get_alarm().await?.is_none() {
            alarm::set(&self.object, clock::now()).await?;
        }
        Ok(())
    }

    fn handle(&self, message: StatusMessage) -> Result<String> {
        Ok(match message {
            StatusMessage::Read => {
                let record =
                    StatusRecord { history: self.history(clock::now())?, incidents: self.incidents()? };
                json::to_string(&record)?
            }
            StatusMessage::Change(change) => json::to_string(&self.change(change)?)?,
        })
    }

    /// Asks the origins, and stores the sample of this minute. Without a configuration nothing is known.
    async fn sample(&self) -> Result<()> {
        let Ok(bindings) = Bindings::of_isolate(&self.env) else { return Ok(()) };
        let report = origin::status(&bindings, RequestId(entropy::random()?)).await;
        // Calls get 503 while no origin responds.
        let report = report.unwrap_or_else(|| StatusReport::new(|_| false));
        let now = clock::now();
        self.sql.exec(CREATE, None)?;
        let mut today = self.day(now.day())?;
        // The alarm may run twice in a minute. The second sample would count it double.
        if today.record(&report, now) {
            self.sql.exec(STORE_DAY, vec![integer(today.day.0)?, json::to_string(&today)?.into()])?;
            self.sql.exec(FORGET_DAYS, vec![integer(AvailabilityHistory::first_day(now).0)?])?;
        }
        Ok(())
    }

    fn day(&self, day: UtcDay) -> Result<DaySamples> {
        let found = self.days_from(day)?.into_iter().find(|samples| samples.day == day);
        Ok(found.unwrap_or_else(|| DaySamples::new(day)))
    }

    fn history(&self, now: UnixMillis) -> Result<AvailabilityHistory> {
        self.days_from(AvailabilityHistory::first_day(now)).map(AvailabilityHistory)
    }

    fn days_from(&self, day: UtcDay) -> Result<Vec<DaySamples>> {
        let days = rows(&self.sql, DAYS, vec![integer(day.0)?], text)?;
        days.iter().map(|day| parse(day)).collect()
    }

    fn incidents(&self) -> Result<Incidents> {
        let found = rows(&self.sql, INCIDENTS, Vec::new(), text)?;
        found.iter().map(|incident| parse(incident)).collect::<Result<Vec<Incident>>>().map(Incidents)
    }

    fn change(&self, change: IncidentChange) -> Result<IncidentReply> {
        let (before, now) = (self.incidents()?, clock::now());
        let mut incidents = before.clone();
        let reply = match change {
            IncidentChange::Create { id, new, request } => incidents.create(id, new, request, now),
            IncidentChange::Update { id, new } => incidents.update(id, new, now),
            IncidentChange::Delete { id } => incidents.delete(id),
        };
        if incidents != before {
            self.store(&incidents)?;
        }
        Ok(reply)
    }

    /// Replaces all incidents, which are few and rarely change.
    fn store(&self, incidents: &Incidents) -> Result<()> {
        self.sql.exec(FORGET_INCIDENTS, None)?;
        for (place, incident) in (0..).zip(&incidents.0) {
            self.sql.exec(STORE_INCIDENT, vec![integer(place)?, json::to_string(incident)?.into()])?;
        }
        Ok(())
    }
}

/// Returns a moment in the next minute. Not its first one: an alarm may come a little early.
fn next_sample(now: UnixMillis) -> UnixMillis {
    const MARGIN_MS: u64 = 1_000;
    UnixMillis((now.0 / SAMPLE_MS + 1) * SAMPLE_MS + MARGIN_MS)
}
