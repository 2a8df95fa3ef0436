//! The runtime as the Worker sees it: requests, bodies, promises, time, logs, and what every Durable
//! Object does with its storage and its messages. Nothing in here knows a route or a limit.

pub(crate) mod alarm;
pub(crate) mod body;
pub(crate) mod bucket;
pub(crate) mod calls;
pub(crate) mod client_request;
pub(crate) mod clock;
pub(crate) mod durable_rpc;
pub(crate) mod entropy;
pub(crate) mod header_text;
pub(crate) mod kv;
pub(crate) mod log;
pub(crate) mod message;
pub(crate) mod promise;
pub(crate) mod recent;
pub(crate) mod sql;
pub(crate) mod stored;
pub(crate) mod streamed_response;
pub(crate) mod task;
