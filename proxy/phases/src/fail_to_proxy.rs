//! The responses that the gateway generates. Problems are rendered here only.

use shared::headers::{CORS, PROOF, REQUEST_ID, SENT};
use shared::problem::Problem;
use shared::quota::CallEnd;

use super::upstream_response_filter::settle;
use crate::call::{Call, Record, response_info};
use crate::state::State;
use direct::{Reply, response_headers};
use transport::hooks::Headers as _;
use transport::response::Response;

/// Returns the response to a request that failed.
pub(crate) fn fail_to_proxy(
    state: &State,
    call: Option<&Call>,
    record: &mut Record,
    problem: &Problem,
) -> Response {
    if record.attempts > 0 {
        log::info!("call failed: request_id={} code={}", record.log.request_id, problem.code().as_str());
    }
    refuse(state, call, record, problem)
}

/// Returns the response to a refused request, and counts the refusal.
pub(crate) fn refuse(state: &State, call: Option<&Call>, record: &mut Record, problem: &Problem) -> Response {
    record.log.refusal = Some(problem.code());
    state.metrics.record_refusal(problem.code());
    let response = problem.render(&record.log.request_id);
    respond(state, call, record, response.into())
}

/// Returns a response with the headers that every response has.
pub(crate) fn respond(state: &State, call: Option<&Call>, record: &Record, reply: Reply) -> Response {
    let Reply { response, bytes } = reply;
    let is_refusal = record.log.refusal.is_some();
    let end = match is_refusal {
        true => CallEnd::without_response(record.sent_at.is_some()),
        false => CallEnd::Responded,
    };
    if let Some(call) = call {
        let _left = settle(state, call, (response.status, end), None);
    }
    Response::new(record, response, bytes, is_refusal, |head| {
        for (name, value) in CORS {
            head.write_header(name, value.as_bytes());
        }
        head.write_header(REQUEST_ID, &record.log.request_id.text());
        if state.mode.is_direct() {
            response_headers::write_own(head, response_info(record));
        }
        if let Some(proof) = record.log.proof {
            head.write_header(PROOF, &proof.text());
            // Tells the edge that a tool has got a part of this request, so that it does not send
            // the call elsewhere or give it back.
            if end == CallEnd::CutOff {
                head.write_header(SENT, b"1");
            }
        }
    })
}
