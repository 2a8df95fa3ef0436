//! Simulated upstreams: all 17 tools in one process, each on its own port, with a control API to make them
//! slow, sick, faulty or gone while they run.

mod actions;
mod answer;
mod control;
mod fault;
mod qr;
mod server;
mod service;
mod settings;
mod state;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};
use shared::tool::Tool;

pub use fault::{Fault, Kind};
pub use server::Server;
pub use settings::{Patch, Rate, Settings};
pub use state::Counters;

use control::Control;

/// The highest first port at which all tools and the control API still have one.
pub const LAST_FIRST_PORT: i64 = 65_535 - 17;

/// Where to listen.
#[derive(Clone, Copy, Debug)]
pub struct Bind {
    /// The address of every listener.
    pub host: IpAddr,
    /// The port of the first tool; the others and the control API follow. 0 takes any free port for each.
    pub port: u16,
}

impl Bind {
    /// Any free ports on 127.0.0.1, for tests.
    pub const LOOPBACK: Self = Self { host: IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port: 0 };

    /// The address of the listener that comes `offset` places after the first; `None` past port 65,535.
    fn addr(self, offset: usize) -> Option<SocketAddr> {
        let port = if self.port == 0 { 0 } else { self.port.checked_add(u16::try_from(offset).ok()?)? };
        Some(SocketAddr::new(self.host, port))
    }
}

/// The tools, all listening. Dropping it closes everything.
pub struct Running {
    servers: Arc<[Server]>,
    control: Control,
}

/// Starts all 17 tools and the control API on the current tokio runtime; returns when all of them listen.
///
/// # Errors
/// When a port cannot be had; the error names the listener and its address. Nothing stays open then.
pub async fn start(bind: Bind) -> io::Result<Running> {
    let mut servers = Vec::with_capacity(Tool::ALL.len());
    for tool in Tool::ALL {
        servers.push(Server::start(tool, required(bind, tool.index())?).await?);
    }
    let servers: Arc<[Server]> = servers.into();
    let control = Control::start(required(bind, Tool::ALL.len())?, Arc::clone(&servers)).await?;
    Ok(Running { servers, control })
}

impl Running {
    /// The server of one tool, to read and to set it from the same process.
    #[must_use]
    #[allow(
        clippy::indexing_slicing,
        reason = "`start` pushes one server per tool in the order of `Tool::ALL`"
    )]
    pub fn tool(&self, tool: Tool) -> &Server {
        &self.servers[tool.index()]
    }

    /// Where a tool listens.
    #[must_use]
    pub fn addr(&self, tool: Tool) -> SocketAddr {
        self.tool(tool).addr()
    }

    /// Where the control API listens.
    #[must_use]
    pub fn control(&self) -> SocketAddr {
        self.control.addr()
    }

    /// Every address, as the ready line says it: `{"tools":{"qr":"127.0.0.1:9112",…},"control":"127.0.0.1:9117"}`.
    #[must_use]
    pub fn addresses(&self) -> Value {
        let tools: serde_json::Map<_, _> = self
            .servers
            .iter()
            .map(|server| (server.tool().to_string(), server.addr().to_string().into()))
            .collect();
        json!({ "tools": tools, "control": self.control().to_string() })
    }

    /// Closes every listener and connection; returns when they are closed.
    pub async fn stop(self) {
        self.control.stop().await;
        for server in self.servers.iter() {
            server.stop().await;
        }
    }
}

fn required(bind: Bind, offset: usize) -> io::Result<SocketAddr> {
    bind.addr(offset).ok_or_else(|| {
        let reason =
            format!("port {} leaves no room below 65536 for all tools and the control API", bind.port);
        io::Error::new(io::ErrorKind::InvalidInput, reason)
    })
}
