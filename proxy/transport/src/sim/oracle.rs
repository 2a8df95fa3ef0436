//! What must be true of each world, as seen from outside of the proxy.

use std::time::Duration;

use tokio::time::Instant;

use super::parser::Got;
use super::script::{replied_body, sent_body};
use super::state::{LogLine, Seen};
use super::world::{Body, BodyFraming, Leave, Own, Pace, Protocol, World};

/// What came out of a world.
pub(super) struct Outcome {
    pub(super) seen: Seen,
    /// The responses that the client has read, in the order of their calls.
    pub(super) read: Vec<Got>,
    /// The responses that the proxy has written, in the order of their calls. `None` over HTTP/2.
    pub(super) written: Option<Vec<Got>>,
    pub(super) elapsed: Duration,
    /// Time from the silence of a party to the end of the connection.
    pub(super) silence: Option<Duration>,
    /// Time from the client's end of the connection to the proxy's.
    pub(super) after_left: Option<Duration>,
    /// Whether the connection has ended, and nothing of it is counted as in flight.
    pub(super) has_ended: bool,
}

/// Returns what is wrong.
pub(super) fn violations(world: &World, outcome: &Outcome) -> Vec<String> {
    let mut found = outcome.seen.violations.clone();
    if !outcome.has_ended {
        found.push(format!("the connection has not ended after {:?}", outcome.elapsed));
    }
    check_requests(world, outcome, &mut found);
    for responses in [Some(&outcome.read), outcome.written.as_ref()].into_iter().flatten() {
        for (place, got) in responses.iter().enumerate() {
            if let Some(id) = got.id.filter(|id| *id != place) {
                found.push(format!("call {place} got a response to call {id}"));
            }
            check_response(world, outcome, got, &mut found);
        }
    }
    check_log(world, outcome, &mut found);
    check_connections(outcome, &mut found);
    check_time(world, outcome, &mut found);
    check_left(world, outcome, &mut found);
    if world.is_fair {
        check_fair(world, outcome, &mut found);
    }
    found
}

/// What upstreams have received is what the client has sent.
fn check_requests(world: &World, outcome: &Outcome, found: &mut Vec<String>) {
    for request in &outcome.seen.requests {
        let call = &world.calls[request.id];
        let sent = sent_body(request.id, call.body.length);
        if !sent.starts_with(&request.body) {
            found.push(format!("an upstream got other bytes than call {} has sent", request.id));
        } else if request.is_complete && request.body.len() != sent.len() {
            let (got, sent) = (request.body.len(), sent.len());
            found.push(format!("call {} is complete with {got} of {sent} bytes", request.id));
        }
        let count = outcome.seen.requests.iter().filter(|other| other.id == request.id).count();
        if call.is_post && count > 1 {
            found.push(format!("the POST {} was sent {count} times", request.id));
        }
    }
}

/// A response is the one that an upstream has sent to this call, and complete only if that is.
fn check_response(world: &World, outcome: &Outcome, got: &Got, found: &mut Vec<String>) {
    let (Some(id), Some(number)) = (got.id, got.reply) else { return };
    let Some(reply) = world.calls.get(id).and_then(|call| call.replies.get(number)) else {
        return found.push(format!("there is no reply {number} to call {id}"));
    };
    let expected = replied_body(id, number, reply.body.length);
    if got.status != reply.status {
        found.push(format!("call {id} got status {} and not {}", got.status, reply.status));
    }
    if !expected.starts_with(&got.body) {
        let same = expected.iter().zip(&got.body).take_while(|(one, other)| one == other).count();
        found.push(format!("call {id} got other bytes after {same} of {}", expected.len()));
    }
    // The end of its connection ends such a reply, even if the upstream meant to send more.
    if reply.body.framing == BodyFraming::UntilClose && matches!(reply.leaves_after, Some((_, Leave::Close)))
    {
        return;
    }
    let is_whole = outcome.seen.whole.contains(&(id, number));
    if got.is_complete && got.body.len() < expected.len() {
        found.push(format!("call {id} is complete with {} of {} bytes", got.body.len(), expected.len()));
    }
    if got.is_complete && !is_whole {
        found.push(format!("call {id} is complete although its response was broken"));
    }
}

