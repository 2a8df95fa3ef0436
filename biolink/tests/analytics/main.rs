//! Reports of events, from what isolates send to the JSON that a client gets. They equal a naive
//! count over the list of events, and a time-zone library finds the same days, weeks and months.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod batches;
mod buckets;
mod naive;
mod question;
mod realistic;
mod size;
mod store;
mod totals;
mod world;
mod zones;
