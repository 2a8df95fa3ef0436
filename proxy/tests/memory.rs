//! The memory of a million keys in direct mode. It is a separate binary because it measures the
//! process.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and tells what it has measured"
)]

use std::{fs, io, time::Instant};

use direct::{KeyMoment, KeyTable, Restored};
use mimalloc::MiMalloc;
use shared::{
    key::{ApiKey, KeyEnv, KeyId, VerifiedKey},
    quota::Decision,
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
    tool::Tool,
};

/// The allocator of the proxy.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const KEYS: u64 = 1_000_000;
/// The maximum by the design.
const BYTES_PER_KEY: u64 = 150;
const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

fn key(number: u64, like: VerifiedKey) -> VerifiedKey {
    let mut id = [0; 12];
    // An odd multiplier spreads small numbers over all bits, as random ids are.
    let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    id[..8].copy_from_slice(&spread);
    id[8..].copy_from_slice(&spread[1..5]);
    VerifiedKey { id: KeyId::new(id), ..like }
}

/// Returns the bytes of memory that the process has (`VmRSS`), or has had at most (`VmHWM`).
fn memory(which: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

/// Makes a call with every key and records its outcome. Returns the nanoseconds per call.
fn round(table: &KeyTable, keys: u64, like: VerifiedKey, at: UnixMillis) -> u128 {
    let statuses = [200, 200, 404];
    let begun = Instant::now();
    for (number, status) in (0..keys).zip(statuses.into_iter().cycle()) {
        let key = key(number, like);
        let decided = table.call(&key, Tool::Qr, 0, KeyMoment { time: at, counted_at: at }).unwrap();
        assert!(matches!(decided.decision, Decision::Allow(_)));
        table.record_outcome(
            &key.id,
            if number % 2 == 0 { Tool::Qr } else { Tool::Pdf },
            status,
            None,
            at.plus(40),
        );
    }
    begun.elapsed().as_nanos() / u128::from(keys)
}

#[test]
fn million_keys_take_at_most_150_bytes_each() {
    let signing = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let (_, like) = ApiKey::mint(KeyEnv::Live, KeyId::new([0; 12]), Tier::Free, NOW, [7; 16], &signing);
    let few = KeyTable::default();
    let of_few = (0..20).map(|n| round(&few, 1_000, like, NOW.plus(n * 70_000))).min().unwrap();
    drop(few);
    let table = KeyTable::default();
    let before = memory("VmRSS");
    // Each key makes two calls within the minute, in different quarters of a second. One key in a
    // hundred makes more.
    let first = round(&table, KEYS, like, NOW);
    let again = round(&table, KEYS, like, NOW.plus(700));
    for second in 2..9 {
        round(&table, KEYS / 100, like, NOW.plus(second * 1_000));
    }
    let each = (memory("VmRSS") - before) / KEYS;
    assert_eq!(table.len(), usize::try_from(KEYS).unwrap());
    println!(
        "{each} bytes for each of {KEYS} keys; a call and its end: {of_few} ns among 1,000 keys, {again} ns among \
         {KEYS} ({first} ns when they are new)"
    );
    table.write(NOW.plus(9_000), &mut io::sink()).unwrap();
    let at_most = (memory("VmHWM") - before) / KEYS;
    assert!(at_most <= BYTES_PER_KEY, "{each} bytes, {at_most} while they are written down");
    let mut written = Vec::new();
    table.write(NOW.plus(9_000), &mut written).unwrap();
    println!("{at_most} bytes at most, {} of state for each", written.len() as u64 / KEYS);
    let restored = KeyTable::default().restore(&written, NOW.plus(9_000));
    assert_eq!(restored, Some(Restored { keys: table.len(), from_future: 0 }));
}
