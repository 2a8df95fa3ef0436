//! Forwards requests over HTTP/1.1: the hot path. Pingora establishes the connections. Its own
//! forwarding passes each message through two channels and two header maps, and spawns a task for
//! every idle connection, which costs more than everything else of a call.
//!
//! Why: docs/decisions/proxy.md, "The proxy has its own relay".

pub(crate) mod buffer;
pub(crate) mod connect;
pub(crate) mod decision;
pub(crate) mod dial;
pub(crate) mod exchange;
mod forward;
pub(crate) mod head;
pub(crate) mod outcome;
pub(crate) mod queue;
pub(crate) mod request;
pub(crate) mod respond;
pub(crate) mod retry;
pub(crate) mod write_buf;

use self::connect::UpstreamConnector;
use self::decision::{Decision, Forwarded, decide, settle};
use self::forward::{Forwarder, OutgoingRequest};
use self::outcome::Next;
use self::request::new_record;
use crate::client::ClientStream;
use crate::connect::ConnectionLimits;
use crate::drain::WorkKind;
use crate::hooks::Phases;

/// The relay: forwards requests to upstreams.
pub(crate) struct Relay {
    connector: UpstreamConnector,
}

impl Relay {
    /// Returns a relay whose connections to upstreams keep to these limits.
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self { connector: UpstreamConnector::new(limits) }
    }

    /// Serves the request whose head was read. `is_last` means that the connection must be closed
    /// after it.
    pub(crate) async fn serve<P: Phases>(
        &self,
        phases: &P,
        client: &mut ClientStream,
        is_last: bool,
    ) -> Next {
        let in_flight = phases.drain().track(WorkKind::Request);
        let mut record = new_record(phases, client);
        client.begin_body();
        let received = client.take_head();
        let decision = decide(phases, client, &received, &mut record, is_last, |call, record, raw, body| {
            head::begin_request(phases, call, record, raw, body)
        })
        .await;
        // The rest can take long, and does not need the head.
        drop(received);
        let (outcome, call) = match decision {
            Decision::Forward(Forwarded { mut call, request, head, is_complete }) => {
                // Without a valid grant or key, 60 HTTP/2 connections held 2 GiB.
                client.accept_request();
                client.release_head();
                let request = OutgoingRequest { framing: request, head: &head, is_complete };
                let mut forwarder = Forwarder {
                    connector: &self.connector,
                    phases,
                    client,
                    call: &mut call,
                    record: &mut record,
                };
                let outcome = forwarder.forward(request).await;
                (outcome, Some(call))
            }
            Decision::Settle(settlement) => match settle(phases, client, settlement).await {
                Ok(settled) => settled,
                Err(next) => return next,
            },
        };
        (record.status, record.sent) = (outcome.status, outcome.sent);
        phases.logging(call.as_ref(), &record);
        // After the log line: a process that shuts down exits once no request is in flight.
        drop(in_flight);
        outcome.next
    }
}
