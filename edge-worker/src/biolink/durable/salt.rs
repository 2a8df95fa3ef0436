//! The object that draws the salt of visitors' numbers. There is one for all pages. It keeps each salt
//! for its day and an hour, and no copy of it exists but in the memory of isolates.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use biolink::stats::SaltRequest;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use crate::runtime::message::parse;
use crate::runtime::sql::{integer, rows, text};
use crate::runtime::{alarm, clock, entropy, log};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS salt (day INTEGER PRIMARY KEY, salt TEXT NOT NULL)";
const READ: &str = "SELECT salt FROM salt WHERE day = ?";
const STORE: &str = "INSERT INTO salt (day, salt) VALUES (?, ?)";
const DAYS: &str = "SELECT day FROM salt ORDER BY day";
const DESTROY: &str = "DELETE FROM salt WHERE day = ?";
/// Time from an alarm that failed to the next, in milliseconds.
const RETRY_MS: u64 = 600_000;

/// The salts of today, and of yesterday for an hour.
#[durable_object(alarm)]
pub struct Salt {
    object: ObjectState,
    sql: SqlStorage,
}

impl DurableObject for Salt {
    fn new(object: ObjectState, _env: Env) -> Self {
        let sql = object.storage().sql();
        Self { object, sql }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        match self.salt(parse(&request.text().await?)?).await {
            Ok(salt) => Response::ok(salt),
            Err(error) => {
                log::error(log::Event("salt step failed"), None, &[("error", &error)]);
                Err(error)
            }
        }
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and a salt would stay.
    async fn alarm(&self) -> Result<Response> {
        let ran = self.destroy().await.map(|()| None);
        alarm::end(
            &self.object,
            ran,
            RETRY_MS,
            [log::Event("salt alarm failed"), log::Event("salt alarm not set")],
        )
        .await
    }
}

impl Salt {
    /// Returns the salt of a day in base64. The first request draws it.
    async fn salt(&self, request: SaltRequest) -> Result<String> {
        // A salt that was destroyed must not be drawn afresh: the day's visitors would count twice.
        if !request.is_current(clock::now()) {
            return Err(format!("there is no salt of day {} any more, or not yet", request.day.0).into());
        }
        self.sql.exec(CREATE, None)?;
        let day = || integer(request.day.0);
        if let Some(known) = rows(&self.sql, READ, vec![day()?], text)?.pop() {
            return Ok(known);
        }
        // Before it exists, so that none is left without an alarm.
        // During the wait for the alarm another request may have drawn it.
        alarm::ensure(&self.object, request.destroyed_at()).await?;
        if let Some(known) = rows(&self.sql, READ, vec![day()?], text)?.pop() {
            return Ok(known);
        }
        let salt = STANDARD.encode(entropy::random::<32>()?);
        self.sql.exec(STORE, vec![day()?, salt.as_str().into()])?;
        Ok(salt)
    }

    /// Destroys what is over, and sets the alarm for the rest.
    async fn destroy(&self) -> Result<()> {
        self.sql.exec(CREATE, None)?;
        let days =
            rows(&self.sql, DAYS, Vec::new(), |row| row.first().and_then(crate::runtime::sql::number))?;
        for day in days {
            let request = SaltRequest { day: shared::time::UtcDay(day) };
            if request.is_current(clock::now()) {
                return alarm::ensure(&self.object, request.destroyed_at()).await;
            }
            self.sql.exec(DESTROY, vec![integer(day)?])?;
        }
        Ok(())
    }
}
