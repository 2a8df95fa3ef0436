//! Makes the changes that operators request.

use std::sync::Arc;
use std::time::Duration;

use shared::tool::Tool;

use crate::reload::{Reloader, Trigger};
use config::ReloadOutcome;
use config::changes::{Action, AuditEntry, ChangeError, ControlRequest, ControlResponse, Target, tool};
use phases::state::State;
use transport::clock::{self, Monotonic};
use transport::drain::Drain;
use upstreams::{Pools, Upstream, probe};

/// Maximum length of a request.
pub(crate) const MAX_REQUEST: usize = 64 << 10;
/// Maximum time for a client to send its request, or to read the response.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
const MAX_EJECTION_MS: u64 = 86_400_000;

/// Makes the changes of operators, whichever way they come.
pub(crate) struct Controller {
    state: Arc<State>,
    reloader: Arc<Reloader>,
}

impl Controller {
    /// Returns the controller of a process.
    pub(crate) const fn new(state: Arc<State>, reloader: Arc<Reloader>) -> Self {
        Self { state, reloader }
    }

    /// Returns the phase of the shutdown.
    pub(super) fn drain(&self) -> &Drain {
        &self.state.drain
    }

    /// Makes the change of a request in JSON, and logs it. `by` says who has sent it.
    pub(crate) async fn handle(&self, request: &str, by: String) -> ControlResponse {
        match self.respond(request, by.clone()).await {
            Ok(response) => response,
            Err(error) => {
                log::warn!("change refused: by=\"{by}\" error=\"{error}\"");
                ControlResponse::Refused(error.to_string())
            }
        }
    }

    async fn respond(&self, line: &str, by: String) -> Result<ControlResponse, ChangeError> {
        let request: ControlRequest = serde_json::from_str(line)?;
        // Before the action, which would otherwise be done with a reason that the log cannot show.
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
        match self.reloader.reload(Trigger::Request).await {
            ReloadOutcome::Applied => {
                let generation = self.state.report.load().generation;
                let failed = &self.state.config.load().failed_parts;
                let faults = failed.iter().map(|part| format!("{}: {}", part.fault.key, part.fault.detail));
                let in_use = format!("generation {generation} is in use");
                Ok(match faults.collect::<Vec<_>>().join("; ") {
                    faults if faults.is_empty() => in_use,
                    faults => format!("{in_use}, without the faulty files: {faults}"),
                })
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
                Some(millis) => upstream.eject(now.plus(Duration::from_millis(millis)), now),
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
        // A lookup of names replaces pools too. Without the lock, one of the two changes would be
        // lost.
        let _changing = state.changing.lock().await;
        let identities = |tool| state.pool(tool).upstreams.iter().map(|one| one.name.clone()).collect();
        let known = (&**state.config.load(), &identities as &dyn Fn(Tool) -> Vec<String>);
        let config = state.changes.change(request, known, clock::now())?;
        if let Some(config) = config {
            let before = state.pools.load_full();
            let pools = Pools::new(&config, before.names().clone(), Some(&before));
            // A server that was off was never probed.
            probe::probe_new(&pools).await;
            state.set_config(config, pools);
        }
        let until = if request.persist { "until it is changed again" } else { "until the next reload" };
        Ok(format!("in effect {until}{}", self.remark(&request.action)?))
    }

    /// Returns what an operator should know of a change that is in effect.
    fn remark(&self, action: &Action) -> Result<String, ChangeError> {
        let Action::Weight { tool: name, .. } = action else { return Ok(String::new()) };
        let pool = self.state.pool(tool(name)?);
        let mut weights = pool.upstreams.iter().map(|upstream| upstream.config.weight);
        let first = weights.next();
        Ok(match weights.all(|weight| Some(weight) == first) {
            true => format!("; all servers of {name} have the same weight now, so each gets the same share"),
            false => String::new(),
        })
    }
}
