//! The test harness of the workspace: the real parts as processes, clients that send exact bytes,
//! fake tools and origins, and the table of vectors. The tests of `tests/` and of `proxy/tests/`
//! both use it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test harness fails by panicking"
)]

pub mod bodies;
pub mod collector;
pub mod descriptions;
pub mod edge_host;
pub mod event_tool;
pub mod fake_edge;
pub mod faults;
pub mod go;
pub mod grant;
pub mod http;
pub mod http2;
pub mod http2_tool;
pub mod imports;
pub mod keys;
pub mod load;
pub mod objects;
pub mod origin;
pub mod process;
pub mod proxy;
pub mod receiver;
pub mod recipe;
pub mod redis;
pub mod resolver;
mod runtime;
pub mod shop;
pub mod sim;
pub mod slope;
pub mod slow_link;
pub mod small_disk;
pub mod stack;
pub mod tls;
pub mod tool;
pub mod transport;
pub mod vector;
pub mod wait;

pub use crate::http::{Client, Request, Response};
pub use event_tool::EventTool;
pub use fake_edge::FakeEdge;
pub use grant::Signer;
pub use proxy::{Proxy, ProxyConfig};
pub use tool::{FakeTool, ToolBehavior};
pub use wait::{PATIENCE, until, wait_for};
