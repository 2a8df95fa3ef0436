//! Handlers: one file for each endpoint or group of similar endpoints.

pub(crate) mod administer_pages;
mod analytics;
pub(crate) mod call_tool;
pub(crate) mod change_key;
mod export;
pub(crate) mod issue_key;
pub(crate) mod key_changes;
pub(crate) mod list_keys;
pub(crate) mod mcp;
pub(crate) mod pages_api;
pub(crate) mod product_sources;
pub(crate) mod push_products;
pub(crate) mod read_own_key;
pub(crate) mod status;
pub(crate) mod visit;
pub(crate) mod webhooks;
