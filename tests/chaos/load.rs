//! The load: calls of tools and clicks at a fixed rate, each with what happened to it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::Value;
use shared::tool::Tool;
use tests::{
    http::{Client, Request, Response},
    sim::Rng,
    wait::{PATIENCE, wait_for},
};
use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinHandle, JoinSet},
    time::MissedTickBehavior,
};

use crate::origin_side::LIE;

/// The agent of a person, whose clicks count.
const PERSON: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0";
/// The lengths of one body in twenty, which is streamed: around the one from which on the proxy
/// splices, and more than the buffers on its way hold.
const LONG_BODIES: [usize; 5] = [(64 << 10) - 2, 64 << 10, 100_000, 1 << 20, 4 << 20];

/// A key of the load.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) text: String,
    /// Whom it calls: the edge, or the proxy in direct mode.
    pub(crate) to: SocketAddr,
    pub(crate) is_direct: bool,
    pub(crate) tier: &'static str,
    pub(crate) calls_per_second: u64,
    /// Calls in any 60 seconds.
    pub(crate) minute: usize,
}

impl Key {
    /// Returns what `GET /v1/keys/me` says.
    pub(crate) fn own(&self) -> Option<Value> {
        let response = Request::get("/v1/keys/me").key(&self.text).try_send(self.to)?;
        (response.status == 200).then(|| response.json())
    }

    /// Waits until calls of each tool pass.
    pub(crate) fn recovered(&self) {
        for tool in [Tool::Qr, Tool::Pdf, Tool::Seo] {
            for method in ["GET", "POST"] {
                let request = Request::new(method, &format!("/v1/{tool}/look")).key(&self.text);
                let request = if method == "POST" { request.json("{}") } else { request };
                let passes = || request.try_send(self.to).is_some_and(|response| response.status == 200);
                wait_for(PATIENCE, || passes().then_some(()));
            }
        }
    }
}

/// A call with its outcome. Its number is in its target.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) number: u64,
    pub(crate) key: usize,
    pub(crate) is_post: bool,
    /// Milliseconds since the start of the run.
    pub(crate) sent_ms: u64,
    pub(crate) done_ms: u64,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// Nothing listened.
    NotConnected,
    /// The connection ended before the response.
    NoResponse,
    Answered {
        status: u16,
        /// The code of a problem, or an empty string.
        code: String,
        is_degraded: bool,
        body: Body,
    },
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// The tool's response to this call, with the body that the call has sent: so many bytes, each
    /// of which is compared.
    Own { bytes: usize },
    /// What a lying tool sends.
    Lie,
    /// A part of a body.
    Cut,
    /// A problem, or an error that the tool sent.
    Error,
    /// Anything else: it belongs to another call, or to none.
    Foreign(String),
}

/// A click with its outcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Click {
    pub(crate) done_ms: u64,
    /// Whether it was redirected, or `None` without a response.
    pub(crate) is_redirected: Option<bool>,
}

/// What the load consists of.
pub(crate) struct Demand {
    pub(crate) seed: u64,
    pub(crate) edge: SocketAddr,
    pub(crate) keys: Vec<Key>,
    /// The path of the link that is clicked.
    pub(crate) link: String,
    pub(crate) clicks_per_second: u64,
}

/// The running load.
pub(crate) struct Load {
    runtime: Runtime,
    shared: Arc<Shared>,
    generators: Vec<JoinHandle<usize>>,
}

struct Shared {
    demand: Demand,
    started: Instant,
    is_stopping: AtomicBool,
    calls: Mutex<Vec<Call>>,
    clicks: Mutex<Vec<Click>>,
}

impl Load {
    pub(crate) fn start(demand: Demand, started: Instant) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let shared = Arc::new(Shared {
            demand,
            started,
            is_stopping: AtomicBool::new(false),
            calls: Mutex::default(),
            clicks: Mutex::default(),
        });
        let mut generators = Vec::new();
        for (nth, key) in shared.demand.keys.iter().enumerate() {
            let each = Duration::from_millis(1_000 / key.calls_per_second);
            let first = (nth as u64) << 32;
            generators.push(runtime.spawn(generate(Arc::clone(&shared), each, move |shared, number| {
                call(shared, nth, first + number)
            })));
        }
        let each = Duration::from_millis(1_000 / shared.demand.clicks_per_second);
        generators.push(runtime.spawn(generate(Arc::clone(&shared), each, click)));
        Self { runtime, shared, generators }
    }

    /// Returns the calls and the clicks that have ended.
    pub(crate) fn ended(&self) -> (Vec<Call>, Vec<Click>) {
        (self.shared.calls.lock().clone(), self.shared.clicks.lock().clone())
    }

    /// Returns the latencies in milliseconds of the responses to calls since a moment, in order.
    pub(crate) fn latencies(&self, since_ms: u64) -> Vec<f64> {
        let calls = self.shared.calls.lock();
        let recent = calls.iter().rev().take_while(|call| call.done_ms >= since_ms);
        let answered = recent.filter(|call| matches!(call.outcome, Outcome::Answered { .. }));
        let elapsed = |call: &Call| Duration::from_millis(call.done_ms - call.sent_ms).as_secs_f64() * 1e3;
        let mut latencies: Vec<_> = answered.map(elapsed).collect();
        latencies.sort_unstable_by(f64::total_cmp);
        latencies
    }

    /// Sends nothing more and waits for what is in flight. Returns the number of requests that got
    /// neither a response nor an end.
    pub(crate) fn stop(&mut self) -> usize {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        let generators = std::mem::take(&mut self.generators);
        self.runtime.block_on(async {
            let mut hung = 0;
            for generator in generators {
                hung += generator.await.unwrap();
            }
            hung
        })
    }
}

