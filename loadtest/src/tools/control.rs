//! The control API: what the tools are and have seen, and what they are to do from now on.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use shared::tool::Tool;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::answer::{Answer, json, method_not_allowed, refusal};
use super::fault::{Fault, Kind};
use super::server::{self, Accepting, Server};
use super::settings::Patch;

const MOST_BODY: usize = 64 * 1024;

/// The control API's listener.
pub(super) struct Control {
    addr: SocketAddr,
    accepting: Mutex<Accepting>,
}

impl Control {
    pub(super) async fn start(addr: SocketAddr, servers: Arc<[Server]>) -> io::Result<Self> {
        let listener = server::bind(addr)
            .and_then(|socket| socket.listen(128))
            .map_err(|cause| server::named("the control API", addr, &cause))?;
        let addr = listener.local_addr()?;
        let accepting = Accepting::start(listener, move |stream| serve(stream, Arc::clone(&servers)));
        Ok(Self { addr, accepting: Mutex::new(accepting) })
    }

    pub(super) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    pub(super) async fn stop(&self) {
        self.accepting.lock().await.stop().await;
    }
}

async fn serve(stream: TcpStream, servers: Arc<[Server]>) {
    let service = service_fn(move |request| {
        let servers = Arc::clone(&servers);
        async move { Ok::<_, std::convert::Infallible>(respond(request, &servers).await) }
    });
    if http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.is_err() {
        // The caller went away in the middle of a request: nothing is left to be told.
    }
}

/// What `POST /{tool}/fault` takes: a fault, or `{"kind": null}` to clear it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultBody {
    kind: Option<Kind>,
    #[serde(default)]
    probes: bool,
}

async fn respond(request: Request<Incoming>, servers: &[Server]) -> Answer {
    let path = request.uri().path().to_owned();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        [""] => overview(request.method(), servers).await,
        ["reset"] => reset(request.method(), servers).await,
        [tool] => match find(tool, servers) {
            Ok(server) => read_or_patch(request, server).await,
            Err(unknown) => *unknown,
        },
        [tool, order] => match find(tool, servers) {
            Ok(server) => obey(order, request, server).await,
            Err(unknown) => *unknown,
        },
        _ => not_found("paths are /, /reset, /{tool} and /{tool}/stop, start or fault"),
    }
}

async fn overview(method: &Method, servers: &[Server]) -> Answer {
    if method != Method::GET {
        return method_not_allowed("GET");
    }
    let mut tools = serde_json::Map::new();
    for server in servers {
        tools.insert(server.tool().to_string(), account(server).await);
    }
    json(StatusCode::OK, &json!({ "tools": tools }))
}

async fn reset(method: &Method, servers: &[Server]) -> Answer {
    if method != Method::POST {
        return method_not_allowed("POST");
    }
    for server in servers {
        if let Err(cause) = server.reset().await {
            return port_taken(&cause);
        }
    }
    overview(&Method::GET, servers).await
}

async fn read_or_patch(request: Request<Incoming>, server: &Server) -> Answer {
    match *request.method() {
        Method::GET => json(StatusCode::OK, &account(server).await),
        Method::PATCH => match body::<Patch>(request).await {
            Ok(patch) => apply(patch, server).await,
            Err(refused) => *refused,
        },
        _ => method_not_allowed("GET, PATCH"),
    }
}

async fn apply(patch: Patch, server: &Server) -> Answer {
    match patch.apply(server.settings()) {
        Ok(settings) => server.set(settings),
        Err(why) => return refusal(StatusCode::UNPROCESSABLE_ENTITY, "setting-invalid", why),
    }
    listen(server, patch.stopped.map(|stopped| !stopped)).await
}

async fn obey(order: &str, request: Request<Incoming>, server: &Server) -> Answer {
    if !matches!(order, "stop" | "start" | "fault") {
        return not_found("a tool takes the orders stop, start and fault");
    }
    if request.method() != Method::POST {
        return method_not_allowed("POST");
    }
    match order {
        "stop" => listen(server, Some(false)).await,
        "start" => listen(server, Some(true)).await,
        _ => match body::<Option<FaultBody>>(request).await {
            Ok(asked) => set_fault(asked, server).await,
            Err(refused) => *refused,
        },
    }
}

async fn set_fault(asked: Option<FaultBody>, server: &Server) -> Answer {
    let fault = asked.and_then(|asked| asked.kind.map(|kind| Fault { kind, probes: asked.probes }));
    let mut settings = server.settings();
    settings.fault = fault;
    server.set(settings);
    json(StatusCode::OK, &account(server).await)
}

async fn listen(server: &Server, wanted: Option<bool>) -> Answer {
    match wanted {
        Some(true) => {
            if let Err(cause) = server.resume().await {
                return port_taken(&cause);
            }
        }
        Some(false) => server.stop().await,
        None => {}
    }
    json(StatusCode::OK, &account(server).await)
}

/// A tool's state: address, settings and counters in one flat object.
async fn account(server: &Server) -> Value {
    let settings = server.settings();
    let counters = server.counters();
    json!({
        "addr": server.addr().to_string(),
        "stopped": !server.is_listening().await,
        "healthy": settings.healthy,
        "latency_ms": u64::try_from(settings.latency.as_millis()).unwrap_or(u64::MAX),
        "jitter_ms": u64::try_from(settings.jitter.as_millis()).unwrap_or(u64::MAX),
        "error_rate": settings.error_rate,
        "fault": settings.fault,
        "calls": counters.calls,
        "errors": counters.errors,
        "probes": counters.probes,
        "connections": counters.connections,
    })
}

fn find<'a>(name: &str, servers: &'a [Server]) -> Result<&'a Server, Box<Answer>> {
    servers.iter().find(|server| server.tool().as_str() == name).ok_or_else(|| {
        let nearest: Vec<&str> = Tool::nearest(name).into_iter().map(Tool::as_str).collect();
        Box::new(not_found(&format!("no tool is named {name:?}; near it are {}", nearest.join(", "))))
    })
}

async fn body<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Box<Answer>> {
    let unreadable = |why: &str| Box::new(refusal(StatusCode::BAD_REQUEST, "body-invalid", why));
    let body = Limited::new(request.into_body(), MOST_BODY).collect().await;
    let bytes = body.map_err(|cause| unreadable(&cause.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|cause| unreadable(&cause.to_string()))
}

fn not_found(message: &str) -> Answer {
    refusal(StatusCode::NOT_FOUND, "not-found", message)
}

fn port_taken(cause: &io::Error) -> Answer {
    refusal(StatusCode::CONFLICT, "port-taken", &cause.to_string())
}
