//! One request to a meter for which a call waits: its copies, and responses that come late.
//!
//! Why: docs/decisions/limits.md, "A request says within which time its call may be let through".

use std::sync::Arc;
use std::time::{Duration, Instant};

use shared::key::{KeyRecord, VerifiedKey};
use shared::lease_cache::{Admission, CallWait, Timeouts, WaitEvent, WaitFailure, WaitStep};
use shared::meter::{Message, MeterRequest, MeterResponse, Reply};
use shared::problem::codes;
use shared::time::UnixMillis;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::queue::MeterError;
use super::{KeyDecision, Meters, WaitingCall};

/// A copy of the request with the meter's response to it.
type Arrival = Result<(MeterRequest, MeterResponse), MeterError>;

struct Exchange {
    meters: Arc<Meters>,
    key: VerifiedKey,
    request: MeterRequest,
    timeouts: Timeouts,
    sent: UnixMillis,
    wait: CallWait,
    copies: JoinSet<Arrival>,
}

/// Asks the meter and passes the decision to the call. Then waits for what is still in flight: a
/// lease or a verdict serves later calls.
pub(super) async fn run(meters: Arc<Meters>, call: WaitingCall) {
    let WaitingCall { key, tool, request, timeouts, sent, decided } = call;
    let wait = CallWait::new(timeouts);
    let mut exchange = Exchange { meters, key, request, timeouts, sent, wait, copies: JoinSet::new() };
    let admission = exchange.decide().await;
    let decision = exchange.meters.with(&key, |cache, _| KeyDecision::new(cache, &key, admission));
    if let Err(KeyDecision { admission: Admission::Allow { charge, .. }, .. }) = decided.send(decision) {
        // The client left meanwhile, before any of its call was sent on.
        let status = codes::BODY_MALFORMED.status();
        exchange.meters.with(&key, |cache, now| cache.record_outcome(tool, status, true, charge, now));
    }
    while let Some(arrival) = exchange.copies.join_next().await {
        if let Ok(Ok((request, response))) = arrival {
            let _decided_before = exchange.apply(&request, &response);
        }
    }
}

impl Exchange {
    /// Sends the request and waits for the decision. It is sent again when its [`CallWait`] says so.
    /// That is safe because a meter counts a repeated request once.
    async fn decide(&mut self) -> Admission {
        self.send(self.request.clone());
        loop {
            // If the thread has stalled, nothing is left: the timer fires at once, and the wait
            // sees how late it is. A response is polled before the timer.
            let rest = Duration::from_millis(self.wait.due_ms().saturating_sub(self.elapsed_ms()));
            let event = match timeout(rest, self.copies.join_next()).await {
                Ok(Some(Ok(Ok((request, response))))) => match self.apply(&request, &response) {
                    Some(admission) => return admission,
                    // Its lease and its verdict were applied. Only this call is still undecided.
                    None => WaitEvent::LateResponse,
                },
                Ok(Some(Ok(Err(_)) | Err(_))) => WaitEvent::Error { is_final: false },
                Ok(None) => WaitEvent::NothingInFlight,
                Err(_) if self.is_in_turn() => WaitEvent::StillOnTheWay,
                Err(_) => WaitEvent::Timer,
            };
            match self.wait.next(event, self.elapsed_ms()) {
                WaitStep::Continue => {}
                WaitStep::SendAgain { admit_within_ms } => self.retry(admit_within_ms),
                WaitStep::GiveUp(reason) => return self.give_up(reason),
            }
        }
    }

    /// Returns true if the authority replies, so that the request waits for its turn there.
    fn is_in_turn(&self) -> bool {
        let silence = Duration::from_millis(self.timeouts.total_ms);
        self.meters.queue.is_heard_within(silence, &self.key.id)
    }

    fn elapsed_ms(&self) -> u64 {
        self.meters.now().since(self.sent)
    }

    fn retry(&mut self, admit_within_ms: u64) {
        let request = &self.request;
        let again = self.meters.with(&self.key, |cache, _| cache.retry(request, admit_within_ms));
        self.send(again);
    }

    fn send(&mut self, request: MeterRequest) {
        let meters = Arc::clone(&self.meters);
        let now = Instant::now();
        let since = now.checked_sub(Duration::from_millis(self.elapsed_ms())).unwrap_or(now);
        self.copies.spawn(async move { meters.ask(&request, since).await });
    }

    /// Applies a response to the key's cache. Returns the decision, or `None` if it decides nothing.
    fn apply(&self, request: &MeterRequest, response: &MeterResponse) -> Option<Admission> {
        // For every copy `sent` is the moment of the first one, so that a lease ends too early here
        // rather than too late.
        self.meters.with(&self.key, |cache, now| cache.handle_response(request, self.sent, response, now))
    }

    fn give_up(&self, reason: WaitFailure) -> Admission {
        let request = &self.request;
        let decided = self.meters.with(&self.key, |cache, now| match reason.is_outage() {
            true => cache.handle_failure(request, now),
            false => cache.give_up(request, now),
        });
        // A call is decided once, and this one was not before.
        decided.unwrap_or(Admission::Unavailable { retry_ms: 0 })
    }
}

impl Meters {
    /// Sends a request to the meter of a key, for a call that waits since then. Returns the response with the
    /// request that it is to.
    async fn ask(
        &self,
        request: &MeterRequest,
        since: Instant,
    ) -> Result<(MeterRequest, MeterResponse), MeterError> {
        match self.queue.send(request.key.id, Message::Ask(self.with_record(request)), since).await? {
            (Message::Ask(request), Reply::Ask(response)) => Ok((request, response)),
            _ => Err(MeterError::Unexpected),
        }
    }

    /// Adds the record that is known here, for a meter that has none or has lost its state.
    pub(super) fn with_record(&self, request: &MeterRequest) -> MeterRequest {
        let record = self.with(&request.key, |cache, _| cache.record().cloned());
        // There is no other store that could say more, so the text of the key is the record.
        let record = record.map(|record| KeyRecord { version: record.version.max(1), ..record });
        MeterRequest { record, ..request.clone() }
    }

    /// Sends a request for which no call waits, once, and applies the response.
    pub(super) async fn report(&self, key: &VerifiedKey, request: MeterRequest) {
        let sent = self.now();
        match self.ask(&request, Instant::now()).await {
            Ok((_, response)) => {
                self.with(key, |cache, now| cache.handle_response(&request, sent, &response, now));
            }
            Err(_logged) => {
                self.with(key, |cache, now| cache.handle_failure(&request, now));
            }
        }
    }
}
