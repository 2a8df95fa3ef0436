//! Signals that end a run early.

use tokio::signal::unix::{SignalKind, signal};

use crate::driver::StopFlag;

/// Ends the run early on the first SIGINT or SIGTERM, with a report. The second one exits
/// immediately.
pub(super) async fn stop_on_signal(stop: StopFlag) {
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return };
    let mut next = async || {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    };
    next().await;
    stop.set();
    // The run may wait for calls in flight. Whoever asks twice does not want its report.
    next().await;
    std::process::exit(130);
}
