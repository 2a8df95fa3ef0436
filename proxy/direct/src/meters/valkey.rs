//! Meters in Valkey or Redis: one value per key, changed by compare-and-set. The state machine is
//! that of `shared`; the server stores and compares.
//!
//! **Why it is exact.** A value begins with a random stamp. A change is stored only if the stamp is
//! still the one that was read, so changes of one key happen one after the other. A reply leaves
//! after its state is stored. Every change goes by the server's clock, which is read before the
//! state: proxies' clocks do not matter.
//!
//! **Why contention is no outage.** Of each key one exchange is in flight here, with all messages that have
//! gathered. One that another proxy's was ahead of is decided by one of the next, whoever's that is
//! ([`shared::meter::Ask`]). Other keys do not wait for it.
//!
//! Why: docs/decisions/direct-mode.md, "The meter's state in Valkey is changed by compare-and-set".

mod exchange;
mod group;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::pending;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redis::RedisError;
use shared::key::KeyId;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

pub(super) use self::exchange::says_more_than_key;
use self::exchange::{Exchange, Outcome, Server, failed};
use self::group::Group;
use super::queue::{Heard, Job, LaneEnd};
use crate::valkey::Connection;
use config::ValkeyConfig;

/// Maximum number of messages in one exchange.
const MAX_BATCH: usize = 512;
/// Time for which messages of further keys gather while an exchange is in flight. A near server has
/// replied before, so that one exchange follows the other. A far one must not hold other keys up.
const GATHER: Duration = Duration::from_millis(5);

/// The worker of one lane.
struct Lane {
    server: Arc<Server>,
    connection: Option<Connection>,
    /// Counts the connections.
    generation: u64,
    connected: mpsc::UnboundedSender<()>,
    heard: Heard,
    /// The keys with an exchange in flight, with the messages that wait for its end.
    busy: HashMap<KeyId, Vec<Job>>,
    /// What the next exchange has.
    ready: HashMap<KeyId, Vec<Job>>,
    /// What has lost its turn to another proxy.
    conflicts: Vec<Group>,
    exchanges: FuturesUnordered<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    /// The moment at which the last exchange of new messages began.
    begun: Instant,
}

/// Exchanges messages with the server until the process exits. Sends to `connected` after each new
/// connection.
pub(super) async fn work(config: ValkeyConfig, lane: LaneEnd, connected: mpsc::UnboundedSender<()>) {
    let LaneEnd { mut jobs, heard } = lane;
    let mut lane = Lane::new(config, heard, connected);
    // At once, so that records are there before the first call.
    let _logged_with_the_first_call = lane.connect().await;
    let mut batch = Vec::with_capacity(MAX_BATCH);
    loop {
        let until = lane.gathers_until();
        let gathered = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => pending().await,
            }
        };
        tokio::select! {
            received = jobs.recv_many(&mut batch, MAX_BATCH) => match received {
                // All senders are gone, so the process exits.
                0 => return,
                _ => batch.drain(..).for_each(|job| lane.add(job)),
            },
            Some(outcome) = lane.exchanges.next() => lane.end(outcome),
            () = gathered => {}
        }
        // After each event and not only after the time: with nothing in flight, a message goes out
        // at once.
        lane.begin().await;
    }
}

impl Lane {
    fn new(config: ValkeyConfig, heard: Heard, connected: mpsc::UnboundedSender<()>) -> Self {
        Self {
            server: Arc::new(Server::new(config)),
            connection: None,
            generation: 0,
            connected,
            heard,
            busy: HashMap::new(),
            ready: HashMap::new(),
            conflicts: Vec::new(),
            exchanges: FuturesUnordered::new(),
            begun: Instant::now(),
        }
    }

    /// Adds a message to those of its key, because all of a key are one change of its state.
    fn add(&mut self, job: Job) {
        match self.busy.get_mut(&job.id) {
            Some(jobs) => jobs.push(job),
            None => self.ready.entry(job.id).or_default().push(job),
        }
    }

    /// Returns the moment at which the next exchange begins while another one is in flight. `None` if there
    /// is nothing to send.
    fn gathers_until(&self) -> Option<Instant> {
        (!self.ready.is_empty()).then(|| self.begun + GATHER)
    }

    /// Begins what is due.
    async fn begin(&mut self) {
        // First: these callers have waited the longest.
        let again = mem::take(&mut self.conflicts);
        self.send(again).await;
        if self.exchanges.is_empty() || self.begun.elapsed() >= GATHER {
            let groups = self.ready.drain().filter_map(|(id, jobs)| Group::new(id, jobs)).collect::<Vec<_>>();
            for group in &groups {
                // Before the exchange: what comes meanwhile for the same key waits for its end.
                self.busy.insert(group.id(), Vec::new());
            }
            self.begun = Instant::now();
            self.send(groups).await;
        }
    }

    /// Sends groups in one exchange, and fails them if there is no connection.
    async fn send(&mut self, groups: Vec<Group>) {
        if groups.is_empty() {
            return;
        }
        match self.connect().await.map_err(failed) {
            Ok(connection) => {
                let (server, heard) = (Arc::clone(&self.server), self.heard.clone());
                let exchange = Exchange::new(server, connection, self.generation, heard);
                self.exchanges.push(Box::pin(exchange.run(groups)));
            }
            Err(error) => {
                for group in groups {
                    // Or the key would wait for the end of an exchange that has not begun.
                    self.free(&group.id());
                    group.fail(&error);
                }
            }
        }
    }

    /// Ends an exchange: its keys are free for the next one, and what has lost its turn is sent again.
    fn end(&mut self, outcome: Outcome) {
        let Outcome { ended, conflicts, generation, is_broken } = outcome;
        // An older exchange says nothing about the connection that has replaced its own.
        if is_broken && generation == self.generation {
            self.connection = None;
        }
        ended.iter().for_each(|id| self.free(id));
        for group in conflicts {
            match group.is_abandoned() {
                true => self.free(&group.id()),
                false => self.conflicts.push(group),
            }
        }
    }

    fn free(&mut self, id: &KeyId) {
        let waiting = self.busy.remove(id).filter(|jobs| !jobs.is_empty());
        if let (Some(mut jobs), Entry::Vacant(place)) = (waiting, self.ready.entry(*id)) {
            // A call that gave up meanwhile must not be counted.
            jobs.retain(|job| !job.is_abandoned());
            place.insert(jobs);
        }
    }

    async fn connect(&mut self) -> Result<Connection, RedisError> {
        if let Some(connection) = &self.connection {
            return Ok(connection.clone());
        }
        let connection = Connection::open(&self.server.config).await?;
        self.generation = self.generation.wrapping_add(1);
        self.connection = Some(connection.clone());
        let _received = self.connected.send(());
        Ok(connection)
    }
}
