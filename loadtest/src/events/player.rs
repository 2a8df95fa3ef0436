//! The player: causes each event at its time.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use tokio::process::Command;

use super::EventError;
use super::step::run_steps;
use crate::driver::StopFlag;
use crate::duration;
use crate::http::HttpClient;
use crate::keys::{KeyAdmin, KeyPools};
use crate::plan::{Variables, substitute};
use crate::scenario::{Action, EventSpec, ToolChange};
use crate::timeline::LiveTimeline;

/// An event with its time.
#[derive(Clone, Debug)]
pub(crate) struct PlannedEvent {
    at: Duration,
    settle: Duration,
    spec: EventSpec,
}

/// The targets of events.
pub(crate) struct Player {
    pub(crate) gateway: HttpClient,
    pub(crate) control: Option<HttpClient>,
    pub(crate) hooks: BTreeMap<String, String>,
    pub(crate) pools: KeyPools,
    pub(crate) variables: Variables,
    /// The file that gets the new key of a rotation, because the gateway shows it once.
    pub(crate) new_key_file: Option<PathBuf>,
}

/// Returns the events with their times, in order.
///
/// # Errors
/// Returns an error if a time is invalid or if an event lacks what it needs.
pub(crate) fn plan_events(
    specs: &[EventSpec],
    length: Duration,
    player: &Player,
) -> Result<Vec<PlannedEvent>, EventError> {
    let mut events = Vec::new();
    for spec in specs {
        // Before the first call: an event that cannot happen would waste the run until its time.
        player.check(spec)?;
        let invalid = |text: &str| EventError::Time { phase: spec.phase.clone(), at: text.to_owned() };
        let time = |text: &str| match text.strip_suffix('%') {
            Some(percent) => {
                let share: Option<f64> =
                    percent.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
                share.map(|share| length.mul_f64(share / 100.0)).ok_or_else(|| invalid(text))
            }
            None => duration::parse(text).ok_or_else(|| invalid(text)),
        };
        let settle = spec.settle.as_deref().map_or(Ok(Duration::ZERO), time)?;
        events.push(PlannedEvent { at: time(&spec.at)?, settle, spec: spec.clone() });
    }
    // Scenarios may list them in any order, and the player waits for one after the other.
    events.sort_by_key(|event| event.at);
    Ok(events)
}

