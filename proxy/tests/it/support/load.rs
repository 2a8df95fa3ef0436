//! Calls without a pause, over connections that are kept and over new ones, while something is done to the proxy.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use parking_lot::Mutex;
use tokio::task::JoinSet;

use super::{Answer, Client, Request, Signer, until};

/// Calls under way until [`Load::end`].
pub(crate) struct Load {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
}

struct Shared {
    to: SocketAddr,
    secret: Mutex<String>,
    /// Calls that each worker has made.
    made: Vec<AtomicUsize>,
    failed: Mutex<Vec<String>>,
    ending: AtomicBool,
}

const WORKERS: usize = 8;
const TARGETS: [&str; 3] = ["/v1/qr/a", "/v1/pdf/a", "/v1/yt/a"];

impl Load {
    /// GETs and POSTs of three tools; every second worker keeps its connection.
    pub(crate) fn start(to: SocketAddr, secret: &str) -> Self {
        let shared = Arc::new(Shared {
            to,
            secret: Mutex::new(secret.to_owned()),
            made: std::iter::repeat_with(AtomicUsize::default).take(WORKERS).collect(),
            failed: Mutex::default(),
            ending: AtomicBool::new(false),
        });
        let mut workers = JoinSet::new();
        for worker in 0..WORKERS {
            workers.spawn(work(Arc::clone(&shared), worker));
        }
        Self { shared, workers }
    }

    /// Signs with another secret from now on, and waits until no call that was signed with the one before is under way.
    pub(crate) async fn sign_with(&self, secret: &str) {
        secret.clone_into(&mut self.shared.secret.lock());
        self.goes_on().await;
    }

    /// Waits until every worker has made a call that begins after this.
    pub(crate) async fn goes_on(&self) {
        let made = || self.shared.made.iter().map(|made| made.load(Ordering::SeqCst));
        let before: Vec<_> = made().collect();
        until("every worker has gone on", || async {
            made().zip(&before).all(|(now, before)| now >= before + 2)
        })
        .await;
    }

    /// Ends the calls, of which none may have failed: how many were made.
    pub(crate) async fn lost_nothing(mut self) -> usize {
        self.shared.ending.store(true, Ordering::SeqCst);
        while self.workers.join_next().await.is_some_and(|ended| ended.is_ok()) {}
        let made = self.shared.made.iter().map(|made| made.load(Ordering::SeqCst)).sum();
        let failed = self.shared.failed.lock();
        assert!(
            failed.is_empty(),
            "{} of {made} calls failed: {:#?}",
            failed.len(),
            &failed[..failed.len().min(5)]
        );
        made
    }
}

async fn work(shared: Arc<Shared>, worker: usize) {
    let mut kept = None;
    while !shared.ending.load(Ordering::SeqCst) {
        let number = shared.made[worker].load(Ordering::SeqCst);
        let target = TARGETS[number % TARGETS.len()];
        let signer = Signer { secret: shared.secret.lock().clone(), ..Signer::default() };
        let request = match number % 2 {
            0 => signer.granted(Request::new("GET", target)),
            _ => signer.granted(Request::new("POST", target)).json("{}"),
        };
        let outcome = call(&mut kept, shared.to, &request).await;
        if let Err(what) = outcome {
            shared.failed.lock().push(format!("{} {target}: {what}", request.method()));
        }
        if worker.is_multiple_of(2) {
            kept = None;
        }
        shared.made[worker].fetch_add(1, Ordering::SeqCst);
    }
}

/// One call, over the connection that was kept if there is one.
async fn call(kept: &mut Option<Client>, to: SocketAddr, request: &Request) -> Result<(), String> {
    let mut client = match kept.take() {
        Some(client) => client,
        None => Client::try_connect(to).await.map_err(|error| error.to_string())?,
    };
    if !client.write_some(&request.bytes()).await {
        return Err("the connection is closed".to_owned());
    }
    let answer = client.answer(request.method()).await.ok_or("there is no answer")?;
    let Answer { status: 200, complete: true, .. } = answer else { return Err(format!("{answer:?}")) };
    if answer.header("connection") != Some("close") {
        *kept = Some(client);
    }
    Ok(())
}
