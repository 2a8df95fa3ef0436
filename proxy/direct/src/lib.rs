//! Direct mode: the proxy serves clients without an edge. It checks keys, enforces their quotas and
//! serves the keys API. Counts are exact within one process; files carry them over a restart.
//!
//! **What belongs here**: keys and their counts, the meters that proxies share, and beside them the used grants and the
//! connections to Valkey and to the edge that both need. **What does not**: pools and calls, which this crate does not know.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod admin_attempts;
mod call_decision;
mod checked_file;
mod count_clock;
mod counter_event;
mod counter_table;
mod documents;
mod edge_connection;
mod feed;
mod handlers;
pub mod http_client;
mod key_admin;
mod key_table;
mod meters;
pub mod replay;
pub mod response_headers;
mod state_files;
mod state_saver;
pub mod sync_record;
pub mod valkey;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use shared::key::{self, KeyId, KeyRecord, Scope, VerifiedKey};
use shared::meter::MeterSnapshot;
use shared::problem::{Problem, codes};
use shared::quota::{CallEnd, is_uncharged};
use shared::request::Head;
use shared::secret::MacKeys;
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::url::check_confidential;
use tokio::sync::mpsc;

use crate::sync_record::SyncRecord;
use admin_attempts::AdminAttempts;
pub use call_decision::Charged;
pub use call_decision::{CallDecision, CallStep};
use config::{Authority, DirectConfig};
use count_clock::CountClock;
pub use counter_event::CounterEvent;
use documents::Documents;
pub use documents::Reply;
pub use feed::Freshness;
pub use handlers::{HandlerOutcome, OwnRequest, OwnRoute};
pub use key_table::{CountedCall, KeyMoment, KeyTable, KeyUnits, Restored};
use meters::Meters;
pub use meters::{FailureReason, KeyDecision, MeterService};
pub use state_files::StateError;
use state_files::{RecordSource, StateFiles};
pub use state_saver::StateSaver;
use transport::clock::{self, Moment};

/// The state of direct mode.
pub struct Direct {
    /// The counters and records of keys.
    pub keys: KeyTable,
    /// The age of the copy of the edge's key-change feed.
    pub freshness: Freshness,
    clock: Arc<CountClock>,
    /// The meters of keys, if proxies share their limits. This process counts otherwise.
    meters: Option<Arc<Meters>>,
    config: ArcSwap<DirectConfig>,
    files: StateFiles,
    source: Mutex<RecordSource>,
    records_changed: AtomicBool,
    /// Whether another process owns the files now. Held while a file is written.
    handed_over: Mutex<bool>,
    attempts: AdminAttempts,
    documents: Documents,
}

/// Checks that the state files can be written and loaded. Leaves nothing behind.
///
/// # Errors
/// Returns the error that would prevent the start.
pub fn check_state(config: &DirectConfig) -> Result<(), StateError> {
    let needs_records = matches!(config.authority, Authority::Here { .. });
    StateFiles::open(&config.state)?.check(needs_records)
}

/// The consequence of losing the records of a proxy that follows an edge.
const RECORDS_ARE_FETCHED: &str = "fetching all records from the edge again";

impl Direct {
    /// Loads the state that the previous process wrote, or starts without any.
    ///
    /// # Errors
    /// If the files cannot be read or written, or if they are damaged and this proxy is the only
    /// authority over its keys.
    pub fn open(config: &DirectConfig) -> Result<Self, StateError> {
        let (keys, files) = (KeyTable::default(), StateFiles::open(&config.state)?);
        let clock = Arc::new(CountClock::start(Moment::now()));
        let meters =
            config.meters.clone().map(|authority| Arc::new(Meters::new(authority, Arc::clone(&clock))));
        let now = clock.at(Instant::now());
        files.load_counters(&keys, now)?;
        let (edge, lost) = match &config.authority {
            Authority::Here { .. } => (None, None),
            Authority::Edge(feed) => (Some(feed.edge.clone()), Some(RECORDS_ARE_FETCHED)),
        };
        let stored = files.load_records(&keys, lost, now)?;
        // Records of another edge are kept, because revoked keys must stay revoked. Its cursor is
        // not, because it means nothing to this edge.
        let source = stored.filter(|source| source.edge == edge);
        let freshness = match edge {
            None => Freshness::not_needed(),
            Some(_) => Freshness::start(source.is_some(), clock::now()),
        };
        let source = Mutex::new(source.unwrap_or_else(|| RecordSource { edge, ..RecordSource::default() }));
        Ok(Self {
            keys,
            freshness,
            clock,
            meters,
            config: ArcSwap::from_pointee(config.clone()),
            files,
            source,
            records_changed: AtomicBool::new(false),
            handed_over: Mutex::new(false),
            attempts: AdminAttempts::default(),
            documents: Documents::installed(),
        })
    }

