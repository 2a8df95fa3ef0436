//! The limiter without a network: two gateways share the limit of one key, 100 calls a minute.
//!
//! `cargo run -p shared --example limiter`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "an example")]

use shared::key::{ApiKey, KeyEnv, KeyId, KeyRecord, VerifiedKey};
use shared::label::Label;
use shared::lease_cache::{Admission, LeaseCache, Step};
use shared::meter::{Message, Meter, MeterRequest, MeterResponse, Reply};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;

fn main() {
    let (start, secret) = (UnixMillis(1_763_712_000_000), MacKeys::parse(&"s".repeat(32)).unwrap());
    let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, start, [9; 16], &secret);
    let (mut meter, mut first, mut second) = (Meter::default(), LeaseCache::new(1), LeaseCache::new(2));
    let record = KeyRecord { version: 1, ..KeyRecord::provisional(&key) };
    first.learn(record.clone());
    second.learn(record);
    let (mut passed, mut messages) = (0, 0);
    // 600 calls in half a minute, by turns to each gateway.
    for number in 0..600 {
        let now = start.plus(number * 50);
        let gateway = if number % 2 == 0 { &mut first } else { &mut second };
        let mut exchange = |request: &MeterRequest| {
            messages += 1;
            ask(&mut meter, request, now)
        };
        if let Admission::Allow { .. } = call(gateway, &key, now, &mut exchange) {
            passed += 1;
        }
        // What a background task does when it is due.
        if let Some(report) = gateway.flush(&key, true, now) {
            gateway.handle_response(&report, now, &exchange(&report), now);
        }
    }
    println!("{passed} of 600 calls passed, with {messages} messages to the meter");
    assert_eq!(passed, 100);
}

fn call(
    gateway: &mut LeaseCache,
    key: &VerifiedKey,
    now: UnixMillis,
    exchange: &mut impl FnMut(&MeterRequest) -> MeterResponse,
) -> Admission {
    // What the calls are counted by. The limiter keeps labels and knows nothing of what is called.
    let label: Label = "image".parse().unwrap();
    match gateway.call(key, label, now) {
        Step::Decided(admission, None) => admission,
        Step::Decided(admission, Some(renewal)) => {
            gateway.handle_response(&renewal, now, &exchange(&renewal), now);
            admission
        }
        // The response decides on the call that asked.
        Step::Ask(request, _) => gateway.handle_response(&request, now, &exchange(&request), now).unwrap(),
    }
}

/// Stands for the network and the place where the meter's state is stored.
fn ask(meter: &mut Meter, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
    match meter.handle(Message::Ask(request.clone()), now) {
        Reply::Ask(response) => response,
        _ => unreachable!("a request gets a response"),
    }
}
