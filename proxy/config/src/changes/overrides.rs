//! The changes of an operator, as a layer over the configuration. Pure.

use std::collections::BTreeMap;

use log::LevelFilter;
use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;
use shared::tool::Tool;

use super::action::{Action, ChangeError, moment, tool};
use crate::per_tool::PerTool;
use crate::{AdminState, Config, DisabledUntil, PoolConfig, ServerValues, UpstreamConfig};

/// Values that replace those of the configuration. The form of the file of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Overrides {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    tools: BTreeMap<String, ToolOverride>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_level: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ToolOverride {
    #[serde(skip_serializing_if = "Option::is_none")]
    switch: Option<Switch>,
    /// By the entry of the configuration, `host:port`, or by one of its servers, `host/address:port`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    servers: BTreeMap<String, ServerOverride>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Switch {
    On,
    Off {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServerOverride {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<ServerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ServerState {
    Calls,
    Draining,
}

impl Overrides {
    /// Records an action. Returns false if it is not one that replaces a value.
    ///
    /// # Errors
    /// Returns an error if it names no tool or server that is `known`, or has an invalid value or one that
    /// would be without effect. Nothing is recorded then.
    pub(super) fn record(
        &mut self,
        action: &Action,
        reason: Option<&str>,
        known: Servers<'_>,
        now: UnixMillis,
    ) -> Result<bool, ChangeError> {
        match action {
            Action::Drain(target) => {
                self.server(&target.tool, &target.server, known)?.state = Some(ServerState::Draining);
            }
            Action::Enable(target) => {
                self.server(&target.tool, &target.server, known)?.state = Some(ServerState::Calls);
            }
            Action::Weight { weight, .. } if !(1..=100).contains(weight) => {
                return Err(ChangeError::Weight(*weight));
            }
            Action::Weight { tool: name, server, weight } => {
                known.check_weighted(tool(name)?, server)?;
                self.server(name, server, known)?.weight = Some(*weight);
            }
            Action::Off { tool: name, until } => {
                let (tool, reason) = (tool(name)?, reason.map(str::to_owned));
                // Refused in the past: such a switch would have no effect, and look as if it had.
                until.as_deref().map(|until| moment(until, now)).transpose()?;
                self.tool(tool).switch = Some(Switch::Off { until: until.clone(), reason });
            }
            Action::On { tool: name } => self.tool(tool(name)?).switch = Some(Switch::On),
            Action::LogLevel { level: name } => {
                level(name)?;
                self.log_level = Some(name.clone());
            }
            Action::Reset => *self = Self::default(),
            Action::Eject { .. } | Action::Uneject(_) | Action::Reload | Action::Show => return Ok(false),
        }
        Ok(true)
    }

    fn tool(&mut self, tool: Tool) -> &mut ToolOverride {
        self.tools.entry(tool.as_str().to_owned()).or_default()
    }

    fn server(
        &mut self,
        name: &str,
        server: &str,
        known: Servers<'_>,
    ) -> Result<&mut ServerOverride, ChangeError> {
        let tool = tool(name)?;
        let names = known.names(tool);
        if !names.iter().any(|known| known == server) {
            return Err(ChangeError::UnknownServer { tool, server: server.to_owned(), known: names });
        }
        Ok(self.tool(tool).servers.entry(server.to_owned()).or_default())
    }

    /// Replaces the values of a configuration. Returns the servers that it does not have, with their
    /// tools.
    ///
    /// # Errors
    /// Returns an error if a value of the file is invalid. A tool that was off until a time that has
    /// passed is on.
    pub(super) fn apply(&self, config: &mut Config) -> Result<Vec<String>, ChangeError> {
        let mut unknown = Vec::new();
        if let Some(name) = &self.log_level {
            config.log.level = level(name)?;
        }
        for (name, change) in &self.tools {
            let tool = tool(name)?;
            for pool in config.pools.iter_mut().filter(|pool| pool.tool == tool) {
                change.apply(pool, &mut unknown)?;
            }
        }
        Ok(unknown)
    }
}

impl ToolOverride {
    fn apply(&self, pool: &mut PoolConfig, unknown: &mut Vec<String>) -> Result<(), ChangeError> {
        match &self.switch {
            Some(Switch::On) => pool.settings.disabled = None,
            Some(Switch::Off { until, reason }) => {
                // Any time, also a past one: it was in the future when it was stored.
                let until = until.as_deref().map(|until| moment(until, UnixMillis(0))).transpose()?;
                pool.settings.disabled =
                    Some(until.map_or(DisabledUntil::FurtherNotice, DisabledUntil::Moment));
                pool.settings.disabled_reason.clone_from(reason);
            }
            None => {}
        }
        for (name, change) in &self.servers {
            let values = change.values()?;
            let is_of_name = pool.upstreams.iter().any(|upstream| upstream.may_be(name));
            let found = pool.upstreams.iter_mut().find(|upstream| upstream.to_string() == *name);
            match found {
                Some(upstream) if upstream.is_srv() && values.weight.is_some() => {
                    unknown.push(format!("{} {name} weight", pool.tool));
                    // The rest is applied: the entry was a single server when it was stored.
                    ServerValues { weight: None, ..values }.apply(upstream);
                }
                Some(upstream) => values.apply(upstream),
                None if is_of_name => {
                    pool.by_server.insert(name.clone(), values);
                }
                None => unknown.push(format!("{} {name}", pool.tool)),
            }
        }
        Ok(())
    }
}

impl ServerOverride {
    fn values(&self) -> Result<ServerValues, ChangeError> {
        let admin_state = self.state.map(|state| match state {
            ServerState::Calls => AdminState::Active,
            ServerState::Draining => AdminState::Draining,
        });
        match self.weight.filter(|weight| !(1..=100).contains(weight)) {
            Some(weight) => Err(ChangeError::Weight(weight)),
            None => Ok(ServerValues { weight: self.weight, admin_state }),
        }
    }
}

/// The servers that a change can name.
#[derive(Clone, Copy)]
pub(super) struct Servers<'a> {
    /// The pools as they are configured.
    pub(super) pools: &'a PerTool<PoolConfig>,
    /// Returns the identities of the servers of a tool, one for each address of a name.
    pub(super) identities: &'a dyn Fn(Tool) -> Vec<String>,
}

impl Servers<'_> {
    /// Returns the entries of a pool, and the servers that they have.
    fn names(self, tool: Tool) -> Vec<String> {
        let mut names: Vec<_> = self.pools[tool].upstreams.iter().map(ToString::to_string).collect();
        let servers = (self.identities)(tool).into_iter();
        let others: Vec<_> = servers.filter(|server| !names.contains(server)).collect();
        names.extend(others);
        names
    }

    /// Refuses a weight for a name of SRV records, each of which has its own.
    fn check_weighted(self, tool: Tool, server: &str) -> Result<(), ChangeError> {
        let entry = self.pools[tool].upstreams.iter().find(|upstream| upstream.to_string() == server);
        if entry.is_some_and(UpstreamConfig::is_srv) {
            let servers = (self.identities)(tool);
            return Err(ChangeError::WeightOfRecords { server: server.to_owned(), servers });
        }
        Ok(())
    }
}

