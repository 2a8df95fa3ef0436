//! The table of vectors against the pure crates alone: what they decide before anybody does any I/O.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod architecture;
mod commits;
mod decisions;
mod deploy_guide;
mod deployment;
mod guide;
mod layers;
mod links;
