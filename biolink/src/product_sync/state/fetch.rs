//! What comes of fetching a feed.

use thiserror::Error;

use crate::{
    fetch_url::FetchUrlError,
    product_feed::{Feed, FeedError},
};

/// A feed that was fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "it lives for one run and is never kept in bulk")]
pub enum Fetched {
    /// It is the same as before (304).
    NotModified,
    /// A feed.
    Feed {
        /// Its products.
        feed: Feed,
        /// The status of the last response.
        status: u16,
        /// The validator `ETag`, if it stands for the whole feed.
        etag: Option<String>,
        /// The validator `Last-Modified`, likewise.
        last_modified: Option<String>,
    },
}

/// A run without a feed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FetchError {
    /// The URL must not be called.
    #[error("the URL {0}")]
    Url(#[from] FetchUrlError),
    /// The shop took too long.
    #[error("the shop did not respond within {ms} ms")]
    TimedOut {
        /// The time that it had.
        ms: u64,
    },
    /// The shop cannot be reached.
    #[error("the connection to the shop failed: {reason}")]
    Connection {
        /// The reason, as the runtime says it.
        reason: String,
    },
    /// The response is too long.
    #[error("the response is longer than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The shop responded with another status than 200.
    #[error("the shop responded with status {status}{}", redirect_note(*.status))]
    Status {
        /// The status.
        status: u16,
        /// `Retry-After`, in milliseconds.
        retry_after_ms: Option<u64>,
    },
    /// The response is no feed.
    #[error("{0}")]
    Feed(#[from] FeedError),
    /// The feed has items, and none can be shown.
    #[error("none of the {items} items can be shown; the first {reason}")]
    NoItem {
        /// The number of items.
        items: usize,
        /// The fault of the first one.
        reason: String,
    },
}

impl FetchError {
    /// Returns the status of the response, if there was one.
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::Feed(_) | Self::NoItem { .. } => Some(200),
            Self::Url(_) | Self::TimedOut { .. } | Self::Connection { .. } | Self::TooLarge { .. } => None,
        }
    }

    /// Returns the time that the shop asks for before the next run, in milliseconds.
    pub const fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Status { retry_after_ms, .. } => *retry_after_ms,
            _ => None,
        }
    }

    /// Returns the error of a feed of which no item can be shown.
    pub fn of_items(feed: &Feed) -> Option<Self> {
        // A feed without any item is a shop that sells nothing now, and no error.
        let fault = feed.faults.first().filter(|_| feed.products.is_empty())?;
        Some(Self::NoItem { items: feed.items, reason: fault.error.to_string() })
    }
}

const fn redirect_note(status: u16) -> &'static str {
    match status {
        300..400 => ", a redirect, which is not followed; set `url` to the final address",
        _ => "",
    }
}