fn level(name: &str) -> Result<LevelFilter, ChangeError> {
    let level = name.parse().ok().filter(|level| *level != LevelFilter::Trace);
    level.ok_or_else(|| ChangeError::Level(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Target;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn config() -> Config {
        let pools = Tool::ALL.map(|tool| {
            format!("[pools.{tool}]\nupstreams = [\"127.0.0.1:1\", \"tools.internal:2 weight=3 drain\"]\n")
        });
        let text = format!("[grants]\nsecret = \"{}\"\n{}", "s".repeat(32), pools.concat());
        Config::parse("proxy.toml", &text, &|_name| None).unwrap()
    }

    fn target(server: &str) -> Target {
        Target { tool: "qr".to_owned(), server: server.to_owned() }
    }

    fn servers(pools: &PerTool<PoolConfig>) -> Servers<'_> {
        Servers { pools, identities: &|_tool| Vec::new() }
    }

    fn applied(actions: &[Action]) -> Config {
        let mut overrides = Overrides::default();
        let mut config = config();
        for action in actions {
            assert!(overrides.record(action, Some("why"), servers(&config.pools), NOW).unwrap());
        }
        let json = serde_json::to_string(&overrides).unwrap();
        assert_eq!(serde_json::from_str::<Overrides>(&json).unwrap(), overrides, "{json}");
        assert_eq!(overrides.apply(&mut config).unwrap(), [""; 0]);
        config
    }

    #[test]
    fn last_change_of_a_server_wins_and_others_stay() {
        let weight =
            |weight| Action::Weight { tool: "qr".to_owned(), server: "127.0.0.1:1".to_owned(), weight };
        let config = applied(&[
            Action::Drain(target("127.0.0.1:1")),
            weight(9),
            weight(7),
            Action::Enable(target("tools.internal:2")),
        ]);
        let servers = |tool: Tool| {
            let upstreams = config.pools[tool].upstreams.iter();
            upstreams.map(|upstream| (upstream.weight, upstream.admin_state)).collect::<Vec<_>>()
        };
        assert_eq!(servers(Tool::Qr), [(7, AdminState::Draining), (3, AdminState::Active)]);
        assert_eq!(servers(Tool::Pdf), [(1, AdminState::Active), (3, AdminState::Draining)]);
    }

    #[test]
    fn tool_is_off_until_its_end_and_on_again() {
        let off =
            |until: Option<&str>| Action::Off { tool: "qr".to_owned(), until: until.map(str::to_owned) };
        let settings = |actions: &[Action]| {
            let settings = applied(actions).pools[Tool::Qr].settings.clone();
            (settings.disabled, settings.disabled_reason)
        };
        let why = Some("why".to_owned());
        assert_eq!(settings(&[off(None)]), (Some(DisabledUntil::FurtherNotice), why.clone()));
        let end = UnixMillis::from_rfc3339("2027-01-31T06:00:00Z").unwrap();
        assert_eq!(settings(&[off(Some("2027-01-31T06:00:00Z"))]), (Some(DisabledUntil::Moment(end)), why));
        assert_eq!(settings(&[off(None), Action::On { tool: "qr".to_owned() }]), (None, None));
        assert_eq!(settings(&[off(None), Action::Reset]), (None, None));
    }

    #[test]
    fn invalid_change_names_what_is_expected_and_changes_nothing() {
        let pools = config().pools;
        let refused = |action: Action| {
            let mut overrides = Overrides::default();
            let error = overrides.record(&action, None, servers(&pools), NOW).unwrap_err().to_string();
            assert_eq!(overrides, Overrides::default(), "{error}");
            error
        };
        let tool = || "qr".to_owned();
        assert!(
            refused(Action::On { tool: "qs".to_owned() })
                .contains("unknown tool `qs`: expected one of biolink")
        );
        assert_eq!(
            refused(Action::Drain(target("10.0.0.1:1"))),
            "the pool of qr has no server `10.0.0.1:1`: expected one of 127.0.0.1:1, tools.internal:2"
        );
        let server = || "127.0.0.1:1".to_owned();
        assert!(refused(Action::Weight { tool: tool(), server: server(), weight: 101 }).contains("1 to 100"));
        for until in ["tomorrow", "2024-01-01T00:00:00Z"] {
            assert!(
                refused(Action::Off { tool: tool(), until: Some(until.to_owned()) })
                    .contains("in the future")
            );
        }
        assert!(refused(Action::LogLevel { level: "trace".to_owned() }).contains("off, error, warn"));
    }

    #[test]
    fn server_that_the_configuration_dropped_is_reported() {
        let file = r#"{"tools":{"qr":{"servers":{"10.0.0.9:1":{"weight":2}}}}}"#;
        let overrides: Overrides = serde_json::from_str(file).unwrap();
        assert_eq!(overrides.apply(&mut config()).unwrap(), ["qr 10.0.0.9:1"]);
        assert!(serde_json::from_str::<Overrides>(r#"{"tool":{}}"#).is_err());
    }
}
