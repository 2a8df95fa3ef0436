//! One exchange with the server: values of several keys are read, and the next ones stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::{Cmd, RedisError, Script, ServerErrorKind, Value, from_redis_value};
use shared::key::{KeyId, KeyRecord, VerifiedKey, WhenMeterUnreachable};
use shared::meter::{NextValue, Turn};
use shared::time::UnixMillis;

use super::super::queue::{Heard, MeterError, was_paused};
use super::group::Group;
use crate::valkey::{self, Connection, TIMEOUT};
use config::{ValkeyConfig, ValkeyKind};

/// Time after which an unused state is deleted, in seconds: a day and a minute, so that nothing of
/// it matters.
const TTL_S: u64 = 86_460;
/// Maximum time for which a change waits for replicas, in milliseconds.
const WAIT_MS: u64 = 200;

/// Stores `ARGV[2]` for `ARGV[3]` seconds, or for good if that is 0, if the stored value still begins
/// with the stamp `ARGV[1]`. What was added to it beyond its length `ARGV[4]` stays behind. If it begins with
/// another stamp, adds the line `ARGV[5]` to it, and returns the server's time and the value. How long that is
/// kept is up to who stored it: only its record says.
const SWAP: &str = "local function put(value) \
if ARGV[3] == '0' then redis.call('SET', KEYS[1], value) \
else redis.call('SET', KEYS[1], value, 'EX', ARGV[3]) end end \
if redis.call('GETRANGE', KEYS[1], 0, 15) == ARGV[1] then \
put(ARGV[2] .. redis.call('GETRANGE', KEYS[1], ARGV[4], -1)) return 1 end \
local value = redis.call('GET', KEYS[1]) or '' \
if value ~= '' and ARGV[5] ~= '' then \
value = value .. ARGV[5] redis.call('SET', KEYS[1], value, 'KEEPTTL') end \
return {redis.call('TIME'), value}";

/// The server and how values change there.
pub(super) struct Server {
    pub(super) config: ValkeyConfig,
    script: Script,
}

/// An exchange on one connection.
pub(super) struct Exchange {
    server: Arc<Server>,
    connection: Connection,
    heard: Heard,
    trip: Duration,
    outcome: Outcome,
}

/// What happened to the groups of an exchange. Those that are not named have ended.
#[derive(Default)]
pub(super) struct Outcome {
    /// The keys whose messages have ended.
    pub(super) ended: Vec<KeyId>,
    /// The groups to send again: those that another proxy was ahead of, with the values that are stored now,
    /// and those of an exchange amid which this process was paused.
    pub(super) conflicts: Vec<Group>,
    /// The connection that was used.
    pub(super) generation: u64,
    /// Whether that must be replaced.
    pub(super) is_broken: bool,
}

/// A group whose turn it is, with what to store and the line to leave.
type Change = (Group, NextValue, Vec<u8>);

impl Server {
    pub(super) fn new(config: ValkeyConfig) -> Self {
        Self { config, script: Script::new(SWAP) }
    }
}

impl Exchange {
    pub(super) fn new(server: Arc<Server>, connection: Connection, generation: u64, heard: Heard) -> Self {
        let outcome = Outcome { generation, ..Outcome::default() };
        Self { server, connection, heard, trip: Duration::ZERO, outcome }
    }

    /// Ends each message of the groups with a reply or an error, but those of conflicts.
    pub(super) async fn run(mut self, groups: Vec<Group>) -> Outcome {
        let (read, unread) = groups.into_iter().partition(Group::is_read);
        let mut groups: Vec<_> = read;
        groups.extend(self.read(unread).await);
        let mut changes = Vec::new();
        for mut group in groups {
            match group.turn(self.trip) {
                Ok((Turn::Decided(replies), _)) => {
                    self.outcome.ended.push(group.id());
                    group.end(replies);
                }
                Ok((Turn::Store(next), line)) => changes.push((group, *next, line)),
                Err(error) => self.fail(group, &error),
            }
        }
        self.store(changes).await;
        self.outcome
    }