    /// Returns what the proxy serves at a path that is neither a call nor of the keys API.
    pub fn find(&self, path: &str) -> Option<OwnRoute> {
        match path {
            handlers::SESSION_PATH => Some(OwnRoute::ConsoleSession),
            _ => self.documents.find(path).map(OwnRoute::Document),
        }
    }

    /// Returns the active settings.
    pub fn config(&self) -> Guard<Arc<DirectConfig>> {
        self.config.load()
    }

    /// Applies reloaded settings.
    pub fn configure(&self, config: &DirectConfig) {
        self.config.store(Arc::new(config.clone()));
    }

    /// Decides whether a call that costs at most `units` is admitted, and counts it if it is. The call
    /// waits if only the meter of its key can decide.
    ///
    /// # Errors
    /// The refusal of the key, or `key-store-unavailable` while revocations are unknown.
    pub fn call(&self, key: &VerifiedKey, tool: Tool, units: u32, at: Moment) -> Result<CallStep, Problem> {
        self.check_revocations_known()?;
        let Some(meters) = &self.meters else {
            return Ok(CallStep::Decided(self.keys.call(key, tool, units, self.moment(at))?.into()));
        };
        let scope = Some(Scope::Tool(tool.label()));
        let step =
            self.keys.with_checked(key, scope, at.time, |record| meters.call(key, tool, units, record))?;
        match step {
            meters::MeterStep::Decided(decision) => {
                CallDecision::from_meter(key, decision).map(CallStep::Decided)
            }
            meters::MeterStep::Wait(decision) => Ok(CallStep::Wait(decision)),
        }
    }

    /// Records the outcome of a call that costs `units`, and refunds it if it must not be charged.
    /// `status` is 0 if there was no response. Returns the charge that is left.
    #[must_use]
    pub fn settle(
        &self,
        id: &KeyId,
        tool: Tool,
        charged: Charged,
        (status, end): (u16, CallEnd),
        units: u32,
    ) -> Charged {
        let is_uncharged = is_uncharged(status, end);
        match charged {
            _ if status == 0 => charged,
            Charged::Here { day, reserved } => {
                let (refund, now) = (is_uncharged.then_some(day), self.counted_now());
                self.keys.record_outcome(id, tool, status, refund, now);
                let spent = if is_uncharged { 0 } else { units };
                let reserved = reserved.map(|reserved| self.keys.return_units(id, reserved, spent, now));
                Charged::Here { day, reserved }
            }
            Charged::Meter(key, charge) => match &self.meters {
                None => charged,
                Some(meters) => {
                    let spent = (!is_uncharged).then_some(units);
                    Charged::Meter(key, meters.record_outcome(&key, tool, status, spent, charge))
                }
            },
        }
    }

    /// Records that the tool cut off a response that began with `status`, and refunds the call.
    pub fn record_aborted(&self, id: &KeyId, tool: Tool, charged: Charged, status: u16) {
        match charged {
            Charged::Here { day, reserved } => {
                let now = self.counted_now();
                self.keys.record_aborted(id, tool, status, day, now);
                reserved.map(|reserved| self.keys.return_units(id, reserved, 0, now));
            }
            Charged::Meter(key, charge) => {
                if let Some(meters) = &self.meters {
                    meters.record_aborted(&key, tool, status, charge);
                }
            }
        }
    }

