//! Named secrets of the caller's key: `/v1/keys/me/secrets` and below.

use serde_json::{Value, json};

use super::change::{read_grace, secret_unknown};
use super::values::{ValueError, parse_bool, parse_expiry, parse_name};
use crate::fields::{Fields, text};
use crate::key::{ApiKey, KeyEntropy, KeyRecord, NamedSecret, Scope, Scopes, SecretHash, SecretId};
use crate::label::Label;
use crate::meter::SecretChange;
use crate::problem::{Problem, codes};
use crate::response::Response;
use crate::route::SecretCall;
use crate::time::UnixMillis;
use crate::tool::Tool;

/// A request to make a named secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSecret {
    pub(super) name: String,
    pub(super) scopes: Scopes,
    pub(super) expires_at: Option<UnixMillis>,
}

impl NewSecret {
    /// Reads the body: `name`, `scopes`, and perhaps `expires_at`.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn read(body: &[u8], now: UnixMillis) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let taken = Self::take(&mut fields, now);
        fields.finish()?;
        // `finish` has refused already.
        taken.ok_or_else(|| Problem::invalid_fields(&[]))
    }

    /// Takes the members of a body that has others too. What is wrong with them is among its errors.
    pub fn take(fields: &mut Fields, now: UnixMillis) -> Option<Self> {
        let name = fields.required("name", parse_name);
        // Without a default: a secret that was meant to be narrow must not get everything by an
        // omission.
        if !fields.contains("scopes") {
            fields.add_error("scopes", "is missing".to_owned());
        }
        let scopes = take_scopes(fields);
        let expires_at = fields.nullable("expires_at", |value| parse_expiry(value, now));
        Some(Self { name: name?, scopes: scopes?, expires_at })
    }

    /// Returns what the secret may do.
    pub const fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Returns the change that checks whether the caller may make it, and makes nothing.
    pub const fn check(&self) -> SecretChange {
        SecretChange::Check { scopes: self.scopes, expires_at: self.expires_at }
    }

    /// Returns the secret as the record keeps it. It is made of what was drawn, at this moment.
    pub fn make(self, drawn: &KeyEntropy, at: UnixMillis) -> NamedSecret {
        let (id, hash) = (drawn.secret_id(), SecretHash::of(&drawn.secret));
        let Self { name, scopes, expires_at } = self;
        NamedSecret { id, name, scopes, hash, former: None, created_at: at, expires_at, connection: None }
    }
}

/// Reads the body of a `PATCH`: any of `name`, `scopes`, `expires_at`. A `null` takes the expiry away.
///
/// # Errors
/// Returns `body-malformed`, or `fields-invalid` with every error. A body that changes nothing is an
/// error.
fn read_secret_change(id: SecretId, body: &[u8], now: UnixMillis) -> Result<SecretChange, Problem> {
    let mut fields = Fields::read(body)?;
    // Before the fields are taken: null takes the expiry away, and nothing leaves it as it is.
    let endless = fields.is_null("expires_at").then_some(None);
    if fields.is_empty() {
        fields.add_object_error("changes nothing; name a field to change");
    }
    let name = fields.optional("name", parse_name);
    let scopes = take_scopes(&mut fields);
    let expires_at = fields.nullable("expires_at", |value| parse_expiry(value, now)).map(Some).or(endless);
    fields.finish()?;
    Ok(SecretChange::Patch { id, name, scopes, expires_at })
}

/// Takes the member `scopes`, if it is there. What it leaves out is none of the scopes.
fn take_scopes(fields: &mut Fields) -> Option<Scopes> {
    if fields.is_null("scopes") {
        fields.add_error("scopes", "must be an object, not null".to_owned());
    }
    fields.nullable_object("scopes", |scopes| {
        let tools = if scopes.contains("tools") {
            scopes.required_items("tools", Tool::ALL.len(), parse_tools)
        } else {
            Vec::new()
        };
        let biolink = scopes.optional("biolink", parse_biolink).flatten();
        let keys = scopes.optional("keys", parse_bool).filter(|keys| *keys).map(|_| Scope::Keys);
        tools.into_iter().chain(biolink).chain(keys).fold(Scopes::NONE, Scopes::with)
    })
}