    /// Reads the values of groups. Returns those for which that was possible.
    async fn read(&mut self, groups: Vec<Group>) -> Vec<Group> {
        if groups.is_empty() {
            return Vec::new();
        }
        let config = &self.server.config;
        let read =
            groups.iter().map(|group| redis::cmd("GET").arg(meter(config, &group.id())).take()).collect();
        // After the states: in a cluster that moves a slot, only the first command of a pipeline follows it.
        let time = Some(redis::cmd("TIME"));
        let begun = Instant::now();
        let values = match self.connection.run(read, time).await.map_err(failed) {
            Ok(values) => values,
            Err(error) => {
                self.break_off(groups, &error, begun);
                return Vec::new();
            }
        };
        (self.trip, ()) = (begun.elapsed(), self.heard.now());
        let mut found = Vec::new();
        for (mut group, (value, time)) in groups.into_iter().zip(values) {
            let time = time.and_then(millis).ok_or_else(|| MeterError::failed("TIME has no time"));
            let value: Result<Option<Vec<u8>>, _> = value.and_then(|value| Ok(from_redis_value(value)?));
            match value.map_err(failed).and_then(|value| Ok((value, time?))) {
                Ok((value, time)) => {
                    group.read(time, value.unwrap_or_default());
                    found.push(group);
                }
                Err(error) => self.fail(group, &error),
            }
        }
        found
    }

    /// Stores states.
    async fn store(&mut self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let begun = Instant::now();
        let stored = match self.swap(&changes).await.map_err(failed) {
            Ok(stored) => stored,
            Err(error) => {
                let groups = changes.into_iter().map(|(group, ..)| group).collect();
                return self.break_off(groups, &error, begun);
            }
        };
        (self.trip, ()) = (begun.elapsed(), self.heard.now());
        for ((mut group, next, _), (stored, reached)) in changes.into_iter().zip(stored) {
            let stored = stored.map_err(failed).and_then(Stored::parse);
            let copied = check_replicas(&self.server.config, reached);
            match (stored, copied) {
                (Ok(_), Err(error)) => {
                    // For example a master that was cut off while Sentinels chose another. The nodes
                    // of a cluster say so themselves.
                    self.outcome.is_broken |= self.server.config.kind != ValkeyKind::Cluster;
                    self.fail(group, &error);
                }
                (Ok(Stored::Done), Ok(())) => {
                    self.outcome.ended.push(group.id());
                    group.end(next.replies);
                }
                // The value comes with the reply, so that the next turn needs no read.
                (Ok(Stored::Conflict(time, value)), Ok(())) => {
                    group.lose(time, value);
                    self.outcome.conflicts.push(group);
                }
                (Err(error), _) => {
                    // For example a master that has become a replica.
                    self.outcome.is_broken = true;
                    self.fail(group, &error);
                }
            }
        }
    }

    async fn swap(&mut self, changes: &[Change]) -> Result<Vec<valkey::KeyReply>, RedisError> {
        let config = &self.server.config;
        let swap = |name: &str, script: &str| {
            let commands = changes.iter().map(|(group, next, line)| {
                // What is more than the text of the key is nowhere else for proxies that have not met it.
                let ttl_s = if next.record.as_ref().is_some_and(says_more_than_key) { 0 } else { TTL_S };
                // `WAIT` is for what this connection has written, and a value that others have stored may have
                // the replies. An empty line says nothing.
                let line = if line.is_empty() && config.replicas > 0 { b"\n".as_slice() } else { line };
                let mut command = redis::cmd(name);
                command.arg(script).arg(1).arg(meter(config, &group.id()));
                command.arg(&next.stamp).arg(&next.value).arg(ttl_s).arg(next.length).arg(line).take()
            });
            commands.collect::<Vec<Cmd>>()
        };
        let wait = wait(config);
        let mut stored =
            self.connection.run(swap("EVALSHA", self.server.script.get_hash()), wait.clone()).await?;
        if stored.iter().any(|(stored, _)| stored.as_ref().is_err_and(is_script_missing)) {
            // What was stored has another stamp, so that only the others are stored now.
            let again = self.connection.run(swap("EVAL", SWAP), wait).await?;
            for (first, again) in stored.iter_mut().zip(again) {
                if first.0.as_ref().is_err_and(is_script_missing) {
                    *first = again;
                }
            }
        }
        Ok(stored)
    }

