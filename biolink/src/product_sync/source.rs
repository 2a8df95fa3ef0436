//! A source, as its account keeps it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shared::{
    fields::Fields,
    problem::{FieldError, Problem},
    time::UnixMillis,
};

use super::SourceSettings;
use crate::{
    fetch_url::{FetchPolicy, FetchUrl},
    page::{PageId, SourceId},
    webhooks::{SealedSecret, WebhookSecret},
};

/// A source of products of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its id.
    pub id: SourceId,
    /// The page that shows its products.
    pub page: PageId,
    /// Its settings.
    pub settings: SourceSettings,
    /// The secret under which the shop signs pushes, encrypted for the account.
    pub secret: Option<SealedSecret>,
    /// Counts its changes.
    pub version: u64,
    /// The moment of creation.
    pub created_at: UnixMillis,
    /// The moment of the last change.
    pub updated_at: UnixMillis,
    /// The number of the newest edit that its object has made of the page.
    #[serde(default)]
    pub synced: u64,
}

/// The members of a source that a client writes, with what the shell found out before: it knows the gateway's
/// hosts and the keys of secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceWrite {
    /// The body, a JSON object as text, without secrets.
    pub body: String,
    /// Errors of the URL and of the secret: JSON Pointers with what is wrong.
    #[serde(default)]
    pub faults: Vec<(String, String)>,
    /// The secret that the client brings, encrypted.
    pub given: Option<SealedSecret>,
    /// A new secret, encrypted, in case one is needed.
    pub drawn: SealedSecret,
}

impl Source {
    /// Reads a new source.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every fault.
    pub fn create(write: &SourceWrite, id: SourceId, page: PageId, now: UnixMillis) -> Result<Self, Problem> {
        let members = Fields::read(write.body.as_bytes())?.into_members();
        let settings = read(members, write)?;
        let secret = settings.push.then(|| write.secret().clone());
        Ok(Self { id, page, settings, secret, version: 1, created_at: now, updated_at: now, synced: 0 })
    }

    /// Returns the source after a merge patch (RFC 7396). Switching push on draws a secret, and a
    /// secret that the client brings replaces the one there is.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every fault.
    pub fn patch(&self, write: &SourceWrite, now: UnixMillis) -> Result<Self, Problem> {
        let patch = Fields::read(write.body.as_bytes())?.into_members();
        let mut members = self.settings.describe();
        merge(&mut members, patch);
        let settings = read(members, write)?;
        // Not after push was off: a secret of that time may be known to whoever had access then.
        let kept = self.secret.clone().filter(|_| self.settings.push && write.given.is_none());
        let secret = settings.push.then(|| kept.unwrap_or_else(|| write.secret().clone()));
        if settings == self.settings && secret == self.secret {
            return Ok(self.clone());
        }
        let version = self.version.saturating_add(1);
        Ok(Self { settings, secret, version, updated_at: now, ..self.clone() })
    }

    /// Returns the source as the account's object describes it. `sealed` is its secret if this
    /// response is to show it; [`complete`](super::complete) decrypts it.
    pub fn describe(&self, sealed: Option<&SealedSecret>) -> Value {
        let mut members = Map::new();
        members.insert("id".to_owned(), json!(self.id));
        members.insert("object".to_owned(), "product_source".into());
        members.insert("page_id".to_owned(), json!(self.page));
        members.extend(self.settings.describe());
        if let (Some(sealed), Some(Value::Object(push))) = (sealed, members.get_mut("push")) {
            push.insert("sealed".to_owned(), json!(sealed));
        }
        members.insert("created_at".to_owned(), self.created_at.to_rfc3339().into());
        members.insert("updated_at".to_owned(), self.updated_at.to_rfc3339().into());
        Value::Object(members)
    }
}

impl SourceSettings {
    /// Returns the settings as a client writes them.
    fn describe(&self) -> Map<String, Value> {
        let filter = &self.selection.filter;
        let described = json!({
            "url": self.url,
            "format": self.format.map_or("auto", |format| format.as_str()),
            "encoding": self.encoding,
            "currency": self.currency,
            "number_format": self.number_format.as_str(),
            "store_url": self.store_url,
            "max_items": self.selection.max_items,
            "filter": {
                "tags": filter.tags,
                "availability": filter.availability.iter().map(|availability| json!(availability)).collect::<Vec<_>>(),
                "min_price": filter.min_price,
                "max_price": filter.max_price,
            },
            "sort": self.selection.order.as_str(),
            "push": { "enabled": self.push },
        });
        described.as_object().cloned().unwrap_or_default()
    }
}

impl SourceWrite {
    /// The shortest and the longest secret that a client brings, in characters.
    const SECRET: std::ops::RangeInclusive<usize> = 16..=128;

    /// Prepares a body for its account: checks the URL under the policy, and takes the secret out.
    /// `seal` encrypts a secret, and `drawn` is a new one. A body that is not a JSON object stays as
    /// it is, for the account to refuse.
    pub fn prepare(
        body: &str,
        policy: &FetchPolicy,
        drawn: &WebhookSecret,
        seal: impl Fn(&[u8]) -> SealedSecret,
    ) -> Self {
        let mut write = Self {
            body: body.to_owned(),
            faults: Vec::new(),
            given: None,
            drawn: seal(drawn.reveal().as_bytes()),
        };
        let Ok(mut members) = Fields::read(body.as_bytes()).map(Fields::into_members) else { return write };
        if let Some(Err(error)) =
            members.get("url").and_then(Value::as_str).map(|url| FetchUrl::parse(url.trim(), policy))
        {
            write.faults.push(("#/url".to_owned(), error.to_string()));
        }
        let secret =
            // Taken out: the body goes on to the account, which stores no secret in clear.
            members.get_mut("push").and_then(Value::as_object_mut).and_then(|push| push.remove("secret"));
        match secret {
            None | Some(Value::Null) => {}
            Some(Value::String(secret)) if is_secret(&secret) => write.given = Some(seal(secret.as_bytes())),
            Some(_) => {
                let detail = "must be `whsec_` and base64 of 24 to 64 bytes, or another text of 16 to 128 visible ASCII characters";
                write.faults.push(("#/push/secret".to_owned(), detail.to_owned()));
            }
        }
        write.body = Value::Object(members).to_string();
        write
    }

    const fn secret(&self) -> &SealedSecret {
        match &self.given {
            Some(given) => given,
            None => &self.drawn,
        }
    }
}

fn read(members: Map<String, Value>, write: &SourceWrite) -> Result<SourceSettings, Problem> {
    let mut fields = Fields::of(members);
    let faults = write.faults.iter().cloned();
    // Together with the others, so that a client sees all faults at once.
    fields.add_errors(faults.map(|(pointer, detail)| FieldError { pointer, detail }).collect());
    fields.ignore(READ_ONLY);
    let settings = SourceSettings::read(&mut fields);
    fields.finish()?;
    // `finish` has refused already if there are none.
    settings.ok_or_else(|| Problem::invalid_fields(&[]))
}

/// Members of a source that a response has and a request may repeat.
const READ_ONLY: &[&str] = &["id", "object", "page_id", "created_at", "updated_at", "sync"];

fn is_secret(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_standard = !text.starts_with("whsec_") || WebhookSecret::parse(text).is_ok();
    is_plain && is_standard && SourceWrite::SECRET.contains(&text.len())
}

/// Merges a patch into a JSON object (RFC 7396).
fn merge(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, value) in patch {
        match (target.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(patch)) => merge(inner, patch),
            (_, value) => {
                target.insert(name, value);
            }
        }
    }
}
