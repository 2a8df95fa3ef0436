//! The control API: reads and changes settings, counters, listeners and faults of the tools.

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
use serde_json::{Map, Value, json};
use shared::tool::Tool;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::AbortHandle;

use super::accept_loop::{self, AcceptLoop, BindError};
use super::fault::{Fault, FaultKind};
use super::response::{ToolResponse, error, json, method_not_allowed};
use super::self_load::SelfLoad;
use super::server::ToolServer;
use super::settings::SettingsPatch;

/// The maximum size of a request body.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// The running control API.
pub(super) struct ControlApi {
    addr: SocketAddr,
    accept_loop: Mutex<AcceptLoop>,
    watch: AbortHandle,
}

/// The tools that the control API changes, and the load of their process.
#[derive(Clone)]
struct Simulator {
    servers: Arc<[ToolServer]>,
    load: SelfLoad,
}

impl Drop for ControlApi {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

impl ControlApi {
    /// Starts the control API. Port 0 selects any free port.
    pub(super) fn start(addr: SocketAddr, servers: Arc<[ToolServer]>) -> Result<Self, BindError> {
        let (listener, addr) = accept_loop::listen("the control API", addr, None)?;
        let load = SelfLoad::default();
        let watch = tokio::spawn(load.clone().watch()).abort_handle();
        let simulator = Simulator { servers, load };
        let accept_loop = AcceptLoop::start(listener, move |stream| serve(stream, simulator.clone()));
        Ok(Self { addr, accept_loop: Mutex::new(accept_loop), watch })
    }

    /// Returns the address.
    pub(super) const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Closes the listener and all connections. Returns when they are closed.
    pub(super) async fn stop(&self) {
        self.accept_loop.lock().await.stop().await;
    }
}

async fn serve(stream: TcpStream, simulator: Simulator) {
    let service = service_fn(move |request| {
        let simulator = simulator.clone();
        async move { Ok::<_, std::convert::Infallible>(respond(request, &simulator).await) }
    });
    // It fails if the client closes the connection within a request.
    let _closed = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// The body of `POST /{tool}/fault`: a fault, or `{"kind": null}` to clear it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultBody {
    kind: Option<FaultKind>,
    #[serde(default)]
    probes: bool,
}

/// Returns the response to a request.
async fn respond(request: Request<Incoming>, simulator: &Simulator) -> ToolResponse {
    let servers = &*simulator.servers;
    let path = request.uri().path().to_owned();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        [""] => overview(request.method(), simulator).await,
        ["reset"] => reset(request.method(), simulator).await,
        [tool] => match find_server(tool, servers) {
            Ok(server) => read_or_patch(request, server).await,
            Err(not_found) => *not_found,
        },
        [tool, command] => match find_server(tool, servers) {
            Ok(server) => run_command(command, request, server).await,
            Err(not_found) => *not_found,
        },
        _ => not_found(&format!(
            "unknown path `{path}`: expected /, /reset, /{{tool}} or /{{tool}}/{{command}}"
        )),
    }
}

/// Returns the status of all tools and the load of the simulator.
async fn overview(method: &Method, simulator: &Simulator) -> ToolResponse {
    if method != Method::GET {
        return method_not_allowed("GET");
    }
    let mut tools = Map::new();
    for server in simulator.servers.iter() {
        tools.insert(server.tool().to_string(), tool_status(server).await);
    }
    json(StatusCode::OK, &json!({ "tools": tools, "load": simulator.load.status() }))
}

/// Restores the initial state of all tools.
async fn reset(method: &Method, simulator: &Simulator) -> ToolResponse {
    if method != Method::POST {
        return method_not_allowed("POST");
    }
    simulator.load.reset();
    for server in simulator.servers.iter() {
        if let Err(error) = server.reset().await {
            return port_taken(&error);
        }
    }
    overview(&Method::GET, simulator).await
}

/// Returns the status of a tool. PATCH changes its settings first.
async fn read_or_patch(request: Request<Incoming>, server: &ToolServer) -> ToolResponse {
    match *request.method() {
        Method::GET => json(StatusCode::OK, &tool_status(server).await),
        Method::PATCH => match read_body::<SettingsPatch>(request).await {
            Ok(patch) => apply(patch, server).await,
            Err(invalid) => *invalid,
        },
        _ => method_not_allowed("GET, PATCH"),
    }
}

