//! Issuing a key: `POST /v1/keys/issue` (spec section 2).

use serde_json::{Value, json};

use super::values::{
    parse_admin_secret, parse_email, parse_expiry, parse_key_id, parse_name, parse_plan, parse_tier,
    parse_when_meter_unreachable, read_limits,
};
use crate::caller::bearer_token;
use crate::fields::Fields;
use crate::key::{
    ApiKey, BiolinkPlan, KeyEntropy, KeyEnv, KeyHolder, KeyId, KeyRecord, KeyStatus, WhenMeterUnreachable,
};
use crate::policy::{LimitOverrides, Policy, UnitLimits};
use crate::problem::Problem;
use crate::response::Response;
use crate::secret::MacKeys;
use crate::tier::Tier;
use crate::time::UnixMillis;

/// The largest body that `POST /v1/keys/issue` and the other keys calls read, in bytes.
pub const MAX_BODY: usize = 16_384;

/// The body of an issue request, parsed but not yet checked.
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
    /// The fate of calls while the key's meter is out of reach.
    pub when_meter_unreachable: WhenMeterUnreachable,
    /// The bio-link account that it is issued into; `None` is the key's own.
    pub account: Option<KeyId>,
}

/// A key just issued: the only moment at which key and record are in one place.
#[derive(Debug)]
pub struct IssuedKey {
    /// To hand out, once.
    pub key: ApiKey,
    /// To store.
    pub record: KeyRecord,
    /// Whether origins that verify keys by their text must know the record before the key is handed
    /// out.
    pub beyond_text: bool,
}

impl IssueRequest {
    /// Reads the body. A request without `admin_secret` may have the secret in its header
    /// `authorization`, as every other administrative request has.
    ///
    /// # Errors
    /// Returns `body-malformed` if it is not one JSON object.
    pub fn read(body: &[u8], authorization: Option<&str>) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let admin_secret = match bearer_token(authorization) {
            Some(secret) if !fields.contains("admin_secret") => Some(secret.to_owned()),
            _ => fields.required("admin_secret", parse_admin_secret),
        };
        Ok(Self { fields, admin_secret })
    }

    /// Returns the admin secret as presented; `None` if there is none, which
    /// [`IssueRequest::check`] reports as an error like any other. Compare it before calling that:
    /// errors are shown only to callers who know the secret, or sent none.
    pub fn admin_secret(&self) -> Option<&str> {
        self.admin_secret.as_deref()
    }

    /// Checks every field.
    ///
    /// # Errors
    /// Returns `fields-invalid` with every error.
    pub fn check(mut self, now: UnixMillis) -> Result<NewKey, Problem> {
        let email = self.fields.required("email", parse_email);
        let name = self.fields.required("name", parse_name);
        let tier = self.fields.required("tier", parse_tier);
        let limits = self.fields.nullable_object("limits", read_limits);
        let expires_at = self.fields.nullable("expires_at", |value| parse_expiry(value, now));
        let biolink_plan = self.fields.optional("biolink_plan", parse_plan);
        let when_meter_unreachable =
            self.fields.optional("when_meter_unreachable", parse_when_meter_unreachable);
        let account = self.fields.nullable("account", parse_key_id);
        self.fields.finish()?;
        match (email, name, tier) {
            (Some(email), Some(name), Some(tier)) => Ok(NewKey {
                holder: KeyHolder { email, name },
                tier,
                limits: limits.unwrap_or_default(),
                expires_at,
                biolink_plan: biolink_plan.unwrap_or_default(),
                when_meter_unreachable: when_meter_unreachable.unwrap_or_default(),
                account,
            }),
            // `finish` has refused already: a required field that is missing is an error.
            _ => Err(Problem::invalid_fields(&[])),
        }
    }
}

