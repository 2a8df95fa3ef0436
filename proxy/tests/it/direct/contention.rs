//! Many proxies that ask for one key at the same time, far from the server that has its meter.
//!
//! `CONTENTION_SECONDS=150` plays each test for so long, with the return of the quota after each minute, and
//! prints its figures.

use std::{
    env,
    time::{Duration, Instant},
};

use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    Client, FakeTool, Request, ToolBehavior, keys,
    proxy::{Proxy, ProxyConfig},
    redis::Redis,
    slow_link::SlowLink,
};

use super::meters::issue;

/// The calls of a key in any 60 seconds.
const LIMIT: usize = 64;
/// The callers of each key at each proxy.
const CALLERS: usize = 2;
const MINUTE: Duration = Duration::from_secs(60);

/// Proxies that share limits, with a server at a distance. Each key has its own tool.
struct Far {
    proxies: Vec<Proxy>,
    tools: [FakeTool; 2],
    _link: SlowLink,
    _redis: Redis,
    _folder: TempDir,
}

impl Far {
    async fn start(count: usize, round_trip: Duration) -> Self {
        let (redis, folder) = (Redis::start(), tempfile::tempdir().unwrap());
        let link = SlowLink::start(redis.address(), round_trip).await;
        let tools =
            [FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await];
        let configs = (0..count).map(|number| {
            ProxyConfig::new()
                .direct(&folder.path().join(format!("keys-{number}")))
                .line("keys", &format!("admin_secret = {:?}", keys::ADMIN_SECRET))
                .section("limits", "authority = \"valkey\"\n")
                .section("valkey", &format!("servers = [\"{}\"]\n", link.address))
                .tool(Tool::Qr, &[&tools[0]])
                .tool(Tool::Pdf, &[&tools[1]])
        });
        let proxies: Vec<_> = configs.map(|config| config.start()).collect();
        for proxy in &proxies {
            proxy.ready().await;
        }
        Self { proxies, tools, _link: link, _redis: redis, _folder: folder }
    }

    /// Makes calls of a key through all proxies: until each is refused, or, with a length, each at the time
    /// of its `Retry-After`. Returns the responses that were neither 200 nor 429, and those on the local budget.
    async fn call(&self, key: &str, target: &'static str, length: Option<Duration>) -> Vec<String> {
        let begun = Instant::now();
        let callers = self.proxies.iter().cycle().take(CALLERS * self.proxies.len()).map(|proxy| {
            let (to, request) = (proxy.listen, Request::new("GET", target).header("X-API-Key", key));
            tokio::spawn(async move {
                let mut wrong = Vec::new();
                loop {
                    let response = Client::send_once(to, &request).await.expect("a response");
                    let is_degraded = response.header("x-gateway-degraded").is_some();
                    if is_degraded || !matches!(response.status, 200 | 429) {
                        wrong.push(format!("{} after {:?}", response.status, begun.elapsed()));
                    }
                    let retry_after = response.header("retry-after").and_then(|text| text.parse().ok());
                    match length {
                        None if response.status != 200 => return wrong,
                        Some(length) if begun.elapsed() > length => return wrong,
                        None | Some(_) => {}
                    }
                    if let Some(seconds) = retry_after {
                        tokio::time::sleep(Duration::from_secs(seconds)).await;
                    }
                }
            })
        });
        let mut wrong = Vec::new();
        for caller in callers.collect::<Vec<_>>() {
            wrong.extend(caller.await.unwrap());
        }
        wrong
    }
}

/// Returns the most calls that a tool has got in any 60 seconds.
fn fullest_minute(tool: &FakeTool) -> usize {
    let arrivals = tool.arrivals();
    let within = |from: &Instant| arrivals.iter().filter(|at| (*from..*from + MINUTE).contains(*at)).count();
    arrivals.iter().map(within).max().unwrap_or(0)
}

#[allow(clippy::print_stdout, reason = "the figures are what a long run is for")]
async fn assert_exact(count: usize, round_trip_ms: u64) {
    let far = Far::start(count, Duration::from_millis(round_trip_ms)).await;
    let fields = |tier: &str| format!(r#""tier":"{tier}","limits":{{"minute":{LIMIT},"day":10000}}"#);
    let (free, paid) =
        (issue(&far.proxies[0], &fields("free")).await, issue(&far.proxies[0], &fields("pro")).await);
    let text = |issued: &serde_json::Value| issued["key"].as_str().unwrap().to_owned();
    let length = env::var("CONTENTION_SECONDS").ok().map(|text| Duration::from_secs(text.parse().unwrap()));
    let (free, paid) = (text(&free), text(&paid));
    let (of_free, of_paid) =
        tokio::join!(far.call(&free, "/v1/qr/generate", length), far.call(&paid, "/v1/pdf/create", length));
    let [free, paid] = [0, 1].map(|tool| fullest_minute(&far.tools[tool]));
    println!(
        "{count} proxies, {round_trip_ms} ms: fullest minute {:.3} and {:.3}, {} and {} not decided, {} calls",
        free as f64 / LIMIT as f64,
        paid as f64 / LIMIT as f64,
        of_free.len(),
        of_paid.len(),
        far.tools[0].calls() + far.tools[1].calls()
    );
    for proxy in &far.proxies {
        let output = proxy.output();
        output.lines().filter(|line| line.contains("meter")).for_each(|line| println!("{line}"));
    }
    assert_eq!((of_free, of_paid), (Vec::new(), Vec::new()));
    assert_eq!(free, LIMIT);
    assert!(paid <= LIMIT, "{paid}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_proxies_120_ms_away_lose_no_call() {
    assert_exact(8, 120).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_proxies_60_ms_away_lose_no_call() {
    assert_exact(3, 60).await;
}

/// All distances. The other tests play the two that are hardest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proxies_at_any_distance_keep_a_limit_for_minutes() {
    if env::var("CONTENTION_SECONDS").is_ok() {
        for count in [3, 16] {
            for round_trip_ms in [0, 60, 200] {
                assert_exact(count, round_trip_ms).await;
            }
        }
    }
}
