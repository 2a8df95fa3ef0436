//! The request head for the tool: its path, and the headers that name request, key and tier.

use shared::headers::{KEY_ID, REQUEST_ID, TIER};

use crate::call::{Call, Record};
use transport::hooks::UpstreamRequest;

/// Writes the request head.
pub(crate) fn upstream_request_filter(call: &Call, record: &Record, head: &mut impl UpstreamRequest) {
    let trace = call.trace.as_deref();
    let passes = |name: &str| trace.is_none_or(|trace| trace.passes(name));
    head.begin(&[&call.pool.config.settings.path, "/", &call.action], passes);
    head.write_header(REQUEST_ID, &record.log.request_id.text());
    head.write_header(KEY_ID, &call.key_id.text());
    head.write_header(TIER, call.tier.as_str().as_bytes());
}
