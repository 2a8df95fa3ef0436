//! The promises of a [`Meter`], which hold for messages in any order and number, and across
//! restarts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod alerts;
mod budget_shares;
mod exactness;
mod key_changes;
mod leases;
mod messages;
mod reports;
mod secrets;
mod withdrawals;

use serde_json::{Value, json};
use shared::key::{ApiKey, KeyEnv, KeyId, KeyRecord, VerifiedKey};
use shared::meter::{
    Batch, CallBatch, Change, ChangeOutcome, HeldShare, Message, Meter, MeterRequest, MeterResponse,
    MeterSnapshot, Reply,
};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

const NOON: UnixMillis = UnixMillis(1_763_726_400_000);
const MIDNIGHT: UnixMillis = UnixMillis(1_763_769_600_000);

fn key_with(tier: Tier, issued_at: UnixMillis, secret: u8) -> VerifiedKey {
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), tier, issued_at, [secret; 16], &keys).1
}

fn key(tier: Tier) -> VerifiedKey {
    key_with(tier, NOON, 1)
}

fn record(tier: Tier, version: u64) -> KeyRecord {
    KeyRecord { version, ..KeyRecord::provisional(&key(tier)) }
}

/// Returns the request of a cache with nothing to report.
fn request(tier: Tier, holder: u64, seq: u32) -> MeterRequest {
    MeterRequest {
        holder,
        seq,
        key: key(tier),
        want: true,
        tool: None,
        units: 0,
        admit_within_ms: 300,
        retry: false,
        unread: false,
        withdrawn: Vec::new(),
        rate: 0,
        record: None,
        version: 0,
        reports: Vec::new(),
        batch: None,
        budget: HeldShare::default(),
    }
}

/// Returns the report of a batch that ended today.
fn batch(number: u32, refunds: u32) -> Batch {
    Batch {
        since: NOON,
        number,
        day: NOON.day(),
        refunds,
        debts: 0,
        ended: vec![(Tool::Qr.label(), 503, refunds)],
        corrected: Vec::new(),
        calls: CallBatch::default(),
        returned: Vec::new(),
        secrets: Vec::new(),
    }
}

fn send(meter: &mut Meter, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
    match meter.handle(Message::Ask(request.clone()), now) {
        Reply::Ask(response) => response,
        other => panic!("{other:?}"),
    }
}

fn change(meter: &mut Meter, record: Option<KeyRecord>, change: Change, now: UnixMillis) -> ChangeOutcome {
    match meter.handle(Message::Change { record, by: None, change }, now) {
        Reply::Change(changed) => changed,
        other => panic!("{other:?}"),
    }
}

/// Returns what the meter counts at `now`, and leaves it unchanged.
fn snapshot(meter: &Meter, tier: Tier, now: UnixMillis) -> MeterSnapshot {
    match meter.clone().handle(Message::Read(request(tier, u64::MAX, u32::MAX)), now) {
        Reply::Read(snapshot) => snapshot,
        other => panic!("{other:?}"),
    }
}

fn restarted(meter: &Meter) -> Meter {
    serde_json::from_str(&serde_json::to_string(meter).unwrap()).unwrap()
}

fn patch() -> Value {
    json!({"patch": {}})
}

fn parse(change: &Value) -> Change {
    serde_json::from_value(change.clone()).unwrap()
}