impl Player {
    fn check(&self, spec: &EventSpec) -> Result<(), EventError> {
        match &spec.action {
            Action::Tool(_) if self.control.is_none() => Err(EventError::NoControl(spec.phase.clone())),
            Action::Hook(hook) if !self.hooks.contains_key(hook) => {
                Err(EventError::NoHook { phase: spec.phase.clone(), hook: hook.clone() })
            }
            Action::RotateKey(pool) | Action::RevokeKey(pool) if !self.pools.contains_key(pool) => {
                Err(EventError::UnknownKeys(pool.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Causes all events. If `stop` is set, only those that undo others are still caused: tools are
    /// started again and healed.
    ///
    /// # Errors
    /// Returns an error if an event fails. Sets `stop` then.
    pub(crate) async fn play(
        &self,
        events: Vec<PlannedEvent>,
        start: Instant,
        timeline: &LiveTimeline,
        stop: &StopFlag,
    ) -> Result<(), EventError> {
        for event in events {
            sleep_until(start + event.at, stop).await;
            if stop.is_set() {
                // The tools are not the run's own: one that was stopped would stay so for the next
                // run.
                self.undo(&event.spec).await?;
                continue;
            }
            // Before the act, so that failures that it causes at once are not counted for the phase
            // before.
            timeline.begin(&event.spec.phase);
            if let Err(error) = self.act(&event.spec).await {
                // Without its event the rest of the run would measure something else than its name
                // says.
                stop.set();
                return Err(error);
            }
            timeline.finish(event.settle);
        }
        Ok(())
    }

    async fn undo(&self, spec: &EventSpec) -> Result<(), EventError> {
        match &spec.action {
            Action::Tool(ToolChange { command: Some(command), .. }) if command != "stop" => {
                self.act(spec).await
            }
            _ => Ok(()),
        }
    }

    async fn act(&self, spec: &EventSpec) -> Result<(), EventError> {
        match &spec.action {
            Action::Tool(ToolChange { name, command, set }) => {
                let name = substitute(name, &self.variables);
                self.change_tool(&name, command.as_deref(), set.as_ref()).await
            }
            Action::Hook(hook) => self.run_hook(hook).await,
            Action::RevokeKey(pool) => {
                let key = self.pools.get(pool).and_then(|pool| pool.first());
                let key = key.ok_or_else(|| EventError::UnknownKeys(pool.clone()))?;
                Ok(KeyAdmin::revoke_own(&self.gateway, &key).await?)
            }
            Action::RotateKey(name) => self.rotate_key(name).await,
            Action::Request(step) => {
                // What an event captures stays within it: the plan was made from the variables of
                // the start.
                let mut variables = self.variables.clone();
                run_steps(std::slice::from_ref(step), &self.gateway, &self.pools, &mut variables).await
            }
        }
    }

    async fn change_tool(
        &self,
        tool: &str,
        command: Option<&str>,
        set: Option<&Value>,
    ) -> Result<(), EventError> {
        let Some(control) = &self.control else { return Err(EventError::NoControl(tool.to_owned())) };
        if let Some(settings) = set {
            control.send(Method::PATCH, &format!("/{tool}"), Some(settings), &[]).await?;
        }
        // The control API heals settings and faults apart, and an outage may be of either kind.
        if command == Some("heal") {
            let healthy = json!({ "latency": null, "latency_ms": 0, "jitter_ms": 0, "error_rate": 0, "hang_rate": 0, "healthy": true });
            control.send(Method::PATCH, &format!("/{tool}"), Some(&healthy), &[]).await?;
            control
                .send(Method::POST, &format!("/{tool}/fault"), Some(&json!({ "kind": null })), &[])
                .await?;
        } else if let Some(command) = command {
            control
                .send(Method::POST, &format!("/{tool}/{command}"), Some(&json!({ "kind": null })), &[])
                .await?;
        }
        Ok(())
    }

    /// Runs the command of a hook in a shell. It is the load tester's own.
    async fn run_hook(&self, hook: &str) -> Result<(), EventError> {
        let failed = |reason: String| EventError::Hook { hook: hook.to_owned(), reason };
        let command = self.hooks.get(hook).map(String::as_str).unwrap_or_default();
        let output =
            // Without input and killed with the run: a hook that asks something would wait forever.
            Command::new("sh").args(["-c", command]).stdin(Stdio::null()).kill_on_drop(true).output();
        let output = output.await.map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(failed(format!("`{command}` ended with {}: {errors}", output.status)))
    }

    async fn rotate_key(&self, name: &str) -> Result<(), EventError> {
        let pool = self.pools.get(name).ok_or_else(|| EventError::UnknownKeys(name.to_owned()))?;
        let old = pool.first().ok_or_else(|| EventError::UnknownKeys(name.to_owned()))?;
        let new = KeyAdmin::rotate_own(&self.gateway, &old).await?;
        if let Some(path) = &self.new_key_file {
            // The new key is a secret: a new file that only its owner reads, never one that exists
            // with other rights.
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
            file.and_then(|mut file| writeln!(file, "{new}"))
                .map_err(|source| EventError::KeyFile { path: path.display().to_string(), source })?;
        }
        pool.add_rotated(&new);
        Ok(())
    }
}

/// Sleeps until `moment` or until `stop` is set.
async fn sleep_until(moment: Instant, stop: &StopFlag) {
    const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
    // In parts: an event in ten minutes must not keep a run that was stopped.
    while !stop.is_set() && Instant::now() < moment {
        let remaining = moment.saturating_duration_since(Instant::now());
        tokio::time::sleep(STOP_CHECK_INTERVAL.min(remaining)).await;
    }
}
