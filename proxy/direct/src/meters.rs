//! Limits that proxies share: each key has one meter, at an authority outside of this process. The
//! proxy holds leases of it, as an isolate of the edge does.
//!
//! Why: docs/decisions/direct-mode.md, "A proxy holds leases like an isolate".

mod edge;
mod exchange;
mod lease_caches;
mod queue;
mod service;
mod valkey;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use shared::key::{KeyRecord, SecretId, VerifiedKey};
use shared::lease_cache::{Admission, Charge, LeaseCache, Step, Timeouts};
use shared::meter::{Message, MeterRequest, MeterSnapshot, Reply, Verdict};
use shared::problem::{Problem, codes};
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;
use tokio::sync::{mpsc, oneshot};

use self::lease_caches::LeaseCaches;
use self::queue::{LaneEnd, MeterQueue};
use super::count_clock::CountClock;
use config::MeterAuthority;
pub use queue::FailureReason;
pub use service::MeterService;

/// The meters of all keys, as this proxy sees them.
pub struct Meters {
    caches: LeaseCaches,
    queue: MeterQueue,
    clock: Arc<CountClock>,
    work: mpsc::UnboundedSender<Work>,
    /// What the background service takes when it starts.
    ends: Mutex<Option<Ends>>,
}

/// The receivers of the background service.
struct Ends {
    authority: MeterAuthority,
    work: mpsc::UnboundedReceiver<Work>,
    lanes: Vec<LaneEnd>,
}

/// Work that a request leaves to the background service.
enum Work {
    /// A call waits for its meter.
    Call(Box<WaitingCall>),
    /// A lease must be renewed.
    Renewal(VerifiedKey, Box<MeterRequest>),
}

/// A call that waits for its meter.
struct WaitingCall {
    key: VerifiedKey,
    tool: Tool,
    request: MeterRequest,
    timeouts: Timeouts,
    /// The moment at which the request was made.
    sent: UnixMillis,
    decided: oneshot::Sender<KeyDecision>,
}

/// The decision on a call, with the tier by which it was made.
#[derive(Debug)]
pub struct KeyDecision {
    pub(crate) admission: Admission,
    pub(crate) tier: Tier,
    /// The named secret that calls.
    pub(crate) secret_id: Option<SecretId>,
}

/// The next step for a call.
#[allow(clippy::large_enum_variant, reason = "lives for one call and is never kept in bulk")]
pub(crate) enum MeterStep {
    /// The call is decided.
    Decided(KeyDecision),
    /// The meter decides.
    Wait(oneshot::Receiver<KeyDecision>),
}

impl Meters {
    /// Returns the meters of an authority. The background service must be started.
    pub(super) fn new(authority: MeterAuthority, clock: Arc<CountClock>) -> Self {
        let (queue, lanes) = MeterQueue::new(lanes(&authority));
        let (work, works) = mpsc::unbounded_channel();
        let ends = Mutex::new(Some(Ends { authority, work: works, lanes }));
        Self { caches: LeaseCaches::default(), queue, clock, work, ends }
    }

    /// Decides on one call that costs at most `units`, in memory if possible. `record` is what this proxy
    /// knows of the key.
    pub(super) fn call(
        &self,
        key: &VerifiedKey,
        tool: Tool,
        units: u32,
        record: Option<&KeyRecord>,
    ) -> MeterStep {
        let now = self.now();
        let (step, tier, secret_id) = self.caches.with(key, now, |cache| {
            // Before the decision: a limit that was lowered or a key that was revoked counts from
            // this call on.
            learn(cache, key, record);
            let step = cache.call_priced(key, tool, units, now);
            (step, cache.tier(key), cache.secret_id(key))
        });
        match step {
            Step::Decided(admission, renewal) => {
                if let Some(request) = renewal {
                    // Fails while the process exits, and a lease is of no use then.
                    let _sent = self.work.send(Work::Renewal(*key, Box::new(request)));
                }
                MeterStep::Decided(KeyDecision { admission, tier, secret_id })
            }
            Step::Ask(request, timeouts) => {
                let (decided, decision) = oneshot::channel();
                let call = WaitingCall { key: *key, tool, request, timeouts, sent: now, decided };
                let _sent = self.work.send(Work::Call(Box::new(call)));
                MeterStep::Wait(decision)
            }
        }
    }

    /// Records the outcome of an admitted call, and the units that it has spent; `None` refunds it to its
    /// day. Returns the charge that is left.
    pub(super) fn record_outcome(
        &self,
        key: &VerifiedKey,
        tool: Tool,
        status: u16,
        spent: Option<u32>,
        charge: Charge,
    ) -> Charge {
        self.with(key, |cache, now| {
            cache.record_outcome(tool, status, spent.is_none(), charge, now);
            // A refund has returned all units.
            spent.map_or(charge, |units| cache.record_units(charge, units, now))
        })
    }

