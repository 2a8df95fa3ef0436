//! A [`LeaseCache`] against a real [`Meter`], message by message.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod budget;
mod costs;
mod denials;
mod far;
mod leases;
mod outages;
mod reports;
mod secrets;
mod units;

use shared::key::{ApiKey, KeyEnv, KeyId, KeyRecord, VerifiedKey};
use shared::lease_cache::{Admission, Charge, LeaseCache, Step};
use shared::meter::{Change, Message, Meter, MeterRequest, MeterResponse, MeterSnapshot, Reply, Verdict};
use shared::policy::Window;
use shared::quota::Denial;
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

const NOON: UnixMillis = UnixMillis(1_763_726_400_000);

/// One isolate and the meter, without any network between them.
struct Pair {
    meter: Meter,
    cache: LeaseCache,
    key: VerifiedKey,
}

fn key(tier: Tier, secret: u8) -> VerifiedKey {
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), tier, NOON, [secret; 16], &keys).1
}

impl Pair {
    fn new(tier: Tier) -> Self {
        let key = key(tier, 1);
        let mut cache = LeaseCache::new(1);
        cache.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
        let mut pair = Self { meter: Meter::default(), cache, key };
        pair.make_first_call();
        pair
    }

    /// Makes a call, because the first one requests no lease. It was denied by a meter that says
    /// nothing else, not even how far it is.
    fn make_first_call(&mut self) {
        let at = NOON.minus(1_000);
        let Step::Ask(request, _) = self.cache.call(&self.key, Tool::Qr, at) else { panic!("decided") };
        let Reply::Ask(response) = Meter::default().handle(Message::Ask(request.clone()), at) else {
            panic!("a reply of another kind")
        };
        let denial = Denial { window: Window::Minute, retry_ms: 0 };
        let verdict = Verdict::Deny(denial);
        let response = MeterResponse { verdict, quota: None, version: 0, lease: None, ..response };
        let second = MeterRequest { retry: true, ..request };
        self.cache.handle_response(&second, at, &response, at);
    }

    /// Returns the same key with another secret, as after a rotation.
    fn other_secret(&self) -> VerifiedKey {
        key(self.key.issued_tier, 2)
    }

    fn call(&mut self, at: u64) -> Step {
        self.cache.call(&self.key, Tool::Qr, NOON.plus(at))
    }

    /// Makes a call that needs the meter. Returns its request.
    fn expect_request(&mut self, at: u64) -> MeterRequest {
        match self.call(at) {
            Step::Ask(request, _) => request,
            Step::Decided(admission, _) => panic!("decided without the meter: {admission:?}"),
        }
    }

    /// Returns a request for a lease that no call waits for.
    fn expect_request_of_lease(&mut self, at: u64) -> MeterRequest {
        MeterRequest { rate: 1_000, ..self.cache.read(&self.key, NOON.plus(at)) }
    }

    /// Makes a call that is decided here. Returns the decision.
    fn expect_decision(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(..) => panic!("needs the meter"),
        }
    }

    fn meter(&mut self, request: &MeterRequest, at: u64) -> MeterResponse {
        match self.meter.handle(Message::Ask(request.clone()), NOON.plus(at)) {
            Reply::Ask(response) => response,
            other => panic!("{other:?}"),
        }
    }

    /// Carries a request and its response within 20 ms.
    fn exchange(&mut self, request: &MeterRequest, at: u64) -> Option<Admission> {
        let response = self.meter(request, at + 10);
        self.cache.handle_response(request, NOON.plus(at), &response, NOON.plus(at + 20))
    }

    /// Makes a call, with the meter if it needs it.
    fn admit(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(request, _) => self.exchange(&request, at).unwrap(),
        }
    }

    /// Makes a call that needs the meter, which is far away: the leases are renewed ahead of time.
    fn admit_from_afar(&mut self, at: u64) {
        let request = self.expect_request(at);
        let response = self.meter(&request, at + 400);
        let admission =
            self.cache.handle_response(&request, NOON.plus(at), &response, NOON.plus(at + 800)).unwrap();
        assert!(allowed(&admission));
    }

    fn flush(&mut self, renew: bool, at: u64) -> Option<MeterRequest> {
        self.cache.flush(&self.key, renew, NOON.plus(at))
    }

    fn change(&mut self, change: Change, at: u64) {
        self.meter.handle(Message::Change { record: None, by: None, change }, NOON.plus(at));
    }

    fn snapshot(&self, at: u64) -> MeterSnapshot {
        let request = LeaseCache::new(9).read(&self.key, NOON.plus(at));
        match self.meter.clone().handle(Message::Read(request), NOON.plus(at)) {
            Reply::Read(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }
}

fn charge(admission: &Admission) -> Charge {
    match admission {
        Admission::Allow { charge, .. } => *charge,
        other => panic!("{other:?}"),
    }
}

fn allowed(admission: &Admission) -> bool {
    matches!(admission, Admission::Allow { degraded: false, .. })
}
