//! The used grants that the proxies of a data center share, in Valkey or Redis: one value for each
//! request and data center, which is set only if it is not there, for as long as a grant can be valid.
//!
//! **Failure.** Nothing waits for a server that is unreachable. Each call goes by its proxy's own memory then,
//! and so does a call whose reply does not come within [`TIMEOUT`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use redis::{RedisError, Value};
use shared::grant::VALID_MS;
use shared::request_id::RequestId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use crate::valkey::probe::{self, Purpose};
use crate::valkey::{Connection, line, unused_key};
use config::ValkeyConfig;

/// Maximum time for the replies to one batch.
const TIMEOUT: Duration = Duration::from_millis(250);
/// Time from a failed connection to the next one.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of requests in one batch.
const MAX_BATCH: usize = 512;

/// What the store knows of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredUse {
    /// It was not used before. It is now.
    First,
    /// It was used before.
    Repeated,
    /// There is no store, or it did not reply.
    Unknown,
}

/// The used grants of a data center.
#[derive(Debug)]
pub struct UsedGrants {
    uses: mpsc::UnboundedSender<GrantUse>,
    /// What the background service takes when it starts.
    ends: Mutex<Option<Ends>>,
    unknown: AtomicU64,
}

#[derive(Debug)]
struct Ends {
    config: ValkeyConfig,
    uses: mpsc::UnboundedReceiver<GrantUse>,
}

/// The use of a request's grant. Dropping it tells the call that the store does not reply.
#[derive(Debug)]
struct GrantUse {
    /// The data center that the grant is bound to. The edge sends a call that one refused to the next
    /// one, with the same request id: several may share a server.
    data_center: String,
    request: RequestId,
    reply: oneshot::Sender<StoredUse>,
}

/// The background service that writes to the store.
pub struct UsedGrantService(pub Arc<UsedGrants>);

impl UsedGrants {
    /// Returns the used grants in a store. The background service must be started.
    pub fn new(config: ValkeyConfig) -> Self {
        let (sender, uses) = mpsc::unbounded_channel();
        Self { uses: sender, ends: Mutex::new(Some(Ends { config, uses })), unknown: AtomicU64::new(0) }
    }

    /// Records the use of a request's grant at a data center. Returns what the store knew of it.
    pub fn record(
        self: &Arc<Self>,
        data_center: &str,
        request: RequestId,
    ) -> impl Future<Output = StoredUse> + use<> {
        let (reply, replied) = oneshot::channel();
        // Fails while the process exits.
        let _sent = self.uses.send(GrantUse { data_center: data_center.to_owned(), request, reply });
        let grants = Arc::clone(self);
        async move {
            let stored = replied.await.unwrap_or(StoredUse::Unknown);
            if stored == StoredUse::Unknown {
                grants.unknown.fetch_add(1, Ordering::Relaxed);
            }
            stored
        }
    }

    /// Returns the number of calls for which the store did not reply.
    pub fn unknown(&self) -> u64 {
        self.unknown.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl BackgroundService for UsedGrantService {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let Some(Ends { config, uses }) = self.0.ends.lock().take() else { return };
        let asked = config.clone();
        tokio::spawn(async move { probe::log_faults(&asked, Purpose::UsedGrants).await });
        tokio::select! {
            () = work(&config, uses) => {}
            // Continues during a graceful shutdown, until the process exits.
            () = async { while shutdown.changed().await.is_ok() {} } => {}
        }
    }
}

/// Stores uses until there are no more senders.
async fn work(config: &ValkeyConfig, mut uses: mpsc::UnboundedReceiver<GrantUse>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while let Some(mut connection) = connect(config, &mut uses).await {
        loop {
            if uses.recv_many(&mut batch, MAX_BATCH).await == 0 {
                return;
            }
            match timeout(TIMEOUT, store(config, &mut connection, &mut batch)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => break log::error!("used grants unavailable: error=\"{}\"", line(&error)),
                Err(_) => {
                    let ms = TIMEOUT.as_millis();
                    break log::error!("used grants unavailable: error=\"no reply within {ms} ms\"");
                }
            }
        }
        // Dropping the uses tells their calls that there is no reply. They go by this process's
        // memory.
        batch.clear();
    }
}

/// Connects to the server, and tries again until it succeeds. Meanwhile, uses get no reply. Returns
/// `None` if there are no more senders.
async fn connect(config: &ValkeyConfig, uses: &mut mpsc::UnboundedReceiver<GrantUse>) -> Option<Connection> {
    let (mut failures, mut logged) = (0_u64, None);
    loop {
        match drop_during(uses, open(config)).await? {
            Ok(connection) => {
                log::info!("used grants available: failed_connections={failures}");
                return Some(connection);
            }
            Err(error) => {
                // Of one cause the texts may differ each time.
                let cause = Some((error.kind(), error.code().map(str::to_owned)));
                if logged != cause {
                    log::error!("used grants unavailable: error=\"{}\"", line(&error));
                    logged = cause;
                }
            }
        }
        failures += 1;
        drop_during(uses, sleep(PAUSE)).await?;
    }
}

/// Opens a connection to a server that takes changes of this proxy. Without this, one that refuses each
/// would be connected to with each call, and said to be available.
async fn open(config: &ValkeyConfig) -> Result<Connection, RedisError> {
    let mut connection = Connection::open(config).await?;
    // Changes nothing: there is no such value.
    let set = redis::cmd("SET").arg(unused_key(config)).arg("").arg("XX").arg("PX").arg(1).take();
    for (reply, _) in connection.run(vec![set], None).await? {
        reply?;
    }
    Ok(connection)
}

/// Drops each use until `work` completes. Returns `None` if there are no more senders.
async fn drop_during<T>(
    uses: &mut mpsc::UnboundedReceiver<GrantUse>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return Some(done),
            unstored = uses.recv() => drop(unstored?),
        }
    }
}

/// Stores the uses of a batch, and replies to each.
///
/// # Errors
/// If the server does not reply.
async fn store(
    config: &ValkeyConfig,
    connection: &mut Connection,
    batch: &mut Vec<GrantUse>,
) -> Result<(), RedisError> {
    let set = batch.iter().map(|used| {
        let mut set = redis::cmd("SET");
        set.arg(format!("{}:grant:{}:{}", config.prefix, used.data_center, used.request)).arg(1);
        // `NX` makes the first of two proxies the only one, in one step. A read before a write
        // would let both pass.
        set.arg("NX").arg("PX").arg(2 * VALID_MS).take()
    });
    let replies = connection.run(set.collect(), None).await?;
    for (used, (reply, _)) in batch.drain(..).zip(replies) {
        let stored = match reply? {
            Value::Okay => StoredUse::First,
            Value::Nil => StoredUse::Repeated,
            _ => StoredUse::Unknown,
        };
        let _received = used.reply.send(stored);
    }
    Ok(())
}
