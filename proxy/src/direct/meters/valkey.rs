//! Meters in Valkey or Redis: one value per key, changed by compare-and-set. The state machine is
//! that of `shared`; the server stores and compares.
//!
//! **Why it is exact.** A value begins with a random stamp. A change is stored only if the stamp is
//! still the one that was read, so changes of one key happen one after the other. A reply leaves
//! after its state is stored. Every change goes by the server's clock, which is read before the
//! state: proxies' clocks do not matter.
//!
//! Why: docs/decisions/direct-mode.md, "The meter's state in Valkey is changed by compare-and-set".

use std::collections::HashMap;
use std::time::{Duration, Instant};

use redis::{Cmd, RedisError, Script, ServerErrorKind, Value, from_redis_value};
use shared::key::{KeyId, KeyRecord, VerifiedKey, WhenMeterUnreachable};
use shared::meter::{Meter, Reply};
use shared::time::UnixMillis;
use tokio::sync::mpsc;

use super::queue::{Job, MeterError};
use crate::config::{ValkeyConfig, ValkeyKind};
use crate::valkey::{self, Connection};

/// Maximum number of messages in one exchange.
const MAX_BATCH: usize = 512;
/// Maximum time in which a state is read and stored again that others have changed meanwhile.
const CONTENTION: Duration = Duration::from_secs(2);
/// Number of characters of a stamp.
const STAMP: usize = 16;
/// Time after which an unused state is deleted, in seconds: a day and a minute, so that nothing of
/// it matters.
const TTL_S: u64 = 86_460;

/// Stores `ARGV[2]` for `ARGV[3]` seconds, or for good if that is 0, if the stored value still begins
/// with the stamp `ARGV[1]`. Returns whether it did.
const SWAP: &str = "if redis.call('GETRANGE', KEYS[1], 0, 15) ~= ARGV[1] then return 0 end \
if ARGV[3] == '0' then redis.call('SET', KEYS[1], ARGV[2]) \
else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end return 1";

/// The worker of one lane.
struct Worker {
    config: ValkeyConfig,
    connection: Option<Connection>,
    connected: mpsc::UnboundedSender<()>,
    script: Script,
}

/// The messages to one meter, in their order.
struct Group {
    id: KeyId,
    jobs: Vec<Job>,
}

/// A meter's next state, with the replies that may leave once it is stored.
struct NextState {
    stamp: Vec<u8>,
    /// The new value and the seconds for which it is kept. `None` if nothing changed.
    value: Option<(Vec<u8>, u64)>,
    replies: Vec<Reply>,
}

/// Exchanges messages with the server until the process exits. Sends to `connected` after each new
/// connection.
pub(super) async fn work(
    config: ValkeyConfig,
    mut jobs: mpsc::UnboundedReceiver<Job>,
    connected: mpsc::UnboundedSender<()>,
) {
    let mut worker = Worker { config, connection: None, connected, script: Script::new(SWAP) };
    // At once, so that records are there before the first call.
    let _logged_with_the_first_call = worker.connect().await;
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while jobs.recv_many(&mut batch, MAX_BATCH).await > 0 {
        worker.handle(group(batch.drain(..))).await;
    }
}

/// Groups messages by key, because all of a key are one change of its state.
fn group(jobs: impl Iterator<Item = Job>) -> Vec<Group> {
    let (mut groups, mut places): (Vec<Group>, HashMap<KeyId, usize>) = Default::default();
    for job in jobs.filter(|job| !job.is_abandoned()) {
        let place = *places.entry(job.id).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.jobs.push(job),
            None => groups.push(Group { id: job.id, jobs: vec![job] }),
        }
    }
    groups
}

impl Worker {
    /// Handles messages, and ends each of them with a reply or an error.
    async fn handle(&mut self, mut groups: Vec<Group>) {
        let begun = Instant::now();
        while !groups.is_empty() {
            if begun.elapsed() > CONTENTION {
                groups.into_iter().for_each(|group| {
                    let error = MeterError::Contended(group.id);
                    group.fail(&error);
                });
                return;
            }
            match self.round(&mut groups).await {
                Ok(()) => {}
                Err(error) => {
                    self.connection = None;
                    groups.into_iter().for_each(|group| group.fail(&error));
                    return;
                }
            }
        }
    }

    /// Reads the states of all groups, and stores the next ones. Leaves the groups whose state was
    /// changed by another proxy meanwhile.
    async fn round(&mut self, groups: &mut Vec<Group>) -> Result<(), MeterError> {
        self.connect().await.map_err(failed)?;
        let Some(connection) = &mut self.connection else { return Err(MeterError::NotRunning) };
        let read = groups.iter().map(|group| redis::cmd("GET").arg(self.config.meter(&group.id)).take());
        // After the states: in a cluster that moves a slot, only the first command of a pipeline follows it.
        let time = Some(redis::cmd("TIME"));
        let values = connection.run(read.collect(), time).await.map_err(failed)?;
        let mut changes = Vec::new();
        for (group, (value, time)) in groups.drain(..).zip(values) {
            match group.step(time, value) {
                Ok(next) if next.value.is_none() => group.end(next.replies),
                Ok(next) => changes.push((group, next)),
                Err(error) => group.fail(&error),
            }
        }
        *groups = self.store(changes).await?;
        Ok(())
    }

