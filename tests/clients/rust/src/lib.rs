//! The clients as progenitor generates them.
#![allow(clippy::all, warnings, reason = "generated code")]

pub mod gateway {
    include!(concat!(env!("OUT_DIR"), "/gateway.rs"));
}

pub mod biolink {
    include!(concat!(env!("OUT_DIR"), "/biolink.rs"));
}
