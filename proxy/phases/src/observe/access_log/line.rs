//! One line of the access log, and its form as a JSON object.

use std::fmt;

use shared::grant::GrantRefusal;
use shared::problem::Code;
use shared::request_id::RequestId;
use shared::route::CallMethod;
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::trace::{SpanContext, TraceId};

use super::buffer::LineBuffer;
use crate::call::{Call, RefusedCall};
use crate::client_request::ClientRequest;
use config::{LogField, LogFields};
use transport::record::Aborted;

/// The fields of a line. Except for those of the client, their types exclude quotes and control characters.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The time at which the request headers were complete.
    pub time: UnixMillis,
    /// The request id.
    pub request_id: RequestId,
    /// The call. `None` unless its grant or key was verified.
    pub call: Option<&'a Call>,
    /// The call that was refused before its grant or key was verified.
    pub refused: Option<&'a RefusedCall>,
    /// The response status, or 0 if there was no response.
    pub status: u16,
    /// The problem code, if the proxy itself refused the request.
    pub refusal: Option<Code>,
    /// Why the grant was refused.
    pub refused_grant: Option<&'a GrantRefusal>,
    /// The side that broke the response off, if it is not complete.
    pub aborted: Option<Aborted>,
    /// The upstream that responded.
    pub upstream: Option<&'a str>,
    /// The number of connections tried.
    pub tries: u32,
    /// Time from the end of the request headers to the end of the response, in microseconds.
    pub micros: u64,
    /// Bytes of the response body.
    pub sent: usize,
    /// The units that the call has cost, if it has a price.
    pub units: Option<u32>,
    /// The span of the call, if it is exported.
    pub span: Option<SpanContext>,
    /// The trace id of the caller's `traceparent`, if lines have it.
    pub caller_trace: Option<TraceId>,
    /// Time from the end of the request headers to sending the request to the tool. `None` if it
    /// was not sent.
    pub gateway_micros: Option<u64>,
    /// Time from then to the start of the tool's response.
    pub upstream_micros: Option<u64>,
    /// Bytes of the request body.
    pub received: u64,
    /// The client and its request, if lines have them.
    pub client: Option<&'a ClientRequest>,
}

impl Line<'_> {
    /// Appends the line as a JSON object with those of the fields that have a value.
    pub(super) fn write_json(&self, out: &mut Vec<u8>, fields: LogFields) {
        let start = out.len();
        let mut members = Members { out: LineBuffer(out), fields };
        self.write_members(&mut members);
        match out.get_mut(start) {
            // Each member begins with a comma.
            Some(comma) => *comma = b'{',
            None => out.push(b'{'),
        }
        out.extend_from_slice(b"}\n");
    }

    fn write_members(&self, to: &mut Members<'_>) {
        to.add(LogField::Time, |out| out.text("\"").time(self.time).text("\""));
        to.id(LogField::RequestId, &self.request_id.text());
        if let Some(call) = self.call {
            to.id(LogField::KeyId, &call.key_id.text());
            if let Some(secret_id) = call.secret_id {
                to.shown(LogField::SecretId, secret_id);
            }
            to.word(LogField::Tier, call.tier.as_str());
            to.call(call.method, call.tool, &call.action);
        } else if let Some(call) = self.refused {
            to.call(call.method, call.tool, &call.action);
        // Quoted: without a verified call the method is any text of the client.
        } else if let Some(client) = self.client.filter(|client| client.has_head()) {
            to.quoted(LogField::Method, client.method.as_bytes());
        }
        to.number(LogField::Status, self.status.into());
        if let Some(code) = self.refusal {
            to.word(LogField::Code, code.as_str());
        }
        if let Some(grant) = self.refused_grant {
            to.word(LogField::GrantRefusal, grant.reason.as_str());
            if let Some(id) = grant.request_id {
                to.shown(LogField::EdgeRequestId, id);
            }
        }
        if let Some(by) = self.aborted {
            to.word(LogField::Aborted, by.into_str());
        }
        if let Some(upstream) = self.upstream {
            to.word(LogField::Upstream, upstream);
            to.number(LogField::Tries, self.tries.into());
        }
        to.add(LogField::DurationMs, |out| out.millis(self.micros));
        to.number(LogField::ResponseBytes, u64::try_from(self.sent).unwrap_or(u64::MAX));
        if let Some(units) = self.units {
            to.number(LogField::Units, units.into());
        }
        if let Some(trace_id) = self.span.map(|span| span.trace_id).or(self.caller_trace) {
            to.shown(LogField::TraceId, trace_id);
        }
        if let Some(span) = self.span {
            to.shown(LogField::SpanId, span.span_id);
        }
        if let Some(micros) = self.gateway_micros {
            to.add(LogField::OverheadMs, |out| out.millis(micros));
        }
        if let Some(micros) = self.upstream_micros {
            to.add(LogField::UpstreamMs, |out| out.millis(micros));
        }
        to.number(LogField::RequestBytes, self.received);
        if let Some(client) = self.client {
            to.client(client);
        }
    }
}

/// The members of a JSON object.
struct Members<'a> {
    out: LineBuffer<'a>,
    fields: LogFields,
}

