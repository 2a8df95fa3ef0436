//! Follows the edge's feed of changed keys. While the edge cannot be asked, what is known is gone on with, and how old it
//! is can be seen.

mod connection;

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use shared::{key::ChangesPage, origin_token::OriginToken, time::UnixMillis};
use tokio::time::{sleep, timeout};

use super::Direct;
use crate::{
    clock,
    config::{Authority, Callers, FeedConfig},
    state::State,
};
use connection::Connection;

/// How much is known of the edge's feed.
#[derive(Debug)]
pub struct Freshness {
    known: AtomicBool,
    /// When all of the feed was known, or when the process began to ask; 0 where nobody is asked.
    whole_at: AtomicU64,
    failures: AtomicU64,
}

/// How long the edge may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

impl Freshness {
    /// Nothing is to be known: this proxy is the authority.
    pub(super) const fn needless() -> Self {
        Self { known: AtomicBool::new(true), whole_at: AtomicU64::new(0), failures: AtomicU64::new(0) }
    }

    /// The edge is to be asked, from `now` on. `known` when there is a good copy of what it told.
    pub(super) const fn begin(known: bool, now: UnixMillis) -> Self {
        Self { known: AtomicBool::new(known), whole_at: AtomicU64::new(now.0), failures: AtomicU64::new(0) }
    }

    /// Whether it is known which keys were revoked: now, or at the time of the last good copy.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Milliseconds since all of the feed was known, or since the process began to ask; `None` where nobody is asked.
    #[must_use]
    pub fn age(&self, now: UnixMillis) -> Option<u64> {
        let at = Some(self.whole_at.load(Ordering::Relaxed)).filter(|&at| at > 0)?;
        Some(now.since(UnixMillis(at)))
    }

    /// Times that the edge did not answer as it should.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    fn note_whole(&self, now: UnixMillis) {
        self.whole_at.store(now.0, Ordering::Relaxed);
        self.known.store(true, Ordering::Release);
    }
}

/// Asks again and again, for as long as the process runs; not at all where this proxy is the authority.
pub(super) async fn follow(state: &State, direct: &Direct) {
    let mut connection = Connection::default();
    let mut failing = false;
    loop {
        let config = state.config.load_full();
        let Callers::Clients(keys) = &config.callers else { return };
        let Authority::Edge(feed) = &keys.authority else { return };
        let asked = ask(direct, feed, &config.server.data_centre, &mut connection);
        let outcome = timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err("it does not answer".to_owned()));
        let failed_before = std::mem::replace(&mut failing, outcome.is_err());
        let more = match outcome {
            Ok(more) => {
                if failed_before {
                    log::warn!("{} tells again which keys have changed", feed.edge);
                }
                more
            }
            Err(reason) => {
                connection = Connection::default();
                direct.freshness.failures.fetch_add(1, Ordering::Relaxed);
                if !failed_before {
                    log::error!("{} does not tell which keys have changed: {reason}", feed.edge);
                }
                false
            }
        };
        if !more {
            sleep(feed.every).await;
        }
    }
}

/// Asks for one page; whether there is another already.
async fn ask(
    direct: &Direct,
    feed: &FeedConfig,
    data_centre: &str,
    connection: &mut Connection,
) -> Result<bool, String> {
    let asked_at = clock::now();
    let token = OriginToken { data_centre: data_centre.to_owned(), issued_at: asked_at }.sign(&feed.grants);
    let target = ChangesPage::target(direct.origin.lock().cursor.as_ref());
    let text = connection.get(&feed.edge, &target, &token, ChangesPage::MAX_BYTES).await?;
    let page = ChangesPage::from_json(&text).map_err(|fault| format!("its answer {fault}"))?;
    let more = page.more;
    direct.learn(page);
    if !more {
        direct.freshness.note_whole(asked_at);
    }
    Ok(more)
}

impl Direct {
    /// Takes a page over. Its records come first: a cursor is kept only with what lies before it.
    fn learn(&self, page: ChangesPage) {
        let news = !page.keys.is_empty();
        page.keys.into_iter().for_each(|record| self.ledger.learn(record));
        let mut origin = self.origin.lock();
        if news || origin.cursor.as_ref() != Some(&page.cursor) {
            origin.cursor = Some(page.cursor);
            self.records_changed.store(true, Ordering::Relaxed);
        }
    }
}
