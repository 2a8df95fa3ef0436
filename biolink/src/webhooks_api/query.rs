//! What readers of deliveries and events ask for.

use serde::{Deserialize, Serialize};
use shared::{
    fields::{Fields, text},
    problem::Problem,
    query::{invalid, not_a_cursor, parameters, unknown_parameter},
    time::UnixMillis,
};

use super::delivery::DeliveryState;
use crate::{
    page::{InvalidValue, PageId, moment},
    webhooks::{DeliveryId, EventId, MAX_NUMBER, WebhookKind},
};

/// Most deliveries or events of a response.
pub const MAX_LIMIT: u64 = 100;
/// Deliveries or events of a response, if the reader does not say.
pub const DEFAULT_LIMIT: u64 = 25;
/// The longest wait for an event, in seconds.
pub const MAX_WAIT_S: u64 = 25;
/// Time that a replay reaches back, in milliseconds: 14 days.
const REPLAY_MS: u64 = 14 * 86_400_000;

/// `GET /webhooks/{id}/deliveries?status=&type=&event_id=&since=&limit=&cursor=`: the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryQuery {
    /// Deliveries of the response, at most.
    pub limit: u64,
    /// Only deliveries before this number.
    pub before: Option<u64>,
    /// Only those in this state.
    pub state: Option<DeliveryState>,
    /// Only those of events of this kind.
    pub kind: Option<WebhookKind>,
    /// Only those with this event, by its sequence.
    pub event: Option<u64>,
    /// Only those from this moment on.
    pub since: Option<UnixMillis>,
}

/// `GET /events?after=&type=&page_id=&limit=&wait=`: the oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventQuery {
    /// Only events after this sequence.
    pub after: u64,
    /// Events of the response, at most.
    pub limit: u64,
    /// Only events of this kind.
    pub kind: Option<WebhookKind>,
    /// Only events of this page.
    pub page: Option<PageId>,
    /// Time to wait for an event if there is none, in seconds.
    pub wait: u64,
}

/// `POST /webhooks/{id}/replay`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// From this moment on.
    pub since: UnixMillis,
    /// Before this moment.
    pub until: UnixMillis,
    /// Whether only deliveries that have failed are sent again, or all events.
    pub only_failed: bool,
}

/// Reads the query of `GET /events/samples`: the only kind that is wanted.
///
/// # Errors
/// Returns `fields-invalid` for an unknown or repeated parameter, and for an invalid value.
pub fn read_sample_kind(query: Option<&str>) -> Result<Option<WebhookKind>, Problem> {
    let mut only = None;
    for (name, value) in parameters(query)? {
        match name {
            "type" => only = Some(read_kind(&value)?),
            _ => return Err(unknown_parameter(name, "type")),
        }
    }
    Ok(only)
}

impl DeliveryQuery {
    /// Reads the query of the request.
    ///
    /// # Errors
    /// Returns `fields-invalid` for an unknown or repeated parameter, and for an invalid value.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read =
            Self { limit: DEFAULT_LIMIT, before: None, state: None, kind: None, event: None, since: None };
        for (name, value) in parameters(query)? {
            match name {
                "limit" => read.limit = read_limit(&value)?,
                "cursor" if value.is_empty() => {}
                "cursor" => {
                    read.before = Some(DeliveryId::parse(&value).ok_or_else(not_a_cursor)?.number());
                }
                "status" => read.state = Some(read_state(&value)?),
                "type" => read.kind = Some(read_kind(&value)?),
                "event_id" => read.event = Some(read_event(&value)?),
                "since" => read.since = Some(read_time(&value)?),
                _ => {
                    return Err(unknown_parameter(name, "limit, cursor, status, type, event_id and since"));
                }
            }
        }
        Ok(read)
    }
}

impl EventQuery {
    /// Reads the query of the request.
    ///
    /// # Errors
    /// Returns `fields-invalid` for an unknown or repeated parameter, and for an invalid value.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut read = Self { after: 0, limit: DEFAULT_LIMIT, kind: None, page: None, wait: 0 };
        for (name, value) in parameters(query)? {
            match name {
                "after" => {
                    let after = value.parse().ok().filter(|after| *after <= MAX_NUMBER);
                    read.after =
                        after.ok_or_else(|| invalid("after must be the sequence of an event, or 0"))?;
                }
                "limit" => read.limit = read_limit(&value)?,
                "type" => read.kind = Some(read_kind(&value)?),
                "page_id" => {
                    let page = PageId::parse(&value);
                    read.page = Some(page.ok_or_else(|| invalid("page_id must be the id of a page"))?);
                }
                "wait" => {
                    let wait = value.parse().ok().filter(|wait| *wait <= MAX_WAIT_S);
                    read.wait = wait.ok_or_else(|| invalid("wait must be a whole number from 0 to 25"))?;
                }
                _ => {
                    return Err(unknown_parameter(name, "after, limit, type, page_id and wait"));
                }
            }
        }
        Ok(read)
    }
}

