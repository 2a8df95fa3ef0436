//! The client as progenitor generates it.
#![allow(clippy::all, warnings, reason = "generated code")]

include!(concat!(env!("OUT_DIR"), "/client.rs"));
