//! `proxy ctl`: the client of the admin socket, and of the admin port.

mod http;

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ::http::Uri;
use clap::{Args, Subcommand};
use shared::time::UnixMillis;

use config::changes::{Action, ControlRequest, ControlResponse, Target};
use config::{Config, Known, LoadError, parse_duration};
use transport::clock::millis;

pub use self::http::HttpError;

/// The arguments of `proxy ctl`.
#[derive(Debug, Args)]
pub struct Ctl {
    /// The admin socket. Without it, that of the configuration file, whose variables must be set.
    #[arg(long, value_name = "PATH", global = true)]
    socket: Option<PathBuf>,
    /// The admin port of a proxy with `server.admin_token`, instead of a socket: http://10.0.0.2:9090.
    #[arg(long, global = true, conflicts_with = "socket", requires = "token_file", value_parser = http::parse_url)]
    url: Option<Uri>,
    /// The file with the token of --url.
    #[arg(long, value_name = "FILE", global = true, requires = "url")]
    token_file: Option<PathBuf>,
    /// Keep the change beyond reloads and restarts, until it is changed again.
    #[arg(long, global = true)]
    persist: bool,
    /// Why, for the log. Clients see that of `off`.
    #[arg(long, value_name = "TEXT", global = true)]
    reason: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Let a server finish its calls and give it no new ones.
    Drain(Server),
    /// Let a server get calls, whatever the file says.
    Enable(Server),
    /// Set the weight of a server.
    Weight {
        #[command(flatten)]
        server: Server,
        /// 1 to 100.
        weight: u32,
    },
    /// Eject a server for a time, whatever its probes say.
    Eject {
        #[command(flatten)]
        server: Server,
        /// How long.
        #[arg(long = "for", default_value = "5m", value_name = "DURATION", value_parser = duration)]
        time: Duration,
    },
    /// End the ejection of a server.
    Uneject(Server),
    /// Switch a tool off. Its calls get 503 `tool-disabled`.
    Off {
        tool: String,
        /// When it comes back: 2027-01-31T06:00:00Z.
        #[arg(long, value_name = "TIME", conflicts_with = "time")]
        until: Option<String>,
        /// After which time it comes back.
        #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
        time: Option<Duration>,
    },
    /// Switch a tool on, whatever the file says.
    On { tool: String },
    /// Set the level of the diagnostic log: off, error, warn, info or debug.
    LogLevel { level: String },
    /// Read the configuration file again. Drops the changes that were not persisted.
    Reload,
    /// Drop all changes that were not persisted, or with --persist all changes.
    Reset,
    /// Show the changes in effect and the last ones that were made.
    Show,
}

#[derive(Debug, Args)]
struct Server {
    tool: String,
    /// The server as in `upstreams`: host:port.
    server: String,
}

/// An error of a request to the proxy.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// The configuration file names no socket.
    #[error("{}: has no `server.admin_socket`: set it and restart the proxy, or name the socket with --socket", .0.display())]
    NoSocket(PathBuf),
    /// The configuration file cannot be loaded.
    #[error("{0}\nname the admin socket with --socket, or the admin port with --url")]
    NotLoaded(LoadError),
    /// The admin port does not respond as one.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// No proxy responds.
    #[error("the admin socket {} does not respond: {error}", socket.display())]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The proxy has changed nothing.
    #[error("refused: {0}")]
    Refused(String),
}

/// Longer than the proxy takes for a change: it probes new servers first.
const PATIENCE: Duration = Duration::from_secs(30);

impl Ctl {
    /// Sends the request to the proxy that runs with the configuration file `file`. Returns its response
    /// for the operator.
    ///
    /// # Errors
    /// Returns an error if no proxy responds, or it refuses the change.
    pub fn send(&self, file: &Path, now: UnixMillis) -> Result<String, CtlError> {
        let request =
            ControlRequest { action: self.action(now), persist: self.persist, reason: self.reason.clone() };
        match self.exchange(file, &request)? {
            ControlResponse::Applied(detail) => Ok(detail),
            ControlResponse::Changes(changes) => Ok(format!("{changes:#}")),
            ControlResponse::Refused(reason) => Err(CtlError::Refused(reason)),
        }
    }

    fn exchange(&self, file: &Path, request: &ControlRequest) -> Result<ControlResponse, CtlError> {
        if let (Some(url), Some(token_file)) = (&self.url, &self.token_file) {
            return Ok(http::exchange(url, token_file, request, PATIENCE)?);
        }
        let socket = self.socket(file)?;
        exchange(&socket, request).map_err(|error| CtlError::Unreachable { socket, error })
    }

    fn socket(&self, file: &Path) -> Result<PathBuf, CtlError> {
        if let Some(socket) = &self.socket {
            return Ok(socket.clone());
        }
        let config = Config::load(file, &|name| std::env::var(name).ok(), Known::NOTHING)
            .map_err(CtlError::NotLoaded)?;
        config.server.admin_socket.ok_or_else(|| CtlError::NoSocket(file.to_owned()))
    }

    fn action(&self, now: UnixMillis) -> Action {
        match &self.command {
            Command::Drain(server) => Action::Drain(server.target()),
            Command::Enable(server) => Action::Enable(server.target()),
            Command::Weight { server, weight } => {
                let Target { tool, server } = server.target();
                Action::Weight { tool, server, weight: *weight }
            }
            Command::Eject { server, time } => {
                let Target { tool, server } = server.target();
                Action::Eject { tool, server, millis: millis(*time) }
            }
            Command::Uneject(server) => Action::Uneject(server.target()),
            Command::Off { tool, until, time } => {
                let after = time.map(|time| UnixMillis(now.0.saturating_add(millis(time))).to_rfc3339());
                Action::Off { tool: tool.clone(), until: until.clone().or(after) }
            }
            Command::On { tool } => Action::On { tool: tool.clone() },
            Command::LogLevel { level } => Action::LogLevel { level: level.clone() },
            Command::Reload => Action::Reload,
            Command::Reset => Action::Reset,
            Command::Show => Action::Show,
        }
    }
}

impl Server {
    fn target(&self) -> Target {
        Target { tool: self.tool.clone(), server: self.server.clone() }
    }
}

fn exchange(socket: &Path, request: &ControlRequest) -> io::Result<ControlResponse> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = serde_json::to_vec(request)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(serde_json::from_str(&response)?)
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}
