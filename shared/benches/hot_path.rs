//! The CPU time of one call, part by part: `cargo bench -p shared`.
//!
//! A machine's speed is not ours to promise, so the last table gives ratios to one HMAC-SHA256 over
//! 64 bytes measured in the same run.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench fails by panicking and prints what it found"
)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use shared::action::Action;
use shared::grant::Grant;
use shared::headers::reaches_tool;
use shared::key::{ApiKey, KeyEnv, KeyId, KeyRecord, VerifiedKey};
use shared::lease_cache::{LeaseCache, Step};
use shared::meter::{HeldShare, Message, Meter, MeterRequest, Reply};
use shared::policy::{LimitOverrides, Policy};
use shared::quota::Usage;
use shared::request_id::RequestId;
use shared::route::{CallMethod, Route, ToolCall};
use shared::secret::{MacKey, MacKeys};
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

const SECRET: &str = "0123456789abcdef0123456789abcdef";
const NOON: UnixMillis = UnixMillis(1_763_726_400_000);
const REFERENCE: &str = "HMAC-SHA256 of 64 bytes";
const KEY: &str = "key parse and verify";
const FORGED: &str = "key parse and refuse a forged one";
const ADMIT: &str = "quota admit a call";
const DENY: &str = "quota deny a call";
const LEASE: &str = "lease cache call on a live lease";
const METER: &str = "meter request, text to stored text";
const METER_FULL: &str = "meter request of a full 500-a-minute key";
const SIGN: &str = "grant sign";
const VERIFY: &str = "grant verify";
const PROVE: &str = "proof write";
const CHECK_PROOF: &str = "proof check";
const ROUTE: &str = "route parse";
const HEADERS: &str = "headers of a request, 12";

fn keys(c: &mut Criterion) {
    let reference = MacKey::new(SECRET).unwrap();
    let block = [7u8; 64];
    c.bench_function(REFERENCE, |b| b.iter(|| reference.sign(&[black_box(&block)])));

    let signing = MacKeys::parse(SECRET).unwrap();
    let text = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Pro, NOON, [2; 16], &signing).0.reveal();
    c.bench_function(KEY, |b| b.iter(|| ApiKey::parse(black_box(&text)).unwrap().verify(&signing).unwrap()));

    let other = MacKeys::parse("another-secret-of-32-characters!").unwrap();
    c.bench_function(FORGED, |b| {
        b.iter(|| ApiKey::parse(black_box(&text)).unwrap().verify(&other).unwrap_err())
    });
}

fn quota(c: &mut Criterion) {
    let policy = Policy { day: None, ..Policy::for_tier(Tier::Enterprise) };
    // A key in steady use just below its limit: each call makes one old count leave.
    let mut usage = Usage::default();
    let mut now = NOON;
    c.bench_function(ADMIT, |b| {
        b.iter(|| {
            now = now.plus(125);
            usage.admit(black_box(&policy), now)
        });
    });
    let mut full = Usage::default();
    for n in 0..500 {
        full.admit(&policy, NOON.plus(n * 100));
    }
    c.bench_function(DENY, |b| b.iter(|| full.admit(black_box(&policy), NOON.plus(50_000))));
}

fn key() -> VerifiedKey {
    let signing = MacKeys::parse(SECRET).unwrap();
    ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Enterprise, NOON, [2; 16], &signing).1
}

fn record(minute: u32) -> KeyRecord {
    let limits = LimitOverrides { minute: minute.try_into().ok(), ..LimitOverrides::NONE };
    KeyRecord { version: 1, limits, ..KeyRecord::provisional(&key()) }
}

fn send(meter: &mut Meter, request: MeterRequest, now: UnixMillis) -> shared::meter::MeterResponse {
    match meter.handle(Message::Ask(request), now) {
        Reply::Ask(response) => response,
        other => panic!("{other:?}"),
    }
}

fn lease_cache(c: &mut Criterion) {
    let key = key();
    let mut cache = LeaseCache::new(1);
    cache.learn(record(u32::MAX));
    let Step::Ask(request, _) = cache.call(&key, Tool::Qr, NOON) else { panic!("decided without the meter") };
    // A lease of tens of millions of calls, more than a run spends.
    let response = send(&mut Meter::default(), MeterRequest { rate: u32::MAX, ..request.clone() }, NOON);
    cache.handle_response(&request, NOON, &response, NOON);
    let later = NOON.plus(1_000);
    c.bench_function(LEASE, |b| {
        b.iter(|| match cache.call(black_box(&key), Tool::Qr, later) {
            Step::Decided(..) => {}
            Step::Ask(..) => panic!("the lease is used up"),
        });
    });
}

