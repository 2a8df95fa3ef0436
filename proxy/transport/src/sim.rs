//! A deterministic simulator of the exchange, beside those of the meter and of objects.
//!
//! Each world plays one connection of a client, with several calls, over the code that runs in
//! production. Client, upstreams, pipes and timers are fakes. At every poll they block, take or
//! give a part of the bytes, refuse, close or fall silent, as the seed of the world says. What
//! must be true of each world is in [`oracle`].

mod http2;
mod oracle;
mod parser;
mod product;
mod rng;
mod script;
mod state;
mod wire;
mod world;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pingora::apps::ServerApp as _;
use tokio::sync::watch;
use tokio::time;

use self::oracle::{Outcome, violations};
use self::parser::Parser;
use self::product::Product;
use self::rng::Rng;
use self::script::Http1Client;
use self::state::{Seen, SeenRequest, State};
use self::wire::wire;
use self::world::{Protocol, World};
use crate::connect::ConnectionLimits;
use crate::downstream::{Downstream, Transport};
use crate::fake_stream::{FakeStream, set_dialer};
use crate::hooks::Listener as _;

/// Simulated time after which a world is given up.
const END: Duration = Duration::from_secs(20_000);

/// Plays a world.
fn play(seed: u64) -> (World, Outcome) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let mut rng = Rng::new(!seed);
    let state = State::new(World::new(seed), rng.fork());
    let dialing = Arc::clone(&state);
    set_dialer(Some(Rc::new(move |time| Box::pin(script::dial(Arc::clone(&dialing), time)))));
    let outcome = runtime.block_on(run(&state, rng));
    set_dialer(None);
    drop(runtime);
    (state.world.clone(), outcome)
}

async fn run(state: &Arc<State>, mut rng: Rng) -> Outcome {
    let begun = time::Instant::now();
    let world = &state.world;
    let product = Product::new(state);
    let drain = Arc::clone(product.drain());
    let limits = ConnectionLimits { idle: 16, open: 1_000, pipes: world.pipes };
    let server = Arc::new(Downstream::new(product, Transport::Relay, limits));
    let (near, far) = wire(world.client_mood, rng.fork());
    let tape = far.tape();
    let (_shutdown, watch) = watch::channel(false);
    let served = tokio::spawn({
        let server = Arc::clone(&server);
        async move { server.process_new(Box::new(FakeStream::new(near)), &watch).await }
    });
    let client = match world.protocol {
        Protocol::Http1 => {
            let client = Http1Client::new(state, far);
            tokio::spawn(async move {
                let parser = client.run().await;
                parser.responses
            })
        }
        Protocol::Http2 { window } => tokio::spawn(http2::run(Arc::clone(state), far, window)),
    };
    let ended = async {
        let is_served = served.await.is_ok();
        // Streams of HTTP/2 are served by tasks of their own.
        while drain.requests() + drain.connections() > 0 {
            time::sleep(Duration::from_millis(10)).await;
        }
        is_served
    };
    let has_ended = time::timeout(END, ended).await.is_ok_and(|is_served| is_served);
    let ended = time::Instant::now();
    // What waits in the connection is still read, unless the client is silent.
    let read = time::timeout(END, client).await.ok().and_then(Result::ok);
    drop(server);
    let mut seen = std::mem::take(&mut *state.seen.lock());
    let written = (world.protocol == Protocol::Http1).then(|| {
        let mut parser = Parser::default();
        if let Err(violation) = parser.feed(&tape.sent()) {
            seen.violations.push(format!("the proxy wrote {violation}"));
        }
        if !tape.was_reset() {
            parser.end();
        }
        parser.responses
    });
    let silence = seen.silent_since.map(|since| ended.saturating_duration_since(since));
    let is_left = |(stream, at): &(Option<usize>, _)| stream.is_none().then_some(*at);
    let after_left = seen.left.iter().find_map(is_left).map(|at| ended.saturating_duration_since(at));
    let elapsed = ended - begun;
    let read = read.unwrap_or_default();
    Outcome { seen, read, written, elapsed, silence, after_left, has_ended }
}

/// Returns the seeds of this run: `SIM_SEED` alone, or as many as `SIM_WORLDS` says.
fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    match number("SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIM_WORLDS").unwrap_or(10_000),
    }
}

/// What comes out of the proxy is what went in, in random worlds.
#[test]
#[allow(clippy::print_stdout, reason = "the row of `make sim`")]
fn exchange_keeps_its_promises_in_random_worlds() {
    let begun = Instant::now();
    let seeds = seeds();
    let (next, totals) = (AtomicU64::new(seeds.start), Mutex::new(Totals::default()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || totals.lock().failed.len() >= MAX_FAILED {
                        return;
                    }
                    let (world, outcome) = play(seed);
                    if seeds.end - seeds.start == 1 {
                        print(&world, &outcome);
                    }
                    totals.lock().add(seed, &world, &outcome);
                }
            });
        }
    });
    let Totals { worlds, calls, bytes, cut, failed } = totals.into_inner();
    println!(
        "exchange: {worlds} worlds in {:.0?}, {calls} responses, {cut} of them cut, {} MiB: {} violations",
        begun.elapsed(),
        bytes >> 20,
        failed.len()
    );
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Threads that play worlds.
const THREADS: usize = 2;
/// Number of worlds with a violation after which no more are played.
const MAX_FAILED: usize = 10;

/// What came out of all worlds.
#[derive(Default)]
struct Totals {
    worlds: usize,
    calls: usize,
    bytes: usize,
    cut: usize,
    failed: Vec<String>,
}

impl Totals {
    fn add(&mut self, seed: u64, world: &World, outcome: &Outcome) {
        self.worlds += 1;
        self.calls += outcome.read.len();
        self.bytes += outcome.read.iter().map(|got| got.body.len()).sum::<usize>();
        self.cut += outcome.read.iter().filter(|got| !got.is_complete).count();
        let found = violations(world, outcome);
        if !found.is_empty() {
            self.failed.push(format!("SIM_SEED={seed}: {}", found.join("; ")));
        }
    }
}

/// Prints a world and what came out of it.
#[allow(clippy::print_stdout, reason = "a world that is played alone is looked at")]
fn print(world: &World, outcome: &Outcome) {
    println!("{world:#?}\nread {:?}", summary(&outcome.read));
    println!("written {:?}", outcome.written.as_deref().map(summary));
    let Seen { log, limits, closed, requests, .. } = &outcome.seen;
    println!("log {log:#?}\nlimits {limits:?} {closed:?}");
    for SeenRequest { id, body, is_complete } in requests {
        println!("upstream got call {id} with {} bytes, complete: {is_complete}", body.len());
    }
    println!("elapsed {:?}, silent for {:?}", outcome.elapsed, outcome.silence);
}

/// Returns a line for each response: its status, its call, its reply, and how much of its body came.
fn summary(responses: &[parser::Got]) -> Vec<String> {
    let line = |got: &parser::Got| {
        let end = if got.is_complete { "complete" } else { "cut" };
        format!("{} to {:?}, reply {:?}: {} bytes, {end}", got.status, got.id, got.reply, got.body.len())
    };
    responses.iter().map(line).collect()
}