impl Replay {
    /// Reads the body of the request.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every fault.
    pub fn read(body: &[u8], now: UnixMillis) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let earliest = now.minus(REPLAY_MS);
        let since = fields.nullable("since", |value| {
            let since = moment(value)?;
            match since < earliest {
                true => Err(InvalidValue::from(format!(
                    "must be within the last 14 days: {} or later",
                    earliest.to_rfc3339()
                ))),
                false => Ok(since),
            }
        });
        let until = fields.nullable("until", moment);
        let only_failed = fields.nullable("status", |value| match text(value)? {
            "failed" => Ok(true),
            "all" => Ok(false),
            other => Err(InvalidValue::from(format!("must be failed or all, not `{other}`"))),
        });
        let since = since.unwrap_or(earliest);
        if until.is_some_and(|until| until <= since) {
            fields.add_error("until", "must be later than since".to_owned());
        }
        fields.finish()?;
        Ok(Self { since, until: until.unwrap_or(now), only_failed: only_failed.unwrap_or(true) })
    }
}

fn read_limit(text: &str) -> Result<u64, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 100"))
}

fn read_state(text: &str) -> Result<DeliveryState, Problem> {
    let unknown = |_| invalid("status must be one of collecting, pending, delivered, failed, dropped");
    text.parse().map_err(unknown)
}

fn read_kind(text: &str) -> Result<WebhookKind, Problem> {
    text.parse().map_err(|_| invalid(format!("type must be one of {}", WebhookKind::names())))
}

fn read_event(text: &str) -> Result<u64, Problem> {
    let id = EventId::parse(text).ok_or_else(|| invalid("event_id must be the id of an event"))?;
    Ok(id.number())
}

fn read_time(text: &str) -> Result<UnixMillis, Problem> {
    UnixMillis::from_rfc3339(text)
        .ok_or_else(|| invalid("since must be a time such as 2026-11-20T12:00:00Z (RFC 3339)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    #[test]
    fn invalid_parameter_names_what_is_expected() {
        for (query, expected) in [
            ("limit=0", "from 1 to 100"),
            ("wait=26", "from 0 to 25"),
            ("after=x", "sequence of an event"),
            ("after=9007199254740992", "sequence of an event"),
            ("type=visit", "page_view, click"),
            ("page_id=7", "id of a page"),
            ("since=now", "unknown parameter `since`"),
        ] {
            let refused = EventQuery::read(Some(query)).unwrap_err();
            assert!(refused.detail().contains(expected), "{query}: {}", refused.detail());
        }
        for (query, expected) in [
            ("status=sent", "collecting, pending"),
            ("event_id=evt", "id of an event"),
            ("cursor=1", "cursor"),
            ("since=now", "RFC 3339"),
            ("after=1", "unknown parameter `after`"),
        ] {
            let refused = DeliveryQuery::read(Some(query)).unwrap_err();
            assert!(refused.detail().contains(expected), "{query}: {}", refused.detail());
        }
    }

    #[test]
    fn replay_reaches_back_14_days() {
        let body = |since: u64| format!(r#"{{"since":"{}"}}"#, NOW.minus(since).to_rfc3339());
        let replay = Replay::read(body(REPLAY_MS - 1000).as_bytes(), NOW).unwrap();
        assert_eq!((replay.until, replay.only_failed), (NOW, true));
        let refused = Replay::read(body(REPLAY_MS + 1000).as_bytes(), NOW).unwrap_err();
        assert!(refused.detail().contains("1 field") || refused.status() == 422, "{}", refused.detail());
    }

    #[test]
    fn replay_that_ends_before_it_begins_is_refused() {
        let (since, until) = (NOW.minus(1000).to_rfc3339(), NOW.minus(2000).to_rfc3339());
        let body = format!(r#"{{"since":"{since}","until":"{until}","status":"all"}}"#);
        assert_eq!(Replay::read(body.as_bytes(), NOW).unwrap_err().status(), 422);
    }
}
