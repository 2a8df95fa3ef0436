//! The messages to a meter and its replies, as JSON.
//!
//! Workers of two versions meet during a deployment: fields are only ever added, with a default,
//! and an unknown one is ignored.

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    Alert, CallBatch, CallFilter, CallPage, HeldShare, HourCounts, LeaseReport, LeaseTerms, RefusedCalls,
    SecretCalls, SecretChange, SecretError, Session, SessionId, SessionStep, Tally, nested,
};
use crate::idempotency::{IssueStep, IssueTurn};
use crate::json;
use crate::key::{
    BiolinkPlan, KeyError, KeyHolder, KeyRecord, SecretHash, VerifiedKey, WhenMeterUnreachable,
};
use crate::label::Label;
use crate::policy::{LimitOverrides, Window};
use crate::quota::{Decision, Denial, MARGIN_MS, QuotaStatus, ReservedUnits, SpentUnits};
use crate::tier::Tier;
use crate::time::{UnixMillis, UtcDay};

/// A message to a meter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum Message {
    /// A lease cache requests calls, or reports, or both.
    Ask(MeterRequest),
    /// A lease cache requests the whole state. It is handled like [`Message::Ask`] for no call.
    Read(MeterRequest),
    /// The same, with the hours from `since` on that the shell has kept.
    History {
        /// The request.
        request: MeterRequest,
        /// The first hour, counted from the epoch.
        since: u64,
    },
    /// The same, with a page of the log of the last calls.
    Calls {
        /// The request.
        request: MeterRequest,
        /// What the page has.
        filter: CallFilter,
    },
    /// The same, with the last alerts.
    ReadAlerts(MeterRequest),
    /// An administrator or the key's holder changes the record. `record` is what KV holds, for a
    /// meter that has not met the key yet.
    Change {
        /// The stored record, if there is one.
        record: Option<KeyRecord>,
        /// The key of the holder who requests the change; `None` for an administrator.
        by: Option<VerifiedKey>,
        /// The change.
        change: Change,
    },
    /// KV now holds the record of this version.
    Stored {
        /// The version that was written.
        version: u64,
    },
    /// The webhooks of the account have these alerts. Others may be due by now.
    Alerts {
        /// The alerts that were delivered.
        delivered: Vec<Alert>,
    },
    /// An admin secret was presented. The subject of such a meter is a client address.
    Attempt(AdminAttempt),
    /// A key is issued under an `Idempotency-Key`. The subject of such a meter is that header.
    Issue(IssueStep),
    /// An administrator requests the whole state. `record` is as in [`Message::Change`].
    Show {
        /// The stored record, if there is one.
        record: Option<KeyRecord>,
    },
    /// The console's sessions of the key are read or changed. [`Sessions`](super::Sessions) handles it.
    Session(SessionStep),
    /// A browser that is signed in sends this message. It is handled if its session has not ended.
    /// [`Message::in_session`] writes it.
    #[serde(skip_serializing)]
    InSession {
        /// The session.
        session: SessionId,
        /// What it sends.
        message: Box<Self>,
    },
}

impl Message {
    /// Returns the record that comes with the message.
    pub(super) fn record_mut(&mut self) -> Option<&mut KeyRecord> {
        match self {
            Self::Ask(request)
            | Self::Read(request)
            | Self::History { request, .. }
            | Self::Calls { request, .. }
            | Self::ReadAlerts(request) => request.record.as_mut(),
            Self::Change { record, .. } | Self::Show { record } => record.as_mut(),
            Self::InSession { message, .. } => message.record_mut(),
            Self::Stored { .. }
            | Self::Alerts { .. }
            | Self::Attempt(_)
            | Self::Issue(_)
            | Self::Session(_) => None,
        }
    }

