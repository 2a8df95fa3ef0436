//! The product as transports know it.

use std::sync::Arc;

use crate::state::State;

/// The implementation of the transport's hooks.
#[derive(Clone)]
pub struct Gateway {
    /// The state that all requests share.
    pub state: Arc<State>,
    /// Maximum number of connections that the process can serve, whatever the configuration says.
    pub max_connections: usize,
}
