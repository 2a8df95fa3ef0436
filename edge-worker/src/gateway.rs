//! Tool calls and keys: the meter of each key, the store of keys, and the way to the origins. They need
//! nothing of bio-link.

pub(crate) mod authenticate;
#[cfg(feature = "gateway")]
mod durable;
pub(crate) mod event_stream;
pub(crate) mod handlers;
pub(crate) mod key_change_feed;
pub(crate) mod key_directory;
pub(crate) mod key_record;
pub(crate) mod key_store;
pub(crate) mod lease_caches;
pub(crate) mod media_types;
pub(crate) mod meter_client;
pub(crate) mod origin;
pub(crate) mod status_history;
