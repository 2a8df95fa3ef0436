//! Handlers of bio-link: one file for each endpoint or group of similar ones.

pub(crate) mod administer_pages;
pub(crate) mod alerts;
pub(crate) mod analytics;
pub(crate) mod export;
pub(crate) mod images;
pub(crate) mod pages_api;
pub(crate) mod preview;
pub(crate) mod product_sources;
pub(crate) mod push_products;
pub(crate) mod visit;
pub(crate) mod webhooks;
