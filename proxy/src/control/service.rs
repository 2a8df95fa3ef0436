//! The admin socket: reads requests of operators and makes their changes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::action::{Action, ChangeError, ControlRequest, ControlResponse, Target, tool};
use super::changes::AuditEntry;
use crate::config::ReloadOutcome;
use crate::reload::{Reloader, Trigger};
use crate::state::State;
use crate::upgrade::PrivateListener;
use crate::upstreams::{Pools, Upstream, probe};
use transport::clock::{self, Monotonic};

/// The background service of the admin socket.
pub(crate) struct ControlService {
    state: Arc<State>,
    reloader: Arc<Reloader>,
    /// Taken when the service starts.
    listener: Mutex<Option<PrivateListener>>,
    open: watch::Receiver<bool>,
}

/// Maximum length of a request.
const MAX_REQUEST: u64 = 64 << 10;
/// Maximum time for a client to send its request, or to read the response.
const PATIENCE: Duration = Duration::from_secs(10);
const MAX_EJECTION_MS: u64 = 86_400_000;

impl ControlService {
    /// Returns the service at a socket. It accepts requests when `open` is true.
    pub(crate) const fn new(
        state: Arc<State>,
        reloader: Arc<Reloader>,
        listener: PrivateListener,
        open: watch::Receiver<bool>,
    ) -> Self {
        Self { state, reloader, listener: Mutex::new(Some(listener)), open }
    }

    /// Serves one connection after another: an operator's changes have an order.
    async fn serve(&self, listener: &UnixListener) {
        const PAUSE: Duration = Duration::from_secs(1);
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // A client that left knows that it has no response.
                    let _served = self.serve_connection(stream).await;
                }
                Err(error) => {
                    log::warn!("admin socket: connection not accepted: error=\"{error}\"");
                    sleep(PAUSE).await;
                }
            }
        }
    }

    async fn serve_connection(&self, stream: UnixStream) -> io::Result<()> {
        let peer = stream.peer_cred()?;
        let by = format!("uid={} pid={}", peer.uid(), peer.pid().unwrap_or_default());
        let (read, mut write) = stream.into_split();
        let mut line = String::new();
        timeout(PATIENCE, BufReader::new(read.take(MAX_REQUEST)).read_line(&mut line)).await??;
        let response = match self.respond(&line, by.clone()).await {
            Ok(response) => response,
            Err(error) => {
                log::warn!("change refused: by=\"{by}\" error=\"{error}\"");
                ControlResponse::Refused(error.to_string())
            }
        };
        let mut line = serde_json::to_vec(&response)?;
        line.push(b'\n');
        timeout(PATIENCE, write.write_all(&line)).await?
    }

    async fn respond(&self, line: &str, by: String) -> Result<ControlResponse, ChangeError> {
        let request: ControlRequest = serde_json::from_str(line)?;
        request.check()?;
        let detail = match &request.action {
            Action::Show => return Ok(ControlResponse::Changes(self.state.changes.to_json())),
            Action::Reload => self.reload().await?,
            Action::Eject { tool, server, millis } => self.eject(tool, server, Some(*millis))?,
            Action::Uneject(Target { tool, server }) => self.eject(tool, server, None)?,
            _ => self.change(&request).await?,
        };
        log::info!("change applied: by=\"{by}\" request={}", serde_json::to_string(&request)?);
        self.state.changes.remember(AuditEntry { at: clock::now().to_rfc3339(), by, request });
        Ok(ControlResponse::Applied(detail))
    }

    async fn reload(&self) -> Result<String, ChangeError> {
        match self.reloader.reload(Trigger::Configuration).await {
            ReloadOutcome::Applied => {
                Ok(format!("generation {} is in use", self.state.report.load().generation))
            }
            ReloadOutcome::Rejected => {
                Err(ChangeError::Rejected(self.state.report.load().rejected.clone().unwrap_or_default()))
            }
        }
    }

    /// Ejects servers for so many milliseconds, or ends their ejection. A configured name can be several
    /// servers.
    fn eject(&self, name: &str, server: &str, millis: Option<u64>) -> Result<String, ChangeError> {
        let (tool, now) = (tool(name)?, Monotonic::now());
        if let Some(millis) = millis.filter(|millis| !(1..=MAX_EJECTION_MS).contains(millis)) {
            return Err(ChangeError::EjectTime(millis));
        }
        let pool = self.state.pool(tool);
        let named = |upstream: &&Upstream| upstream.name == server || upstream.authority == server;
        let mut count = 0;
        for upstream in pool.upstreams.iter().filter(named) {
            match millis {
                Some(millis) => upstream.eject(now.plus(Duration::from_millis(millis))),
                None => upstream.uneject(now),
            }
            count += 1;
        }
        if count == 0 {
            let known = pool.upstreams.iter().map(|upstream| upstream.name.clone()).collect();
            return Err(ChangeError::UnknownServer { tool, server: server.to_owned(), known });
        }
        let what = if millis.is_some() { "ejected" } else { "not ejected any more" };
        Ok(format!("{what}: {count} server(s) of {tool}"))
    }

    /// Replaces values of the configuration.
    async fn change(&self, request: &ControlRequest) -> Result<String, ChangeError> {
        let state = &self.state;
        let _changing = state.changing.lock().await;
        let config = state.changes.change(request, &state.config.load(), clock::now())?;
        if let Some(config) = config {
            let before = state.pools.load_full();
            let pools = Pools::new(&config, before.names().clone(), Some(&before));
            // A server that was off was never probed.
            probe::probe_new(&pools).await;
            state.set_config(config, pools);
        }
        let until = if request.persist { "until it is changed again" } else { "until the next reload" };
        Ok(format!("in effect {until}"))
    }
}

#[async_trait]
impl BackgroundService for ControlService {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let Some(mut listener) = self.listener.lock().take() else { return };
        let mut open = self.open.clone();
        if open.wait_for(|open| *open).await.is_err() {
            return;
        }
        let published = listener.publish().map_err(|error| error.to_string());
        let accepting = published.and_then(|()| {
            let socket = listener.listener().try_clone().and_then(UnixListener::from_std);
            socket.map_err(|error| error.to_string())
        });
        let socket = match accepting {
            Ok(socket) => socket,
            Err(error) => {
                log::error!("admin socket unavailable: error=\"{error}\"");
                return;
            }
        };
        let mut handed_over = self.state.drain.handed_over();
        tokio::select! {
            () = self.serve(&socket) => {}
            _ = handed_over.wait_for(|handed_over| *handed_over) => {}
            _ = shutdown.changed() => {}
        }
        // Both may have come. The socket at the path is that of the new process then.
        if *self.state.drain.handed_over().borrow() {
            listener.leave();
        }
    }
}
