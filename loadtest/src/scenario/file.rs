//! The format of a scenario file (TOML). `loadtest/scenarios/README.md` documents every field.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::flow_spec::{DataSpec, FlowSpec};
use super::request_spec::RequestSpec;

/// A scenario.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Scenario {
    /// The name in reports.
    pub(crate) name: String,
    /// The load and the events in a sentence.
    pub(crate) about: String,
    /// The expectation that a passing run proves.
    pub(crate) proves: String,
    /// Scenarios that this one adds to.
    pub(crate) extends: Vec<String>,
    /// Values of `{{name}}` in texts, which `--var` replaces.
    pub(crate) vars: BTreeMap<String, String>,
    /// The stages of the load.
    pub(crate) stages: Vec<String>,
    /// The number of connections.
    pub(crate) connections: Option<u16>,
    /// Concurrent calls on an HTTP/2 connection.
    pub(crate) streams: Option<u16>,
    pub(crate) keys: Vec<KeysSpec>,
    #[serde(rename = "request")]
    pub(crate) requests: Vec<RequestSpec>,
    #[serde(rename = "flow")]
    pub(crate) flows: Vec<FlowSpec>,
    pub(crate) data: Vec<DataSpec>,
    #[serde(rename = "event")]
    pub(crate) events: Vec<EventSpec>,
    /// Requests before the run, whose responses set variables.
    pub(crate) before: Vec<StepSpec>,
    /// Requests after the run.
    pub(crate) after: Vec<StepSpec>,
    /// Counts of others that must equal the driver's own.
    #[serde(rename = "truth")]
    pub(crate) truths: Vec<TruthSpec>,
    /// Responses other than 2xx and 3xx that are expected.
    pub(crate) allow: Vec<String>,
    /// Conditions that must hold.
    pub(crate) expect: Vec<String>,
    /// Conditions that must not hold.
    pub(crate) fail_if: Vec<String>,
}

/// A pool of keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeysSpec {
    pub(crate) name: String,
    #[serde(default = "one")]
    pub(crate) count: u32,
    /// Tier of issued keys.
    #[serde(default = "free")]
    pub(crate) tier: String,
    /// Plan of issued keys for bio-link pages.
    pub(crate) biolink_plan: Option<String>,
    /// Limit per minute, in place of the tier's.
    pub(crate) minute: Option<u32>,
    #[serde(default)]
    pub(crate) source: KeySource,
    #[serde(default)]
    pub(crate) order: KeyOrder,
    /// Exponent of `order = "zipf"`.
    #[serde(default = "unit")]
    pub(crate) exponent: f64,
}

/// The origin of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KeySource {
    /// Issued for the run and revoked at its end.
    #[default]
    Issue,
    /// Made with the signing secret, for a proxy in direct mode.
    Mint,
}

/// The order in which keys are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KeyOrder {
    /// One after the other.
    #[default]
    Turns,
    /// Few are used often, and most rarely.
    Zipf,
}

/// An event while calls are made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventSpec {
    /// The time: a share of the run such as `33%`, or a duration.
    pub(crate) at: String,
    /// The name of the phase that follows.
    pub(crate) phase: String,
    /// The time after the event during which both results are correct.
    pub(crate) settle: Option<String>,
    #[serde(flatten)]
    pub(crate) action: Action,
}

/// An action.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// Changes a simulated tool.
    Tool(ToolChange),
    /// Runs a command that `--hook` gives.
    Hook(String),
    /// Rotates the first key of a pool. The old and the new key are used in turn.
    RotateKey(String),
    /// Revokes the first key of a pool.
    RevokeKey(String),
    /// Sends a request.
    Request(StepSpec),
}

/// A change of a simulated tool: `stop`, `start`, `heal`, or settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolChange {
    pub(crate) name: String,
    #[serde(rename = "do")]
    pub(crate) command: Option<String>,
    pub(crate) set: Option<Value>,
}

/// A request outside of the load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StepSpec {
    #[serde(default = "get")]
    pub(crate) method: String,
    pub(crate) path: String,
    /// URL of another server than the gateway.
    pub(crate) url: Option<String>,
    pub(crate) body: Option<String>,
    /// Name of the pool whose first key is sent.
    pub(crate) keys: Option<String>,
    /// Variables and the JSON Pointers of their values in the response.
    #[serde(default)]
    pub(crate) capture: BTreeMap<String, String>,
}

/// A count that someone else made.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TruthSpec {
    pub(crate) name: String,
    pub(crate) path: String,
    /// URL of another server than the gateway.
    pub(crate) url: Option<String>,
    /// JSON Pointer of the count.
    pub(crate) pointer: String,
    /// The metric that it must equal, such as `success of person`.
    pub(crate) equals: Option<String>,
    /// The number that it must not exceed.
    pub(crate) at_most: Option<f64>,
    /// The time within which it must.
    #[serde(default = "within")]
    pub(crate) within: String,
    pub(crate) keys: Option<String>,
}

const fn one() -> u32 {
    1
}

const fn unit() -> f64 {
    1.0
}

fn free() -> String {
    "free".to_owned()
}

fn get() -> String {
    "GET".to_owned()
}

fn within() -> String {
    "30s".to_owned()
}

impl Scenario {
    /// Adds another scenario: its lists are appended, requests and key pools with the same name are
    /// replaced, and single values replace those of this one.
    pub(crate) fn add(&mut self, other: Self) {
        if !other.name.is_empty() {
            self.name =
                if self.name.is_empty() { other.name } else { format!("{} + {}", self.name, other.name) };
        }
        for (text, more) in [(&mut self.about, other.about), (&mut self.proves, other.proves)] {
            if !more.is_empty() {
                *text = if text.is_empty() { more } else { format!("{text} {more}") };
            }
        }
        self.vars.extend(other.vars);
        if !other.stages.is_empty() {
            self.stages = other.stages;
        }
        self.connections = other.connections.or(self.connections);
        self.streams = other.streams.or(self.streams);
        replace_by_name(&mut self.keys, other.keys, |keys| &keys.name);
        replace_by_name(&mut self.requests, other.requests, |request| &request.name);
        replace_by_name(&mut self.flows, other.flows, |flow| &flow.name);
        replace_by_name(&mut self.data, other.data, |data| &data.name);
        self.events.extend(other.events);
        self.before.extend(other.before);
        self.after.extend(other.after);
        self.truths.extend(other.truths);
        self.allow.extend(other.allow);
        self.expect.extend(other.expect);
        self.fail_if.extend(other.fail_if);
    }

    /// Returns the names of all requests and steps, in the order of the plan.
    pub(crate) fn request_names(&self) -> Vec<String> {
        let steps = self.flows.iter().flat_map(FlowSpec::requests);
        self.requests.iter().cloned().chain(steps).map(|request| request.name).collect()
    }

    /// Returns the names of the phases that its events begin.
    pub(crate) fn phases(&self) -> Vec<String> {
        self.events.iter().map(|event| event.phase.clone()).collect()
    }
}

fn replace_by_name<T>(list: &mut Vec<T>, others: Vec<T>, name: impl Fn(&T) -> &String) {
    for other in others {
        match list.iter_mut().find(|one| name(one) == name(&other)) {
            Some(same) => *same = other,
            None => list.push(other),
        }
    }
}