/// The log says what the client has.
fn check_log(world: &World, outcome: &Outcome, found: &mut Vec<String>) {
    let of = |id: usize| outcome.seen.log.iter().filter(move |line| line.id == Some(id));
    for (id, call) in world.calls.iter().enumerate() {
        if of(id).count() > 1 {
            found.push(format!("call {id} is logged {} times", of(id).count()));
        }
        let Some(LogLine { status, sent, received, aborted, .. }) = of(id).next().copied() else { continue };
        if received > call.body.length as u64 {
            found.push(format!("call {id} is logged with {received} bytes of {}", call.body.length));
        }
        let got = outcome.written.as_ref().map(|written| written.get(id));
        match got {
            Some(Some(got)) => {
                // A refusal whose client leaves is logged without a status.
                if got.status != status && (got.is_complete || status != 0) {
                    found.push(format!("call {id} is logged with status {status} and not {}", got.status));
                }
                // What TLS has taken and not sent yet is lost with the connection.
                let unsent = if got.is_complete { 0 } else { world.client_mood.held };
                let is_true = (got.body.len()..=got.body.len() + unsent).contains(&sent);
                if !is_true && got.reply.is_some() {
                    let has = got.body.len();
                    found.push(format!("call {id} is logged with {sent} bytes, and {has} were sent"));
                }
                if got.is_complete && got.reply.is_some() && aborted.is_some() {
                    found.push(format!("call {id} is complete and logged as aborted"));
                }
                if !got.is_complete && got.reply.is_some() && aborted.is_none() {
                    found.push(format!("call {id} is not complete and not logged as aborted"));
                }
            }
            Some(None) if sent > world.client_mood.held => {
                found.push(format!("call {id} is logged with {sent} bytes, and none was sent"));
            }
            Some(None) | None => {}
        }
    }
    for id in outcome.written.iter().flatten().filter_map(|got| got.id) {
        if of(id).count() == 0 {
            found.push(format!("call {id} is not logged"));
        }
    }
}

/// A connection that is kept for another request is between two requests.
fn check_connections(outcome: &Outcome, found: &mut Vec<String>) {
    for upstream in &outcome.seen.upstreams {
        if outcome.has_ended && upstream.tape.is_open() && !*upstream.is_at_boundary.lock() {
            found.push("a connection is kept in the middle of a request".to_owned());
        }
    }
}

/// Nobody who is silent holds a connection for long.
fn check_time(world: &World, outcome: &Outcome, found: &mut Vec<String>) {
    let longest = Duration::from_secs(300 + 120 * world.calls.len() as u64) + scripted(world);
    if let Some(silence) = outcome.silence.filter(|silence| *silence > longest) {
        found.push(format!("a silent party was not cut for {silence:?}"));
    }
}

/// A client that has left is noticed soon, whatever its call waits for and has sent.
fn check_left(world: &World, outcome: &Outcome, found: &mut Vec<String>) {
    if world.must_finish {
        return;
    }
    let lines = |(stream, left): (Option<usize>, Instant)| {
        let of_stream = outcome.seen.log.iter().filter(move |line| stream.is_none() || line.id == stream);
        of_stream.map(move |line| line.at.saturating_duration_since(left))
    };
    let ends = outcome.seen.left.iter().copied().flat_map(lines).chain(outcome.after_left);
    if let Some(late) = ends.max().filter(|late| *late > Duration::from_secs(2)) {
        found.push(format!("a client that had left was noticed after {late:?}"));
    }
}

/// If nothing goes wrong, all calls succeed without waiting for a timeout.
fn check_fair(world: &World, outcome: &Outcome, found: &mut Vec<String>) {
    if !outcome.seen.limits.is_empty() {
        found.push(format!("limits were exceeded: {:?}", outcome.seen.limits));
    }
    if outcome.elapsed > scripted(world) + Duration::from_secs(15) {
        found.push(format!(
            "a task was not woken: it took {:?} and not {:?}",
            outcome.elapsed,
            scripted(world)
        ));
    }
    for (id, call) in world.calls.iter().enumerate() {
        let Some(got) = outcome.read.get(id).filter(|got| got.is_complete) else {
            // A connection that the proxy has closed serves no more requests.
            let may_end = outcome.read.get(id.wrapping_sub(1)).is_some_and(|before| before.close)
                && world.protocol == Protocol::Http1;
            if !may_end {
                found.push(format!("call {id} got no whole response"));
            }
            return;
        };
        let expected = match call.own {
            Some(Own::Read { max }) if call.body.length > max => 400,
            Some(_) => 200,
            None => call.fair_reply().status,
        };
        if got.status != expected {
            found.push(format!("call {id} got status {} and not {expected}", got.status));
        }
        if call.own.is_none() && got.body.len() != call.fair_reply().body.length {
            found.push(format!("call {id} got {} bytes", got.body.len()));
        }
        if call.own.is_none() && got.reply.is_none() {
            found.push(format!("call {id} got a response of the product"));
        }
    }
}

/// Returns the time that the scripts take.
fn scripted(world: &World) -> Duration {
    let of = |pace: Pace, body: Body| pace.pause * (body.length as u64 * 2 / pace.piece as u64 + 20);
    let calls = world.calls.iter().map(|call| {
        let replies = call.replies.iter().map(|reply| {
            reply.delay
                + of(reply.reads, call.body)
                + of(reply.writes, reply.body)
                + of(world.client.reads, reply.body)
        });
        // A client that waits for `100 Continue`.
        1_000 + call.wait + call.queue + of(world.client.writes, call.body) + replies.sum::<u64>()
    });
    Duration::from_millis(calls.sum())
}
