//! Which connections are served.

use std::net::IpAddr;

use shared::problem::{Code, Problem};

use crate::{
    limits::{Counted, TurnedAway},
    observe::metrics::Bound,
    state::State,
};
use transport::hooks::ConnectionAction;

/// What an open connection holds.
#[derive(Debug)]
pub enum ConnectionPermit {
    /// Its slot among the connections of its address; `None` if that is not known.
    Connection(Option<Counted>),
    /// Its slot among those that are told why they are closed.
    Refusal(TurnedAway),
}

/// Decides whether a connection is served.
pub(super) fn connection_filter(
    state: &State,
    most: usize,
    address: Option<IpAddr>,
) -> ConnectionAction<ConnectionPermit> {
    let clients = &state.config.load().clients;
    if state.drain.connections() > clients.connections.min(most) {
        state.metrics.hit(Bound::Connections);
        return ConnectionAction::Close;
    }
    let Some(address) = address else {
        return ConnectionAction::Accept(ConnectionPermit::Connection(None));
    };
    if let Some(counted) = state.guards.connect(address, clients) {
        return ConnectionAction::Accept(ConnectionPermit::Connection(Some(counted)));
    }
    state.metrics.hit(Bound::ConnectionsPerAddress);
    match state.guards.turn_away() {
        Some(permit) => {
            let problem = Problem::new(Code::TooManyRequests, "too many connections from this address");
            ConnectionAction::Respond(ConnectionPermit::Refusal(permit), problem.retry_after(1))
        }
        None => ConnectionAction::Close,
    }
}
