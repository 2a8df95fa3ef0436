//! TLS towards clients and towards upstreams.

mod error;
mod handshake;
pub mod pem;
mod protocol;
mod server;
mod stream;
mod upstream;

pub use self::{
    error::TlsError,
    handshake::Handshake,
    server::{MinVersion, ServerTls},
    stream::speaks_http2,
    upstream::{Authorities, Connector},
};
pub(crate) use self::{stream::SecureStream, upstream::HandshakeError};