async fn apply(patch: SettingsPatch, server: &ToolServer) -> ToolResponse {
    match patch.apply(server.settings()) {
        Ok(settings) => server.set(settings),
        Err(invalid) => {
            let message = invalid.to_string();
            return error(StatusCode::UNPROCESSABLE_ENTITY, "setting-invalid", &message);
        }
    }
    set_listening(server, patch.stopped.map(|stopped| !stopped)).await
}

/// Runs `stop`, `start`, `fault` or `reset` on a tool.
async fn run_command(command: &str, request: Request<Incoming>, server: &ToolServer) -> ToolResponse {
    if !matches!(command, "stop" | "start" | "fault" | "reset") {
        return not_found(&format!("unknown command `{command}`: expected stop, start, fault or reset"));
    }
    if request.method() != Method::POST {
        return method_not_allowed("POST");
    }
    match command {
        "stop" => set_listening(server, Some(false)).await,
        "start" => set_listening(server, Some(true)).await,
        "reset" => match server.reset().await {
            Ok(()) => json(StatusCode::OK, &tool_status(server).await),
            Err(error) => port_taken(&error),
        },
        _ => match read_body::<Option<FaultBody>>(request).await {
            Ok(fault) => set_fault(fault, server).await,
            Err(invalid) => *invalid,
        },
    }
}

/// Injects a fault from now on, or clears it.
async fn set_fault(body: Option<FaultBody>, server: &ToolServer) -> ToolResponse {
    let fault = body.and_then(|body| body.kind.map(|kind| Fault { kind, probes: body.probes }));
    let mut settings = server.settings();
    settings.fault = fault;
    server.set(settings);
    json(StatusCode::OK, &tool_status(server).await)
}

/// Starts or stops a tool, or leaves it unchanged. Returns its status.
async fn set_listening(server: &ToolServer, listening: Option<bool>) -> ToolResponse {
    match listening {
        Some(true) => {
            if let Err(error) = server.resume().await {
                return port_taken(&error);
            }
        }
        Some(false) => server.stop().await,
        None => {}
    }
    json(StatusCode::OK, &tool_status(server).await)
}

/// Returns the status of a tool: address, settings and counters in one flat object.
async fn tool_status(server: &ToolServer) -> Value {
    let settings = server.settings();
    let counters = server.counters();
    let responses: Map<String, Value> =
        (1..).zip(counters.responses).map(|(class, count)| (format!("{class}xx"), count.into())).collect();
    json!({
        "addr": server.addr().to_string(),
        "stopped": !server.is_listening().await,
        "healthy": settings.healthy,
        "latency_ms": u64::try_from(settings.latency.as_millis()).unwrap_or(u64::MAX),
        "jitter_ms": u64::try_from(settings.jitter.as_millis()).unwrap_or(u64::MAX),
        "latency": settings.distribution,
        "error_rate": settings.error_rate,
        "hang_rate": settings.hang_rate,
        "body_bytes": settings.body_bytes,
        "fault": settings.fault,
        "calls": counters.calls,
        "errors": counters.errors,
        "probes": counters.probes,
        "connections": counters.connections,
        "responses": responses,
        "webhooks": server.webhooks(),
    })
}

/// Returns a tool by name, or 404 with similar names.
fn find_server<'a>(name: &str, servers: &'a [ToolServer]) -> Result<&'a ToolServer, Box<ToolResponse>> {
    servers.iter().find(|server| server.tool().as_str() == name).ok_or_else(|| {
        let nearest: Vec<&str> = Tool::nearest(name).into_iter().map(Tool::as_str).collect();
        Box::new(not_found(&format!("unknown tool `{name}`: similar names are {}", nearest.join(", "))))
    })
}

/// Parses a JSON body of at most 64 KiB.
async fn read_body<T: DeserializeOwned>(request: Request<Incoming>) -> Result<T, Box<ToolResponse>> {
    let invalid = |message: &str| Box::new(error(StatusCode::BAD_REQUEST, "body-invalid", message));
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect().await;
    let bytes = body.map_err(|error| invalid(&error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| invalid(&error.to_string()))
}

fn not_found(message: &str) -> ToolResponse {
    error(StatusCode::NOT_FOUND, "not-found", message)
}

fn port_taken(bind_error: &BindError) -> ToolResponse {
    error(StatusCode::CONFLICT, "port-taken", &bind_error.to_string())
}
