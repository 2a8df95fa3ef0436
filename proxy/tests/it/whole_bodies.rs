//! Bodies are whole, byte by byte, whoever is slow and however many there are at a time: over plain
//! connections, TLS and HTTP/2, in both directions. With `TIME=60` each test repeats itself for so
//! many seconds.

use std::{
    env,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use shared::tool::Tool;
use tests::{
    Request,
    bodies::{Body, BodyClient, BodyTool, Pace, connect, http2_call, http2_over, target},
    grant::{call, upload},
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient},
};
use tokio::task::JoinSet;

/// How clients connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Plain,
    Tls,
    Http2,
    Http2Tls,
}

/// A batch of bodies: their length, how many there are, and how many at a time.
type Batch = (usize, usize, usize);

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Around the length from which on bodies are spliced, and far above every buffer.
const BATCHES: [Batch; 6] = [
    (64 * KIB - 1, 32, 32),
    (64 * KIB, 32, 8),
    (64 * KIB + 1, 32, 32),
    (MIB, 24, 12),
    (4 * MIB, 24, 6),
    (64 * MIB, 1, 1),
];

/// The proxy, its tool, and what its clients need.
struct Stage {
    tool: BodyTool,
    proxy: Proxy,
    authority: Authority,
    over: Over,
    number: AtomicUsize,
}

async fn stage(over: Over) -> Arc<Stage> {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tool = BodyTool::start();
    let mut config = ProxyConfig::new()
        .upstreams(Tool::Qr, &[&tool.address.to_string()])
        .pool_line(Tool::Qr, "max_body = \"64MiB\"")
        .line("clients", "h2c = true\ncalls_in_flight_per_key = 256");
    if matches!(over, Over::Tls | Over::Http2Tls) {
        config = config.section("server.tls", &folder.server(&authority.identity(NAME)));
    }
    Arc::new(Stage { tool, proxy: config.ready().await, authority, over, number: AtomicUsize::new(0) })
}

impl Stage {
    /// Returns the next body of this length, and the speeds of its client and of the tool.
    fn draw(&self, length: usize) -> (usize, Body, Pace, &'static str) {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let pace = if number.is_multiple_of(2) { Pace::Fast } else { Pace::Slow };
        (number, Body::new(number, length), pace, ["", "", "&chunked", "&slow"][number / 2 % 4])
    }

    fn listen(&self) -> SocketAddr {
        self.proxy.listen
    }

    async fn tls(&self, protocol: &str) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
        TlsClient::new(&self.authority).alpn(protocol).stream(self.listen()).await.expect("a handshake")
    }

    /// Does one call on its own connection, in the direction that its request says.
    async fn exchange(&self, request: &Request, body: Body, pace: Pace) -> Result<(), String> {
        let plain = connect(self.listen(), pace);
        match self.over {
            Over::Plain => over_http1(plain.await, request, body, pace).await,
            Over::Tls => over_http1(self.tls("http/1.1").await, request, body, pace).await,
            Over::Http2 => http2_call(http2_over(plain.await, pace).await, request, body, pace).await,
            Over::Http2Tls => {
                http2_call(http2_over(self.tls("h2").await, pace).await, request, body, pace).await
            }
        }
    }

    async fn download(&self, length: usize) -> Result<(), String> {
        let (number, body, pace, more) = self.draw(length);
        let request = call("GET", &target("/v1/qr/bytes", number, length, more));
        self.exchange(&request, body, pace).await
    }

    async fn upload(&self, length: usize) -> Result<(), String> {
        let (number, body, pace, more) = self.draw(length);
        let request = upload(&target("/v1/qr/bytes", number, length, more), length);
        self.exchange(&request, body, pace).await
    }
}

async fn over_http1<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(
    stream: S,
    request: &Request,
    body: Body,
    pace: Pace,
) -> Result<(), String> {
    let mut client = BodyClient::over(stream, pace);
    if request.method == "POST" {
        client.send(request, body).await?;
        client.uploaded().await
    } else {
        client.send(request, Body::new(0, 0)).await?;
        client.receive(body).await
    }
}

/// Runs all batches, and again until `TIME` is over. Fails with everything that went wrong.
async fn run<F: Future<Output = Result<(), String>> + Send + 'static>(
    name: &str,
    stage: &Arc<Stage>,
    one: fn(Arc<Stage>, usize) -> F,
) {
    let time = env::var("TIME").ok().map_or(0, |time| time.parse().expect("`TIME` is a number of seconds"));
    let end = Instant::now() + Duration::from_secs(time);
    let mut failed = Vec::new();
    loop {
        for (length, count, at_once) in BATCHES {
            let mut tasks: JoinSet<Result<(), String>> = JoinSet::new();
            for _ in 0..count {
                if tasks.len() == at_once {
                    failed.extend(tasks.join_next().await.and_then(|result| result.unwrap().err()));
                }
                let (stage, name) = (Arc::clone(stage), name.to_owned());
                tasks.spawn(async move {
                    one(stage, length).await.map_err(|error| format!("{name} of {length} bytes: {error}"))
                });
            }
            failed.extend(tasks.join_all().await.into_iter().filter_map(Result::err));
        }
        if Instant::now() >= end {
            break;
        }
    }
    assert!(failed.is_empty(), "{} of {}: {failed:#?}", failed.len(), stage.number.load(Ordering::Relaxed));
}

/// Defines a test for each way to connect and each direction.
macro_rules! whole {
    ($($down:ident, $up:ident: $over:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $down() {
            let stage = stage(Over::$over).await;
            run("download", &stage, |stage, length| async move { stage.download(length).await }).await;
        }

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $up() {
            let stage = stage(Over::$over).await;
            run("upload", &stage, |stage, length| async move { stage.upload(length).await }).await;
            assert_eq!(stage.tool.whole_uploads(), stage.number.load(Ordering::Relaxed));
        }
    )*};
}

whole! {
    downloads_are_whole, uploads_are_whole: Plain;
    downloads_over_tls_are_whole, uploads_over_tls_are_whole: Tls;
    downloads_over_http2_are_whole, uploads_over_http2_are_whole: Http2;
    downloads_over_http2_and_tls_are_whole, uploads_over_http2_and_tls_are_whole: Http2Tls;
}

/// The next response follows the last byte of the one before, whatever is still in a pipe.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_bodies_are_whole_and_in_order() {
    let stage = stage(Over::Plain).await;
    let lengths = [MIB, 10, 64 * KIB, 64 * KIB + 1, 4 * MIB, 0, 200_000];
    let mut tasks = JoinSet::new();
    for _ in 0..12 {
        let stage = Arc::clone(&stage);
        tasks.spawn(async move {
            let bodies: Vec<_> = lengths.into_iter().map(|length| (length, stage.draw(length))).collect();
            let pace = bodies[0].1.2;
            let mut client = BodyClient::over(connect(stage.listen(), pace).await, pace);
            for (length, (number, _, _, more)) in &bodies {
                let request = call("GET", &target("/v1/qr/bytes", *number, *length, more));
                client.send(&request, Body::new(0, 0)).await?;
            }
            for (length, (_, body, _, _)) in bodies {
                client.receive(body).await.map_err(|error| format!("{length} bytes: {error}"))?;
            }
            Ok::<_, String>(())
        });
    }
    let failed: Vec<_> = tasks.join_all().await.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