/// Returns the meter of a key with `calls` calls in the last minute, and a request to it as its
/// shell gets it.
fn meter_with(calls: u32) -> (Meter, String) {
    let mut meter = Meter::default();
    let plain = MeterRequest {
        holder: u64::MAX,
        seq: 0,
        key: key(),
        want: true,
        tool: None,
        units: 0,
        admit_within_ms: 300,
        retry: false,
        unread: false,
        withdrawn: Vec::new(),
        rate: 1_000,
        record: Some(record(1_000)),
        version: 1,
        reports: Vec::new(),
        batch: None,
        budget: HeldShare::default(),
    };
    for seq in 1..=calls {
        let request = MeterRequest { holder: u64::from(seq % 4), seq, rate: 0, ..plain.clone() };
        send(&mut meter, request, NOON.plus(u64::from(seq) * 60_000 / u64::from(calls)));
    }
    (meter, serde_json::to_string(&Message::Ask(MeterRequest { record: None, ..plain })).unwrap())
}

fn meter(c: &mut Criterion) {
    for (name, calls) in [(METER, 20), (METER_FULL, 500)] {
        let (meter, text) = meter_with(calls);
        c.bench_function(name, |b| {
            b.iter_batched_ref(
                || meter.clone(),
                |meter| {
                    let message = serde_json::from_str(black_box(&text)).unwrap();
                    let reply = meter.handle(message, NOON.plus(60_000));
                    (serde_json::to_string(meter).unwrap(), serde_json::to_string(&reply).unwrap())
                },
                BatchSize::SmallInput,
            );
        });
        println!("{name}: {} bytes are stored", serde_json::to_string(&meter).unwrap().len());
    }
}

fn passage(c: &mut Criterion) {
    let signing = MacKeys::parse(SECRET).unwrap();
    let target = "/v1/qr/generate?url=https%3A%2F%2Fexample.com&size=256";
    let call =
        ToolCall { method: CallMethod::Post, tool: Tool::Qr, action: Action::parse("generate").unwrap() };
    let request_id = RequestId([4; 16]);
    let key_id = KeyId::new([1; 12]);
    let grant = Grant { key_id, secret_id: None, tier: Tier::Pro, request_id, issued_at: NOON };
    c.bench_function(SIGN, |b| b.iter(|| grant.sign(black_box(&call), target, "fra", &signing)));
    let text = grant.sign(&call, target, "fra", &signing).text;
    c.bench_function(VERIFY, |b| {
        b.iter(|| Grant::verify(black_box(text.as_bytes()), &call, target, "fra", &signing, NOON).unwrap());
    });
    let (_, proof) = Grant::verify(text.as_bytes(), &call, target, "fra", &signing, NOON).unwrap();
    c.bench_function(PROVE, |b| b.iter(|| black_box(proof).to_string()));
    let text = proof.to_string();
    c.bench_function(CHECK_PROOF, |b| b.iter(|| proof.matches(black_box(&text))));
    c.bench_function(ROUTE, |b| b.iter(|| Route::parse(black_box("POST"), black_box("/v1/qr/generate"))));
}

/// Decides which headers of a usual request reach the tool.
fn headers(c: &mut Criterion) {
    let names = [
        "Host",
        "User-Agent",
        "Accept",
        "Accept-Encoding",
        "Accept-Language",
        "Content-Type",
        "Content-Length",
        "X-API-Key",
        "Traceparent",
        "Idempotency-Key",
        "X-Request-Id",
        "X-Custom-Header",
    ];
    c.bench_function(HEADERS, |b| {
        b.iter(|| black_box(&names).iter().filter(|name| reaches_tool(name)).count());
    });
}

/// Returns the nanoseconds of one run as criterion stored them.
fn measured(results: &Path, name: &str) -> f64 {
    let text = fs::read_to_string(results.join(name).join("new/estimates.json")).unwrap();
    let estimates: serde_json::Value = serde_json::from_str(&text).unwrap();
    estimates["median"]["point_estimate"].as_f64().unwrap()
}

fn main() {
    let results = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hot_path");
    let mut c = Criterion::default()
        .output_directory(&results)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    keys(&mut c);
    quota(&mut c);
    lease_cache(&mut c);
    meter(&mut c);
    passage(&mut c);
    headers(&mut c);
    c.final_summary();

    let reference = measured(&results, REFERENCE);
    println!("\n{:<42} {:>9} {:>8}", "", "ns", "ratio");
    for name in [REFERENCE, KEY, FORGED, ADMIT, DENY, LEASE, METER, METER_FULL, SIGN, VERIFY, ROUTE, HEADERS]
    {
        let nanos = measured(&results, name);
        println!("{name:<42} {nanos:>9.0} {:>8.2}", nanos / reference);
    }
}
