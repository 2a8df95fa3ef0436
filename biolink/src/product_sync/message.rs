//! Messages to a source's object.

use serde::{Deserialize, Serialize};
use shared::key::KeyId;

use super::{PushRequest, Source};

/// A message to a source's object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum SourceMessage {
    /// These are the source's settings now.
    Configure {
        /// The account.
        account: KeyId,
        /// The source.
        source: Source,
    },
    /// The source is no longer there.
    Delete,
    /// Asks for its state. The reply is the member `sync` of a source.
    Status,
    /// Asks for its runs. The reply is the list of runs.
    Runs,
    /// Fetch the feed now. The reply is a [`RefreshReply`].
    Refresh,
    /// The shop sent something. The reply is a [`PushReply`].
    Push(PushRequest),
}

/// Whether a refresh is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshReply {
    /// It begins.
    Accepted,
    /// The last one was too recent. The next can begin after this many seconds.
    TooEarly(u64),
}

/// The result of a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PushReply {
    /// It is taken: products that changed, and items that cannot be shown.
    Taken {
        /// Products that were changed or deleted.
        changed: usize,
        /// Items that cannot be shown.
        faulty: usize,
    },
    /// The feed is fetched.
    Fetching,
    /// It was taken before, or is about something else.
    Ignored,
    /// There is no such source, or it takes no pushes.
    Unknown,
    /// It is not signed with the secret of the source.
    Unsigned(String),
    /// It is signed, and cannot be read.
    Malformed(String),
}
