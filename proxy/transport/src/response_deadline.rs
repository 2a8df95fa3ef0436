//! The deadline of an upstream's response.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::client::ClientStream;
use crate::connect::ConnectTarget;
use crate::failure_watch::FailureListener;
use crate::timer::{Countdown, Pace};

/// The timeout of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseTimeout {
    /// The response did not start in time.
    Response,
    /// The response of this attempt did not start in time. The call can be sent to another
    /// upstream.
    Attempt,
    /// The response paused for too long.
    Pause,
    /// Probes of the upstream time out.
    Probe,
}

/// The time by which an upstream must make progress. Either this deadline or that of the client is
/// armed. Both use the timer of the client's connection, so that a call creates none.
#[derive(Debug)]
pub(crate) struct ResponseDeadline {
    /// The timeout that is armed.
    armed: Option<ResponseTimeout>,
    countdown: Countdown,
    /// The upstream that is awaited.
    upstream: Option<FailureListener>,
}

impl ResponseDeadline {
    /// Returns a deadline that is not armed.
    pub(crate) fn new() -> Self {
        Self { armed: None, countdown: Countdown::of(Duration::ZERO), upstream: None }
    }

    /// Sets the upstream of an attempt. The deadline also expires when its probes time out.
    pub(crate) fn watch(&mut self, target: &ConnectTarget) {
        self.upstream = Some(target.listen());
    }

    /// Arms the deadline for the start of the response.
    pub(crate) fn arm(&mut self, client: &mut ClientStream, timeout: ResponseTimeout, time: Duration) {
        client.disarm();
        (self.armed, self.countdown) = (Some(timeout), Countdown::of(time));
    }

    /// Arms the deadline for the next piece of the response. A body that is still being uploaded
    /// extends it at the minimum rate of uploads, because the upstream can be reading it.
    pub(crate) fn arm_pause(&mut self, client: &mut ClientStream, pause: Duration) {
        client.disarm();
        let pace = Pace { pause, rate: client.min_upload_rate() };
        (self.armed, self.countdown) = (Some(ResponseTimeout::Pause), Countdown::new(pace, 0));
    }

    /// Disarms the deadline while the client is awaited.
    pub(crate) const fn disarm(&mut self) {
        self.armed = None;
    }

    /// Records that a piece of the response was sent to the client.
    pub(crate) fn record_sent(&mut self) {
        if self.armed == Some(ResponseTimeout::Pause) {
            self.countdown.restart();
        }
    }

    /// Records that bytes of the request's body were received.
    pub(crate) fn record_received(&mut self, bytes: usize) {
        if self.armed == Some(ResponseTimeout::Pause) {
            self.countdown.earn(bytes);
        }
    }

    /// Completes once when the deadline expires. It is not armed then.
    pub(crate) fn poll(
        &mut self,
        client: &mut ClientStream,
        context: &mut Context<'_>,
    ) -> Poll<ResponseTimeout> {
        let Some(timeout) = self.armed else { return Poll::Pending };
        if self.upstream.as_mut().is_some_and(|upstream| upstream.poll(context).is_ready()) {
            // Once: the listener stays ready, and a second look would end what follows as well.
            (self.armed, self.upstream) = (None, None);
            return Poll::Ready(ResponseTimeout::Probe);
        }
        ready!(client.timer().poll(&mut self.countdown, context));
        self.armed = None;
        Poll::Ready(timeout)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::duplex;
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::limits::ClientOptions;

    const PAUSE: Duration = Duration::from_secs(60);

    fn client() -> ClientStream {
        let options = ClientOptions {
            header_timeout: Duration::from_secs(20),
            idle_timeout: PAUSE,
            min_upload_rate: 1_000,
            min_download_rate: 1_000,
            requests_per_connection: 1,
            streams_per_connection: 1,
            h2c: false,
            max_body: 1 << 20,
        };
        ClientStream::new(Box::new(duplex(64).1), false, options)
    }

    async fn expires_within(
        deadline: &mut ResponseDeadline,
        client: &mut ClientStream,
        seconds: u64,
    ) -> Option<ResponseTimeout> {
        let expired = poll_fn(|context| deadline.poll(client, context));
        timeout(Duration::from_secs(seconds), expired).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_expires_once_and_replaces_the_client_deadline() {
        let (mut deadline, mut client) = (ResponseDeadline::new(), client());
        client.arm_upload();
        assert!(timeout(PAUSE / 2, poll_fn(|context| client.poll_timeout(context))).await.is_err());
        deadline.arm(&mut client, ResponseTimeout::Attempt, Duration::from_secs(35));
        let armed_at = Instant::now();
        let expired = expires_within(&mut deadline, &mut client, 100).await;
        assert_eq!((expired, armed_at.elapsed().as_secs()), (Some(ResponseTimeout::Attempt), 35));
        assert_eq!(expires_within(&mut deadline, &mut client, 100).await, None);
        assert!(timeout(PAUSE * 2, poll_fn(|context| client.poll_timeout(context))).await.is_err());
        assert_eq!(client.timeout(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn pause_is_restarted_by_the_response_and_extended_by_the_upload() {
        let (mut deadline, mut client) = (ResponseDeadline::new(), client());
        deadline.arm_pause(&mut client, PAUSE);
        assert_eq!(expires_within(&mut deadline, &mut client, 59).await, None);
        deadline.record_sent();
        assert_eq!(expires_within(&mut deadline, &mut client, 59).await, None);
        deadline.record_received(10_000);
        assert_eq!(expires_within(&mut deadline, &mut client, 10).await, None);
        assert_eq!(expires_within(&mut deadline, &mut client, 2).await, Some(ResponseTimeout::Pause));
    }

    #[tokio::test(start_paused = true)]
    async fn start_of_the_response_is_not_extended_by_the_upload() {
        let (mut deadline, mut client) = (ResponseDeadline::new(), client());
        deadline.arm(&mut client, ResponseTimeout::Response, PAUSE);
        assert_eq!(expires_within(&mut deadline, &mut client, 59).await, None);
        deadline.record_sent();
        deadline.record_received(1 << 20);
        assert_eq!(expires_within(&mut deadline, &mut client, 2).await, Some(ResponseTimeout::Response));
    }
}