    /// Returns the record and the usage of a key, for its holder.
    ///
    /// # Errors
    /// The refusal of the key, `key-store-unavailable` while revocations are unknown, or
    /// `meter-unavailable`.
    async fn read(&self, key: &VerifiedKey, at: KeyMoment) -> Result<MeterSnapshot, Problem> {
        self.check_revocations_known()?;
        match &self.meters {
            None => Ok(self.keys.read(key, at)?),
            Some(meters) => {
                let record = self.keys.with_checked(key, None, at.time, |record| record.cloned())?;
                let snapshot = meters.read(key, record.as_ref()).await?;
                Ok(match record {
                    Some(known) => named_as(snapshot, &known),
                    None => snapshot,
                })
            }
        }
    }

    /// Returns the record and the usage of a key in any state, for an administrator. Returns `None`
    /// without a record.
    ///
    /// # Errors
    /// `meter-unavailable`.
    async fn show(&self, id: &KeyId, counted_at: UnixMillis) -> Result<Option<MeterSnapshot>, Problem> {
        match (&self.meters, self.keys.record(id)) {
            (None, _) => Ok(self.keys.show(id, counted_at)),
            (Some(_), None) => Ok(None),
            (Some(meters), Some(record)) => {
                let snapshot = meters.show(record.clone()).await?;
                Ok(snapshot.map(|snapshot| named_as(snapshot, &record)))
            }
        }
    }

    /// Tells the meter of a key of its changed record, so that other proxies learn of it. A meter
    /// that is out of reach learns of it when it is back.
    async fn publish(&self, record: &KeyRecord) {
        if let Some(meters) = &self.meters {
            // The leases of this proxy first: a revocation must hold here even if the meter is out
            // of reach.
            meters.learn(record);
            let _logged = meters.show(record.clone()).await;
        }
    }

    /// Returns the meters of keys, if proxies share their limits.
    pub const fn meters(&self) -> Option<&Arc<Meters>> {
        self.meters.as_ref()
    }

    /// Returns true if keys are issued here, and not at an edge.
    fn issues_keys(&self) -> bool {
        matches!(self.config.load().authority, Authority::Here { .. })
    }

    /// Applies a counter event of another process.
    pub fn apply_event(&self, record: SyncRecord) {
        self.keys.apply_event(record, self.counted_now());
    }

    /// Logs a step of the machine's clock, which counts do not follow.
    fn log_clock_step(&self) {
        if let Some(ahead_ms) = self.clock.observe(Moment::now()) {
            log::warn!(
                "clock was set: ahead_of_counts_ms={ahead_ms} consequence=\"limits count on as before, until a restart or upgrade\""
            );
        }
    }

    /// Returns a moment as records and counts see it.
    fn moment(&self, at: Moment) -> KeyMoment {
        KeyMoment { time: at.time, counted_at: self.clock.at(at.instant) }
    }

    /// Returns the current time on the clock of counts.
    fn counted_now(&self) -> UnixMillis {
        self.clock.at(Instant::now())
    }

    /// Returns how often a state file could not be written, and how many files were damaged at
    /// start.
    pub fn file_failures(&self) -> (u64, u64) {
        self.files.failures()
    }

    /// Writes all state for the next process.
    pub fn close(&self) {
        self.save_counters();
        if self.records_changed.load(Ordering::Relaxed) {
            self.save_records();
        }
    }

    /// Writes all state for a process that takes over. From then on that process owns the files,
    /// and `other` carries what is still counted here.
    ///
    /// # Errors
    /// If a file cannot be written. Nothing has changed then.
    pub fn hand_over(&self, other: &mpsc::Sender<SyncRecord>) -> io::Result<()> {
        // Held to the end, so that no save in between writes an older state over these files.
        let mut handed_over = self.handed_over.lock();
        let now = self.counted_now();
        let counters = self.files.save_counters(|out| self.keys.write_and_mirror(now, other, out));
        let records = self.files.save_records(&self.keys, &self.source.lock().clone());
        if counters && records {
            *handed_over = true;
            return Ok(());
        }
        // The other process does not take over then. This one continues alone.
        self.keys.mirror_to(None);
        Err(io::Error::other("the state files cannot be written"))
    }