    /// Returns the text of a [`Message::InSession`] with a message that is written already, so that the worker needs no
    /// copy of it.
    pub fn in_session(session: SessionId, message: &str) -> String {
        // A session's text has nothing to escape, and the message is JSON already.
        format!(r#"{{"in_session":{{"session":"{session}","message":{message}}}}}"#)
    }

    /// Returns true for a message that may leave the meter as it was.
    pub const fn may_only_read(&self) -> bool {
        match self {
            Self::Read(_)
            | Self::History { .. }
            | Self::Calls { .. }
            | Self::ReadAlerts(_)
            | Self::Show { .. }
            | Self::Alerts { .. }
            | Self::Attempt(_)
            | Self::Session(_)
            | Self::InSession { .. } => true,
            // A request for a call or a lease changes what is left, and must be stored before its
            // reply.
            Self::Ask(request) => !request.want && request.rate == 0,
            Self::Change { .. } | Self::Stored { .. } | Self::Issue(_) => false,
        }
    }
}

/// A meter's reply, by the same name as its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum Reply {
    /// To [`Message::Ask`].
    Ask(MeterResponse),
    /// To [`Message::Read`], [`Message::History`], [`Message::Calls`] and [`Message::ReadAlerts`].
    Read(MeterSnapshot),
    /// To [`Message::Change`].
    Change(ChangeOutcome),
    /// To [`Message::Stored`] and [`Message::Alerts`].
    Stored,
    /// To [`Message::Attempt`].
    Attempt(Decision),
    /// To [`Message::Issue`].
    Issue(IssueTurn),
    /// To [`Message::Show`]; `None` if no such key is known.
    Show(Option<MeterSnapshot>),
    /// To [`Message::Session`]: those that have not ended, the oldest first.
    Sessions(Vec<Session>),
    /// To [`Message::InSession`], if the session has ended.
    SignedOut,
}

impl Reply {
    /// Returns true if it refuses the key of a cache as invalid. That says nothing about the key if the
    /// meter lacks its record and KV was not read for it.
    pub fn refuses_as_invalid(&self) -> bool {
        match self {
            Self::Ask(response) | Self::Read(MeterSnapshot { response, .. }) => {
                response.verdict == Verdict::Refuse(KeyError::Invalid)
            }
            Self::Change(_)
            | Self::Stored
            | Self::Attempt(_)
            | Self::Issue(_)
            | Self::Show(_)
            | Self::Sessions(_)
            | Self::SignedOut => false,
        }
    }
}

/// A request from a lease cache to its meter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterRequest {
    /// The id of the lease cache: a random number that it keeps for life and that no other one has.
    pub holder: u64,
    /// A sequence number. A retry repeats it and gets the same response.
    pub seq: u32,
    /// The key, verified by its MAC.
    pub key: VerifiedKey,
    /// True if a call waits for the response.
    pub want: bool,
    /// What the call that waits is counted by. An admitted call is tallied as ended with 200.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_label")]
    pub tool: Option<Label>,
    /// The most units that the call that waits can cost. They are reserved if the key has limits in
    /// units.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    pub units: u32,
    /// Time after the request was first sent in which the call may be let through, in milliseconds.
    /// The meter counts the call that much later.
    #[serde(default = "margin_ms", skip_serializing_if = "is_margin")]
    pub admit_within_ms: u64,
    /// True if it is the second copy of a request, after an error or silence.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// True if KV was not read for the record. A meter that has no record then refuses the key as
    /// invalid, and the request is sent again with what KV holds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unread: bool,
    /// The sequence numbers of requests whose calls were not let through for want of a response. If
    /// the meter has counted them, it takes them back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<u32>,
    /// Calls per 1,000 seconds that the cache sees; 0 requests no lease.
    #[serde(default)]
    pub rate: u32,
    /// The stored record, if the cache has one newer than the meter is known to have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<KeyRecord>,
    /// The version of the cache's record. A newer one comes with the response.
    #[serde(default)]
    pub version: u64,
    /// Reports of spent leases.
    #[serde(default)]
    pub reports: Vec<LeaseReport>,
    /// The outcomes of calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
    /// What the cache holds of the local budget.
    #[serde(default, skip_serializing_if = "HeldShare::is_none")]
    pub budget: HeldShare,
}

