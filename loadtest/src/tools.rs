//! Simulated upstreams: all 17 tools in one process, each on its own port.
//!
//! A control API makes them slow, unhealthy, faulty or unreachable at run time.

mod accept_loop;
mod actions;
mod control;
mod description;
mod error_rate;
mod fault;
mod latency;
mod qr;
mod response;
mod self_load;
mod server;
mod service;
mod settings;
mod state;
mod webhook_log;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use serde_json::{Value, json};
use shared::tool::Tool;
use thiserror::Error;

pub use accept_loop::BindError;
pub use error_rate::ErrorRate;
pub use fault::{Fault, FaultKind};
pub use latency::{DistributionError, LatencyDistribution};
pub use server::ToolServer;
pub use settings::{Settings, SettingsError, SettingsPatch};
pub use state::ToolCounters;

use control::ControlApi;

/// The highest port of the first tool that leaves ports for the other tools and the control API.
pub const MAX_FIRST_PORT: i64 = 65_535 - Tool::ALL.len() as i64;

/// The addresses to listen on.
#[derive(Clone, Copy, Debug)]
pub struct BindAddress {
    /// The IP address of all listeners.
    pub host: IpAddr,
    /// The port of the first tool. The other tools and the control API follow. 0 selects any free
    /// ports.
    pub port: u16,
}

impl BindAddress {
    /// Any free ports on 127.0.0.1, for tests.
    pub const LOOPBACK: Self = Self { host: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0 };

    /// Returns the address of a listener by its offset from the first.
    fn at(self, offset: usize) -> Result<SocketAddr, StartError> {
        let offset = u16::try_from(offset).unwrap_or(u16::MAX);
        let port = if self.port == 0 { Some(0) } else { self.port.checked_add(offset) };
        let port = port.ok_or(StartError::PortRange { first: self.port })?;
        Ok(SocketAddr::new(self.host, port))
    }
}

/// The reason why the tools did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// There are not enough ports after the first one.
    #[error(
        "--port {first} is too high for all tools and the control API: expected at most {MAX_FIRST_PORT}"
    )]
    PortRange {
        /// The port of the first tool.
        first: u16,
    },
    /// A listener could not be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// The running tools. Dropping it closes all listeners and connections.
pub struct RunningTools {
    servers: Arc<[ToolServer]>,
    control: ControlApi,
}

/// Starts all 17 tools and the control API on the current tokio runtime. Returns when all of them
/// listen.
///
/// # Errors
/// Returns an error that names the listener and its address if a port is not available. Closes all
/// listeners then.
pub async fn start(bind: BindAddress) -> Result<RunningTools, StartError> {
    let mut servers = Vec::with_capacity(Tool::ALL.len());
    for tool in Tool::ALL {
        servers.push(ToolServer::start(tool, bind.at(tool.index())?)?);
    }
    let servers: Arc<[ToolServer]> = servers.into();
    let control = ControlApi::start(bind.at(Tool::ALL.len())?, Arc::clone(&servers))?;
    Ok(RunningTools { servers, control })
}

impl RunningTools {
    /// Returns the server of a tool.
    #[allow(
        clippy::indexing_slicing,
        reason = "`start` pushes one server per tool in the order of `Tool::ALL`"
    )]
    pub fn tool(&self, tool: Tool) -> &ToolServer {
        &self.servers[tool.index()]
    }

    /// Returns the address of a tool.
    pub fn addr(&self, tool: Tool) -> SocketAddr {
        self.tool(tool).addr()
    }

    /// Returns the address of the control API.
    pub fn control(&self) -> SocketAddr {
        self.control.addr()
    }

    /// Returns all addresses in the format of the ready line.
    ///
    /// For example `{"tools":{"qr":"127.0.0.1:9112",…},"control":"127.0.0.1:9117"}`.
    pub fn addresses(&self) -> Value {
        let tools: serde_json::Map<_, _> = self
            .servers
            .iter()
            .map(|server| (server.tool().to_string(), server.addr().to_string().into()))
            .collect();
        json!({ "tools": tools, "control": self.control().to_string() })
    }

    /// Closes all listeners and connections. Returns when they are closed.
    pub async fn stop(self) {
        self.control.stop().await;
        for server in self.servers.iter() {
            server.stop().await;
        }
    }
}
