//! One key on many isolates: the requests to its meter, the CPU time of each, and the size of the
//! stored state. Prints the table of docs/limits.md.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a measuring program")]

use std::time::{Duration, Instant};

use shared::key::{ApiKey, KeyEnv, KeyId, KeyRecord, VerifiedKey};
use shared::lease_cache::{LeaseCache, Step};
use shared::meter::{Message, Meter, MeterRequest, Reply};
use shared::policy::LimitOverrides;
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

const NOON: UnixMillis = UnixMillis(1_763_726_400_000);
/// Isolates and the calls of each in a second.
const LOADS: [(u64, u64); 5] = [(24, 3), (100, 100), (300, 10), (300, 100), (500, 100)];
const SECONDS: u64 = 25;

/// The meter of a key, and what it took.
struct Measured {
    meter: Meter,
    asks: u32,
    spent: Duration,
}

impl Measured {
    /// Handles a request as the object does: read, step, write.
    fn ask(&mut self, cache: &mut LeaseCache, request: &MeterRequest, now: UnixMillis) {
        let text = serde_json::to_string(&Message::Ask(request.clone())).unwrap();
        let begun = Instant::now();
        let message: Message = serde_json::from_str(&text).unwrap();
        let (reply, _) = self.meter.step(message, now);
        drop(serde_json::to_string(&self.meter).unwrap());
        self.spent += begun.elapsed();
        self.asks += 1;
        let Reply::Ask(response) = reply else { panic!("{reply:?}") };
        cache.handle_response(request, now, &response, now);
    }
}

fn measure(key: &VerifiedKey, isolates: u64, per_second: u64) -> String {
    let minute = u32::try_from(isolates * per_second * 75).unwrap();
    let limits = LimitOverrides { minute: minute.try_into().ok(), ..LimitOverrides::NONE };
    let record = KeyRecord { version: 1, limits, ..KeyRecord::provisional(key) };
    let mut caches: Vec<_> = (1..=isolates)
        .map(|id| {
            let mut cache = LeaseCache::new(u64::MAX - id);
            cache.learn(record.clone());
            cache
        })
        .collect();
    let mut all = Measured { meter: Meter::default(), asks: 0, spent: Duration::ZERO };
    let gap = 1_000 / per_second;
    for at in 0..SECONDS * 1_000 {
        // The second half is measured.
        if at == SECONDS * 500 {
            (all.asks, all.spent) = (0, Duration::ZERO);
        }
        let now = NOON.plus(at);
        for (place, cache) in (0u64..).zip(&mut caches) {
            if cache.flush_at().is_some_and(|due| due <= now)
                && let Some(request) = cache.flush(key, true, now)
            {
                all.ask(cache, &request, now);
            }
            if (at + place * 7_919) % gap == 0 {
                match cache.call(key, Tool::Qr, now) {
                    Step::Ask(request, _) | Step::Decided(_, Some(request)) => all.ask(cache, &request, now),
                    Step::Decided(_, None) => {}
                }
            }
        }
    }
    let row = serde_json::to_string(&all.meter).unwrap().len();
    format!(
        "| {isolates} × {per_second} | {:.0} | {} µs | {} KB |",
        f64::from(all.asks) * 2.0 / f64::from(u32::try_from(SECONDS).unwrap()),
        all.spent.as_micros() / u128::from(all.asks.max(1)),
        row / 1_000,
    )
}

fn main() {
    let signing = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let key = ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Enterprise, NOON, [2; 16], &signing).1;
    println!("| isolates × calls a second | requests a second | CPU time of each | stored state |");
    println!("|---|---:|---:|---:|");
    for (isolates, per_second) in LOADS {
        println!("{}", measure(&key, isolates, per_second));
    }
}
