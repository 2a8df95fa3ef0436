//! Bio-link: pages, their visitors and events, webhooks and product sync.

pub(crate) mod denied_hosts;
pub(crate) mod domains;
mod durable;
pub(crate) mod event_delivery;
pub(crate) mod event_queue;
pub(crate) mod events;
pub(crate) mod guarded_fetch;
pub(crate) mod handlers;
pub(crate) mod page_store;
pub(crate) mod pages_client;
pub(crate) mod product_sources;
pub(crate) mod reports;
pub(crate) mod stats_client;
pub(crate) mod suspensions;
pub(crate) mod time_zone;
pub(crate) mod webhooks_client;
