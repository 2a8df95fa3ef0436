//! What one server says to the commands that the proxy sends.

use std::collections::HashMap;

use redis::{Cmd, ErrorKind, Pipeline, RedisError, Value, from_redis_value};

use super::fault::{Cost, Fault, TIMEOUT, is_denied, name, unreachable};
use super::places::{Part, Place};
use crate::valkey::{connect, unused_key, user};
use config::{ValkeyConfig, ValkeyKind};

/// The lowest major version of Redis that is supported. Each Valkey is later.
const MIN_MAJOR: u32 = 7;

/// What the proxy uses the servers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The meters of keys.
    Meters,
    /// The used grants of a data center.
    UsedGrants,
}

/// The replies of one server.
#[derive(Debug)]
pub(super) struct Report {
    /// What `HELLO` says of the server, which needs no permission. Empty behind a proxy that does not know it.
    hello: HashMap<String, String>,
    info: Result<String, RedisError>,
    /// The errors of the commands that are needed, with the permission for each.
    refused: Vec<(&'static str, RedisError)>,
}

impl Report {
    /// Sends each command that the proxy needs, in a form that changes nothing.
    pub(super) async fn of(
        config: &ValkeyConfig,
        purpose: Purpose,
        server: &(String, u16),
    ) -> Result<Self, RedisError> {
        let mut connection = connect(config, server, user(config), TIMEOUT).await?;
        let needed = needed(config, purpose);
        let mut pipeline = Pipeline::with_capacity(needed.len() + 2);
        pipeline.add_command(redis::cmd("HELLO")).add_command(redis::cmd("INFO"));
        needed.iter().for_each(|(_, command)| {
            pipeline.add_command(command.clone());
        });
        let replies: Vec<Result<Value, RedisError>> =
            pipeline.ignore_errors().query_async(&mut connection).await?;
        let mut replies = replies.into_iter();
        let mut next = || replies.next().unwrap_or_else(|| Err((ErrorKind::Parse, "no reply").into()));
        let hello = next().map(texts).unwrap_or_default();
        let info = next().and_then(|reply| Ok(from_redis_value(reply)?));
        let refused = needed.into_iter().filter_map(|(permission, _)| Some((permission, next().err()?)));
        Ok(Self { hello, info, refused: refused.collect() })
    }

    /// Returns true unless it is a replica.
    pub(super) fn is_primary(&self) -> bool {
        !self.says("role", "replica")
    }

    /// Returns what is wrong with the server for its part.
    pub(super) fn faults(&self, config: &ValkeyConfig, place: &Place) -> Vec<Fault> {
        let outage = place.part.cost();
        let mut found = Vec::new();
        if let Some((_, error)) = self.refused.iter().find(|(_, error)| error.code() == Some("NOAUTH")) {
            found.push((outage, "valkey.password", format!("asks for a password: {error}")));
        }
        let kind = self.kind(config);
        // Another kind of server does not know the commands.
        let is_of_its_kind = kind.is_none();
        found.extend(kind.map(|detail| (outage, "valkey.kind", detail)));
        found.extend(self.denied(config).map(|detail| (outage, "valkey.user", detail)));
        if place.part == Part::Primary && is_of_its_kind {
            found.extend(self.unwritable(config).map(|(key, detail)| (Cost::Outage, key, detail)));
        }
        found.extend(self.risks().map(|(key, detail)| (Cost::Risk, key, detail)));
        let servers = || vec![name(&place.server)];
        found.into_iter().map(|(cost, key, detail)| Fault { cost, key, servers: servers(), detail }).collect()
    }

    /// Returns the kind of the server, unless it is the one that the configuration says.
    fn kind(&self, config: &ValkeyConfig) -> Option<String> {
        let is_cluster = config.kind == ValkeyKind::Cluster;
        match self.hello.get("mode").map(String::as_str) {
            Some("sentinel") => Some("is a Sentinel, expected `sentinel`".to_owned()),
            Some("cluster") if !is_cluster => Some("is a node of a cluster, expected `cluster`".to_owned()),
            _ => None,
        }
    }

    /// Returns the permissions that the user lacks.
    fn denied(&self, config: &ValkeyConfig) -> Option<String> {
        let denied: Vec<_> = self.refused.iter().filter(|(_, error)| is_denied(error)).collect();
        // The server names what it denies: a command, or a key.
        let is_key = |error: &RedisError| error.detail().is_some_and(|detail| detail.contains("key"));
        let mut lacks: Vec<_> =
            denied.iter().filter(|(_, error)| !is_key(error)).map(|(lack, _)| *lack).collect();
        let keys = format!("~{}:*", config.prefix);
        if denied.iter().any(|(_, error)| is_key(error)) {
            lacks.push(&keys);
        }
        let (_, first) = denied.first()?;
        let user = config.user.as_deref().unwrap_or("default");
        Some(format!("user {user} lacks {}: {first}; grant what conf/README.md lists", lacks.join(" ")))
    }

    /// Returns why a primary takes no changes.
    fn unwritable(&self, config: &ValkeyConfig) -> impl Iterator<Item = (&'static str, String)> {
        let replica =
            (!self.is_primary()).then(|| ("valkey.servers", "is a replica, expected the primary".to_owned()));
        let refused =
            self.refused.iter().filter(|(_, error)| is_refusal(error)).map(|(permission, error)| {
                let command = permission.trim_start_matches('+').replace('|', " ").to_uppercase();
                ("valkey.servers", format!("refuses {command}: {error}"))
            });
        let connected = self.info("connected_slaves").and_then(|count| count.parse::<u32>().ok());
        let too_few = connected.filter(|count| *count < config.replicas && self.is_primary()).map(|count| {
            ("valkey.replicas", format!("has {count} connected replicas, expected {}", config.replicas))
        });
        replica.into_iter().chain(refused).chain(too_few)
    }