impl NewKey {
    /// Makes the key and its record, version 1.
    pub fn issue(self, env: KeyEnv, entropy: KeyEntropy, keys: &MacKeys, now: UnixMillis) -> IssuedKey {
        let (key, minted) = ApiKey::mint(env, KeyId::new(entropy.id), self.tier, now, entropy.secret, keys);
        let record = KeyRecord {
            version: 1,
            id: minted.id,
            tier: self.tier,
            limits: self.limits,
            status: KeyStatus::Active,
            secret: minted.secret,
            former: None,
            secrets: Vec::new(),
            holder: Some(self.holder),
            biolink_plan: self.biolink_plan,
            when_meter_unreachable: self.when_meter_unreachable,
            account: self.account,
            issued_at: now,
            expires_at: self.expires_at,
        };
        IssuedKey { key, beyond_text: record.says_more_than(&minted), record }
    }
}

impl IssuedKey {
    /// Returns the response to the issue request, the only one that ever holds a key.
    pub fn response(&self) -> Response {
        let mut body = describe(&self.record);
        if let Some(members) = body.as_object_mut() {
            members.insert("key".to_owned(), Value::from(self.key.reveal()));
        }
        Response::created(body.to_string(), format!("/v1/keys/{}", self.record.id))
    }
}

/// Returns the description of a key: everything but its secret.
pub fn describe(record: &KeyRecord) -> Value {
    json!({
        "id": record.id,
        "tier": record.tier,
        "status": record.status.as_str(),
        "limits": describe_limits(record.policy(), record.limits.units),
        "holder": record.holder,
        "biolink_plan": record.biolink_plan,
        "when_meter_unreachable": record.when_meter_unreachable,
        "account": record.account(),
        "issued_at": record.issued_at.to_rfc3339(),
        "expires_at": record.expires_at.map(UnixMillis::to_rfc3339),
    })
}

