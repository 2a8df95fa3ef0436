//! What people and agents read: the OpenAPI documents, the reference and its guides, the files of the
//! console, the tools of the Model Context Protocol, and the table of every route of the service.
//!
//! **Invariants.** Those of `shared`: nothing in here does I/O or keeps a global. Most of it runs when the
//! service is built: the program `portal` writes the texts as files, and the worker and the proxy serve
//! those. No decision about a call, a key or a page is made here.
#![cfg_attr(
    not(feature = "biolink"),
    allow(dead_code, unused_imports, reason = "what renders texts is not built for the gateway's worker")
)]
#![warn(missing_docs)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

/// The name of the service, which people and agents see.
///
/// Why: docs/decisions/portal.md, "Portico is the service, Unified Tool Gateway the software".
pub const NAME: &str = "Portico";

pub mod asset;
pub mod console;
pub mod docs;
pub mod docs_page;
#[cfg(feature = "biolink")]
pub mod documents;
pub mod endpoint;
pub mod feed;
#[cfg(feature = "biolink")]
pub mod mcp;
#[cfg(feature = "biolink")]
pub mod oauth;
#[cfg(feature = "biolink")]
pub mod openapi;
pub mod rendering;
pub mod requirement;
pub mod route;
pub mod script;
#[cfg(feature = "biolink")]
pub mod session;
#[cfg(feature = "biolink")]
pub mod session_access;
#[cfg(feature = "biolink")]
pub mod site;

#[cfg(test)]
mod tests {
    #[test]
    fn console_has_the_name_of_the_service() {
        let brand = include_str!("../web/src/lib/brand.ts");
        assert!(brand.contains(&format!("BRAND = \"{}\";", super::NAME)), "{brand}");
    }
}
