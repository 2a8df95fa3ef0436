//! Graceful shutdown: exit signals, the delay before draining, and the wait until nothing is in
//! flight.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;
use pingora::server::{ShutdownSignal, ShutdownSignalWatch};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use config::ServerConfig;
use phases::state::State;
use transport::clock::millis;
use transport::drain::Phase;

/// The reason of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownReason {
    /// The process received `SIGTERM` or `SIGINT`.
    Signal,
    /// Another process has taken over the sockets.
    Upgraded,
}

impl ShutdownReason {
    /// Returns the maximum time for requests in flight to finish.
    const fn grace(self, server: &ServerConfig) -> Duration {
        match (self, server.upgrade_grace) {
            (Self::Upgraded, Some(grace)) => grace,
            (Self::Upgraded, None) | (Self::Signal, _) => server.grace,
        }
    }
}

/// Poll interval for the conditions of shutdown.
const POLL_EVERY: Duration = Duration::from_millis(10);

/// Waits until nothing is in flight, at most for the grace of the reason or until a second one arrives.
pub(crate) fn wait(state: &State, reason: ShutdownReason, next: &mpsc::Receiver<ShutdownReason>) {
    /// Time for Pingora to close its sockets and to count the last requests that it accepted.
    const SETTLE: Duration = Duration::from_millis(250);
    let begun = Instant::now();
    let deadline = || begun + reason.grace(&state.config.load().server);
    if reason == ShutdownReason::Upgraded {
        // Until the sockets are closed here, connections are still accepted, and counted a moment
        // later.
        if wait_until(|| state.drain.listeners() == 0, deadline(), next) {
            let settled = Instant::now() + SETTLE;
            // Each open connection may send one more request and is closed after its response.
            // Closing it earlier could drop a request that is already in transit.
            let is_idle = || state.drain.requests() == 0 && state.drain.connections() == 0;
            let _idle = wait_until(|| Instant::now() >= settled && is_idle(), deadline(), next);
        }
        state.drain.begin();
    }
    let settled = Instant::now() + SETTLE;
    // Not at once: a connection that was accepted a moment ago may not be counted yet.
    let is_done = || Instant::now() >= settled && state.drain.is_done();
    if !wait_until(is_done, deadline().max(settled), next) {
        log::warn!("requests aborted at exit: requests_in_flight={}", state.drain.requests());
    }
}

/// Polls a condition. Returns false if the deadline passes or another shutdown reason arrives
/// first.
fn wait_until(is_done: impl Fn() -> bool, deadline: Instant, next: &mpsc::Receiver<ShutdownReason>) -> bool {
    while !is_done() {
        if Instant::now() >= deadline || next.recv_timeout(POLL_EVERY).is_ok() {
            return false;
        }
    }
    true
}

/// The signals that end the process.
pub(crate) struct ExitSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl ExitSignals {
    /// Installs the handlers. From now on a signal is queued. Without this, one that arrives during
    /// the start would kill the process, and lose what it has counted.
    pub(crate) fn catch() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            Ok(Self {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
            })
        })
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        tokio::select! { _ = self.terminate.recv() => (), _ = self.interrupt.recv() => () }
    }
}

/// Pingora's view of shutdown: starts the drain at the first signal and reports each signal as a
/// reason.
pub(crate) struct SignalWatch {
    state: Arc<State>,
    reasons: mpsc::Sender<ShutdownReason>,
    signals: Mutex<Option<ExitSignals>>,
}

impl SignalWatch {
    /// Returns a watch that sends a reason to `reasons` for each signal.
    pub(crate) const fn new(
        state: Arc<State>,
        reasons: mpsc::Sender<ShutdownReason>,
        signals: ExitSignals,
    ) -> Self {
        Self { state, reasons, signals: Mutex::new(Some(signals)) }
    }
}

#[async_trait]
impl ShutdownSignalWatch for SignalWatch {
    /// Returns when Pingora must close its sockets: the process drains, or another one has taken
    /// over.
    async fn recv(&self) -> ShutdownSignal {
        // Pingora calls this once.
        if let Some(signals) = self.signals.lock().take() {
            tokio::spawn(report_signals(Arc::clone(&self.state), self.reasons.clone(), signals));
        }
        let mut phase = self.state.drain.phase();
        // This cannot fail, because `state` holds the sender.
        let _begun = phase.wait_for(|phase| *phase >= Phase::Draining).await;
        ShutdownSignal::GracefulTerminate
    }
}

async fn report_signals(state: Arc<State>, reasons: mpsc::Sender<ShutdownReason>, mut signals: ExitSignals) {
    let report = || {
        // A failed send means that the process is exiting already.
        let _sent = reasons.send(ShutdownReason::Signal);
    };
    signals.next().await;
    let delay = delay_drain(&state, signals.next()).await;
    // Another process has taken over, which ends this one by itself. Only a further signal is meant
    // for it.
    if delay == DelayEnd::Superseded {
        signals.next().await;
    }
    begin_drain(&state);
    report();
    // The second signal is a separate reason, which ends the wait for calls in flight.
    if delay == DelayEnd::Interrupted {
        report();
    }
    loop {
        signals.next().await;
        report();
    }
}

/// The end of the delay between the first signal and draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelayEnd {
    /// `server.drain_delay` passed, or there was nothing to wait for.
    Elapsed,
    /// Another signal arrived.
    Interrupted,
    /// Another process took over the sockets.
    Superseded,
}

/// Keeps serving for `server.drain_delay` while `/readyz` fails, so that load balancers stop
/// sending connections first.
async fn delay_drain(state: &State, next_signal: impl Future<Output = ()>) -> DelayEnd {
    let delay = state.config.load().server.drain_delay;
    if delay.is_zero() || state.drain.has_begun() {
        return DelayEnd::Elapsed;
    }
    state.drain.delay();
    log::info!("drain delayed: drain_delay_ms={}", millis(delay));
    let mut phase = state.drain.phase();
    tokio::select! {
        () = sleep(delay) => DelayEnd::Elapsed,
        () = next_signal => DelayEnd::Interrupted,
        _ = phase.wait_for(|phase| *phase >= Phase::Draining) => DelayEnd::Superseded,
    }
}

fn begin_drain(state: &State) {
    let grace = state.config.load().server.grace;
    log::info!(
        "draining: connections={} requests_in_flight={} grace_ms={}",
        state.drain.connections(),
        state.drain.requests(),
        millis(grace)
    );
    state.drain.begin();
}
