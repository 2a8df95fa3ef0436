//! The secrets of an endpoint, several of which are live during a rotation.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::{
    fields::{Fields, text},
    problem::{FieldError, Problem},
    time::UnixMillis,
};

use super::Endpoint;
use crate::{
    page::InvalidValue,
    webhooks::{SealedSecret, WebhookSecret},
};

/// Maximum number of secrets that sign at the same time.
pub const MAX_LIVE_SECRETS: usize = 3;
/// The usual grace period of a replaced secret, in seconds: a day.
pub const DEFAULT_GRACE_S: u64 = 86_400;
/// The longest grace period, in seconds: a week.
pub const MAX_GRACE_S: u64 = 604_800;

/// A secret of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveSecret {
    /// The secret, encrypted.
    pub secret: SealedSecret,
    /// The moment from which it does not sign any more; `None` for the current one.
    pub expires_at: Option<UnixMillis>,
}

/// The body of a rotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationInput {
    /// The time for which the replaced secret signs too, in seconds.
    pub grace_s: u64,
    /// The secret that the owner brings; `None` for a new random one.
    pub secret: Option<WebhookSecret>,
}

impl RotationInput {
    /// Reads a body, which may be empty.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        if body.is_empty() {
            return Ok(Self { grace_s: DEFAULT_GRACE_S, secret: None });
        }
        let mut fields = Fields::read(body)?;
        let grace_s = fields.nullable("grace_period_seconds", |value| {
            let seconds = value.as_u64().filter(|seconds| *seconds <= MAX_GRACE_S);
            seconds.ok_or_else(|| format!("must be a whole number of seconds from 0 to {MAX_GRACE_S}"))
        });
        let secret = fields.nullable("secret", parse_secret);
        fields.finish()?;
        Ok(Self { grace_s: grace_s.unwrap_or(DEFAULT_GRACE_S), secret })
    }
}

pub(super) fn parse_secret(value: &Value) -> Result<WebhookSecret, InvalidValue> {
    WebhookSecret::parse(text(value)?).map_err(|error| error.to_string().into())
}

impl Endpoint {
    /// Replaces the current secret. It and those before it sign until the grace period ends.
    ///
    /// # Errors
    /// Returns `fields-invalid` if more than [`MAX_LIVE_SECRETS`] would be live.
    pub fn rotate(&mut self, secret: SealedSecret, grace_s: u64, now: UnixMillis) -> Result<(), Problem> {
        let until = now.plus(grace_s.saturating_mul(1000));
        let mut secrets = vec![LiveSecret { secret, expires_at: None }];
        secrets.extend(self.secrets.iter().cloned().map(|old| LiveSecret {
            // Never later than before: a secret that was ended early would come back to life.
            expires_at: Some(old.expires_at.map_or(until, |before| before.min(until))),
            ..old
        }));
        // Before they are counted. Those that have expired must not keep the owner from a rotation.
        secrets.retain(|secret| secret.is_live(now));
        if secrets.len() > MAX_LIVE_SECRETS {
            let detail = format!(
                "{MAX_LIVE_SECRETS} secrets are live; wait until the oldest expires, or send `grace_period_seconds`: 0 to end all of them"
            );
            return Err(Problem::invalid_fields(&[FieldError { pointer: "#".to_owned(), detail }]));
        }
        self.secrets = secrets;
        self.note_change(now);
        Ok(())
    }

    /// Returns the secrets that sign now, the current one first.
    pub fn live_secrets(&self, now: UnixMillis) -> impl Iterator<Item = &SealedSecret> {
        self.secrets.iter().filter(move |secret| secret.is_live(now)).map(|secret| &secret.secret)
    }
}

impl LiveSecret {
    fn is_live(&self, now: UnixMillis) -> bool {
        self.expires_at.is_none_or(|until| now < until)
    }
}
