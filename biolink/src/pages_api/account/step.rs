//! What a step of an account takes and returns.

use serde::{Deserialize, Serialize};
use shared::{problem::Problem, time::UnixMillis};

use crate::{
    domains::Check,
    page::{DomainId, PageId, Slug},
    pages_api::{admission::Admission, page::Content, reply::Reply, slug::SlugMessage},
};

/// The rows that a call needs from the account's store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The content of the page as it is.
    pub content: Option<(PageId, u64)>,
    /// The content of another revision.
    pub other: Option<(PageId, u64)>,
    /// The content of the revision that is live, if it is not the page as it is.
    pub live: Option<(PageId, u64)>,
    /// The reply that was stored under this name.
    pub reply: Option<String>,
}

/// The rows that the store had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// As [`Needs::content`].
    pub content: Option<Content>,
    /// As [`Needs::other`].
    pub other: Option<Content>,
    /// As [`Needs::live`].
    pub live: Option<Content>,
    /// As [`Needs::reply`].
    pub reply: Option<StoredReply>,
}

/// A reply to a call with an `Idempotency-Key`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredReply {
    pub(super) fingerprint: String,
    pub(super) at: UnixMillis,
    pub(super) reply: Reply,
}

/// A change of the account's store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "a write lives for one call and is never kept in bulk")]
pub enum Write {
    /// Store a revision's content.
    PutRevision(PageId, u64, Content),
    /// Drop all revisions and replies.
    Erase,
    /// Drop all revisions of the page but these.
    KeepRevisions(PageId, Vec<u64>),
    /// Store a reply under a name, and drop those from before this moment.
    PutReply {
        /// The name.
        name: String,
        /// The reply.
        stored: StoredReply,
        /// Replies that are older are dropped.
        drop_before: UnixMillis,
    },
}

impl StoredReply {
    /// Returns the moment at which it was stored.
    pub const fn at(&self) -> UnixMillis {
        self.at
    }
}

/// The outcome of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make these changes, then send the reply.
    Reply(Reply, Vec<Write>),
    /// Send the admission: others handle the call.
    Admit(Admission),
    /// Send the slug this message, and step the call again with the outcome as its claim.
    Claim {
        /// The slug.
        slug: Slug,
        /// A claim, or for a call that is only tried, the question whether there could be one.
        message: SlugMessage,
    },
    /// Check the proof of a domain, and step the call again with how it ended.
    Check(Check),
}

/// The reason why an operation does not end in this step.
pub(super) enum Unfinished {
    Refused(Problem),
    /// It is allowed, and others handle it. It is about these pages.
    Admitted(Vec<PageId>),
    Claim(Slug, PageId),
    Check(DomainId),
}

impl From<Problem> for Unfinished {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}