/// The outcomes of calls since the last batch. Each batch is taken once: a cache sends the same one
/// under the same number until a response acknowledges it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Counts the holder's batches, from 1.
    pub number: u32,
    /// The moment of the latest response that the cache had before it made the batch, by the
    /// meter's clock.
    #[serde(default)]
    pub since: UnixMillis,
    /// The day the refunds belong to: the meter's, as it stood when it let those calls pass.
    pub day: UtcDay,
    /// Calls that are given back to the day.
    #[serde(default)]
    pub refunds: u32,
    /// Calls that passed on the local budget while the meter was out of reach.
    #[serde(default)]
    pub debts: u32,
    /// Calls to tally: label, status, how many. A label that is not known here is left out.
    #[serde(default, deserialize_with = "known_labels")]
    pub ended: Vec<(Label, u16, u32)>,
    /// Calls that were tallied as ended with 200, now or before, and ended with another status.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "known_labels")]
    pub corrected: Vec<(Label, u16, u32)>,
    /// Calls for the log.
    #[serde(default, skip_serializing_if = "CallBatch::is_empty")]
    pub calls: CallBatch,
    /// Units that were reserved for calls and not spent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<ReservedUnits>,
    /// Calls of named secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretCalls>,
}

/// A meter's response to a [`MeterRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterResponse {
    /// The decision on the call that waits.
    pub verdict: Verdict,
    /// The key's quota status, in which lent calls do not remain; `None` if the key is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaStatus>,
    /// A lease, from which the cache admits calls without a request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseTerms>,
    /// The record, if the cache's is older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<KeyRecord>,
    /// The version of the meter's record.
    #[serde(default)]
    pub version: u64,
    /// The number of the request's batch, which need not be sent again.
    #[serde(default)]
    pub batch: u32,
    /// The moment of the response by the meter's clock.
    #[serde(default)]
    pub at: UnixMillis,
    /// The meter's day, on which this call and the calls of this lease are counted.
    #[serde(default)]
    pub day: UtcDay,
    /// True if the admitted call is tallied as ended with 200.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tallied: bool,
    /// The units that are reserved for the admitted call, if the key has limits in units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ReservedUnits>,
    /// With a denial: milliseconds after which a new request is worthwhile, because lent calls or
    /// reserved units may come back then. A call is sure to pass only after [`Denial::retry_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recheck_ms: Option<u64>,
    /// The cache's share of the local budget: the calls that it may admit in any 60 seconds while the
    /// meter is out of reach. `None` leaves it as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
}

impl MeterResponse {
    /// Returns a response that decides nothing: no quota status, no lease, no record.
    pub(crate) const fn noted(version: u64, day: UtcDay) -> Self {
        Self {
            verdict: Verdict::Noted,
            quota: None,
            lease: None,
            record: None,
            version,
            batch: 0,
            at: UnixMillis(0),
            day,
            tallied: false,
            reserved: None,
            recheck_ms: None,
            budget: None,
        }
    }
}

/// A meter's decision on one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It passes, and is counted.
    Allow,
    /// It would exceed a quota, and is not counted.
    Deny(Denial),
    /// The key may not be used.
    Refuse(KeyError),
    /// No call waited.
    Noted,
}

/// The whole state, for `GET /v1/keys/me`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeterSnapshot {
    /// The response to a request that no call waits for.
    pub response: MeterResponse,
    /// The meter's record.
    pub record: Option<KeyRecord>,
    /// Calls counted in the last minute.
    pub minute_used: u32,
    /// Calls counted today.
    pub day_used: u32,
    /// Calls lent and not yet reported as spent.
    pub reserved: u32,
    /// Units spent, with those that are reserved for calls in flight; `None` for a key without limits
    /// in units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<SpentUnits>,
    /// Today's ended calls by label and status.
    pub tally: Tally,
    /// The moment at which the last call was counted.
    pub last_used: Option<UnixMillis>,
    /// The last refusals, grouped; `None` where none are logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusals: Option<Vec<RefusedCalls>>,
    /// The hours that have ended, the first one first, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<HourCounts>,
    /// A page of the log of the last calls, if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<CallPage>,
    /// The last alerts, the newest first, if they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<Alert>,
}

