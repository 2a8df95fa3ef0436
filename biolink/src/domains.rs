//! Domains of accounts: their own host names, under which pages are shown.
//!
//! An account proves that a host is its own by a `TXT` record. The proof is checked again every day. Who
//! proves a host has it, until the proof is gone for a day or the account gives it back.
//!
//! Why: docs/decisions/pages.md, "A host is claimed when its proof is found, at the object of its name".

mod domain;
mod domain_hosts;
mod domain_snapshot;
mod host_name;
mod txt_lookup;

pub use domain::{Check, Domain, Proof};
pub use domain_hosts::DomainHosts;
pub use domain_snapshot::DomainSnapshot;
pub use host_name::{HostError, HostName};
pub use txt_lookup::{TxtError, txt_query, txt_values};

/// Bytes that are read of a resolver's response.
pub const MAX_DNS_RESPONSE: usize = 65_536;
/// Time for a lookup, in milliseconds.
pub const DNS_TIMEOUT_MS: u64 = 5_000;
/// The resolver that is asked unless the operator names another one.
pub const DNS_URL: &str = "https://cloudflare-dns.com/dns-query";
