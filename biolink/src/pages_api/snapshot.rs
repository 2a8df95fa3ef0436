//! What is stored at the edge for each slug, for visitors.

use serde::{Deserialize, Serialize};
use shared::{json, key::KeyId, time::UnixMillis};

use crate::{
    page::{PageDocument, PageId, PartId, Slug},
    route::VisitPart,
};

/// The end of a redirect that has none.
pub(super) const FOREVER: UnixMillis = UnixMillis(u64::MAX);

/// The published state of one slug. It is stored under [`Snapshot::key`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The account that has, or had, the slug.
    pub account: KeyId,
    /// The state that visitors get.
    pub state: SnapshotState,
}

/// The state of a slug for its visitors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a snapshot lives for one request and is never kept in bulk")]
pub enum SnapshotState {
    /// The page.
    Live {
        /// Its id.
        page: PageId,
        /// Its revision.
        revision: u64,
        /// The moment at which it went live.
        published_at: UnixMillis,
        /// The target of its QR codes, if not its slug.
        code: Option<Slug>,
        /// Its content.
        document: PageDocument,
    },
    /// A redirect to the page's slug: from a former one, or from its code.
    Moved {
        /// The new slug.
        to: Slug,
        /// The moment from which there is nothing any more.
        until: UnixMillis,
        /// The page.
        page: PageId,
    },
    /// Nothing any more.
    Gone,
}

/// The content that a visitor is served.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "it lives for one request and is never kept in bulk")]
pub enum Served {
    /// The page, with status 200.
    Page {
        /// Its account.
        account: KeyId,
        /// Its id.
        page: PageId,
        /// Its revision.
        revision: u64,
        /// The moment at which it went live.
        published_at: UnixMillis,
        /// The target of its QR codes, if not its slug.
        code: Option<Slug>,
        /// Its content.
        document: PageDocument,
    },
    /// A permanent redirect (301).
    Moved {
        /// The new slug.
        to: Slug,
        /// The account and the page.
        owner: (KeyId, PageId),
    },
    /// 410: there was a page, and it is not shown any more.
    Gone,
    /// 404: there was never a page.
    Unknown,
}

impl Snapshot {
    /// Returns the name under which the snapshot of a slug is stored.
    pub fn key(slug: &Slug) -> String {
        format!("page:{slug}")
    }

    /// Returns the seconds for which it is stored; `None` is until it is replaced. What is over
    /// needs no place for ever: the account knows it.
    pub const fn lifetime(&self) -> Option<u32> {
        match self.state {
            SnapshotState::Live { .. } | SnapshotState::Moved { until: FOREVER, .. } => None,
            SnapshotState::Moved { .. } | SnapshotState::Gone => Some(90 * 86_400),
        }
    }

    /// Reads a stored snapshot; `None` if it cannot be read, which is like none at all: the account
    /// knows it.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_str(text).ok()
    }

    /// Returns the snapshot as it is stored.
    pub fn to_json(&self) -> String {
        // A snapshot is plain strings and numbers, which always serialize.
        json::to_string(self).unwrap_or_default()
    }
}

impl Served {
    /// Returns the part of the page with the whole id of a link or product.
    pub fn whole(&self, part: VisitPart) -> VisitPart {
        let Self::Page { document, .. } = self else { return part };
        match part {
            VisitPart::Link(id) => VisitPart::Link(id.whole(document.link_ids())),
            VisitPart::Ping(id) => VisitPart::Ping(id.whole(document.link_ids())),
            VisitPart::Product(id) => VisitPart::Product(id.whole(document.product_ids())),
            _ => part,
        }
    }

    /// Returns what a visitor is served at `now`.
    pub fn of(snapshot: Option<Snapshot>, now: UnixMillis) -> Self {
        let Some(Snapshot { account, state }) = snapshot else { return Self::Unknown };
        match state {
            SnapshotState::Gone => Self::Gone,
            // The store at the edge may keep it longer than it holds.
            SnapshotState::Moved { until, .. } if until <= now => Self::Unknown,
            SnapshotState::Moved { to, page, .. } => Self::Moved { to, owner: (account, page) },
            SnapshotState::Live { page, revision, published_at, code, document } => {
                Self::Page { account, page, revision, published_at, code, document }
            }
        }
    }
}