    /// Records that the tool cut off the response of an admitted call that began with `status`.
    pub(super) fn record_aborted(&self, key: &VerifiedKey, tool: Tool, status: u16, charge: Charge) {
        self.with(key, |cache, now| cache.record_aborted(tool, status, charge, now));
    }

    /// Takes over a changed record.
    pub(super) fn learn(&self, record: &KeyRecord) {
        self.caches.learn(record);
    }

    /// Reads the state of a key's meter for the key itself.
    ///
    /// # Errors
    /// The problem of the key, or `meter-unavailable`.
    pub(super) async fn read(
        &self,
        key: &VerifiedKey,
        record: Option<&KeyRecord>,
    ) -> Result<MeterSnapshot, Problem> {
        let sent = self.now();
        let request = self.caches.with(key, sent, |cache| {
            learn(cache, key, record);
            cache.read(key, sent)
        });
        let message = Message::Read(self.with_record(&request));
        let reply = self.queue.send(key.id, message, Instant::now()).await;
        // A reply of another kind is one to another message. What it says must not be shown for
        // this key.
        let Ok((_, Reply::Read(snapshot))) = reply else { return Err(unavailable()) };
        // The read carried what the cache had to report, which would be sent again without the
        // response.
        self.with(key, |cache, now| cache.handle_response(&request, sent, &snapshot.response, now));
        match snapshot.response.verdict {
            Verdict::Refuse(fault) => Err(fault.into()),
            Verdict::Allow | Verdict::Deny(_) | Verdict::Noted => Ok(snapshot),
        }
    }

    /// Reads the state of a key's meter for an administrator. A record that the meter does not have
    /// is stored there, so that other proxies learn of it.
    ///
    /// # Errors
    /// `meter-unavailable`.
    pub(super) async fn show(&self, record: KeyRecord) -> Result<Option<MeterSnapshot>, Problem> {
        match self.queue.send(record.id, Message::Show { record: Some(record) }, Instant::now()).await {
            Ok((_, Reply::Show(snapshot))) => Ok(snapshot),
            _ => Err(unavailable()),
        }
    }

    /// Returns the numbers of lease caches and of messages to meters.
    pub fn counts(&self) -> (usize, u64) {
        (self.caches.len(), self.queue.messages())
    }

    /// Returns the numbers of messages without a reply, by reason.
    pub fn failures(&self) -> impl Iterator<Item = (FailureReason, u64)> + '_ {
        self.queue.failures()
    }

    /// Returns true if the authority did not reply to the last message that changes a meter, or was found unusable before any.
    pub fn is_failing(&self) -> bool {
        self.queue.is_failing()
    }

    fn with<T>(&self, key: &VerifiedKey, step: impl FnOnce(&mut LeaseCache, UnixMillis) -> T) -> T {
        let now = self.now();
        self.caches.with(key, now, |cache| step(cache, now))
    }

    /// Returns the time on the clock of counts, which a step of the machine's clock does not move.
    fn now(&self) -> UnixMillis {
        self.clock.at(Instant::now())
    }
}

impl KeyDecision {
    fn new(cache: &LeaseCache, key: &VerifiedKey, admission: Admission) -> Self {
        Self { admission, tier: cache.tier(key), secret_id: cache.secret_id(key) }
    }
}

/// Returns the number of exchanges with the authority that may be in flight at the same time. The edge is
/// farther away.
const fn lanes(authority: &MeterAuthority) -> usize {
    match authority {
        MeterAuthority::Edge => 16,
        MeterAuthority::Valkey(_) => 4,
    }
}

/// Returns the problem of a request whose meter does not respond.
pub(super) fn unavailable() -> Problem {
    let detail = "the meter of this key does not respond; nothing was counted";
    Problem::new(codes::METER_UNAVAILABLE, detail).retry_after(1)
}

/// Passes what this proxy knows of a key to its cache. A key without a record is what its text says,
/// as everywhere in direct mode: a meter would accept that for an hour only. That of a named secret
/// says nothing of the key.
fn learn(cache: &mut LeaseCache, key: &VerifiedKey, record: Option<&KeyRecord>) {
    let known = cache.record().map(|record| record.version);
    match record {
        // The cache may have learned a newer one from its meter than this proxy has read.
        Some(record) if known.is_none_or(|known| known < record.version) => cache.learn(record.clone()),
        None if known.is_none() && !key.is_named => cache.learn(KeyRecord::provisional(key)),
        Some(_) | None => {}
    }
}
