//! The Durable Objects of the gateway: state with a single owner.

mod alert_outbox;
mod kept_alerts;
mod kept_calls;
mod kept_hours;
mod kept_sessions;
mod key_changes;
mod key_directory;
mod meter;
mod status_history;
