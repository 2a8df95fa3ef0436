//! The built worker in workerd, with the real proxy and demo tools behind it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod abuse;
mod administration;
mod analytics;
mod costs;
mod counting;
mod delivery;
mod deployment;
mod direct_delivery;
mod far;
mod faults;
mod hooks;
mod key_changes;
mod keys_api;
mod lifecycle;
mod limits;
mod migrations;
mod origins;
mod pages;
mod privacy;
mod product_push;
mod product_sync;
mod readme;
mod recipes;
mod retention;
mod site;
mod surface;
mod uploads;
mod vectors;
mod visitors;
mod webhook_faults;
mod webhook_outage;
mod webhook_rotation;
mod webhook_soak;
mod webhooks;
mod webhooks_api;