    /// Loads what the previous process has written last. Logs what cannot be read.
    pub fn take_over(&self) {
        let lost = matches!(self.config.load().authority, Authority::Edge(_)).then_some(RECORDS_ARE_FETCHED);
        let now = self.counted_now();
        let counters = self.files.load_counters(&self.keys, now);
        let records = self.files.load_records(&self.keys, lost, now);
        for error in [counters.err(), records.err()].into_iter().flatten() {
            log::error!("state of the previous process lost: error=\"{error}\"");
        }
    }

    /// Sends everything that is counted from now on to another process. With `None` there is no
    /// other process any more, and this one owns the files again.
    pub fn mirror_to(&self, other: Option<mpsc::Sender<SyncRecord>>) {
        self.keys.mirror_to(other.as_ref());
        if other.is_none() {
            *self.handed_over.lock() = false;
        }
    }

    /// Writes the counters, unless another process owns the files. Returns false on failure.
    fn save_counters(&self) -> bool {
        let handed_over = self.handed_over.lock();
        let now = self.counted_now();
        // Before the counters are written: a call that is counted meanwhile marks them again and is
        // saved the next time.
        self.keys.take_changed();
        *handed_over || self.files.save_counters(|out| self.keys.write(now, out))
    }

    /// Writes the records. Returns true if they are durable. They are not once another process owns
    /// the files.
    fn save_records(&self) -> bool {
        let handed_over = self.handed_over.lock();
        if *handed_over {
            return false;
        }
        // Before the records are written, so that one which changes meanwhile is saved the next
        // time.
        self.records_changed.store(false, Ordering::Relaxed);
        let source = self.source.lock().clone();
        let saved = self.files.save_records(&self.keys, &source);
        self.records_changed.fetch_or(!saved, Ordering::Relaxed);
        saved
    }

    /// Fails closed: a revoked key must not pass because its revocation is not known yet.
    fn check_revocations_known(&self) -> Result<(), Problem> {
        if self.freshness.is_known() {
            return Ok(());
        }
        let detail = "it is not known yet which keys are revoked; this says nothing about your key";
        Err(Problem::new(codes::KEY_STORE_UNAVAILABLE, detail).retry_after(1))
    }
}

/// Returns a snapshot with the names that `known` has, which no shared store has.
fn named_as(mut snapshot: MeterSnapshot, known: &KeyRecord) -> MeterSnapshot {
    snapshot.record = snapshot.record.map(|record| record.named_as(known));
    snapshot
}

/// The scheme and host of a request, and whether its connection is confidential.
#[derive(Clone, Copy, Debug)]
pub struct RequestScheme<'a> {
    /// Whether the request came over TLS, to this proxy or to a load balancer in front of it.
    pub secure: bool,
    /// Whether the request came over TLS or from this machine.
    pub confidential: bool,
    /// The `Host` as the client wrote it, with its port if it has one.
    pub host: &'a str,
}

impl RequestScheme<'_> {
    /// Checks that a secret in the request was not sent over plain HTTP.
    ///
    /// # Errors
    /// `https-required`.
    pub fn check_confidential(&self) -> Result<(), Problem> {
        check_confidential(self.confidential)
    }
}

/// Verifies the checksum and the MAC of a request's key.
///
/// # Errors
/// `key-missing`, `https-required` if it came over plain HTTP, `key-malformed`, `key-invalid`.
pub fn authenticate(
    head: &Head<'_>,
    scheme: RequestScheme<'_>,
    signing: &MacKeys,
) -> Result<VerifiedKey, Problem> {
    key::authenticate(head.api_key, scheme.confidential, signing)
}
