//! The log of a source.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::time::UnixMillis;
use strum::{IntoStaticStr, VariantArray};

use crate::product_feed::FeedFormat;

/// Faults of items that are kept with a run.
pub(super) const MAX_FAULTS: usize = 5;

/// The reason of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum RunTrigger {
    /// It was time.
    #[default]
    Schedule,
    /// Its settings changed, or it is new.
    Settings,
    /// Its owner asked for it.
    Refresh,
    /// The shop said that something changed.
    Push,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// The page has other products now.
    Updated,
    /// The products are those that the page has.
    #[default]
    Unchanged,
    /// The shop said that the feed is the same (304).
    NotModified,
    /// The feed would remove most products, and is held until the next run.
    Held,
    /// The products stay as they are, because something failed.
    Failed,
}

shared::named!(RunTrigger, RunOutcome);

/// The changes of an edit to the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// Products of the source on the page.
    pub shown: usize,
    /// Products that came onto the page.
    pub added: usize,
    /// Products that changed.
    pub updated: usize,
    /// Products that left the page.
    pub removed: usize,
}

/// One run of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The moment at which it began.
    pub at: UnixMillis,
    /// Its reason.
    pub trigger: RunTrigger,
    /// Its end.
    pub outcome: RunOutcome,
    /// Its duration in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
    /// The status of the last response.
    pub http_status: Option<u16>,
    /// The format of the feed.
    pub format: Option<FeedFormat>,
    /// Items of the feed, or of the push.
    #[serde(default)]
    pub items: usize,
    /// Items that cannot be shown.
    #[serde(default)]
    pub faulty: usize,
    /// The first of them: place, id, and what is wrong.
    #[serde(default)]
    pub faults: Vec<(usize, Option<String>, String)>,
    /// The products of the source on the page, and what happened to them.
    #[serde(default)]
    pub products: Applied,
    /// The reason why it failed, or was held.
    pub error: Option<String>,
}

impl RunTrigger {
    /// Every trigger once.
    pub const ALL: [Self; 4] = *Self::VARIANTS.as_array().unwrap();
}

impl RunOutcome {
    /// Every outcome once.
    pub const ALL: [Self; 5] = *Self::VARIANTS.as_array().unwrap();
}

impl Run {
    /// Returns the run as the API shows it.
    pub fn describe(&self) -> Value {
        let fault = |(item, id, detail): &(usize, Option<String>, String)| json!({ "item": item, "id": id, "detail": detail });
        json!({
            "at": self.at.to_rfc3339(),
            "trigger": self.trigger.as_str(),
            "outcome": self.outcome.as_str(),
            "duration_ms": self.duration_ms,
            "http_status": self.http_status,
            "format": self.format.map(FeedFormat::as_str),
            "items": self.items,
            "faulty": self.faulty,
            "faults": self.faults.iter().map(fault).collect::<Vec<_>>(),
            "products": self.products,
            "error": self.error,
        })
    }
}
