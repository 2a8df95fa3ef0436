//! Sources of products: shops whose products appear on a page and stay up to date.
//!
//! The account owns the settings of a [`Source`]. A separate object fetches the feed, keeps what
//! happened, takes in what the shop pushes, and gives the products to the account as an edit of the
//! page. Everything that it decides is in [`SyncState`].
//!
//! Why: docs/decisions/products.md, "A sync changes the live content and the draft, each apart".

mod catalog;
mod describe;
mod message;
mod push;
mod pushed_since;
mod run;
mod schedule;
mod settings;
mod source;
mod state;

pub use catalog::Catalog;
pub use describe::{complete, runs_body};
pub use message::{PushReply, RefreshReply, SourceMessage};
pub use push::{PUSH_HEADERS, PushError, PushRequest, Pushed, read_push};
pub use run::{Applied, Run, RunOutcome, RunTrigger};
pub use settings::SourceSettings;
pub use settings::{MAX_ITEMS, MAX_TAGS};
pub use source::{Source, SourceWrite};
pub use state::{EditOutcome, FetchError, Fetched, ProductEdit, SyncAttempt, SyncState, SyncStatus};

/// Sources that a page may have.
pub const MAX_SOURCES: usize = 3;
/// The largest response of a shop, in bytes.
pub const MAX_FEED_BYTES: usize = 5 * 1024 * 1024;
/// Time for each response of a shop, in milliseconds.
pub const FETCH_TIMEOUT_MS: u64 = 15_000;
/// Time for all responses of a feed, in milliseconds.
pub const DOWNLOAD_TIMEOUT_MS: u64 = 300_000;
/// The largest body of a push, in bytes.
pub const MAX_PUSH_BYTES: usize = 1024 * 1024;
