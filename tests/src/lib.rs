//! What the tests of all boundaries share: the table of vectors, a client that sends exact bytes, and the real
//! parts as processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test harness fails by panicking"
)]

pub mod faults;
pub mod http;
pub mod imports;
pub mod keys;
pub mod origin;
pub mod process;
pub mod sim;
pub mod stack;
pub mod vector;
