//! A page of the log.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::{CallRow, LoggedCall, oldest};
use crate::request_id::RequestId;
use crate::sorting::sort_by_key;
use crate::time::UnixMillis;

/// A request for a page of the log: the calls that meet every condition, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallFilter {
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The lowest and the highest status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<(u16, u16)>,
    /// The problem's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The first moment.
    pub from: UnixMillis,
    /// The moment after the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<UnixMillis>,
    /// The last call of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<(UnixMillis, RequestId)>,
    /// Maximum number of calls.
    pub limit: usize,
}

/// A page of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallPage {
    /// The calls, the latest first.
    pub calls: Vec<LoggedCall>,
    /// Whether there are more.
    pub has_more: bool,
    /// Failed calls since `from` that are not in the log, because there were too many at the same time.
    pub dropped: u32,
}

impl CallFilter {
    /// Returns the moment from which on rows are needed.
    pub fn since(&self, now: UnixMillis) -> UnixMillis {
        self.from.max(oldest(now))
    }

    /// Returns true if successes can meet the conditions.
    pub fn wants_successes(&self) -> bool {
        // Only failures have a code, so the rows of successes need not be read.
        self.code.is_none() && self.status.is_none_or(|(lowest, _)| lowest < 400)
    }

    /// Returns the page that these rows have.
    pub fn page(&self, rows: impl IntoIterator<Item = CallRow>, now: UnixMillis) -> CallPage {
        let mut page = CallPage::default();
        let since = self.since(now);
        for row in rows {
            page.dropped = page.dropped.saturating_add(row.dropped);
            page.calls.extend(row.calls.into_iter().filter(|call| call.at >= since && self.matches(call)));
        }
        // By the request as well: several calls of one millisecond must not change places between
        // two pages.
        sort_by_key(&mut page.calls, |call| Reverse((call.at, call.request_id)));
        // A meter that has forgotten an isolate may take its batch twice.
        page.calls.dedup_by_key(|call| (call.at, call.request_id));
        page.has_more = page.calls.len() > self.limit;
        page.calls.truncate(self.limit);
        page
    }

    fn matches(&self, call: &LoggedCall) -> bool {
        let is = |wanted: &Option<String>, text: &Option<String>| wanted.is_none() || wanted == text;
        is(&self.tool, &call.tool)
            && is(&self.code, &call.code)
            && self.status.is_none_or(|(lowest, highest)| (lowest..=highest).contains(&call.status))
            && self.request_id.is_none_or(|id| id == call.request_id)
            && self.to.is_none_or(|to| call.at < to)
            && self.after.is_none_or(|last| (call.at, call.request_id) < last)
    }
}
