//! The values in requests of the keys API, and what is wrong with one that is not accepted.

use std::num::NonZeroU32;

use email_address::{EmailAddress, Options};
use serde_json::Value;
use thiserror::Error;

use crate::fields::{Fields, LineError, TypeError, line, text};
use crate::json;
use crate::key::{BiolinkPlan, KeyHolder, KeyId, WhenMeterUnreachable};
use crate::policy::{LimitOverrides, MAX_MINUTE_LIMIT, MAX_UNIT_LIMIT, UnitLimits};
use crate::tier::Tier;
use crate::time::UnixMillis;
use crate::tool::Tool;

/// Longest name of a holder, in characters.
pub const MAX_NAME: usize = 100;
/// Longest e-mail address, in characters (RFC 5321 section 4.5.3.1.3, less its angle brackets).
pub const MAX_EMAIL: usize = 254;
/// Longest grace period of a replaced secret, in seconds: thirty days.
const MAX_GRACE_S: u64 = 30 * 86_400;

/// An error of a value. The text follows the pointer to the value: `#/name: is empty`.
///
/// It holds lengths, limits and types, and never the value itself, because bodies carry secrets.
#[derive(Clone, Debug, PartialEq, Error)]
pub(super) enum ValueError {
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("is empty")]
    Empty,
    #[error("has {length} characters; expected at most {limit}")]
    TooLong { length: usize, limit: usize },
    #[error("must be ASCII; write an international domain as xn--… (punycode)")]
    NotAscii,
    #[error("is not an e-mail address such as ada@example.com: {0}")]
    NotAnEmail(email_address::Error),
    #[error("must be one of {}", Tier::ALL.map(Tier::as_str).join(", "))]
    NotATier,
    #[error("must be one of none, standard, business")]
    NotAPlan,
    #[error("must be all, or one of {}", Tool::ALL.map(Tool::as_str).join(", "))]
    NotATool,
    #[error("must be one of none, read, write, admin")]
    NotAnAccess,
    #[error("must be one of continue, refuse")]
    NotAChoice,
    #[error("must be the id of a key, such as key_0123456789abcdefg")]
    NotAKeyId,
    #[error("must be a whole number from {min} to {max}")]
    NotAWholeNumber { min: u32, max: u32 },
    #[error("must be a whole number of seconds from 0 to {max}")]
    NotSeconds { max: u64 },
    #[error("must be a time such as 2027-01-31T12:00:00Z (RFC 3339)")]
    NotATime,
    #[error("lies in the past")]
    Past,
}

/// Returns the admin secret of a body.
pub(super) fn parse_admin_secret(value: &Value) -> Result<String, ValueError> {
    match text(value)? {
        "" => Err(ValueError::Empty),
        secret => Ok(secret.to_owned()),
    }
}

pub(super) fn parse_email(value: &Value) -> Result<String, ValueError> {
    let email = text(value)?;
    if !email.is_ascii() {
        return Err(ValueError::NotAscii);
    }
    if email.len() > MAX_EMAIL {
        return Err(ValueError::TooLong { length: email.len(), limit: MAX_EMAIL });
    }
    let rules = Options::default().with_required_tld().without_domain_literal().without_display_text();
    match EmailAddress::parse_with_options(email, rules) {
        Ok(email) => Ok(email.to_string()),
        Err(error) => Err(ValueError::NotAnEmail(error)),
    }
}

pub(super) fn parse_name(value: &Value) -> Result<String, ValueError> {
    Ok(line(value, MAX_NAME)?)
}

pub(super) fn parse_tier(value: &Value) -> Result<Tier, ValueError> {
    let name = text(value)?;
    name.parse::<Tier>().map_err(|_| ValueError::NotATier)
}

pub(super) fn read_holder(holder: &mut Fields) -> Option<KeyHolder> {
    let (email, name) = (holder.required("email", parse_email), holder.required("name", parse_name));
    Some(KeyHolder { email: email?, name: name? })
}

/// Reads limits of a key's own. A `null` is the tier's, as if it was left out.
pub(super) fn read_limits(limits: &mut Fields) -> LimitOverrides {
    LimitOverrides {
        minute: limits.nullable("minute", |value| parse_limit(value, MAX_MINUTE_LIMIT)),
        day: limits.nullable("day", |value| parse_limit(value, u32::MAX)),
        units: limits.nullable_object("units", read_unit_limits).unwrap_or_default(),
    }
}

/// Reads limits of a key's own in units.
pub(super) fn read_unit_limits(limits: &mut Fields) -> UnitLimits {
    let mut limit = |name| limits.nullable(name, |value| parse_limit(value, MAX_UNIT_LIMIT));
    UnitLimits { minute: limit("minute"), day: limit("day"), month: limit("month") }
}

fn parse_limit(value: &Value, max: u32) -> Result<NonZeroU32, ValueError> {
    let calls = value.as_u64().and_then(|calls| u32::try_from(calls).ok()).filter(|calls| *calls <= max);
    calls.and_then(NonZeroU32::new).ok_or(ValueError::NotAWholeNumber { min: 1, max })
}

pub(super) fn parse_expiry(value: &Value, now: UnixMillis) -> Result<UnixMillis, ValueError> {
    match UnixMillis::from_rfc3339(text(value)?) {
        None => Err(ValueError::NotATime),
        Some(at) if at <= now => Err(ValueError::Past),
        Some(at) => Ok(at),
    }
}

pub(super) fn parse_plan(value: &Value) -> Result<BiolinkPlan, ValueError> {
    value.as_str().and_then(|name| json::variant(name).ok()).ok_or(ValueError::NotAPlan)
}

pub(super) fn parse_when_meter_unreachable(value: &Value) -> Result<WhenMeterUnreachable, ValueError> {
    value.as_str().and_then(|name| json::variant(name).ok()).ok_or(ValueError::NotAChoice)
}

pub(super) fn parse_key_id(value: &Value) -> Result<KeyId, ValueError> {
    KeyId::parse(text(value)?).ok_or(ValueError::NotAKeyId)
}

pub(super) fn parse_bool(value: &Value) -> Result<bool, ValueError> {
    value.as_bool().ok_or_else(|| TypeError::new("true or false", value).into())
}

pub(super) fn parse_grace(value: &Value) -> Result<u64, ValueError> {
    let grace = value.as_u64().filter(|&seconds| seconds <= MAX_GRACE_S);
    grace.ok_or(ValueError::NotSeconds { max: MAX_GRACE_S })
}
