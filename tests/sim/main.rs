//! The promises of limits and of objects, over the code that runs in production, in thousands of random
//! worlds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and shows its seed's run"
)]

mod promises;
mod random;
mod worlds;
