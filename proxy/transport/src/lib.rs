//! The transport of the proxy: client connections, TLS, HTTP/1.1, HTTP/2, and the connections to upstreams.
//!
//! It knows nothing of keys, tiers, tools or pools. What becomes of a connection or a request decides the product, which
//! implements the traits in [`hooks`]. Dispatch is static.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod client;
pub mod clock;
pub mod connect;
pub mod connection_limit;
mod delegate;
pub mod downstream;
pub mod drain;
pub mod failure;
pub mod headers;
pub mod hooks;
pub mod http2;
pub mod idle;
pub mod limits;
pub mod linger;
pub mod pingora_proxy;
pub mod record;
pub mod relay;
pub mod response;
mod response_deadline;
pub mod thread;
mod timer;
pub mod tls;
pub mod wire;
