//! Limits on connections.

use std::net::IpAddr;

use shared::problem::{Code, Problem};

use crate::{
    limits::{AddressPermit, RefusalPermit},
    observe::metrics::LimitKind,
    state::State,
};
use transport::hooks::ConnectionAction;

/// The slot that an open connection holds.
#[derive(Debug)]
#[expect(dead_code, reason = "a permit is held to be dropped")]
pub(crate) enum ConnectionPermit {
    /// One of its address's connections. `None` if the address is unknown.
    Connection(Option<AddressPermit>),
    /// One of the connections that receive a refusal.
    Refusal(RefusalPermit),
}

/// Decides whether a connection is served.
pub(super) fn connection_filter(
    state: &State,
    max_connections: usize,
    address: Option<IpAddr>,
) -> ConnectionAction<ConnectionPermit> {
    let clients = &state.config.load().clients;
    if state.drain.connections() > clients.connections.min(max_connections) {
        state.metrics.record_limit(LimitKind::Connections);
        return ConnectionAction::Close;
    }
    let Some(address) = address else {
        return ConnectionAction::Accept(ConnectionPermit::Connection(None));
    };
    if let Some(permit) = state.limits.try_connect(address, clients) {
        return ConnectionAction::Accept(ConnectionPermit::Connection(Some(permit)));
    }
    state.metrics.record_limit(LimitKind::ConnectionsPerAddress);
    match state.limits.try_refuse() {
        Some(permit) => {
            let problem = Problem::new(Code::TooManyRequests, "too many connections from this address");
            ConnectionAction::Respond(ConnectionPermit::Refusal(permit), problem.retry_after(1))
        }
        None => ConnectionAction::Close,
    }
}
