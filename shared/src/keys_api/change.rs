//! Changing a key: `PATCH /v1/keys/{id}`, and the rotations.

use serde_json::{Value, json};

use super::values::{
    parse_bool, parse_expiry, parse_grace, parse_plan, parse_tier, parse_when_meter_unreachable, read_holder,
    read_limits, read_unit_limits,
};
use crate::fields::Fields;
use crate::key::{ApiKey, KeyRecord};
use crate::keys_api::describe;
use crate::meter::{Change, ChangeOutcome, SecretError};
use crate::policy::{LimitOverrides, Window};
use crate::problem::{Problem, codes};
use crate::time::UnixMillis;

/// Default grace period of a replaced secret, in seconds: a day.
const DEFAULT_GRACE_S: u64 = 86_400;

/// Reads the body of a `PATCH`: any of `tier`, `limits`, `expires_at`, `disabled`, `biolink_plan`,
/// `when_meter_unreachable`, `holder`. A `null` takes limits and expiry away and erases the holder.
///
/// # Errors
/// Returns `body-malformed`, or `fields-invalid` with every error. A body that changes nothing is
/// an error.
pub fn read_change(body: &[u8], now: UnixMillis) -> Result<Change, Problem> {
    let mut fields = Fields::read(body)?;
    let unlimited = fields.is_null("limits").then(LimitOverrides::default);
    let endless = fields.is_null("expires_at").then_some(None);
    let erased = fields.is_null("holder").then_some(None);
    let empty = fields.is_empty();
    let tier = fields.optional("tier", parse_tier);
    let (limits, limits_kept) = fields.nullable_object("limits", read_limit_changes).unzip();
    let (limits, limits_kept) = (limits.or(unlimited), limits_kept.unwrap_or_default());
    let expires_at = fields.nullable("expires_at", |value| parse_expiry(value, now)).map(Some).or(endless);
    let disabled = fields.optional("disabled", parse_bool);
    let biolink_plan = fields.optional("biolink_plan", parse_plan);
    let when_meter_unreachable = fields.optional("when_meter_unreachable", parse_when_meter_unreachable);
    let holder = fields.nullable_object("holder", read_holder).flatten().map(Some).or(erased);
    if empty {
        fields.add_object_error("changes nothing; name a field to change");
    }
    fields.finish()?;
    Ok(Change::Patch {
        tier,
        limits,
        limits_kept,
        expires_at,
        disabled,
        biolink_plan,
        when_meter_unreachable,
        holder,
    })
}

/// Reads changes of a key's own limits, and which of them stay as they are.
fn read_limit_changes(limits: &mut Fields) -> (LimitOverrides, Vec<Window>) {
    let mut kept = left_out(limits, &[("minute", Window::Minute), ("day", Window::Day)]);
    let names = [("minute", Window::UnitsMinute), ("day", Window::UnitsDay), ("month", Window::UnitsMonth)];
    if !limits.contains("units") {
        kept.extend(names.map(|(_, window)| window));
    }
    let units = limits.nullable_object("units", |units| (left_out(units, &names), read_unit_limits(units)));
    let (units_kept, units) = units.unwrap_or_default();
    kept.extend(units_kept);
    (LimitOverrides { units, ..read_limits(limits) }, kept)
}

/// Returns the windows whose limits are not in the body.
fn left_out(limits: &Fields, names: &[(&str, Window)]) -> Vec<Window> {
    names.iter().filter(|(name, _)| !limits.contains(name)).map(|&(_, window)| window).collect()
}

/// Reads the body of a rotation, which may be empty: how long the replaced secret stays good, in
/// milliseconds.
///
/// # Errors
/// Returns `body-malformed`, or `fields-invalid`.
pub fn read_grace(body: &[u8]) -> Result<u64, Problem> {
    if body.is_empty() {
        return Ok(DEFAULT_GRACE_S * 1000);
    }
    let mut fields = Fields::read(body)?;
    let grace = fields.nullable("grace_seconds", parse_grace);
    fields.finish()?;
    Ok(grace.unwrap_or(DEFAULT_GRACE_S) * 1000)
}

/// Returns the record after a change, or the problem that the caller gets.
///
/// # Errors
/// Returns `key-unknown`, `key-conflict`, or what is wrong with the caller's own key.
pub fn changed(outcome: ChangeOutcome) -> Result<KeyRecord, Problem> {
    match outcome {
        ChangeOutcome::Done(record) => Ok(record),
        ChangeOutcome::Unknown => Err(key_unknown()),
        ChangeOutcome::Revoked => Err(Problem::new(codes::KEY_CONFLICT, "the key is revoked and stays so")),
        ChangeOutcome::Superseded => Err(Problem::new(
            codes::KEY_CONFLICT,
            "this secret was replaced by a rotation; only the new one can change the key",
        )),
        ChangeOutcome::Secret(SecretError::Unknown) => Err(secret_unknown()),
        ChangeOutcome::Secret(error) => Err(Problem::new(codes::KEY_CONFLICT, error.to_string())),
        ChangeOutcome::Refused(error) => Err(error.into()),
    }
}

