//! Limits on connections.

use std::net::IpAddr;

use shared::problem::{Problem, codes};

use crate::state::State;
use transport::clock::Monotonic;
use transport::hooks::{ConnectionAction, Limit};
use upstreams::limits::{AddressPermit, RefusalPermit};

/// The slot that an open connection holds.
#[derive(Debug)]
pub enum ConnectionPermit {
    /// One of its address's connections. `None` if the address is unknown.
    Connection(Option<AddressPermit>),
    /// One of the connections that receive a refusal.
    Refusal(RefusalPermit),
}

/// Decides whether a connection is served. If no file descriptor is left for it, the idle connection of
/// another client is closed. An address at its limit closes none.
pub(crate) fn connection_filter(
    state: &State,
    max_connections: usize,
    address: Option<IpAddr>,
) -> ConnectionAction<ConnectionPermit> {
    let clients = &state.config.load().clients;
    let open = state.drain.connections();
    if open > clients.connections {
        return full(state);
    }
    let permit = match address.map(|address| state.limits.try_connect(address, clients)) {
        None => None,
        Some(Some(permit)) => Some(permit),
        // The refusal would need a file as well, and an address at its limit closes no other
        // client's connection for one.
        Some(None) if open > max_connections => return full(state),
        Some(None) => return refuse_address(state),
    };
    if open > max_connections {
        if !state.idle_clients.close_oldest(Monotonic::now()) {
            return full(state);
        }
        state.metrics.limits.record(Limit::OpenFiles);
    }
    ConnectionAction::Accept(ConnectionPermit::Connection(permit))
}

fn full(state: &State) -> ConnectionAction<ConnectionPermit> {
    state.metrics.limits.record(Limit::Connections);
    ConnectionAction::Close
}

/// Refuses a connection of an address that has as many as it may have.
fn refuse_address(state: &State) -> ConnectionAction<ConnectionPermit> {
    state.metrics.limits.record(Limit::ConnectionsPerAddress);
    match state.limits.try_refuse() {
        Some(permit) => {
            let problem = Problem::new(codes::TOO_MANY_REQUESTS, "too many connections from this address");
            ConnectionAction::Respond(ConnectionPermit::Refusal(permit), problem.retry_after(1))
        }
        None => ConnectionAction::Close,
    }
}
