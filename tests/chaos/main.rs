//! Faults at the level of the system: the built worker, three proxies and fake tools under load, with
//! all counters reconciled at the end. `SEED` decides the faults, `TIME` is the length in seconds.
//!
//! With `SOAK=1` no process is killed, and the slopes of memory, descriptors, latencies and state are
//! held to their bounds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and shows its faults and its books"
)]

mod books;
mod edge_side;
mod load;
mod origin_side;
mod plan;
mod samples;
mod sandbox;

use std::{
    collections::BTreeSet,
    env,
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::json;
use shared::tier::Tier;
use tests::{PATIENCE, keys, origin::Arrival, wait_for};

use crate::{
    books::{Books, Delivered, Happened, Run},
    edge_side::{EdgeSide, Page},
    load::{Demand, Key, Load},
    origin_side::{OriginSide, Pids},
    plan::{DIRECT, Fault, Lane, Planned, plan},
};

const DAY_MS: u64 = 86_400_000;

/// Tier, calls a second and limit of each key. Pro and Free keys call more often than they may.
const KEYS: [(&str, u64, usize); 6] = [
    ("enterprise", 5, 500),
    ("enterprise", 5, 500),
    ("enterprise", 2, 500),
    ("pro", 1, 100),
    ("pro", 4, 100),
    ("free", 1, 10),
];
/// The same of the keys that call the proxy in direct mode.
const DIRECT_KEYS: [(Tier, u64, usize); 2] = [(Tier::Enterprise, 2, 500), (Tier::Pro, 3, 100)];
const CLICKS_PER_SECOND: u64 = 5;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`; expected a number")))
}

/// Milliseconds since a moment.
fn since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap()
}

/// The settings of a run, from its environment.
#[derive(Clone, Copy)]
struct Settings {
    seed: u64,
    time_ms: u64,
    is_soak: bool,
    /// Whether the run has its own mounts.
    has_mounts: bool,
}

#[test]
fn stack_under_faults_keeps_balanced_books() {
    let has_mounts = sandbox::enter();
    let seed = number("SEED").unwrap_or_else(|| keys::now().0 % 1_000_000);
    let settings = Settings {
        seed,
        time_ms: number("TIME").unwrap_or(60) * 1_000,
        is_soak: number("SOAK") == Some(1),
        has_mounts,
    };
    println!("chaos: seed={seed} time_s={} soak={}", settings.time_ms / 1_000, settings.is_soak);
    let (books, growing) = run(settings);
    println!("\nbooks");
    books.lines.iter().for_each(|line| println!("  {line}"));
    let first: Vec<_> = books.imbalances.iter().take(20).collect();
    assert!(first.is_empty(), "SEED={seed}: {} imbalances: {first:#?}", books.imbalances.len());
    assert!(growing.is_empty(), "SEED={seed}: slopes above their bounds: {growing:#?}");
}

/// Starts the stack, puts load and faults on it, and waits until it has recovered. Returns the books,
/// and what grew in a soak.
fn run(settings: Settings) -> (Books, Vec<String>) {
    let pids = Pids::default();
    let mut origins = block_on(OriginSide::start(settings.has_mounts, &pids));
    let mut edge = EdgeSide::start(settings.has_mounts, &origins.origins(), &pids);
    let lanes = draw_lanes(settings, &edge, &origins);
    let page = edge.publish();
    let direct = origins.proxies[DIRECT].listen;
    let keys =
        [KEYS.map(|key| issue(&edge, key)).as_slice(), &DIRECT_KEYS.map(|key| mint(direct, key))].concat();
    let probes = [issue(&edge, KEYS[0]), mint(direct, DIRECT_KEYS[0])];
    probes.iter().for_each(Key::recovered);

    let started = Instant::now();
    let demand = Demand {
        seed: settings.seed,
        edge: edge.addr(),
        keys: keys.clone(),
        link: page.link.clone(),
        clicks_per_second: CLICKS_PER_SECOND,
    };
    let mut load = Load::start(demand, started);
    let (happened, is_over, state) = (Mutex::default(), AtomicBool::new(false), edge.state());
    let series = thread::scope(|scope| {
        let [of_edge, of_origin] = &lanes;
        let (edge, origins, happened) = (&mut edge, &mut origins, &happened);
        scope.spawn(move || run_lane(of_edge, started, happened, edge, EdgeSide::begin, EdgeSide::end));
        scope.spawn(move || {
            run_lane(of_origin, started, happened, origins, OriginSide::begin, OriginSide::end)
        });
        let samples = scope.spawn(|| samples::take(&load, &pids, &state, started, &is_over));
        thread::sleep(Duration::from_millis(settings.time_ms));
        is_over.store(true, Ordering::SeqCst);
        samples.join().unwrap()
    });
    let hung = load.stop();
    let ended = Instant::now();
    probes.iter().for_each(Key::recovered);
    println!("recovered: ms={}", since(ended));

    let (calls, clicks) = load.ended();
    let run = Run {
        keys,
        calls,
        clicks,
        faults: happened.into_inner(),
        executions: origins.executions(),
        day_began_ms: since(started).saturating_sub(keys::now().0 % DAY_MS),
    };
    let mut books = Books::default();
    run.calls(&mut books);
    settle_charges(&run, &mut books);
    run.clicks(&mut books, &settle_clicks(&edge, &page));
    if hung > 0 {
        books
            .imbalances
            .push(format!("{hung} requests had neither a response nor an end after {PATIENCE:?}"));
    }
    (books, if settings.is_soak { samples::judge(&series) } else { Vec::new() })
}

/// Draws the faults of each lane. Names those that this machine does not allow.
fn draw_lanes(settings: Settings, edge: &EdgeSide, origins: &OriginSide) -> [Vec<Planned>; 2] {
    let is_allowed = |fault: Fault| edge.allows(fault) && origins.allows(fault);
    for fault in [Fault::FullDisk, Fault::FullLogs, Fault::NameMoves, Fault::ClockStep(0)] {
        if !is_allowed(fault) {
            println!("fault left out: kind={fault} reason=\"it needs root with mounts, or libfaketime\"");
        }
    }
    let is_possible = |fault: Fault| is_allowed(fault) && !(settings.is_soak && fault.is_kill());
    [Lane::Edge, Lane::Origin].map(|lane| plan(lane, settings.seed, settings.time_ms, is_possible))
}

fn issue(edge: &EdgeSide, (tier, calls_per_second, minute): (&'static str, u64, usize)) -> Key {
    let text = edge.issue(&json!({ "tier": tier }))["key"].as_str().unwrap().to_owned();
    Key { text, to: edge.addr(), is_direct: false, tier, calls_per_second, minute }
}

/// Returns a key that the proxy in direct mode knows by its text.
fn mint(to: SocketAddr, (tier, calls_per_second, minute): (Tier, u64, usize)) -> Key {
    let (text, _) = keys::fresh(tier);
    Key { text, to, is_direct: true, tier: tier.into(), calls_per_second, minute }
}

/// Makes the faults of a lane happen, one after the other.
fn run_lane<T>(
    planned: &[Planned],
    started: Instant,
    happened: &Mutex<Vec<Happened>>,
    side: &mut T,
    begin: impl Fn(&mut T, Fault),
    end: impl Fn(&mut T, Fault),
) {
    for one in planned {
        // The moment and the length of a fault are data. No condition is waited for.
        thread::sleep(Duration::from_millis(one.at_ms.saturating_sub(since(started))));
        let begin_ms = since(started);
        println!("fault: at_ms={begin_ms} kind={} for_ms={}", one.fault, one.length_ms);
        begin(side, one.fault);
        thread::sleep(Duration::from_millis(one.length_ms));
        end(side, one.fault);
        let end_ms = since(started);
        println!("fault ended: at_ms={end_ms} kind={}", one.fault);
        happened.lock().push(Happened { fault: one.fault, begin_ms, end_ms });
    }
}

/// Waits until what each key was charged is within its bounds and nothing is lent, and writes it.
fn settle_charges(run: &Run, books: &mut Books) {
    let read = |key: &Key| {
        let day = key.own()?["usage"]["day"].take();
        Some((day["used"].as_u64()?, day["held"].as_u64()?))
    };
    let is_settled = |(nth, used): (usize, &Option<(u64, u64)>)| {
        used.is_some_and(|(used, held)| held == 0 && run.charges(nth).contains(&used))
    };
    let started = Instant::now();
    let mut used: Vec<_> = run.keys.iter().map(read).collect();
    while started.elapsed() < PATIENCE && !used.iter().enumerate().all(is_settled) {
        thread::sleep(Duration::from_millis(200));
        used = run.keys.iter().map(read).collect();
    }
    for (nth, used) in used.into_iter().enumerate() {
        run.charged(books, nth, used.map_or(0, |(used, held)| used + held));
    }
}

/// Waits until everything that is counted is delivered. Returns what was.
fn settle_clicks(edge: &EdgeSide, page: &Page) -> Delivered {
    let mut before = 0;
    wait_for(PATIENCE, || {
        let counted = edge.counted(page)?;
        let is_still = std::mem::replace(&mut before, counted) == counted;
        // What an object holds a timer for takes up to a second.
        thread::sleep(Duration::from_millis(1_000));
        (edge.undelivered(page) == 0 && is_still).then_some(())
    });
    let arrivals = edge.receiver.accepted();
    let events: BTreeSet<String> = arrivals.iter().flat_map(events_of).collect();
    let requests: usize = arrivals.iter().map(|arrival| events_of(arrival).len()).sum();
    Delivered { counted: before, events: events.len() as u64, requests: requests as u64 }
}

/// Returns the ids of the events of a webhook.
fn events_of(arrival: &Arrival) -> Vec<String> {
    let body = arrival.json();
    let id = |event: &serde_json::Value| event["id"].as_str().unwrap().to_owned();
    match body["data"]["events"].as_array() {
        Some(events) if body["type"] == "batch" => events.iter().map(id).collect(),
        _ => vec![id(&body)],
    }
}
