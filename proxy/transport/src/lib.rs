//! The transport of the proxy: client connections, TLS, HTTP/1.1, HTTP/2, and the connections to
//! upstreams.
//!
//! **What belongs here**: whatever reads, writes or times bytes of a connection. **What does not**: keys,
//! tiers, tools and pools. The product decides on connections and requests by implementing the traits in
//! [`hooks`]. Dispatch is static.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

pub mod accept;
mod client;
pub mod clock;
pub mod connect;
mod connection_limit;
mod delegate;
pub mod downstream;
pub mod drain;
mod failure;
mod failure_watch;
#[cfg(test)]
mod fake_stream;
mod framing;
mod headers;
pub mod hooks;
pub mod http2;
mod idle;
pub mod idle_clients;
pub mod incoming;
mod limits;
mod linger;
mod outgoing_head;
mod pingora_proxy;
mod pipe;
mod proxy_protocol;
mod received_head;
pub mod record;
mod relay;
pub mod request_head;
pub mod response;
mod response_deadline;
#[cfg(test)]
mod sim;
mod socket;
mod splice_end;
pub mod thread;
mod timer;
pub mod tls;
