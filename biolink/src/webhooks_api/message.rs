//! Messages to the object of an account's webhooks.

use serde::{Deserialize, Serialize};
use shared::{key::KeyId, meter::KeyAlerts};

use super::operation::WebhooksOperation;
use crate::{page::PageId, pages_api::Once, stats::OutboxRow, webhooks::Publication};

/// A message to the object of an account's webhooks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum WebhooksMessage {
    /// A call of the REST API.
    Call(WebhooksRequest),
    /// The store of a page has events.
    Append {
        /// The page's account.
        account: KeyId,
        /// The page.
        page: PageId,
        /// The events.
        rows: Vec<OutboxRow>,
        /// Events that the store has dropped since the last message, because none was taken.
        dropped: u64,
    },
    /// The account has published a page.
    Published {
        /// The account.
        account: KeyId,
        /// The page.
        page: PageId,
        /// The page's version, by which a repeated message is known.
        version: u64,
        /// The publication.
        publication: Publication,
    },
    /// A key of the account has alerts.
    Alert(KeyAlerts),
    /// The reply has the last alerts about endpoints, described, each with its moment.
    ReadAlerts,
    /// A page was deleted: drop its events.
    Purge(PageId),
    /// The account was erased: drop everything.
    Erase,
    /// The export continues: the reply has a line for each endpoint.
    Export,
}

/// A call of the REST API by a key whose plan allows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhooksRequest {
    /// The account.
    pub account: KeyId,
    /// The request's id, for problems.
    pub request_id: [u8; 16],
    /// Random bytes, from which ids and secrets are drawn.
    pub seed: [u8; 32],
    /// The address below which pages are shown, without a slash at its end.
    pub base: String,
    /// The host that was called. No endpoint may be there.
    pub host: String,
    /// The pages of the account.
    #[serde(default)]
    pub pages: Vec<PageId>,
    /// The operation.
    pub operation: WebhooksOperation,
    /// Whether it is only tried.
    #[serde(default)]
    pub dry_run: bool,
    /// `Idempotency-Key`.
    pub once: Option<Once>,
}
