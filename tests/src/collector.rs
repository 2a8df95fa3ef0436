//! A collector of traces: an OTLP receiver that decodes requests with the official types.

use std::{collections::BTreeMap, io::Read as _};

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;

use crate::{
    origin::Arrival,
    receiver::{Receiver, ReceiverBehavior},
    wait::{PATIENCE, wait_for},
};

/// A running collector.
pub struct Collector {
    pub receiver: Receiver,
}

/// A span as it was exported. Ids are hexadecimal digits.
#[derive(Clone, Debug)]
pub struct ExportedSpan {
    pub trace_id: String,
    pub span_id: String,
    /// The span id of the parent. Empty for a root.
    pub parent: String,
    pub name: String,
    pub kind: SpanKind,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    pub attributes: BTreeMap<String, String>,
    pub is_error: bool,
    /// The attributes of the process that sent it.
    pub resource: BTreeMap<String, String>,
}

impl Collector {
    /// Starts a collector that takes everything.
    pub fn start() -> Self {
        let receiver = Receiver::start();
        receiver.respond("200 OK");
        Self { receiver }
    }

    /// Returns the URL of its receiver.
    pub fn url(&self) -> String {
        self.receiver.url("/v1/traces")
    }

    /// Returns all spans of requests that got a 2xx.
    pub fn spans(&self) -> Vec<ExportedSpan> {
        self.receiver.accepted().iter().flat_map(decode).collect()
    }

    /// Waits for a span of this name, and returns all spans of its trace. Those of one call come together.
    pub fn trace_with(&self, name: &str) -> Vec<ExportedSpan> {
        wait_for(PATIENCE, || {
            let spans = self.spans();
            let found = spans.iter().find(|span| span.name == name)?.trace_id.clone();
            Some(spans.into_iter().filter(|span| span.trace_id == found).collect())
        })
    }

    /// Closes connections without a response from now on.
    pub fn hang_up(&self) {
        self.receiver.set(ReceiverBehavior::HangUp);
    }
}

impl ExportedSpan {
    /// Returns the value of an attribute as text, or an empty text.
    pub fn attribute(&self, key: &str) -> &str {
        self.attributes.get(key).map_or("", String::as_str)
    }
}

fn decode(arrival: &Arrival) -> Vec<ExportedSpan> {
    assert_eq!(arrival.header("content-type"), Some("application/x-protobuf"));
    let mut body = arrival.body.clone();
    if arrival.header("content-encoding") == Some("gzip") {
        body.clear();
        GzDecoder::new(arrival.body.as_slice()).read_to_end(&mut body).unwrap();
    }
    let request = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    let mut spans = Vec::new();
    for group in request.resource_spans {
        let resource = attributes(&group.resource.unwrap().attributes);
        let exported = group.scope_spans.into_iter().flat_map(|scope| scope.spans);
        spans.extend(exported.map(|span| ExportedSpan { resource: resource.clone(), ..read(span) }));
    }
    spans
}

fn read(span: Span) -> ExportedSpan {
    ExportedSpan {
        trace_id: hex(&span.trace_id),
        span_id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        kind: span.kind(),
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        attributes: attributes(&span.attributes),
        is_error: span.status.is_some_and(|status| status.code() == StatusCode::Error),
        name: span.name,
        resource: BTreeMap::new(),
    }
}

fn attributes(pairs: &[KeyValue]) -> BTreeMap<String, String> {
    pairs.iter().map(|pair| (pair.key.clone(), text(pair.value.as_ref()))).collect()
}

fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{other:?} is neither a text nor a number"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