/// Starts a request at each tick. Returns the number of those that hung.
async fn generate<F>(
    shared: Arc<Shared>,
    each: Duration,
    request: impl Fn(Arc<Shared>, u64) -> F + Send,
) -> usize
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut ticks = tokio::time::interval(each);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut in_flight, mut hung, mut number) = (JoinSet::new(), 0, 0);
    while !shared.is_stopping.load(Ordering::SeqCst) {
        ticks.tick().await;
        in_flight.spawn(request(Arc::clone(&shared), number));
        number += 1;
        while let Some(ended) = in_flight.try_join_next() {
            hung += usize::from(ended.is_err());
        }
    }
    while let Some(ended) = in_flight.join_next().await {
        hung += usize::from(ended.is_err());
    }
    hung
}

impl Shared {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap()
    }
}

async fn call(shared: Arc<Shared>, key: usize, number: u64) {
    let mut random = Rng::new(shared.demand.seed ^ number.wrapping_mul(0x9e37));
    let tool = [Tool::Qr, Tool::Qr, Tool::Pdf, Tool::Seo][usize::try_from(random.range(0, 4)).unwrap()];
    let is_post = random.chance(500);
    let target = format!("/v1/{tool}/chaos?n={number}&");
    let request = match is_post {
        true if random.chance(50) => {
            Request::new("POST", &target).json(&long_body(number, *random.pick(&LONG_BODIES)))
        }
        true => Request::new("POST", &target).json("{}"),
        false => Request::get(&target),
    };
    let Key { text, to, .. } = &shared.demand.keys[key];
    let request = request.key(text);
    let sent_ms = shared.now_ms();
    let outcome = send(*to, &request).await;
    let outcome = outcome.map_or_else(|outcome| outcome, |response| read(&response, number, &request.body));
    let done_ms = shared.now_ms();
    shared.calls.lock().push(Call { number, key, is_post, sent_ms, done_ms, outcome });
}

async fn click(shared: Arc<Shared>, number: u64) {
    // A visitor who clicks often is not counted.
    let address = format!("10.{}.{}.{}", number >> 16, (number >> 8) & 255, number & 255);
    let request = Request::get(&shared.demand.link).header("User-Agent", PERSON);
    let request = request.header("CF-Connecting-IP", &address);
    let is_redirected = match send(shared.demand.edge, &request).await {
        Ok(response) => Some(response.status == 302),
        Err(Outcome::NotConnected) => Some(false),
        Err(_) => None,
    };
    let done_ms = shared.now_ms();
    shared.clicks.lock().push(Click { done_ms, is_redirected });
}

/// Sends a request on a new connection.
async fn send(to: SocketAddr, request: &Request) -> Result<Response, Outcome> {
    let mut client = Client::try_connect(to).await.map_err(|_| Outcome::NotConnected)?;
    let request = request.clone().header("Host", &to.to_string()).header("Connection", "close");
    client.try_write(&request.bytes()).await;
    client.response(&request.method).await.ok_or(Outcome::NoResponse)
}

/// Returns a JSON string of this length, without its quotation marks. Those of two calls differ, and so
/// do any two parts of one.
fn long_body(number: u64, length: usize) -> String {
    let mut random = Rng::new(!number);
    let text: String =
        std::iter::repeat_with(|| format!("{:016x}", random.next())).take(length / 16 + 1).collect();
    format!("\"{}\"", &text[..length])
}

/// Returns the number of bytes of a request's body if a tool has described them as they were sent.
fn described(text: &str, sent: &[u8]) -> Option<usize> {
    let described: Value = serde_json::from_str(text).ok()?;
    (described["body"].as_str()?.as_bytes() == sent).then_some(sent.len())
}

fn read(response: &Response, number: u64, sent: &[u8]) -> Outcome {
    let text = response.text();
    let body = match response.status {
        200 if !response.complete => Body::Cut,
        200 if text == LIE => Body::Lie,
        200 => match described(&text, sent) {
            Some(bytes) if text.contains(&format!("chaos?n={number}&")) => Body::Own { bytes },
            Some(_) | None => Body::Foreign(text.chars().take(500).collect()),
        },
        _ => Body::Error,
    };
    let is_degraded = response.header("x-gateway-degraded").is_some();
    Outcome::Answered { status: response.status, code: response.code(), is_degraded, body }
}
