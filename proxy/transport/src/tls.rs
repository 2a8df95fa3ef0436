//! TLS towards clients and towards upstreams.
//!
//! Why: docs/decisions/proxy.md, "Bodies over TLS are not encrypted by the kernel".

mod error;
mod handshake;
pub mod pem;
mod protocol;
mod server;
mod stream;
mod upstream;

pub use self::error::TlsError;
pub use self::handshake::Handshake;
pub use self::server::{MinVersion, ServerTls};
pub(crate) use self::stream::SecureStream;
pub use self::stream::speaks_http2;
pub(crate) use self::upstream::HandshakeError;
pub use self::upstream::{Authorities, Connector};
