//! The Durable Objects of the gateway: state with a single owner.

mod alert_outbox;
mod kept_calls;
mod kept_rows;
mod key_changes;
mod key_directory;
mod meter;
mod status_history;
