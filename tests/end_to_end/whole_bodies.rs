//! Large bodies through edge and proxy are whole, byte by byte, several at a time.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use shared::tool::Tool;
use tests::{
    Request,
    bodies::{Body, BodyClient, BodyTool, Pace, connect, target},
    proxy::{Proxy, ProxyConfig},
    stack::Edge,
    until,
};
use tokio::{runtime::Runtime, task::JoinSet};

const MIB: usize = 1 << 20;

/// Tool, proxy and edge, and what a client needs.
struct Stage {
    tool: BodyTool,
    _proxy: Proxy,
    edge: Edge,
    key: String,
    number: AtomicUsize,
}

fn stage() -> Arc<Stage> {
    let tool = BodyTool::start();
    // Of the data center that the edge takes for the only one.
    let proxy = ProxyConfig::new()
        .section("server", "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n")
        .upstreams(Tool::Pdf, &[&tool.address.to_string()])
        .start_and_wait();
    let edge = Edge::start(&proxy.url());
    let (key, _) = edge.issue("enterprise");
    Arc::new(Stage { tool, _proxy: proxy, edge, key, number: AtomicUsize::new(0) })
}

impl Stage {
    /// Returns the request for the next body, and the connection of a client that is fast or slow.
    async fn begin(&self, method: &str, length: usize) -> (Request, Body, BodyClient<tokio::net::TcpStream>) {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let pace = if number.is_multiple_of(2) { Pace::Fast } else { Pace::Slow };
        let to: SocketAddr = self.edge.addr;
        let request = Request::new(method, &target("/v1/pdf/bytes", number, length, ""))
            .key(&self.key)
            .header("Host", &to.to_string());
        (request, Body::new(number, length), BodyClient::over(connect(to, pace).await, pace))
    }

    async fn download(self: Arc<Self>, length: usize) -> Result<(), String> {
        let (request, body, mut client) = self.begin("GET", length).await;
        client.send(&request, Body::new(0, 0)).await?;
        client.receive(body).await
    }

    async fn upload(self: Arc<Self>, length: usize) -> Result<(), String> {
        let (request, body, mut client) = self.begin("POST", length).await;
        let request =
            request.header("Content-Type", "application/json").header("Content-Length", &length.to_string());
        client.send(&request, body).await?;
        client.uploaded().await
    }
}

/// Moves so many bodies of each length, six at a time.
fn run<F: Future<Output = Result<(), String>> + Send + 'static>(
    stage: &Arc<Stage>,
    batches: &[(usize, usize)],
    one: fn(Arc<Stage>, usize) -> F,
) {
    let failed: Vec<_> = Runtime::new().unwrap().block_on(async {
        let mut failed = Vec::new();
        for &(length, count) in batches {
            let mut tasks: JoinSet<Result<(), String>> = JoinSet::new();
            for _ in 0..count {
                if tasks.len() == 6 {
                    failed.extend(tasks.join_next().await.and_then(|result| result.unwrap().err()));
                }
                tasks.spawn(one(Arc::clone(stage), length));
            }
            failed.extend(tasks.join_all().await.into_iter().filter_map(Result::err));
        }
        failed
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn downloads_through_the_edge_are_whole() {
    let lengths = [(64 << 10, 12), ((64 << 10) + 1, 12), (MIB, 12), (4 * MIB, 18), (10 * MIB, 6)];
    run(&stage(), &lengths, Stage::download);
}

#[test]
fn uploads_through_the_edge_are_whole() {
    let stage = stage();
    run(&stage, &[(64 << 10, 12), ((64 << 10) + 1, 12), (MIB, 12), (4 * MIB, 12)], Stage::upload);
    assert_eq!(stage.tool.whole_uploads(), stage.number.load(Ordering::Relaxed));
}

/// The edge does not read for a client that does not.
#[test]
fn client_that_never_reads_through_the_edge_is_cut() {
    let tool = BodyTool::start();
    let proxy = ProxyConfig::new()
        .section("server", "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\n")
        .line("clients", "idle_timeout = \"1s\"")
        .upstreams(Tool::Pdf, &[&tool.address.to_string()])
        .start_and_wait();
    let edge = Edge::start(&proxy.url());
    let (key, _) = edge.issue("enterprise");
    Runtime::new().unwrap().block_on(async {
        let mut held = Vec::new();
        for number in 0..4 {
            let mut client = BodyClient::over(connect(edge.addr, Pace::Slow).await, Pace::Slow);
            let request = Request::get(&target("/v1/pdf/bytes", number, 50 * MIB, ""))
                .key(&key)
                .header("Host", &edge.addr.to_string());
            client.send(&request, Body::new(0, 0)).await.unwrap();
            held.push(client);
        }
        let series = r#"utg_limits_exceeded_total{limit="idle_timeout"}"#;
        until("all are cut", || async { proxy.metric(series).await == Some(4.0) }).await;
        until("the tool has its connections back", || async { tool.open_calls() == 0 }).await;
        proxy.metric_is(r#"utg_calls_in_flight{tool="pdf"}"#, 0.0).await;
    });
}