    /// Stores states. Returns the groups whose state was changed by another proxy meanwhile.
    async fn store(&mut self, changes: Vec<(Group, NextState)>) -> Result<Vec<Group>, MeterError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let Some(connection) = &mut self.connection else { return Err(MeterError::NotRunning) };
        let swap = |name: &str, script: &str| {
            let commands = changes.iter().map(|(group, next)| {
                let (value, ttl_s) =
                    next.value.as_ref().map_or((&[][..], TTL_S), |(value, ttl_s)| (value, *ttl_s));
                let mut command = redis::cmd(name);
                command.arg(script).arg(1).arg(self.config.meter(&group.id));
                command.arg(&next.stamp).arg(value).arg(ttl_s).take()
            });
            commands.collect::<Vec<Cmd>>()
        };
        let wait = self.config.wait();
        let stored = connection.run(swap("EVALSHA", self.script.get_hash()), wait.clone()).await;
        let mut stored = stored.map_err(failed)?;
        if stored.iter().any(|(stored, _)| stored.as_ref().is_err_and(is_script_missing)) {
            // What was stored has another stamp, so that only the others are stored now.
            let again = connection.run(swap("EVAL", SWAP), wait).await.map_err(failed)?;
            for (first, again) in stored.iter_mut().zip(again) {
                if first.0.as_ref().is_err_and(is_script_missing) {
                    *first = again;
                }
            }
        }
        let mut conflicts = Vec::new();
        for ((group, next), (stored, reached)) in changes.into_iter().zip(stored) {
            match stored.map_err(failed).and_then(number) {
                Ok(0) => conflicts.push(group),
                Ok(_) => match self.config.check_replicas(reached) {
                    Ok(()) => group.end(next.replies),
                    Err(error) => {
                        // For example a master that was cut off while Sentinels chose another. The nodes
                        // of a cluster say so themselves.
                        if self.config.kind != ValkeyKind::Cluster {
                            self.connection = None;
                        }
                        group.fail(&error);
                    }
                },
                Err(error) => {
                    // For example a master that has become a replica.
                    self.connection = None;
                    group.fail(&error);
                }
            }
        }
        Ok(conflicts)
    }

    async fn connect(&mut self) -> Result<(), RedisError> {
        if self.connection.is_none() {
            self.connection = Some(Connection::open(&self.config).await?);
            let _received = self.connected.send(());
        }
        Ok(())
    }
}

impl Group {
    /// Handles the messages in their order, at the server's `time`.
    fn step(&self, time: Option<Value>, value: Result<Value, RedisError>) -> Result<NextState, MeterError> {
        let now = time.and_then(millis).ok_or_else(|| MeterError::failed("TIME has no time"))?;
        let value: Option<Vec<u8>> = value.and_then(|value| Ok(from_redis_value(value)?)).map_err(failed)?;
        let (stamp, mut meter) = match &value {
            None => (Vec::new(), Meter::default()),
            Some(value) => {
                let parts = value.split_at_checked(STAMP);
                let parsed = parts
                    .and_then(|(stamp, json)| Some((stamp.to_vec(), serde_json::from_slice(json).ok()?)));
                // A new state would give every call back.
                parsed.ok_or(MeterError::Unreadable(self.id))?
            }
        };
        let (mut replies, mut is_changed) = (Vec::with_capacity(self.jobs.len()), false);
        for job in &self.jobs {
            let (reply, changed) = meter.step(job.message.clone(), now);
            is_changed |= changed;
            replies.push(reply);
        }
        let mut next = || {
            // Whoever reads the server has no need of them: the proxy that issued the key keeps them.
            meter.forget_names();
            let json = serde_json::to_vec(&meter).map_err(MeterError::failed)?;
            let mut value = format!("{:016x}", fastrand::u64(..)).into_bytes();
            value.extend_from_slice(&json);
            // What is more than the text of the key is nowhere else for proxies that have not met it.
            let ttl_s = if meter.record().is_some_and(says_more_than_key) { 0 } else { TTL_S };
            Ok((value, ttl_s))
        };
        Ok(NextState { stamp, value: is_changed.then(&mut next).transpose()?, replies })
    }

    fn end(self, replies: Vec<Reply>) {
        for (job, reply) in self.jobs.into_iter().zip(replies) {
            job.end(Ok(reply));
        }
    }

    fn fail(self, error: &MeterError) {
        for job in self.jobs {
            job.end(Err(error.clone()));
        }
    }
}

/// Returns true if a record says more of its key than the text of the key does.
pub(super) fn says_more_than_key(record: &KeyRecord) -> bool {
    let KeyRecord { id, tier, issued_at, secret, .. } = *record;
    let key = VerifiedKey { id, is_named: false, issued_tier: tier, issued_at, secret };
    record.version > 1
        || record.when_meter_unreachable != WhenMeterUnreachable::default()
        || record.says_more_than(&key)
}

fn failed(error: RedisError) -> MeterError {
    match valkey::is_refused(&error) {
        true => MeterError::Refused(valkey::line(&error).into()),
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

impl ValkeyConfig {
    /// Returns the name of a meter's value. The part in braces chooses the slot in a cluster.
    fn meter(&self, id: &KeyId) -> String {
        format!("{}:{{{id}}}:meter", self.prefix)
    }

    /// Returns the command that waits for replicas, if any are required.
    fn wait(&self) -> Option<Cmd> {
        (self.replicas > 0).then(|| redis::cmd("WAIT").arg(self.replicas).arg(WAIT_MS).take())
    }

    fn check_replicas(&self, reached: Option<Value>) -> Result<(), MeterError> {
        let expected = u64::from(self.replicas);
        let reached = reached.map_or(Ok(0), number)?;
        if reached < expected { Err(MeterError::NotReplicated { reached, expected }) } else { Ok(()) }
    }
}

/// Maximum time for which a change waits for replicas, in milliseconds.
const WAIT_MS: u64 = 200;
