//! The response head of the tool: the charge of the key, and the headers for the client.

use shared::headers::{HSTS, PRIVATE, PROOF, REQUEST_ID, USAGE_UNITS};
use shared::prices::Price;
use shared::quota::{CallEnd, is_uncharged};

use crate::call::{Call, Record, response_info};
use crate::state::{Mode, State};
use direct::{Charged, response_headers};
use transport::hooks::UpstreamResponse;
use upstreams::UpstreamPermit;

/// Charges the call and writes the head of its response. Whether the upstream did well is known at
/// the end of the response.
pub(crate) fn upstream_response_filter(
    state: &State,
    call: &mut Call,
    record: &Record,
    status: u16,
    head: &mut impl UpstreamResponse,
) {
    // A response can be long. Calls must not avoid a half-open upstream until its end.
    call.upstream_permit.iter_mut().for_each(UpstreamPermit::end_trial);
    let mut reported: Option<String> = None;
    let (direct, passed) = (state.mode.is_direct(), call.pool.config.settings.passed_headers);
    let (mut has_cache_control, mut has_hsts) = (false, false);
    head.retain(|name, value| {
        if name.eq_ignore_ascii_case(USAGE_UNITS) {
            let value = String::from_utf8_lossy(value);
            // Several are one list (RFC 9110, section 5.2), as the edge reads them: no whole number.
            reported = Some(match reported.take() {
                Some(first) => format!("{first}, {value}"),
                None => value.into_owned(),
            });
        }
        if !passed.allows(name) || direct && response_headers::is_replaced(name) {
            return false;
        }
        has_cache_control |= name.eq_ignore_ascii_case(PRIVATE.0);
        has_hsts |= name.eq_ignore_ascii_case(HSTS.0);
        true
    });
    // Before the response is sent: the client's next call may come as soon as it has read the head.
    call.charged = settle(state, call, (status, CallEnd::Responded), reported.as_deref());
    let is_charged = call.price != Price::FREE && !is_uncharged(status, CallEnd::Responded);
    call.units = is_charged.then(|| call.price.cost(reported.as_deref()).units);
    head.write_header(REQUEST_ID, &record.log.request_id.text());
    if let Some(proof) = record.log.proof {
        head.write_header(PROOF, &proof.text());
    }
    if direct {
        response_headers::write_relayed(head, response_info(record), has_hsts);
    }
    // A shared cache may store a response without it (RFC 9111, section 3), and give it to another
    // client.
    if !has_cache_control {
        head.write_header(PRIVATE.0, PRIVATE.1.as_bytes());
    }
}

/// Charges or refunds a call, in direct mode. Its response has `reported` so many units. This happens
/// before the response is sent, so that the client's next call sees the new quota. Returns the charge
/// that is left.
pub(crate) fn settle(
    state: &State,
    call: &Call,
    outcome: (u16, CallEnd),
    reported: Option<&str>,
) -> Option<Charged> {
    let (Mode::Direct(direct), Some(charged)) = (&state.mode, call.charged) else { return call.charged };
    let cost = call.price.cost(reported);
    if let Some(above) = cost.reported.filter(|_| call.price != Price::FREE) {
        let (tool, action, price) = (call.tool, &call.action, call.price.most());
        log::error!("price exceeded: tool={tool} action={action} price={price} reported={above}");
    }
    Some(direct.settle(&call.key_id, call.tool, charged, outcome, cost.units))
}
