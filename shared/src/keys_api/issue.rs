//! Issuing a key: `POST /v1/keys/issue` (spec section 2).

use std::num::NonZeroU32;

use email_address::{EmailAddress, Options};
use serde_json::{Value, json};

use crate::{
    fields::{Fields, text},
    key::{ApiKey, BiolinkPlan, KeyEntropy, KeyEnv, KeyHolder, KeyId, KeyRecord, KeyStatus},
    policy::{LimitOverrides, Policy, Window},
    problem::Problem,
    response::Response,
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
};

/// The largest body that `POST /v1/keys/issue` and the other keys calls read, in bytes.
pub const MAX_BODY: usize = 16_384;
/// Longest name of a holder, in characters.
pub(crate) const MAX_NAME: usize = 100;
/// Longest e-mail address, in characters (RFC 5321 section 4.5.3.1.3, less its angle brackets).
pub(crate) const MAX_EMAIL: usize = 254;

/// The body of an issue request, read but not yet believed.
pub struct IssueRequest {
    fields: Fields,
    admin_secret: Option<String>,
}

/// A validated request to issue a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKey {
    /// The holder.
    pub holder: KeyHolder,
    /// The tier.
    pub tier: Tier,
    /// Its own limits.
    pub limits: LimitOverrides,
    /// The expiry.
    pub expires_at: Option<UnixMillis>,
    /// The plan of the bio-link product.
    pub biolink_plan: BiolinkPlan,
}

/// A key just issued: the only moment at which key and record are in one place.
#[derive(Debug)]
pub struct Issued {
    /// To hand out, once.
    pub key: ApiKey,
    /// To store.
    pub record: KeyRecord,
    /// Whether origins that verify keys by their text must know the record before the key is handed out.
    pub beyond_text: bool,
}

impl IssueRequest {
    /// Reads the body.
    ///
    /// # Errors
    /// Returns `body-malformed` if it is not one JSON object.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let admin_secret = fields.required("admin_secret", |value| match text(value)? {
            "" => Err("is empty".to_owned()),
            secret => Ok(secret.to_owned()),
        });
        Ok(Self { fields, admin_secret })
    }

    /// Returns the admin secret as presented; `None` if there is none, which
    /// [`IssueRequest::check`] reports as a fault like any other. Compare it before calling that:
    /// faults are shown only to callers who know the secret, or sent none.
    #[must_use]
    pub fn admin_secret(&self) -> Option<&str> {
        self.admin_secret.as_deref()
    }

    /// Checks every field.
    ///
    /// # Errors
    /// Returns `fields-invalid` with all faults at once.
    pub fn check(mut self, now: UnixMillis) -> Result<NewKey, Problem> {
        let email = self.fields.required("email", parse_email);
        let name = self.fields.required("name", parse_name);
        let tier = self.fields.required("tier", parse_tier);
        let limits = self.fields.nullable_object("limits", read_limits);
        let expires_at = self.fields.nullable("expires_at", |value| parse_expiry(value, now));
        let biolink_plan = self.fields.optional("biolink_plan", parse_plan);
        self.fields.finish()?;
        match (email, name, tier) {
            (Some(email), Some(name), Some(tier)) => Ok(NewKey {
                holder: KeyHolder { email, name },
                tier,
                limits: limits.unwrap_or_default(),
                expires_at,
                biolink_plan: biolink_plan.unwrap_or_default(),
            }),
            // `finish` has refused already: a required field that is not there is a fault.
            _ => Err(Problem::invalid_fields(&[])),
        }
    }
}

impl NewKey {
    /// Makes the key and its record, version 1.
    #[must_use]
    pub fn issue(self, env: KeyEnv, entropy: KeyEntropy, keys: &MacKeys, now: UnixMillis) -> Issued {
        let (key, minted) = ApiKey::mint(env, KeyId::new(entropy.id), self.tier, now, entropy.secret, keys);
        let record = KeyRecord {
            version: 1,
            id: minted.id,
            tier: self.tier,
            limits: self.limits,
            status: KeyStatus::Active,
            secret: minted.secret,
            former: None,
            holder: Some(self.holder),
            biolink_plan: self.biolink_plan,
            issued_at: now,
            expires_at: self.expires_at,
        };
        Issued { key, beyond_text: record.says_more_than(&minted), record }
    }
}

