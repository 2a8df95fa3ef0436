//! The check of events before the first call: a typo must not show half-way.

use hyper::Method;
use serde_json::Value;
use shared::tool::Tool;

use super::EventError;
use crate::plan::substitute;
use crate::scenario::{Action, EventSpec, Scenario, StepSpec, ToolChange};
use crate::tools::{Settings, SettingsPatch};

/// The commands of the control API that an event may use.
const COMMANDS: [&str; 3] = ["stop", "start", "heal"];

/// Checks the events and the requests outside of the load.
///
/// # Errors
/// Returns an error that names the event, what is wrong and what was expected.
pub(crate) fn check_events(scenario: &Scenario) -> Result<(), EventError> {
    for step in scenario.before.iter().chain(&scenario.after) {
        check_step(step, scenario).map_err(|reason| EventError::Step { request: name(step), reason })?;
    }
    for event in &scenario.events {
        check_event(event, scenario)
            .map_err(|reason| EventError::Invalid { phase: event.phase.clone(), reason })?;
    }
    Ok(())
}

fn check_event(event: &EventSpec, scenario: &Scenario) -> Result<(), String> {
    match &event.action {
        Action::Tool(change) => check_tool(change, scenario),
        Action::Request(step) => check_step(step, scenario),
        Action::RotateKey(pool) | Action::RevokeKey(pool) => check_pool(pool, scenario),
        // Commands are those of the command line, which is checked with them.
        Action::Hook(_) => Ok(()),
    }
}

fn check_tool(change: &ToolChange, scenario: &Scenario) -> Result<(), String> {
    let name = substitute(&change.name, &scenario.vars);
    // A request before the run may capture the name.
    if !name.contains("{{") && name.parse::<Tool>().is_err() {
        let known: Vec<String> = Tool::ALL.iter().map(Tool::to_string).collect();
        return Err(format!("unknown tool `{name}`: expected one of {}", known.join(", ")));
    }
    if let Some(command) = &change.command
        && !COMMANDS.contains(&command.as_str())
    {
        return Err(format!("`do = {command}`: expected one of {}", COMMANDS.join(", ")));
    }
    match &change.set {
        None if change.command.is_none() => Err("expected `do` or `set` of the tool".to_owned()),
        None => Ok(()),
        Some(settings) => check_settings(settings),
    }
}

fn check_settings(settings: &Value) -> Result<(), String> {
    let invalid = |reason: String| format!("`set = {settings}`: {reason}");
    let patch: SettingsPatch =
        serde_json::from_value(settings.clone()).map_err(|error| invalid(error.to_string()))?;
    patch.apply(Settings::default()).map(drop).map_err(|error| invalid(error.to_string()))
}

fn check_step(step: &StepSpec, scenario: &Scenario) -> Result<(), String> {
    if Method::from_bytes(step.method.as_bytes()).is_err() {
        return Err(format!("unknown method `{}`", step.method));
    }
    if !step.path.starts_with('/') {
        return Err(format!("path `{}`: expected one that begins with /", step.path));
    }
    if let Some(pointer) = step.capture.values().find(|pointer| !pointer.starts_with('/')) {
        return Err(format!("capture `{pointer}`: expected a JSON Pointer such as /id"));
    }
    // Fields have no values yet, and those that stand for a number are no JSON.
    let body = step.body.as_deref().filter(|body| !body.contains("{{"));
    if let Some(Err(error)) = body.map(serde_json::from_str::<Value>) {
        return Err(format!("the body is not JSON: {error}"));
    }
    step.keys.as_deref().map_or(Ok(()), |pool| check_pool(pool, scenario))
}

fn check_pool(pool: &str, scenario: &Scenario) -> Result<(), String> {
    if scenario.keys.iter().any(|keys| keys.name == pool) {
        return Ok(());
    }
    let known: Vec<&str> = scenario.keys.iter().map(|keys| keys.name.as_str()).collect();
    Err(format!("unknown keys `{pool}`: expected one of {}", known.join(", ")))
}

fn name(step: &StepSpec) -> String {
    format!("{} {}", step.method, step.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{builtin_names, load};

    fn error(event: &str) -> String {
        let text = format!("vars = {{ tool = \"qr\" }}\n[[keys]]\nname = \"main\"\n{event}");
        match toml::from_str::<Scenario>(&text) {
            Ok(scenario) => check_events(&scenario).err().map(|error| error.to_string()).unwrap_or_default(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn event_that_cannot_happen_is_error_that_names_it() {
        let event = |action: &str| error(&format!("[[event]]\nat = \"5%\"\nphase = \"p\"\n{action}"));
        assert_eq!(event("tool = { name = \"{{tool}}\", do = \"stop\" }"), "");
        assert_eq!(event("tool = { name = \"qr\", set = { error_rate = 0.5, latency_ms = 5 } }"), "");
        assert_eq!(event("rotate-key = \"main\""), "");
        for (action, named) in [
            (
                "tool = { name = \"qrr\", do = \"stop\" }",
                "event `p`: unknown tool `qrr`: expected one of biolink",
            ),
            ("tool = { name = \"qr\", do = \"stopp\" }", "`do = stopp`: expected one of stop, start, heal"),
            ("tool = { name = \"qr\", dp = \"stop\" }", "unknown field `dp`"),
            ("tool = { name = \"qr\" }", "expected `do` or `set`"),
            ("tool = { name = \"qr\", set = { error_rat = 1 } }", "unknown field `error_rat`"),
            ("tool = { name = \"qr\", set = { error_rate = 2 } }", "error_rate"),
            ("tool = { name = \"qr\", set = { latency_ms = 900000 } }", "expected at most 600000"),
            ("rotate-key = \"mian\"", "unknown keys `mian`: expected one of main"),
            ("request = { method = \"P T\", path = \"/x\" }", "unknown method `P T`"),
            ("request = { path = \"x\" }", "begins with /"),
            ("request = { path = \"/x\", keys = \"k\" }", "unknown keys `k`"),
        ] {
            let error = event(action);
            assert!(error.contains(named), "{action}: {error}");
        }
        assert!(
            error("[[before]]\npath = \"/x\"\nbody = \"{\"").contains("request GET /x: the body is not JSON")
        );
    }

    #[test]
    fn events_of_builtin_scenarios_are_valid() {
        for name in builtin_names() {
            check_events(&load(&[name.to_owned()]).unwrap()).unwrap();
        }
    }
}
