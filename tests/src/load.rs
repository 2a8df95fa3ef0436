//! Load on a proxy while a test reloads or upgrades it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use crate::{Client, Request, Response, Signer, until};

/// Workers that call tools without a pause until [`Load::assert_no_failure`].
pub struct Load {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
}

struct Shared {
    to: SocketAddr,
    secret: Mutex<String>,
    /// The number of calls of each worker.
    calls: Vec<AtomicUsize>,
    failed: Mutex<Vec<String>>,
    stopping: AtomicBool,
}

const WORKERS: usize = 8;
const TARGETS: [&str; 3] = ["/v1/qr/a", "/v1/pdf/a", "/v1/yt/a"];

impl Load {
    /// Starts GETs and POSTs of three tools. Every second worker keeps its connection open.
    pub fn start(to: SocketAddr, secret: &str) -> Self {
        let shared = Arc::new(Shared {
            to,
            secret: Mutex::new(secret.to_owned()),
            calls: std::iter::repeat_with(AtomicUsize::default).take(WORKERS).collect(),
            failed: Mutex::default(),
            stopping: AtomicBool::new(false),
        });
        let mut workers = JoinSet::new();
        for worker in 0..WORKERS {
            workers.spawn(work(Arc::clone(&shared), worker));
        }
        Self { shared, workers }
    }

    /// Signs with another secret. Waits until no call with a grant of the previous secret is in
    /// flight.
    pub async fn sign_with(&self, secret: &str) {
        secret.clone_into(&mut self.shared.secret.lock());
        self.progress().await;
    }

    /// Waits until every worker has made a call that starts after this.
    pub async fn progress(&self) {
        let calls = || self.shared.calls.iter().map(|calls| calls.load(Ordering::SeqCst));
        let before: Vec<_> = calls().collect();
        until("every worker has made a call", || async {
            calls().zip(&before).all(|(now, before)| now >= before + 2)
        })
        .await;
    }

    /// Stops the workers and asserts that no call failed. Returns the number of calls.
    pub async fn assert_no_failure(mut self) -> usize {
        self.shared.stopping.store(true, Ordering::SeqCst);
        while self.workers.join_next().await.is_some_and(|ended| ended.is_ok()) {}
        let calls = self.shared.calls.iter().map(|calls| calls.load(Ordering::SeqCst)).sum();
        let failed = self.shared.failed.lock();
        assert!(
            failed.is_empty(),
            "{} of {calls} calls failed: {:#?}",
            failed.len(),
            &failed[..failed.len().min(5)]
        );
        calls
    }
}

async fn work(shared: Arc<Shared>, worker: usize) {
    let mut kept = None;
    while !shared.stopping.load(Ordering::SeqCst) {
        let number = shared.calls[worker].load(Ordering::SeqCst);
        let target = TARGETS[number % TARGETS.len()];
        let signer = Signer { secret: shared.secret.lock().clone(), ..Signer::default() };
        let request = match number % 2 {
            0 => signer.granted(Request::new("GET", target)),
            _ => signer.granted(Request::new("POST", target)).json("{}"),
        };
        let outcome = call(&mut kept, shared.to, &request).await;
        if let Err(what) = outcome {
            shared.failed.lock().push(format!("{} {target}: {what}", request.method));
        }
        if worker.is_multiple_of(2) {
            kept = None;
        }
        shared.calls[worker].fetch_add(1, Ordering::SeqCst);
    }
}

/// Makes one call on the kept connection, or on a new one if none was kept.
async fn call(kept: &mut Option<Client>, to: SocketAddr, request: &Request) -> Result<(), String> {
    let mut client = match kept.take() {
        Some(client) => client,
        None => Client::try_connect(to).await.map_err(|error| error.to_string())?,
    };
    if !client.try_write(&request.bytes()).await {
        return Err("the connection is closed".to_owned());
    }
    let response = client.response(&request.method).await.ok_or("there is no response")?;
    let Response { status: 200, complete: true, .. } = response else { return Err(format!("{response:?}")) };
    if response.header("connection") != Some("close") {
        *kept = Some(client);
    }
    Ok(())
}