fn parse_tools(value: &Value) -> Result<Scope, ValueError> {
    match text(value)? {
        "all" => Ok(Scope::AllTools),
        name => name.parse::<Label>().map(Scope::Tool).map_err(|_| ValueError::NotATool),
    }
}

fn parse_biolink(value: &Value) -> Result<Option<Scope>, ValueError> {
    match text(value)? {
        "none" => Ok(None),
        "read" => Ok(Some(Scope::BiolinkRead)),
        "write" => Ok(Some(Scope::BiolinkWrite)),
        "admin" => Ok(Some(Scope::BiolinkAdmin)),
        _ => Err(ValueError::NotAnAccess),
    }
}

/// Returns the list of a key's named secrets, the oldest first.
pub fn describe_secrets(record: &KeyRecord) -> Value {
    with_secrets(json!({}), record)
}

/// Returns the description of a key with its named secrets, for an administrator.
pub fn with_secrets(mut key: Value, record: &KeyRecord) -> Value {
    if let Some(members) = key.as_object_mut() {
        members.insert("secrets".to_owned(), record.secrets.iter().map(describe).collect());
    }
    key
}

impl SecretCall {
    /// Returns true if the request may have a body.
    pub const fn has_body(self) -> bool {
        !matches!(self, Self::Revoke(_))
    }

    /// Returns true if a retry of the request can name the first one.
    pub const fn takes_idempotency_key(self) -> bool {
        matches!(self, Self::Create)
    }

    /// Reads the body. Returns the id of the secret and its change. `drawn` becomes a new secret.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn read(
        self,
        body: &[u8],
        drawn: &KeyEntropy,
        now: UnixMillis,
    ) -> Result<(SecretId, SecretChange), Problem> {
        let hash = SecretHash::of(&drawn.secret);
        Ok(match self {
            Self::Create => {
                let secret = NewSecret::read(body, now)?.make(drawn, now);
                (secret.id, SecretChange::Add(secret))
            }
            Self::Change(id) => (id, read_secret_change(id, body, now)?),
            Self::Revoke(id) => (id, SecretChange::Revoke { id }),
            Self::Rotate(id) => (id, SecretChange::Rotate { id, hash, grace_ms: read_grace(body)? }),
        })
    }

    /// Returns the response after the change. `mint` makes the text of a new secret, which is shown this
    /// once.
    ///
    /// # Errors
    /// Returns `secret-unknown` if the secret was revoked meanwhile.
    pub fn respond(
        self,
        record: &KeyRecord,
        id: SecretId,
        mint: impl FnOnce() -> ApiKey,
    ) -> Result<Response, Problem> {
        if matches!(self, Self::Revoke(_)) {
            return Ok(Response::no_content());
        }
        let secret = record.secrets.iter().find(|secret| secret.id == id).ok_or_else(secret_unknown)?;
        Ok(match self {
            Self::Create => created_secret(secret, &mint()),
            Self::Rotate(_) => {
                let until = secret.former.map(|former| former.until.to_rfc3339());
                let rotation = json!({ "former_key_valid_until": until });
                let key = json!(mint().reveal());
                Response::json(with_members(secret, [("key", key), ("rotation", rotation)]))
            }
            Self::Change(_) | Self::Revoke(_) => Response::json(with_members(secret, [])),
        })
    }
}

/// Returns the response to a creation under an `Idempotency-Key`, the first one or a replay. `record` is the
/// key's as it is now, and `asked` the secret as it was asked for. `mint` makes its text.
///
/// Whoever may have the secret that was asked for need not be allowed the one that was made. So the text is shown
/// only while both are the same.
///
/// # Errors
/// Returns `idempotency-conflict` if the secret was changed, rotated or revoked since.
pub fn created_once(
    record: &KeyRecord,
    asked: &NamedSecret,
    mint: impl FnOnce() -> ApiKey,
) -> Result<Response, Problem> {
    match record.secrets.iter().find(|secret| secret.id == asked.id) {
        Some(secret) if secret == asked => Ok(created_secret(secret, &mint())),
        _ => Err(Problem::new(
            codes::IDEMPOTENCY_CONFLICT,
            "the secret that the first request made was changed, rotated or revoked since, so its text is not shown again; find it in the list and rotate it, or make another",
        )),
    }
}

