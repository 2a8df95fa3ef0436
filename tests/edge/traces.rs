//! The trace of a call: what the origin and the access log get of it.

use serde_json::Value;
use shared::trace::SpanContext;
use tests::{
    http::{Request, Response},
    origin::{Arrival, Origin},
    stack::Edge,
    wait::{PATIENCE, wait_for},
};

const TRACE_ID: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Sends one call with these headers, and returns its response, what arrived and its log line.
fn call(headers: &[(&str, &str)]) -> (Response, Arrival, Value) {
    let origin = Origin::good("ok");
    let edge = Edge::start_with(&origin.url(), &["ACCESS_LOG_SAMPLE=1"]);
    let (key, _) = edge.issue("free");
    let request = Request::get("/v1/qr/generate").key(&key);
    let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = request.send(edge.addr);
    assert_eq!(response.status, 200, "{}", response.text());
    let line = wait_for(PATIENCE, || {
        let output = edge.output();
        let mut lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find(|line| line["tool"] == "qr")
    });
    (response, origin.arrivals().remove(0), line)
}

fn context(arrival: &Arrival) -> SpanContext {
    SpanContext::parse(arrival.header("traceparent").unwrap()).unwrap()
}

#[test]
fn caller_of_a_trace_is_the_parent_of_the_edge() {
    let (_, arrival, line) = call(&[("traceparent", CALLER), ("tracestate", "a=1, b@c=2")]);
    let edge = context(&arrival);
    assert_eq!((edge.trace_id.to_string().as_str(), edge.is_sampled), (TRACE_ID, true));
    assert_eq!(arrival.header("tracestate"), Some("a=1, b@c=2"));
    let logged = ["trace_id", "span_id", "parent_span_id"].map(|field| line[field].as_str().unwrap());
    assert_eq!(logged, [TRACE_ID, &edge.span_id.to_string(), "b7ad6b7169203331"]);
    assert_ne!(logged[1], logged[2]);
}

#[test]
fn call_without_a_valid_traceparent_begins_a_trace() {
    for traceparent in [None, Some("00-0-0-01"), Some(&*format!("{CALLER}, {CALLER}"))] {
        let headers: Vec<_> = traceparent.map(|value| ("traceparent", value)).into_iter().collect();
        let (response, arrival, line) = call(&[&headers[..], &[("tracestate", "a=1")]].concat());
        let edge = context(&arrival);
        let trace_id = edge.trace_id.to_string();
        assert_eq!((Some(trace_id.as_str()), edge.is_sampled), (response.header("x-request-id"), false));
        assert_eq!(arrival.header("tracestate"), None, "it is of another trace");
        assert_eq!(line["trace_id"], trace_id);
        assert_eq!(line["span_id"], edge.span_id.to_string());
        assert_eq!(line["parent_span_id"], Value::Null);
    }
}

#[test]
fn invalid_tracestate_does_not_reach_the_origin() {
    let (_, arrival, _) = call(&[("traceparent", CALLER), ("tracestate", "a=1,a=2")]);
    assert_eq!(
        (context(&arrival).trace_id.to_string().as_str(), arrival.header("tracestate")),
        (TRACE_ID, None)
    );
}
