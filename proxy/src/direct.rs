//! Direct mode: the proxy serves clients itself, without an edge. It checks keys, keeps their quotas and says what the
//! edge would say. Exact within one process; what is counted today outlives it in a small file.

mod attempts;
mod authority;
mod counted;
mod counters;
mod documents;
mod envelope;
mod feed;
mod handlers;
mod keeper;
mod ledger;
mod store;
pub mod told;

use std::{
    io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use parking_lot::Mutex;
use shared::{
    key::{ApiKey, KeyFault, VerifiedKey},
    origin::uncharged,
    problem::{Code, Problem},
    request::Head,
    secret::MacKeys,
    time::UnixMillis,
    transport,
};
use tokio::sync::mpsc;

use crate::{
    clock,
    config::{Authority, DirectConfig},
    ctx::RequestCtx,
    hand_over::Word,
};
use attempts::Attempts;
pub use counted::Counted;
use documents::Documents;
pub use documents::Reply;
pub use feed::Freshness;
pub use handlers::serve;
pub use keeper::Keeper;
pub use ledger::{Decided, Ledger};
pub use store::StateFault;
use store::{Origin, Store};

/// What direct mode keeps beside its configuration.
pub struct Direct {
    /// The counters and records of keys.
    pub ledger: Ledger,
    /// How much of the edge's feed is known.
    pub freshness: Freshness,
    store: Store,
    origin: Mutex<Origin>,
    records_changed: AtomicBool,
    /// Whether another process keeps the files now. Held while one is written.
    left: Mutex<bool>,
    attempts: Attempts,
    documents: Documents,
}

/// Returns an error if a process that starts could not write its state there. Leaves nothing behind.
///
/// # Errors
/// Why it could not.
pub fn check_state(path: &Path) -> Result<(), StateFault> {
    Store::open(path).map(drop)
}

impl Direct {
    /// What the process before this one left, or nothing.
    ///
    /// # Errors
    /// When the files cannot be read or written, or when the records of an authority are damaged.
    pub fn open(config: &DirectConfig) -> Result<Self, StateFault> {
        let (ledger, store) = (Ledger::default(), Store::open(&config.state)?);
        store.load_counters(&ledger)?;
        let (edge, lost) = match &config.authority {
            Authority::Here { .. } => (None, None),
            Authority::Edge(feed) => {
                (Some(feed.edge.clone()), Some("the edge is asked for all of them again"))
            }
        };
        let stored = store.load_records(&ledger, lost)?;
        // What another edge told is kept, as keys that were revoked stay so; where its feed ended means nothing here.
        let origin = stored.filter(|origin| origin.edge == edge);
        let freshness = match edge {
            None => Freshness::needless(),
            Some(_) => Freshness::begin(origin.is_some(), clock::now()),
        };
        let origin = Mutex::new(origin.unwrap_or(Origin { edge, ..Origin::default() }));
        Ok(Self {
            ledger,
            freshness,
            store,
            origin,
            records_changed: AtomicBool::new(false),
            left: Mutex::new(false),
            attempts: Attempts::default(),
            documents: Documents::default(),
        })
    }

    /// Decides on one call, and counts it if it passes.
    ///
    /// # Errors
    /// What is wrong with the key, or `key-store-unavailable` while it is not known which keys are revoked.
    pub fn call(&self, key: &VerifiedKey, now: UnixMillis) -> Result<Decided, Problem> {
        self.check_known()?;
        Ok(self.ledger.call(key, now)?)
    }

    /// Notes how a call ended; what was not to be charged is given back to its day. A call whose client left before the
    /// answer stays charged: the tool did its work.
    pub fn settle(&self, ctx: &RequestCtx, status: u16) {
        if let (Some(call), Some(day)) = (&ctx.call, ctx.charged)
            && status > 0
        {
            let uncharged = uncharged(status, ctx.refusal.is_some()).then_some(day);
            self.ledger.ended(&call.key_id, call.tool, status, uncharged, clock::now());
        }
    }

    /// Times that a file of the state could not be written, and files that were damaged when the process began.
    #[must_use]
    pub fn store_faults(&self) -> (u64, u64) {
        self.store.faults()
    }

    /// Writes everything down for the process that comes next.
    pub fn close(&self, now: UnixMillis) {
        self.save_counters(now);
        if self.records_changed.load(Ordering::Relaxed) {
            self.save_records();
        }
    }

    /// Writes everything down for a process that takes over. From now on it keeps the files, and `other` brings it what is
    /// still counted here.
    ///
    /// # Errors
    /// When a file cannot be written: then nothing has changed.
    pub fn hand_over(&self, other: mpsc::Sender<Word>, now: UnixMillis) -> io::Result<()> {
        let mut left = self.left.lock();
        let counters = self.store.save_counters(|out| self.ledger.write_and_tell(now, &other, out));
        let records = self.store.save_records(&self.ledger, &self.origin.lock().clone());
        if counters && records {
            *left = true;
            return Ok(());
        }
        self.ledger.tell(None);
        Err(io::Error::other("the state cannot be written"))
    }

    /// Takes over what the process before this one has written at last. What cannot be read was said in the log.
    pub fn take_over(&self, config: &DirectConfig) {
        let lost = matches!(config.authority, Authority::Edge(_))
            .then_some("the edge is asked for all of them again");
        let counters = self.store.load_counters(&self.ledger);
        let records = self.store.load_records(&self.ledger, lost);
        for fault in [counters.err(), records.err()].into_iter().flatten() {
            log::error!("what the process before this one has counted is lost: {fault}");
        }
    }

    /// From now on another process is told of everything that is counted; `None` when there is none any more, so that the
    /// files are kept here.
    pub fn tell(&self, other: Option<mpsc::Sender<Word>>) {
        self.ledger.tell(other.as_ref());
        if other.is_none() {
            *self.left.lock() = false;
        }
    }

    fn save_counters(&self, now: UnixMillis) -> bool {
        let left = self.left.lock();
        self.ledger.take_changed();
        *left || self.store.save_counters(|out| self.ledger.write(now, out))
    }

    /// Whether they are safe. Once another process keeps them they are not.
    fn save_records(&self) -> bool {
        let left = self.left.lock();
        if *left {
            return false;
        }
        self.records_changed.store(false, Ordering::Relaxed);
        let origin = self.origin.lock().clone();
        let saved = self.store.save_records(&self.ledger, &origin);
        self.records_changed.fetch_or(!saved, Ordering::Relaxed);
        saved
    }

    /// Fails closed: a key that was revoked must not pass because nobody has said so yet.
    fn check_known(&self) -> Result<(), Problem> {
        if self.freshness.is_known() {
            return Ok(());
        }
        let detail = "it is not known yet which keys are revoked; this says nothing about your key";
        Err(Problem::new(Code::KeyStoreUnavailable, detail).retry_after(1))
    }
}

/// How a request came: over TLS or not, from where, and to which host, with its port if it has one.
#[derive(Clone, Copy, Debug)]
pub struct Way<'a> {
    /// Over TLS, here or before somebody who ends it for this proxy.
    pub secure: bool,
    /// Whether nobody on the way could read it: it came over TLS, or from this machine.
    pub confidential: bool,
    /// As the client spelled it.
    pub host: &'a str,
}

impl Way<'_> {
    /// Refuses to take a secret that has travelled in the clear.
    ///
    /// # Errors
    /// `https-required`.
    pub fn check_confidential(&self) -> Result<(), Problem> {
        transport::check_confidential(self.confidential)
    }
}

/// The key of a request, by checksum and MAC.
///
/// # Errors
/// `key-missing`, `https-required` for one that came over plain HTTP, `key-malformed`, `key-invalid`.
pub fn authenticate(head: &Head<'_>, way: Way<'_>, signing: &MacKeys) -> Result<VerifiedKey, Problem> {
    let text = head.api_key.ok_or(KeyFault::Missing)?;
    way.check_confidential()?;
    Ok(ApiKey::parse(text)?.verify(signing)?)
}