    /// Ends the exchange without the server. After a pause of this process it says nothing of the server: the
    /// groups are read and sent again, which is safe because a meter counts a repeated request once.
    fn break_off(&mut self, groups: Vec<Group>, error: &MeterError, begun: Instant) {
        self.outcome.is_broken = true;
        match was_paused(begun, TIMEOUT) {
            true => self.outcome.conflicts.extend(groups),
            false => groups.into_iter().for_each(|group| self.fail(group, error)),
        }
    }

    fn fail(&mut self, group: Group, error: &MeterError) {
        self.outcome.ended.push(group.id());
        group.fail(error);
    }
}

/// The reply to [`SWAP`].
enum Stored {
    Done,
    /// Another proxy was ahead: the server's time and what is stored now.
    Conflict(UnixMillis, Vec<u8>),
}

impl Stored {
    fn parse(reply: Value) -> Result<Self, MeterError> {
        // The script replies with 1 if it has stored.
        let Value::Array(parts) = reply else { return Ok(Self::Done) };
        let unexpected = || MeterError::failed("the script of meters replies in another form");
        let [time, value] = <[Value; 2]>::try_from(parts).map_err(|_| unexpected())?;
        let value = from_redis_value(value).map_err(MeterError::failed)?;
        Ok(Self::Conflict(millis(time).ok_or_else(unexpected)?, value))
    }
}

/// Returns true if a record says more of its key than the text of the key does.
pub(in crate::meters) fn says_more_than_key(record: &KeyRecord) -> bool {
    let KeyRecord { id, tier, issued_at, secret, .. } = *record;
    let key = VerifiedKey { id, is_named: false, issued_tier: tier, issued_at, secret };
    record.version > 1
        || record.when_meter_unreachable != WhenMeterUnreachable::default()
        || record.says_more_than(&key)
}

/// Returns why a message has no reply.
pub(super) fn failed(error: RedisError) -> MeterError {
    match valkey::is_refused(&error) {
        true => MeterError::Refused(valkey::line(&error).into()),
        // A full server still responds to reads, so it needs another remedy than one that is gone.
        false if error.code() == Some("OOM") => MeterError::Full(valkey::line(&error).into()),
        false if error.is_timeout() => MeterError::TimedOut(TIMEOUT),
        false => MeterError::failed(valkey::line(&error)),
    }
}

fn is_script_missing(error: &RedisError) -> bool {
    error.kind() == redis::ErrorKind::Server(ServerErrorKind::NoScript)
}

/// Parses the reply to `TIME`: seconds and microseconds.
fn millis(time: Value) -> Option<UnixMillis> {
    let (seconds, micros): (u64, u64) = from_redis_value(time).ok()?;
    Some(UnixMillis(seconds.checked_mul(1_000)?.checked_add(micros / 1_000)?))
}

fn number(value: Value) -> Result<u64, MeterError> {
    from_redis_value(value).map_err(MeterError::failed)
}

/// Returns the name of a meter's value. The part in braces chooses the slot in a cluster.
fn meter(config: &ValkeyConfig, id: &KeyId) -> String {
    format!("{}:{{{id}}}:meter", config.prefix)
}

/// Returns the command that waits for replicas, if any are required.
fn wait(config: &ValkeyConfig) -> Option<Cmd> {
    (config.replicas > 0).then(|| redis::cmd("WAIT").arg(config.replicas).arg(WAIT_MS).take())
}

fn check_replicas(config: &ValkeyConfig, reached: Option<Value>) -> Result<(), MeterError> {
    let expected = u64::from(config.replicas);
    let reached = reached.map_or(Ok(0), number)?;
    if reached < expected { Err(MeterError::NotReplicated { reached, expected }) } else { Ok(()) }
}
