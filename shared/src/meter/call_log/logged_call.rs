//! One call of the log.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::CallRow;
use crate::json;
use crate::key::{KeyRecord, SecretHash, SecretId};
use crate::request_id::RequestId;
use crate::sorting::sort_by_key;
use crate::time::UnixMillis;

/// A call of a key that has ended. Its names are short where it is stored, because there are many.
///
/// Codes and tools are text, because another version of the worker may know others. What is not known is
/// `None`, never 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedCall {
    /// The request's id.
    #[serde(rename = "i")]
    pub request_id: RequestId,
    /// The moment at which the request arrived.
    #[serde(rename = "t")]
    pub at: UnixMillis,
    /// The tool; `None` for a request of another part of the service.
    #[serde(default, rename = "o", skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The action of the tool, or the tool of MCP.
    #[serde(default, rename = "a", skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The template of the path, such as `/pages/{page_id}`, if it is no tool's.
    #[serde(default, rename = "p", skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The status.
    #[serde(rename = "s")]
    pub status: u16,
    /// The code of the problem with which the gateway refused the call.
    #[serde(default, rename = "c", skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The named secret that called; `None` is the key's own.
    #[serde(default, rename = "k", skip_serializing_if = "Option::is_none")]
    pub secret_id: Option<SecretId>,
    /// The hash of the named secret that called, of a call that was refused before anyone read the record that
    /// names it. The meter puts `secret_id` in its place and stores no hash.
    #[serde(default, rename = "h", skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretHash>,
    /// Milliseconds from the forwarding to the head of the response.
    #[serde(default, rename = "m", skip_serializing_if = "Option::is_none")]
    pub tool_ms: Option<u64>,
    /// Milliseconds that the gateway itself took.
    #[serde(default, rename = "e", skip_serializing_if = "Option::is_none")]
    pub edge_ms: Option<u64>,
    /// Bytes of the request's body.
    #[serde(default, rename = "q", skip_serializing_if = "Option::is_none")]
    pub request_bytes: Option<u64>,
    /// Bytes of the response's body, as the tool has sent it.
    #[serde(default, rename = "r", skip_serializing_if = "Option::is_none")]
    pub response_bytes: Option<u64>,
    /// The number of calls for which this one stands: one of that number is logged.
    #[serde(default = "one", rename = "n", skip_serializing_if = "is_one")]
    pub sampled: u32,
    /// Further calls that ended alike within half a minute and are not listed one by one.
    #[serde(default, rename = "x", skip_serializing_if = "json::is_zero")]
    pub repeated: u32,
}

impl LoggedCall {
    /// Returns a call of which nothing is known but how it ended.
    pub const fn new(request_id: RequestId, at: UnixMillis, status: u16) -> Self {
        Self {
            request_id,
            at,
            tool: None,
            action: None,
            path: None,
            status,
            code: None,
            secret_id: None,
            secret: None,
            tool_ms: None,
            edge_ms: None,
            request_bytes: None,
            response_bytes: None,
            sampled: 1,
            repeated: 0,
        }
    }

    /// Returns true if the gateway has refused the key itself. The holder of such a key cannot read the
    /// log.
    pub(crate) fn is_of_refused_key(&self) -> bool {
        self.status == 401 && self.code.as_ref().is_some_and(|code| code.starts_with("key-"))
    }

    /// Returns the call with the id of its secret in place of the hash.
    pub(super) fn named(&self, record: Option<&KeyRecord>) -> Self {
        let id = || record?.named_secret(self.secret.as_ref()?);
        Self { secret_id: self.secret_id.or_else(id), secret: None, ..self.clone() }
    }

    /// Returns true if both calls ended in the same way, at the same place, with the same secret.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let place = |call: &Self| (call.status, call.secret_id, call.secret);
        place(self) == place(other)
            && self.tool == other.tool
            && self.action == other.action
            && self.path == other.path
            && self.code == other.code
    }
}

/// Calls of a key that were refused for one reason on one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedCalls {
    /// The problem's code.
    pub code: String,
    /// The template of the path, such as `/v1/qr/{action}`.
    pub route: String,
    /// The number of calls.
    pub count: u32,
    /// The moment of the last one.
    pub last_at: UnixMillis,
}

impl RefusedCalls {
    /// Maximum number of calls in all groups together.
    pub const MAX_CALLS: u32 = 1_000;
    /// Number of rows that have so many.
    pub const ROWS: u64 = 16;

    /// Returns the last refused calls by reason and route, the latest first.
    pub fn of(rows: impl IntoIterator<Item = CallRow>, since: UnixMillis) -> Vec<Self> {
        let mut calls: Vec<LoggedCall> = rows.into_iter().flat_map(|row| row.calls).collect();
        calls.retain(|call| call.at >= since && call.status >= 400);
        sort_by_key(&mut calls, |call| Reverse(call.at));
        let mut groups: Vec<Self> = Vec::new();
        let mut room = Self::MAX_CALLS;
        for call in calls {
            let (Some(code), Some(route)) = (call.code, route(call.tool.as_deref(), call.path)) else {
                continue;
            };
            let count = call.repeated.saturating_add(1).min(room);
            room -= count;
            match groups.iter_mut().find(|group| group.code == code && group.route == route) {
                Some(group) => group.count = group.count.saturating_add(count),
                None if count > 0 => groups.push(Self { code, route, count, last_at: call.at }),
                None => {}
            }
        }
        groups
    }
}

fn route(tool: Option<&str>, path: Option<String>) -> Option<String> {
    tool.map(|tool| format!("/v1/{tool}/{{action}}")).or(path)
}

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}