impl Issued {
    /// Returns the response to the issue request, the only one that ever holds a key.
    #[must_use]
    pub fn response(&self) -> Response {
        let mut body = describe(&self.record);
        if let Some(members) = body.as_object_mut() {
            members.insert("key".to_owned(), Value::from(self.key.reveal()));
        }
        Response::created(body.to_string(), format!("/v1/keys/{}", self.record.id))
    }
}

/// Returns the description of a key: everything but its secret.
#[must_use]
pub fn describe(record: &KeyRecord) -> Value {
    json!({
        "id": record.id,
        "tier": record.tier,
        "status": record.status.as_str(),
        "limits": describe_limits(record.policy()),
        "holder": record.holder,
        "biolink_plan": record.biolink_plan,
        "issued_at": record.issued_at.to_rfc3339(),
        "expires_at": record.expires_at.map(UnixMillis::to_rfc3339),
    })
}

fn describe_limits(policy: Policy) -> Value {
    let limit = |window: Window, calls: u32| json!({ "name": window.as_str(), "calls": calls, "window_seconds": window.seconds() });
    let minute = Some(limit(Window::Minute, policy.minute.get()));
    minute.into_iter().chain(policy.day.map(|day| limit(Window::Day, day.get()))).collect()
}

fn parse_email(value: &Value) -> Result<String, String> {
    let email = text(value)?;
    if !email.is_ascii() {
        return Err("must be ASCII; write an international domain as xn--… (punycode)".to_owned());
    }
    if email.len() > MAX_EMAIL {
        return Err(format!("is longer than {MAX_EMAIL} characters"));
    }
    let rules = Options::default().with_required_tld().without_domain_literal().without_display_text();
    match EmailAddress::parse_with_options(email, rules) {
        Ok(email) => Ok(email.to_string()),
        Err(fault) => Err(format!("is not an e-mail address such as ada@example.com: {fault}")),
    }
}

fn parse_name(value: &Value) -> Result<String, String> {
    let name = text(value)?;
    if name.chars().count() > MAX_NAME {
        return Err(format!("is longer than {MAX_NAME} characters"));
    }
    if name.chars().any(char::is_control) {
        return Err("holds a control character".to_owned());
    }
    match name.trim() {
        "" => Err("is empty".to_owned()),
        name => Ok(name.to_owned()),
    }
}

pub(crate) fn parse_tier(value: &Value) -> Result<Tier, String> {
    let name = text(value)?;
    Tier::parse(name).ok_or_else(|| format!("must be one of {}", Tier::ALL.map(Tier::as_str).join(", ")))
}

pub(crate) fn read_holder(holder: &mut Fields) -> Option<KeyHolder> {
    let (email, name) = (holder.required("email", parse_email), holder.required("name", parse_name));
    Some(KeyHolder { email: email?, name: name? })
}

pub(crate) fn read_limits(limits: &mut Fields) -> LimitOverrides {
    LimitOverrides {
        minute: limits.optional("minute", parse_limit),
        day: limits.optional("day", parse_limit),
    }
}

fn parse_limit(value: &Value) -> Result<NonZeroU32, String> {
    let calls = value.as_u64().and_then(|calls| u32::try_from(calls).ok()).and_then(NonZeroU32::new);
    calls.ok_or_else(|| format!("must be a whole number from 1 to {}", u32::MAX))
}

pub(crate) fn parse_expiry(value: &Value, now: UnixMillis) -> Result<UnixMillis, String> {
    match UnixMillis::from_rfc3339(text(value)?) {
        None => Err("must be a time such as 2027-01-31T12:00:00Z (RFC 3339)".to_owned()),
        Some(at) if at <= now => Err("lies in the past".to_owned()),
        Some(at) => Ok(at),
    }
}