/// Returns the response with a new secret, whose text is shown this once.
fn created_secret(secret: &NamedSecret, key: &ApiKey) -> Response {
    let body = with_members(secret, [("key", json!(key.reveal()))]);
    Response::created(body, format!("/v1/keys/me/secrets/{}", secret.id))
}

/// Returns a secret as JSON, with further members.
fn with_members<const N: usize>(secret: &NamedSecret, members: [(&str, Value); N]) -> String {
    let mut body = describe(secret);
    if let Some(object) = body.as_object_mut() {
        object.extend(members.map(|(name, value)| (name.to_owned(), value)));
    }
    body.to_string()
}

/// Returns a secret as JSON, without its text.
pub(super) fn describe(secret: &NamedSecret) -> Value {
    json!({
        "id": secret.id,
        "name": secret.name,
        "scopes": {
            "tools": secret.scopes.tools(),
            "biolink": secret.scopes.biolink(),
            "keys": secret.scopes.contains(Scope::Keys),
        },
        "created_at": secret.created_at.to_rfc3339(),
        "expires_at": secret.expires_at.map(UnixMillis::to_rfc3339),
        "is_connection": secret.connection.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::idempotency::IdempotencyKey;
    use crate::key::{FormerSecret, KeyEnv, KeyId};
    use crate::request_id::RequestId;
    use crate::secret::MacKeys;
    use crate::tier::Tier;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
    const ID: SecretId = SecretId::new([7; 8]);

    fn key(secret: u8) -> ApiKey {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Pro, NOW, [secret; 16], &keys).0
    }

    fn with(secrets: Vec<NamedSecret>) -> KeyRecord {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let own = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Pro, NOW, [9; 16], &keys).1;
        KeyRecord { secrets, ..KeyRecord::provisional(&own) }
    }

    fn errors(problem: Problem) -> Vec<String> {
        let body: Value = serde_json::from_str(&problem.render(&RequestId([0; 16])).body).unwrap();
        let pointer = |error: &Value| error["pointer"].as_str().unwrap().to_owned();
        body["errors"].as_array().unwrap().iter().map(pointer).collect()
    }

    #[test]
    fn new_secret_has_the_scopes_that_it_names_and_no_others() {
        let body = br#"{"name":" CI ","scopes":{"tools":["qr","pdf"],"biolink":"read"}}"#;
        let secret =
            NewSecret::read(body, NOW).unwrap().make(&KeyEntropy { id: [7; 12], secret: [1; 16] }, NOW);
        let shown = describe(&secret);
        assert_eq!(shown["name"], "CI");
        let scopes = json!({"tools": ["pdf", "qr"], "biolink": "read", "keys": false});
        assert_eq!((&shown["scopes"], &shown["expires_at"]), (&scopes, &Value::Null));
        let all =
            NewSecret::read(br#"{"name":"x","scopes":{"tools":["all"],"biolink":"admin","keys":true}}"#, NOW);
        assert_eq!(all.unwrap().scopes, Scopes::ALL);
        assert_eq!(NewSecret::read(br#"{"name":"x","scopes":{}}"#, NOW).unwrap().scopes, Scopes::NONE);
    }

    #[test]
    fn replayed_response_is_the_first_byte_for_byte() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let header = IdempotencyKey::read(Some("order-17")).unwrap().unwrap();
        let made = |now| {
            let new = NewSecret::read(br#"{"name":"CI","scopes":{"tools":["qr"]}}"#, now).unwrap();
            let drawn = header.entropy("n", &keys);
            let secret = new.make(&drawn, NOW);
            let (id, tier) = (KeyId::new([1; 12]), Tier::Pro);
            let record = with(vec![secret.clone()]);
            let mint = || ApiKey::mint_named(KeyEnv::Live, id, tier, NOW, drawn.secret, &keys).0;
            created_once(&record, &secret, mint).unwrap().body
        };
        assert_eq!(made(NOW), made(NOW.plus(60_000)));
        let name = |header: &str, key: u8| {
            IdempotencyKey::read(Some(header)).unwrap().unwrap().name_of_secret(&KeyId::new([key; 12]))
        };
        assert_eq!(name("order-17", 1), name("order-17", 1));
        assert_ne!(name("order-17", 1), name("order-18", 1));
        assert_ne!(name("order-17", 1), name("order-17", 2), "another holder may send the same");
        assert_ne!(name("order-17", 1), header.name());
    }

    /// Each of them is more than, or another one than, what the caller had asked for.
    #[test]
    fn replay_shows_no_secret_that_was_changed_since() {
        let body = br#"{"name":"CI","scopes":{"tools":["qr"]},"expires_at":"2099-01-01T00:00:00Z"}"#;
        let drawn = KeyEntropy { id: [7; 12], secret: [1; 16] };
        let asked = NewSecret::read(body, NOW).unwrap().make(&drawn, NOW);
        let shown = |secrets| created_once(&with(secrets), &asked, || key(1)).map(|response| response.status);
        assert_eq!(shown(vec![asked.clone()]), Ok(201));
        let former = Some(FormerSecret { hash: asked.hash, until: NOW.plus(1) });
        for secrets in [
            vec![NamedSecret { scopes: Scopes::ALL, ..asked.clone() }],
            vec![NamedSecret { expires_at: None, ..asked.clone() }],
            vec![NamedSecret { name: "CD".to_owned(), ..asked.clone() }],
            vec![NamedSecret { hash: SecretHash::of(&[2; 16]), former, ..asked.clone() }],
            vec![],
        ] {
            let refused = shown(secrets.clone()).unwrap_err();
            assert_eq!(refused.code(), codes::IDEMPOTENCY_CONFLICT, "{secrets:?}");
        }
    }

    #[test]
    fn request_for_other_scopes_is_another_one() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let attempt = |body: &str| {
            IdempotencyKey::attempt_secret(&NewSecret::read(body.as_bytes(), NOW).unwrap(), [1; 16], &keys)
        };
        let first = attempt(r#"{"name":"CI","scopes":{"tools":["qr"]}}"#);
        assert_eq!(attempt(r#"{"scopes":{"tools":["qr"],"keys":false},"name":"CI"}"#), first);
        for other in [
            r#"{"name":"CI","scopes":{"tools":["all"]}}"#,
            r#"{"name":"CD","scopes":{"tools":["qr"]}}"#,
            r#"{"name":"CI","scopes":{"tools":["qr"]},"expires_at":"2099-01-01T00:00:00Z"}"#,
        ] {
            assert_ne!(attempt(other), first, "{other}");
        }
    }

    #[test]
    fn every_error_of_a_secret_is_named() {
        let body = br#"{"name":"","scopes":{"tools":["qr","qrr"],"biolink":"all","keys":1,"x":1},"expires_at":"1999-01-01T00:00:00Z"}"#;
        let pointers =
            ["#/name", "#/scopes/tools/1", "#/scopes/biolink", "#/scopes/keys", "#/scopes/x", "#/expires_at"];
        assert_eq!(errors(NewSecret::read(body, NOW).unwrap_err()), pointers);
        for (body, pointers) in [
            (&br#"{}"#[..], &["#/name", "#/scopes"][..]),
            (br#"{"name":"x","scopes":null}"#, &["#/scopes"]),
            (br#"{"name":"x","scopes":{"tools":null}}"#, &["#/scopes/tools"]),
        ] {
            assert_eq!(errors(NewSecret::read(body, NOW).unwrap_err()), pointers);
        }
    }

    #[test]
    fn absent_field_of_a_secret_stays_and_null_removes() {
        let change = read_secret_change(ID, br#"{"expires_at":null}"#, NOW);
        let expected = SecretChange::Patch { id: ID, name: None, scopes: None, expires_at: Some(None) };
        assert_eq!(change, Ok(expected));
        for (body, pointer) in
            [(&br#"{}"#[..], "#"), (br#"{"scopes":null}"#, "#/scopes"), (br#"{"name":null}"#, "#/name")]
        {
            assert_eq!(errors(read_secret_change(ID, body, NOW).unwrap_err()), [pointer]);
        }
    }
}