/// Returns the refusal of a request about a key that was never issued here.
pub fn key_unknown() -> Problem {
    Problem::new(codes::KEY_UNKNOWN, "no key with this id is known here")
}

/// Returns the refusal of a request about a secret that the key does not have.
pub(super) fn secret_unknown() -> Problem {
    Problem::new(codes::SECRET_UNKNOWN, SecretError::Unknown.to_string())
}

/// Returns the response to a rotation: the key's description with its new text, shown this once.
pub fn describe_rotated(record: &KeyRecord, key: &ApiKey) -> Value {
    let mut body = describe(record);
    if let Some(members) = body.as_object_mut() {
        members.insert("key".to_owned(), Value::from(key.reveal()));
        let until = record.former.map(|former| former.until.to_rfc3339());
        members.insert("rotation".to_owned(), json!({ "former_key_valid_until": until }));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{FormerSecret, KeyEnv, KeyError, KeyHolder, KeyId, WhenMeterUnreachable};
    use crate::policy::UnitLimits;
    use crate::request_id::RequestId;
    use crate::secret::MacKeys;
    use crate::tier::Tier;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn errors(body: &str) -> String {
        read_change(body.as_bytes(), NOW).unwrap_err().render(&RequestId([0; 16])).body
    }

    #[test]
    fn absent_field_stays_and_null_removes() {
        let change = read_change(br#"{"tier":"pro","expires_at":null}"#, NOW).unwrap();
        let expected = Change::Patch {
            tier: Some(Tier::Pro),
            limits: None,
            limits_kept: Vec::new(),
            expires_at: Some(None),
            disabled: None,
            biolink_plan: None,
            when_meter_unreachable: None,
            holder: None,
        };
        assert_eq!(change, expected);
        let change = read_change(br#"{"limits":null}"#, NOW).unwrap();
        assert!(
            matches!(change, Change::Patch { limits: Some(limits), .. } if limits == LimitOverrides::default())
        );
    }

    #[test]
    fn choice_for_an_unreachable_meter_is_changed() {
        let change = read_change(br#"{"when_meter_unreachable":"refuse"}"#, NOW).unwrap();
        let refuse = Some(WhenMeterUnreachable::Refuse);
        assert!(
            matches!(change, Change::Patch { when_meter_unreachable, .. } if when_meter_unreachable == refuse)
        );
        assert!(errors(r#"{"when_meter_unreachable":"x"}"#).contains("must be one of continue, refuse"));
    }

    #[test]
    fn limit_that_is_left_out_stays_and_null_is_that_of_the_tier() {
        let limits = |body: &str| match read_change(body.as_bytes(), NOW) {
            Ok(Change::Patch { limits: Some(limits), limits_kept, .. }) => (limits, limits_kept),
            other => panic!("{other:?}"),
        };
        let units = [Window::UnitsMinute, Window::UnitsDay, Window::UnitsMonth];
        let five = std::num::NonZeroU32::new(5);
        let day = LimitOverrides { day: five, ..LimitOverrides::NONE };
        let minute_and_units = [&[Window::Minute][..], &units].concat();
        assert_eq!(limits(r#"{"limits":{"day":5}}"#), (day, minute_and_units.clone()));
        assert_eq!(limits(r#"{"limits":{"day":5,"minute":null}}"#), (day, units.to_vec()));
        assert_eq!(limits(r#"{"limits":{"day":null}}"#), (LimitOverrides::NONE, minute_and_units));
        let calls = vec![Window::Minute, Window::Day];
        assert_eq!(limits(r#"{"limits":{"units":null}}"#), (LimitOverrides::NONE, calls.clone()));
        let month = UnitLimits { month: five, ..UnitLimits::NONE };
        let (own, kept) = limits(r#"{"limits":{"units":{"month":5,"day":null}}}"#);
        assert_eq!((own.units, kept), (month, [&calls[..], &[Window::UnitsMinute]].concat()));
    }

    #[test]
    fn limits_of_a_response_are_taken_back_unchanged() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let five = std::num::NonZeroU32::new(5);
        let units = UnitLimits { day: five, ..UnitLimits::NONE };
        for tier in Tier::ALL {
            let verified = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), tier, NOW, [2; 16], &keys).1;
            for own in [
                LimitOverrides::NONE,
                LimitOverrides { minute: five, units, ..LimitOverrides::NONE },
                LimitOverrides {
                    day: five,
                    units: UnitLimits { minute: five, day: None, month: five },
                    minute: None,
                },
            ] {
                let mut record = KeyRecord { limits: own, ..KeyRecord::provisional(&verified) };
                let (policy, shown) = (record.policy(), describe(&record)["limits"].clone());
                let Ok(Change::Patch { limits: Some(limits), limits_kept, .. }) =
                    read_change(json!({ "limits": shown }).to_string().as_bytes(), NOW)
                else {
                    panic!("{shown}")
                };
                assert_eq!(limits_kept, [], "{shown} names each limit");
                record.limits = limits;
                assert_eq!((record.policy(), record.limits.units), (policy, own.units), "{tier:?} {shown}");
                assert_eq!(describe(&record)["limits"], shown);
            }
        }
    }

    #[test]
    fn limits_in_units_that_are_left_out_stay() {
        let of = |minute, month| UnitLimits {
            minute: std::num::NonZeroU32::new(minute),
            month: std::num::NonZeroU32::new(month),
            ..UnitLimits::NONE
        };
        let former = LimitOverrides { units: of(7, 8), ..LimitOverrides::NONE };
        let change = LimitOverrides { units: of(0, 9), ..LimitOverrides::NONE };
        assert_eq!(change.keeping(&[Window::UnitsMinute], former).units, of(7, 9));
        assert_eq!(change.keeping(&[], former).units, of(0, 9));
    }

    #[test]
    fn holder_is_corrected_as_a_whole_or_erased() {
        let holder = |body: &str| match read_change(body.as_bytes(), NOW) {
            Ok(Change::Patch { holder, .. }) => holder,
            other => panic!("{other:?}"),
        };
        let ada = KeyHolder { email: "ada@example.com".to_owned(), name: "Ada".to_owned() };
        assert_eq!(holder(r#"{"holder":{"email":"ada@example.com","name":"Ada"}}"#), Some(Some(ada)));
        assert_eq!(holder(r#"{"holder":null}"#), Some(None));
        assert_eq!(holder(r#"{"tier":"pro"}"#), None);
        let body = errors(r#"{"holder":{"email":"x","nmae":"Ada"}}"#);
        for pointer in ["#/holder/email", "#/holder/name", "#/holder/nmae"] {
            assert!(body.contains(&format!("\"{pointer}\"")), "{pointer}: {body}");
        }
    }

    #[test]
    fn every_error_of_a_change_is_named() {
        let body = errors(r#"{"tier":"gold","disabled":"yes","expires_at":"1999-01-01T00:00:00Z","id":"x"}"#);
        for pointer in ["#/tier", "#/disabled", "#/expires_at", "#/id"] {
            assert!(body.contains(pointer), "{pointer}: {body}");
        }
        assert!(errors("{}").contains(r##""pointer":"#""##) && errors("{}").contains("changes nothing"));
        let body = errors(
            r#"{"limits":{"day":1.5,"hour":1,"units":{"day":1000000001}},"tier":null,"disabled":null,"biolink_plan":null}"#,
        );
        for pointer in
            ["#/limits/day", "#/limits/hour", "#/limits/units/day", "#/tier", "#/disabled", "#/biolink_plan"]
        {
            assert!(body.contains(&format!("\"{pointer}\"")), "{pointer}: {body}");
        }
    }

    #[test]
    fn outcome_is_the_record_or_a_problem() {
        let problem = |outcome| changed(outcome).unwrap_err().code();
        assert_eq!(problem(ChangeOutcome::Unknown), codes::KEY_UNKNOWN);
        assert_eq!(problem(ChangeOutcome::Revoked), codes::KEY_CONFLICT);
        assert_eq!(problem(ChangeOutcome::Superseded), codes::KEY_CONFLICT);
        assert_eq!(problem(ChangeOutcome::Refused(KeyError::Expired)), codes::KEY_EXPIRED);
    }

    #[test]
    fn rotated_key_is_shown_with_the_end_of_the_former_one() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (key, verified) = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Pro, NOW, [2; 16], &keys);
        let mut record = KeyRecord::provisional(&verified);
        assert_eq!(describe_rotated(&record, &key)["rotation"]["former_key_valid_until"], Value::Null);
        record.former = Some(FormerSecret { hash: verified.secret, until: NOW });
        let body = describe_rotated(&record, &key);
        assert_eq!(body["key"], key.reveal());
        assert_eq!(body["rotation"]["former_key_valid_until"], "2025-11-21T08:00:00Z");
    }

    #[test]
    fn rotation_without_grace_gives_a_day() {
        assert_eq!(read_grace(b""), Ok(86_400_000));
        assert_eq!(read_grace(br#"{"grace_seconds":null}"#), Ok(86_400_000));
        assert_eq!(read_grace(br#"{"grace_seconds":0}"#), Ok(0));
        for body in [r#"{"grace_seconds":-1}"#, r#"{"grace_seconds":2592001}"#, r#"{"grace":1}"#] {
            assert!(read_grace(body.as_bytes()).is_err(), "{body}");
        }
    }
}