impl Members<'_> {
    /// Adds a member, if it is among the fields.
    fn add(
        &mut self,
        field: LogField,
        write: impl for<'b, 'c> FnOnce(&'b mut LineBuffer<'c>) -> &'b mut LineBuffer<'c>,
    ) {
        if self.fields.has(field) {
            write(self.out.text(field.key()));
        }
    }

    /// Adds a text without quotes and control characters.
    fn word(&mut self, field: LogField, text: &str) {
        self.add(field, |out| out.text("\"").text(text).text("\""));
    }

    /// Adds the text of an id.
    fn id(&mut self, field: LogField, text: &[u8]) {
        self.add(field, |out| out.text("\"").bytes(text).text("\""));
    }

    /// Adds a value whose text has no quotes and control characters.
    fn shown(&mut self, field: LogField, value: impl fmt::Display) {
        self.add(field, |out| out.text("\"").shown(value).text("\""));
    }

    fn number(&mut self, field: LogField, number: u64) {
        self.add(field, |out| out.number(number));
    }

    /// Adds any bytes as a string.
    fn quoted(&mut self, field: LogField, bytes: &[u8]) {
        self.add(field, |out| out.json_string(bytes));
    }

    /// Adds the members that name a call.
    fn call(&mut self, method: CallMethod, tool: Tool, action: &str) {
        self.word(LogField::Method, method.method().as_str());
        self.word(LogField::Tool, tool.as_str());
        self.word(LogField::Action, action);
    }

    fn client(&mut self, client: &ClientRequest) {
        if let Some(address) = client.address {
            self.shown(LogField::ClientAddress, address);
        }
        if client.has_head() {
            self.quoted(LogField::Path, client.path.as_bytes());
            self.word(LogField::Protocol, client.protocol);
        }
        if let Some(referer) = &client.referer {
            self.quoted(LogField::Referer, referer);
        }
        if let Some(user_agent) = &client.user_agent {
            self.quoted(LogField::UserAgent, user_agent);
        }
    }
}

#[cfg(test)]
impl<'a> Line<'a> {
    /// Returns the line of a request that has timed out.
    pub(super) fn timed_out(call: Option<&'a Call>) -> Self {
        Self {
            time: UnixMillis(1),
            request_id: RequestId([7; 16]),
            call,
            refused: None,
            status: 503,
            refusal: Some(shared::problem::codes::TOOL_TIMEOUT),
            refused_grant: None,
            aborted: None,
            upstream: Some("127.0.0.1:9100"),
            tries: 1,
            micros: 1_234_005,
            sent: 9,
            units: None,
            span: None,
            caller_trace: None,
            gateway_micros: None,
            upstream_micros: None,
            received: 0,
            client: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::key::KeyId;
    use shared::tier::Tier;

    use shared::action::Action;
    use shared::route::ToolCall;

    use super::*;
    use config::{AccessDetail, PoolConfig, PoolSettings};
    use upstreams::{Pool, ResolvedNames};

    const USUAL: LogFields = LogFields::of_detail(AccessDetail::Calls);

    fn json(line: &Line<'_>, fields: LogFields) -> serde_json::Value {
        let mut text = Vec::new();
        line.write_json(&mut text, fields);
        assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), 1);
        serde_json::from_slice(&text).unwrap()
    }

    #[test]
    fn line_is_one_json_object() {
        let config = PoolConfig {
            tool: Tool::Qr,
            upstreams: Vec::new(),
            by_server: Default::default(),
            upstreams_file_error: None,
            settings: PoolSettings::default(),
            mirror: None,
        };
        let pool = Pool::new(config, &ResolvedNames::default(), None);
        let action = Action::parse("generate").unwrap();
        let called = ToolCall { method: CallMethod::Post, tool: Tool::Qr, action };
        let call = Call::new(&called, std::sync::Arc::new(pool), KeyId::new([3; 12]), Tier::Pro);
        for call in [None, Some(&call)] {
            let json = json(&Line { units: Some(7), ..Line::timed_out(call) }, USUAL);
            assert_eq!(json["duration_ms"], 1234.005);
            assert_eq!((&json["code"], &json["units"]), (&"tool-timeout".into(), &7.into()));
            assert_eq!(json["tool"].as_str(), call.map(|_| "qr"));
        }
    }

    #[test]
    fn unknown_timings_are_omitted() {
        let caller = SpanContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        for (upstream_micros, expected) in [(Some(2_500), Some(2.5)), (None, None)] {
            let line = Line {
                caller_trace: Some(caller.trace_id),
                gateway_micros: Some(70),
                upstream_micros,
                received: 5,
                ..Line::timed_out(None)
            };
            let json = json(&line, LogFields::of_detail(AccessDetail::Timings));
            assert_eq!((json["overhead_ms"].as_f64(), json["upstream_ms"].as_f64()), (Some(0.07), expected));
            assert_eq!(json["trace_id"], "0af7651916cd43dd8448eb211c80319c");
            assert_eq!(json["request_bytes"], 5);
        }
    }

    #[test]
    fn refused_call_is_named_without_a_key() {
        let refused = RefusedCall { method: CallMethod::Post, tool: Tool::Qr, action: "generate".into() };
        let json = json(&Line { refused: Some(&refused), ..Line::timed_out(None) }, USUAL);
        let call = ["method", "tool", "action"].map(|key| json[key].as_str());
        assert_eq!(call, [Some("POST"), Some("qr"), Some("generate")]);
        assert_eq!((json["key_id"].as_str(), json["tier"].as_str()), (None, None));
    }

    #[test]
    fn line_without_a_chosen_field_is_an_empty_object() {
        let fields = LogFields::from_bits(1 << LogField::Units as u32).unwrap();
        assert_eq!(json(&Line::timed_out(None), fields), serde_json::json!({}));
    }
}
