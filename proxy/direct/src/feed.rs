//! Polls the edge's feed of changed keys. While the edge does not respond, the known state is used,
//! and metrics show its age.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use shared::keys_api::ChangesPage;
use shared::origin_token::OriginToken;
use shared::time::UnixMillis;
use tokio::time::{sleep, timeout};

use super::Direct;
use super::edge_connection::{Connection, EdgeError};
use config::{Authority, Config, FeedConfig};
use transport::clock;

/// The age of the local copy of the edge's feed.
#[derive(Debug)]
pub struct Freshness {
    known: AtomicBool,
    /// The time at which the copy was last complete, or polling started. 0 if no edge is polled.
    complete_at: AtomicU64,
    failures: AtomicU64,
}

/// The timeout of one request to the edge.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Freshness {
    /// Returns the state of a proxy that is the authority itself.
    pub(super) const fn not_needed() -> Self {
        Self { known: AtomicBool::new(true), complete_at: AtomicU64::new(0), failures: AtomicU64::new(0) }
    }

    /// Starts at `now`. `known` says that an intact copy of the feed was loaded.
    pub(super) const fn start(known: bool, now: UnixMillis) -> Self {
        Self {
            known: AtomicBool::new(known),
            complete_at: AtomicU64::new(now.0),
            failures: AtomicU64::new(0),
        }
    }

    /// Returns true if the revoked keys are known, now or as of the last intact copy.
    pub fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Returns the milliseconds since the copy was last complete, or since polling started. Returns
    /// `None` if no edge is polled.
    pub fn age(&self, now: UnixMillis) -> Option<u64> {
        let at = Some(self.complete_at.load(Ordering::Relaxed)).filter(|&at| at > 0)?;
        Some(now.since(UnixMillis(at)))
    }

    /// Returns the number of failed polls.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn record_complete(&self, now: UnixMillis) {
        self.complete_at.store(now.0, Ordering::Relaxed);
        self.known.store(true, Ordering::Release);
    }
}

/// Polls the feed for as long as the process runs. Returns if this proxy is the authority.
pub(super) async fn follow(config: &ArcSwap<Config>, direct: &Direct) {
    let mut connection = Connection::default();
    let mut failing = false;
    loop {
        let (settings, config) = (direct.config.load_full(), config.load_full());
        let Authority::Edge(feed) = &settings.authority else { return };
        let polled = poll(direct, feed, &config.server.data_center, &mut connection);
        let outcome = timeout(TIMEOUT, polled).await.unwrap_or(Err(EdgeError::TimedOut));
        let failed_before = std::mem::replace(&mut failing, outcome.is_err());
        let more = match outcome {
            Ok(more) => {
                if failed_before {
                    log::warn!("key-change feed recovered: edge={}", feed.edge);
                }
                more
            }
            Err(error) => {
                connection = Connection::default();
                direct.freshness.failures.fetch_add(1, Ordering::Relaxed);
                if !failed_before {
                    log::error!("key-change feed failed: edge={} error=\"{error}\"", feed.edge);
                }
                false
            }
        };
        if !more {
            sleep(feed.every).await;
        }
    }
}

/// Fetches one page. Returns true if the next one is already there.
async fn poll(
    direct: &Direct,
    feed: &FeedConfig,
    data_center: &str,
    connection: &mut Connection,
) -> Result<bool, EdgeError> {
    // Before the request: a key that is revoked while the page is on its way is not in it.
    let polled_at = clock::now();
    let token = OriginToken { data_center: data_center.to_owned(), issued_at: polled_at }.sign(&feed.grants);
    let target = ChangesPage::target(direct.source.lock().cursor.as_ref());
    let text = connection.get(&feed.edge, &target, &token, ChangesPage::MAX_BYTES).await?;
    let page = ChangesPage::from_json(&text).map_err(|fault| EdgeError::Invalid(fault.to_string()))?;
    let more = page.more;
    direct.apply(page);
    if !more {
        direct.freshness.record_complete(polled_at);
    }
    Ok(more)
}

impl Direct {
    /// Applies a page. Its records come first, so that a stored cursor never skips any.
    fn apply(&self, page: ChangesPage) {
        let news = !page.keys.is_empty();
        page.keys.into_iter().for_each(|record| self.keys.merge_record(record));
        let mut source = self.source.lock();
        // The feed is polled every few seconds. A page without news must not write the file each
        // time.
        if news || source.cursor.as_ref() != Some(&page.cursor) {
            source.cursor = Some(page.cursor);
            self.records_changed.store(true, Ordering::Relaxed);
        }
    }
}
