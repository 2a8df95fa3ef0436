//! The client for tests that do not run on tokio.

use std::{io, net::SocketAddr};

use super::{Client, Response};
use crate::runtime::RUNTIME;

/// A connection whose methods block.
pub struct Connection(Client);

impl Connection {
    pub fn connect(to: SocketAddr) -> Self {
        Self::try_connect(to).expect("a connection")
    }

    pub fn try_connect(to: SocketAddr) -> io::Result<Self> {
        RUNTIME.block_on(Client::try_connect(to)).map(Self)
    }

    /// Returns a connection that is reset when it is dropped.
    pub fn connect_abortive(to: SocketAddr) -> Self {
        Self(RUNTIME.block_on(Client::connect_abortive(to)))
    }

    /// Writes until everything is sent, or the peer closes the connection or stops reading. What it
    /// sent before that can still be read.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        RUNTIME.block_on(self.0.try_write(bytes))
    }

    /// Closes the sending half of the connection.
    pub fn close_half(&mut self) {
        RUNTIME.block_on(self.0.close_half());
    }

    /// Reads the next final response to a request with this method. Returns `None` if the
    /// connection ends first.
    pub fn response(&mut self, method: &str) -> Option<Response> {
        RUNTIME.block_on(self.0.response(method))
    }

    /// Reads the next head, which may be that of an interim response.
    pub fn head(&mut self) -> Option<String> {
        RUNTIME.block_on(self.0.head())
    }

    /// Reads the next chunk of a chunked body. The last one is empty. Returns `None` if the
    /// connection ends first.
    pub fn chunk(&mut self) -> Option<Vec<u8>> {
        RUNTIME.block_on(self.0.chunk())
    }

    /// Waits for the end of the connection. Returns true if no byte arrives before it.
    pub fn is_closed(&mut self) -> bool {
        RUNTIME.block_on(self.0.is_closed())
    }
}
