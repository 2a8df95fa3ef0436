//! A simulation of deliveries with time as data: the rules of `biolink::webhooks` against receivers
//! that are down, hang, fail at random, are gone or ask for a pause.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod receivers;
mod world;