/// A change of a key's record. Absent fields stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// `PATCH /v1/keys/{id}`
    Patch {
        /// The tier.
        #[serde(skip_serializing_if = "Option::is_none")]
        tier: Option<Tier>,
        /// The key's own limits; `null` in a request is the default, none.
        #[serde(skip_serializing_if = "Option::is_none")]
        limits: Option<LimitOverrides>,
        /// The limits that stay as they are, whatever `limits` says: those that the request left out.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        limits_kept: Vec<Window>,
        /// The expiry; the inner `None` is never.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "nested")]
        expires_at: Option<Option<UnixMillis>>,
        /// Switched off or on.
        #[serde(skip_serializing_if = "Option::is_none")]
        disabled: Option<bool>,
        /// The plan of the bio-link product.
        #[serde(skip_serializing_if = "Option::is_none")]
        biolink_plan: Option<BiolinkPlan>,
        /// The fate of calls while the meter is out of reach.
        #[serde(skip_serializing_if = "Option::is_none")]
        when_meter_unreachable: Option<WhenMeterUnreachable>,
        /// The holder; the inner `None` erases it.
        #[serde(default, skip_serializing_if = "Option::is_none", with = "nested")]
        holder: Option<Option<KeyHolder>>,
    },
    /// Ended for good.
    Revoke,
    /// A new secret. The one in use stays valid for `grace_ms`, the one before it ends immediately.
    Rotate {
        /// The new secret's hash.
        secret: SecretHash,
        /// Grace period of the old secret, in milliseconds.
        grace_ms: u64,
    },
    /// A change of a named secret.
    Secret(SecretChange),
    /// Nothing: the record is read.
    None,
}

impl Change {
    /// Returns true if it changes the holder alone, which can be corrected and erased in every
    /// state of the key.
    pub(crate) const fn is_of_holder_alone(&self) -> bool {
        matches!(
            self,
            Self::Patch {
                tier: None,
                limits: None,
                expires_at: None,
                disabled: None,
                biolink_plan: None,
                when_meter_unreachable: None,
                ..
            }
        )
    }
}

/// The outcome of a [`Change`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum ChangeOutcome {
    /// The record as it is now.
    Done(KeyRecord),
    /// There is no such key.
    Unknown,
    /// The key is revoked, and stays as it is.
    Revoked,
    /// The holder's secret was replaced.
    Superseded,
    /// The change of a named secret cannot be made.
    Secret(SecretError),
    /// The holder's key may not be used.
    Refused(KeyError),
}

/// An admin secret that was presented and compared. The caller learns the result only once the
/// meter has decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdminAttempt {
    /// It is wrong.
    Wrong,
    /// It is right.
    Right,
}

pub(super) fn known_label<'de, D: Deserializer<'de>>(label: D) -> Result<Option<Label>, D::Error> {
    Ok(Option::<String>::deserialize(label)?.and_then(|name| name.parse::<Label>().ok()))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

const fn margin_ms() -> u64 {
    MARGIN_MS
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_margin(ms: &u64) -> bool {
    *ms == MARGIN_MS
}

fn known_labels<'de, D: Deserializer<'de>>(ended: D) -> Result<Vec<(Label, u16, u32)>, D::Error> {
    let named = Vec::<(String, u16, u32)>::deserialize(ended)?;
    let known =
        |(name, status, calls): (String, u16, u32)| Some((name.parse::<Label>().ok()?, status, calls));
    Ok(named.into_iter().filter_map(known).collect())
}