    /// Returns what works for now.
    fn risks(&self) -> impl Iterator<Item = (&'static str, String)> {
        let major = |version: &String| version.split('.').next()?.parse::<u32>().ok();
        let version =
            self.hello.get("version").filter(|version| major(version).is_some_and(|is| is < MIN_MAJOR));
        let old = version.map(|version| {
            (
                "valkey.servers",
                format!("has version {version}, expected Valkey, or Redis from {MIN_MAJOR} on"),
            )
        });
        let policy = self.info("maxmemory_policy").filter(|policy| *policy != "noeviction").map(|policy| {
            let detail = format!(
                "has maxmemory-policy {policy}, which forgets counts when memory is full; expected noeviction"
            );
            ("valkey.servers", detail)
        });
        let hidden = self.info.as_ref().err().filter(|error| is_denied(error)).map(|error| {
            ("valkey.user", format!("lacks +info, so that maxmemory-policy was not checked: {error}"))
        });
        [old, policy, hidden].into_iter().flatten()
    }

    fn says(&self, field: &str, value: &str) -> bool {
        self.hello.get(field).is_some_and(|said| said == value)
    }

    /// Returns a field of `INFO`.
    fn info(&self, field: &str) -> Option<&str> {
        let lines = self.info.as_ref().ok()?.lines();
        lines.filter_map(|line| line.split_once(':')).find(|(name, _)| *name == field).map(|(_, value)| value)
    }
}

/// Returns the fault of a server without a connection.
pub(super) fn unreached(place: &Place, error: &RedisError) -> Fault {
    let (key, detail) = unreachable(error);
    Fault { cost: place.part.cost(), key, servers: vec![name(&place.server)], detail }
}

/// Returns true if a primary refuses a command for its own reason.
fn is_refusal(error: &RedisError) -> bool {
    let code = error.code().unwrap_or_default();
    // Other nodes of a cluster have the key, the script is sent when it is missing, and replicas,
    // passwords and permissions have faults of their own.
    !is_denied(error) && !["MOVED", "ASK", "NOSCRIPT", "READONLY", "NOAUTH"].contains(&code)
}

/// Returns the commands that the proxy and its client library send, in a form that changes nothing, with the
/// permission for each.
fn needed(config: &ValkeyConfig, purpose: Purpose) -> Vec<(&'static str, Cmd)> {
    let key = unused_key(config);
    let command = |words: &[&str]| redis::cmd(words.first().unwrap_or(&"PING")).arg(words.get(1..)).take();
    // Only a value that exists would be set, and none does.
    let mut needed = vec![("+set", command(&["SET", &key, "", "XX", "PX", "1"]))];
    if purpose == Purpose::Meters {
        needed.extend([
            ("+get", command(&["GET", &key])),
            ("+getrange", command(&["GETRANGE", &key, "0", "15"])),
            ("+eval", command(&["EVAL", "return 1", "1", &key])),
            ("+evalsha", command(&["EVALSHA", UNKNOWN_SCRIPT, "1", &key])),
            ("+time", command(&["TIME"])),
        ]);
        if config.replicas > 0 {
            needed.push(("+wait", command(&["WAIT", "0", "1"])));
        }
    }
    match config.kind {
        ValkeyKind::Single => {}
        ValkeyKind::Sentinel { .. } => needed.push(("+role", command(&["ROLE"]))),
        ValkeyKind::Cluster => needed.extend([
            ("+cluster|slots", command(&["CLUSTER", "SLOTS"])),
            ("+ping", command(&["PING"])),
            ("+asking", command(&["ASKING"])),
        ]),
    }
    needed
}

/// A hash that no script has.
const UNKNOWN_SCRIPT: &str = "0000000000000000000000000000000000000000";

/// Returns the fields of a reply whose values are texts.
fn texts(reply: Value) -> HashMap<String, String> {
    let fields: HashMap<String, Value> = from_redis_value(reply).unwrap_or_default();
    fields.into_iter().filter_map(|(name, value)| Some((name, from_redis_value(value).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(version: &str, info: &str) -> Vec<String> {
        let hello = HashMap::from([("version".to_owned(), version.to_owned())]);
        let report = Report { hello, info: Ok(info.to_owned()), refused: Vec::new() };
        report.risks().map(|(_, detail)| detail).collect()
    }

    #[test]
    fn redis_before_7_is_a_risk() {
        for supported in ["7.0.15", "8.4.0", "9.1.2", "", "unknown"] {
            assert_eq!(details(supported, ""), [""; 0], "{supported}");
        }
        for old in ["6.2.5", "5.0"] {
            let expected = format!("has version {old}, expected Valkey, or Redis from 7 on");
            assert_eq!(details(old, ""), [expected]);
        }
    }

    #[test]
    fn policy_that_evicts_is_a_risk() {
        let with = |policy: &str| {
            details("7.0.15", &format!("# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:{policy}\r\n"))
        };
        assert_eq!(with("noeviction"), [""; 0]);
        for evicting in ["allkeys-lru", "volatile-ttl"] {
            assert!(with(evicting)[0].starts_with(&format!("has maxmemory-policy {evicting}, ")));
        }
    }
}