pub(crate) fn parse_plan(value: &Value) -> Result<BiolinkPlan, String> {
    serde_json::from_value(value.clone()).map_err(|_| "must be one of none, standard, business".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestId;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn check(body: Value) -> Result<NewKey, Problem> {
        IssueRequest::read(body.to_string().as_bytes())?.check(NOW)
    }

    #[test]
    fn the_four_fields_of_the_spec_are_enough() {
        let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": "s"});
        let key = check(body).unwrap();
        assert_eq!((key.tier, key.holder.name.as_str()), (Tier::Free, "Ada"));
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let body = json!({"email": "<EMAIL>", "name": " ", "tier": "gold", "limits": {"minute": 0, "dya": 5}, "nmae": "x"});
        let rendered = check(body).unwrap_err().render(&RequestId([0; 16]));
        assert_eq!(rendered.status, 422);
        let body: Value = serde_json::from_str(&rendered.body).unwrap();
        let pointers: Vec<_> =
            body["errors"].as_array().unwrap().iter().map(|e| e["pointer"].clone()).collect();
        assert_eq!(
            pointers,
            ["#/admin_secret", "#/email", "#/name", "#/tier", "#/limits/minute", "#/limits/dya", "#/nmae"]
        );
    }

    #[test]
    fn holder_that_no_format_describes_is_refused() {
        let body = |email: &str, name: &str| json!({"email": email, "name": name, "tier": "free", "admin_secret": "s"});
        assert_eq!(check(body("ada@xn--bcher-kva.example", " Ada ")).unwrap().holder.name, "Ada");
        let long = format!(
            "{}@{}.example",
            "a".repeat(64),
            ["b".repeat(60), "c".repeat(60), "d".repeat(62)].join(".")
        );
        for (email, name) in [
            ("ada@bücher.example", "Ada"),
            ("użytkownik@example.com", "Ada"),
            (long.as_str(), "Ada"),
            ("ada@example.com", "A\u{7f}da"),
            ("ada@example.com", &"a".repeat(101)),
        ] {
            assert!(check(body(email, name)).is_err(), "{email} {name}");
        }
    }

    #[test]
    fn null_is_refused_where_it_would_mean_nothing() {
        let body = |name: &str| {
            let mut body = json!({"email": "a@b.co", "name": "A", "tier": "free", "admin_secret": "s"});
            body[name] = Value::Null;
            check(body)
        };
        assert!(body("limits").is_ok() && body("expires_at").is_ok());
        assert!(body("biolink_plan").is_err() && body("tier").is_err());
    }

    #[test]
    fn an_issued_key_verifies_against_its_own_record() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": "s"});
        let entropy = KeyEntropy { id: [1; 12], secret: [2; 16] };
        let issued = check(body).unwrap().issue(KeyEnv::Live, entropy, &keys, NOW);
        let text = serde_json::from_str::<Value>(&issued.response().body).unwrap()["key"]
            .as_str()
            .unwrap()
            .to_owned();
        let verified = ApiKey::parse(&text).unwrap().verify(&keys).unwrap();
        assert_eq!(issued.record.check(&verified, NOW), Ok(()));
        assert!(!issued.record.to_json().contains(&text[9..40]), "the record must not hold the key");
    }

    #[test]
    fn a_key_with_limits_or_an_end_of_its_own_is_more_than_its_text() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let issued = |own: (&str, Value)| {
            let mut body = json!({"email": "a@b.co", "name": "A", "tier": "pro", "admin_secret": "s"});
            body[own.0] = own.1;
            let entropy = KeyEntropy { id: [1; 12], secret: [2; 16] };
            check(body).unwrap().issue(KeyEnv::Live, entropy, &keys, NOW)
        };
        assert!(!issued(("biolink_plan", json!("business"))).beyond_text);
        assert!(issued(("limits", json!({"day": 5}))).beyond_text);
        assert!(issued(("expires_at", json!("2100-01-01T00:00:00Z"))).beyond_text);
    }

    #[test]
    fn an_expiry_must_lie_ahead() {
        let body = |at: &str| json!({"email": "a@b.co", "name": "A", "tier": "free", "admin_secret": "s", "expires_at": at});
        assert!(check(body("2025-01-01T00:00:00Z")).is_err());
        assert!(check(body("soon")).is_err());
        assert!(check(body("2100-01-01T00:00:00Z")).unwrap().expires_at > Some(NOW));
    }
}
