//! An endpoint: an address of the account's owner that gets webhooks.

mod describe;
mod input;
mod rotation;
mod sealed_headers;
mod statistics;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use input::{EndpointInput, MAX_HEADERS, read_test};
pub use input::{MAX_DESCRIPTION, MAX_HEADER_VALUE, MAX_PAGES, READ_ONLY};
pub use rotation::{DEFAULT_GRACE_S, MAX_GRACE_S};
pub use rotation::{LiveSecret, MAX_LIVE_SECRETS, RotationInput};
pub use sealed_headers::SealedHeaders;
pub use statistics::Statistics;

use shared::time::UnixMillis;

use super::{
    AttemptResult, DisabledReason, EndpointId, Health, KindSet, Mode, RateMeter, Recovery, SealedSecret,
    Subscription, WebhookKind,
};
use crate::{fetch_url::FetchUrl, page::PageId};

/// Most endpoints of an account.
pub const MAX_ENDPOINTS: usize = 10;

/// An endpoint, as it is stored. Fields are only ever added, with a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its name.
    pub id: EndpointId,
    /// Its address; `None` for one that only has events logged, for readers of `GET /events`. It must
    /// be parsed again as a `FetchUrl` before each request.
    pub url: Option<String>,
    /// The owner's note; empty for none.
    #[serde(default)]
    pub description: String,
    /// The kinds that it gets.
    pub kinds: KindSet,
    /// The pages whose events it gets; `None` for all.
    pub pages: Option<Vec<PageId>>,
    /// Whether its owner wants it to get anything.
    pub enabled: bool,
    /// The way in which it gets events.
    #[serde(default)]
    pub mode: Mode,
    /// The headers that each request has.
    #[serde(default)]
    pub sealed_headers: Option<SealedHeaders>,
    /// The owner's notes.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// The secrets, the newest first. Some may have expired.
    pub secrets: Vec<LiveSecret>,
    /// The moment of creation.
    pub created_at: UnixMillis,
    /// The moment of the owner's last change.
    pub updated_at: UnixMillis,
    /// Its health.
    #[serde(default)]
    pub health: Health,
    /// The rate of its events.
    #[serde(default)]
    pub rate: RateMeter,
    /// Its statistics.
    #[serde(default)]
    pub statistics: Statistics,
}

/// The consequence of an attempt for its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointChange {
    /// None.
    None,
    /// It has recovered: deliveries that wait are due now.
    Recovered,
    /// Its circuit has opened: it has failed too often in a row.
    Failing,
    /// It is disabled. What waits is sent when its owner enables it again.
    Disabled(DisabledReason),
}

impl Endpoint {
    /// Returns a new endpoint with its first secret, and without the headers of the input.
    pub fn new(id: EndpointId, input: EndpointInput, secret: SealedSecret, now: UnixMillis) -> Self {
        let EndpointInput { url, description, kinds, pages, enabled, mode, metadata, .. } = input;
        Self {
            id,
            url: url.map(|url| url.as_str().to_owned()),
            description,
            kinds,
            pages,
            enabled,
            mode,
            sealed_headers: None,
            metadata,
            secrets: vec![LiveSecret { secret, expires_at: None }],
            created_at: now,
            updated_at: now,
            health: Health::default(),
            rate: RateMeter::default(),
            statistics: Statistics::default(),
        }
    }

    /// Changes it to what its owner wrote, but for its headers. If it is enabled again or gets another address, its
    /// failures are forgotten.
    pub fn update(&mut self, input: EndpointInput, now: UnixMillis) {
        let is_moved = self.url.as_deref() != input.url.as_ref().map(FetchUrl::as_str);
        let is_enabled_again = input.enabled && !self.is_active();
        // The failures are those of the old address. With them, the new one would begin near its
        // end.
        if is_moved || is_enabled_again {
            self.health.reset();
        }
        let EndpointInput { url, description, kinds, pages, enabled, mode, metadata, .. } = input;
        self.url = url.map(|url| url.as_str().to_owned());
        (self.description, self.kinds, self.pages) = (description, kinds, pages);
        (self.enabled, self.mode, self.metadata) = (enabled, mode, metadata);
        self.note_change(now);
    }

    /// Returns true if its owner has changed nothing since its creation, neither settings nor secret.
    pub fn is_as_created(&self) -> bool {
        self.updated_at == self.created_at
    }

    /// Sets the moment of a change, which is later than that of the one before: a clock may stand still.
    pub(super) fn note_change(&mut self, now: UnixMillis) {
        self.updated_at = now.max(self.updated_at.plus(1));
    }

    /// Returns true if it gets events.
    pub const fn is_active(&self) -> bool {
        self.enabled && self.health.disabled.is_none()
    }

    /// Returns true if it gets requests.
    pub const fn is_receiver(&self) -> bool {
        self.is_active() && self.url.is_some()
    }

    /// Returns true if it gets events of this kind and page. An alert has no page, so `page_ids` do not
    /// filter it.
    pub fn wants(&self, kind: WebhookKind, page: Option<&PageId>) -> bool {
        let has_page = || match (page, &self.pages) {
            (Some(page), Some(pages)) => pages.contains(page),
            (None, _) | (_, None) => true,
        };
        self.is_active() && self.kinds.has(kind) && has_page()
    }

    /// Returns what it gets of pages; `None` if it is disabled.
    pub fn subscription(&self) -> Option<Subscription> {
        self.is_active().then(|| Subscription { kinds: self.kinds.of_pages(), pages: self.pages.clone() })
    }

    /// Records an attempt that took `duration_ms`. A batch is one attempt.
    pub fn record_attempt(
        &mut self,
        result: AttemptResult,
        duration_ms: u64,
        now: UnixMillis,
    ) -> EndpointChange {
        self.statistics.record_attempt(result, duration_ms);
        if result.is_success() {
            return match self.health.record_success(now) {
                Recovery::None => EndpointChange::None,
                Recovery::Recovered => EndpointChange::Recovered,
            };
        }
        if result.is_gone() {
            self.health.record_gone(now);
            return EndpointChange::Disabled(DisabledReason::Gone);
        }
        // Before the failure is recorded: the owner is told once, when the circuit opens.
        let was_open = self.health.is_open();
        match self.health.record_failure(now) {
            Some(reason) => EndpointChange::Disabled(reason),
            None if self.health.is_open() && !was_open => EndpointChange::Failing,
            None => EndpointChange::None,
        }
    }
}

#[cfg(test)]
mod tests;