/// Returns the limits in force as requests state them, so that they can be sent back.
fn describe_limits(calls: Policy, units: UnitLimits) -> Value {
    json!({
        "minute": calls.minute,
        "day": calls.day,
        "units": { "minute": units.minute, "day": units.day, "month": units.month },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::MAX_MINUTE_LIMIT;
    use crate::request_id::RequestId;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn check(body: Value) -> Result<NewKey, Problem> {
        IssueRequest::read(body.to_string().as_bytes(), None)?.check(NOW)
    }

    #[test]
    fn four_fields_of_the_spec_are_enough() {
        let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "free", "admin_secret": "s"});
        let key = check(body).unwrap();
        assert_eq!((key.tier, key.holder.name.as_str()), (Tier::Free, "Ada"));
    }

    #[test]
    fn secret_in_the_header_counts_if_the_body_has_none() {
        let read = |body: &[u8]| IssueRequest::read(body, Some("Bearer header")).unwrap();
        assert_eq!(read(b"{}").admin_secret(), Some("header"));
        assert_eq!(read(br#"{"admin_secret": "body"}"#).admin_secret(), Some("body"));
        let body = br#"{"email": "ada@example.com", "name": "Ada", "tier": "free"}"#;
        assert_eq!(read(body).check(NOW).unwrap().tier, Tier::Free);
    }

    #[test]
    fn every_error_is_reported_at_once() {
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

    /// A meter could not hold a higher limit.
    #[test]
    fn minute_over_the_maximum_is_refused() {
        let body = |minute: u32| json!({"email": "ada@example.com", "name": "Ada", "tier": "pro", "admin_secret": "s", "limits": {"minute": minute}});
        assert!(check(body(MAX_MINUTE_LIMIT)).is_ok());
        let refused = check(body(MAX_MINUTE_LIMIT + 1)).unwrap_err().render(&RequestId([0; 16]));
        let errors = serde_json::from_str::<Value>(&refused.body).unwrap()["errors"].take();
        assert_eq!((refused.status, &errors[0]["pointer"]), (422, &json!("#/limits/minute")));
        assert_eq!(errors[0]["detail"], "must be a whole number from 1 to 3000000");
    }

    #[test]
    fn limits_in_force_are_shown_with_null_for_none() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let shown = |tier: &str, own: Value| {
            let body =
                json!({"email": "a@b.co", "name": "A", "tier": tier, "admin_secret": "s", "limits": own});
            let entropy = KeyEntropy { id: [1; 12], secret: [2; 16] };
            describe(&check(body).unwrap().issue(KeyEnv::Live, entropy, &keys, NOW).record)
        };
        let none = json!({"minute": null, "day": null, "month": null});
        let free = shown("free", Value::Null);
        assert_eq!(free["limits"], json!({"minute": 10, "day": 100, "units": none}));
        assert_eq!(free.get("unit_limits"), None);
        let own = shown("enterprise", json!({"minute": 7, "units": {"month": 9}}));
        let units = json!({"minute": null, "day": null, "month": 9});
        assert_eq!(own["limits"], json!({"minute": 7, "day": null, "units": units}));
    }

    #[test]
    fn holder_that_is_not_well_formed_is_refused() {
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
    fn key_is_issued_into_an_account() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let issued = |account: Value| {
            let entropy = KeyEntropy { id: [1; 12], secret: [2; 16] };
            let body = json!({"email": "a@b.co", "name": "A", "tier": "free", "admin_secret": "s", "account": account});
            Ok::<_, Problem>(check(body)?.issue(KeyEnv::Live, entropy, &keys, NOW).record)
        };
        let first = KeyId::new([7; 12]);
        let record = issued(json!(first)).unwrap();
        assert_eq!((record.account(), record.id), (first, KeyId::new([1; 12])));
        assert_eq!(KeyRecord::from_json(&record.to_json()).unwrap(), record);
        assert_eq!(issued(Value::Null).unwrap().account(), KeyId::new([1; 12]));
        assert!(issued(json!("acme")).is_err());
    }

    #[test]
    fn choice_for_an_unreachable_meter_is_stored_and_shown() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let issued = |choice: Option<Value>| {
            let mut body = json!({"email": "a@b.co", "name": "A", "tier": "pro", "admin_secret": "s"});
            body.as_object_mut()
                .unwrap()
                .extend(choice.map(|choice| ("when_meter_unreachable".to_owned(), choice)));
            Ok::<_, Problem>(check(body)?.issue(
                KeyEnv::Live,
                KeyEntropy { id: [1; 12], secret: [2; 16] },
                &keys,
                NOW,
            ))
        };
        for (choice, shown) in
            [(None, "continue"), (Some("continue"), "continue"), (Some("refuse"), "refuse")]
        {
            let issued = issued(choice.map(Value::from)).unwrap();
            assert_eq!(describe(&issued.record)["when_meter_unreachable"], shown);
            assert_eq!(KeyRecord::from_json(&issued.record.to_json()).unwrap(), issued.record);
            assert!(!issued.beyond_text, "a verifier of the text has no meter");
        }
        assert!(issued(Some(json!("fail"))).is_err() && issued(Some(Value::Null)).is_err());
    }

    #[test]
    fn null_is_refused_for_a_field_without_default() {
        let body = |name: &str| {
            let mut body = json!({"email": "a@b.co", "name": "A", "tier": "free", "admin_secret": "s"});
            body[name] = Value::Null;
            check(body)
        };
        assert!(body("limits").is_ok() && body("expires_at").is_ok());
        assert!(body("biolink_plan").is_err() && body("tier").is_err());
    }

    #[test]
    fn issued_key_verifies_against_its_record() {
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
    fn key_with_own_limits_or_expiry_is_beyond_its_text() {
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
    fn expiry_in_the_past_is_refused() {
        let body = |at: &str| json!({"email": "a@b.co", "name": "A", "tier": "free", "admin_secret": "s", "expires_at": at});
        assert!(check(body("2025-01-01T00:00:00Z")).is_err());
        assert!(check(body("soon")).is_err());
        assert!(check(body("2100-01-01T00:00:00Z")).unwrap().expires_at > Some(NOW));
    }
}
