//! What one line of the access log says.

use std::{fmt, io::Write as _};

use shared::{problem::Code, request_id::RequestId};

use crate::ctx::Call;

/// What a line says. None of it can hold a quote or a control character: each field is a type that excludes them.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// When the answer was complete, in milliseconds since the epoch.
    pub at: u64,
    /// The request's id.
    pub request_id: RequestId,
    /// What the grant says, once it was verified.
    pub call: Option<&'a Call>,
    /// The status of the answer; 0 when there was none.
    pub status: u16,
    /// The problem, when the proxy refused the request itself.
    pub refusal: Option<Code>,
    /// Who answered.
    pub upstream: Option<&'a str>,
    /// Connections that were tried.
    pub tries: u32,
    /// From the end of the request's headers to the end of the answer.
    pub micros: u64,
    /// Bytes of the answer's body.
    pub sent: usize,
    /// Where its time went; only at the highest level of detail.
    pub timings: Option<Timings<'a>>,
}

/// What the highest level of detail adds.
#[derive(Clone, Copy, Debug)]
pub struct Timings<'a> {
    /// From the end of the request's headers until the tool was asked; `None` when it was not.
    pub gateway_micros: Option<u64>,
    /// From then until the tool's answer began.
    pub upstream_micros: Option<u64>,
    /// Bytes of the request's body.
    pub received: u64,
    /// The client's trace, from `traceparent`.
    pub trace_id: Option<&'a str>,
}

/// A line that is being written. Every request has one, so that it is put together from its parts; only what has no text
/// of its own is formatted.
struct Out<'a>(&'a mut Vec<u8>);

impl Out<'_> {
    fn text(&mut self, text: &str) -> &mut Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.text(itoa::Buffer::new().format(number))
    }

    fn shown(&mut self, value: impl fmt::Display) -> &mut Self {
        // Writing to memory cannot fail.
        let _written = write!(self.0, "{value}");
        self
    }

    /// Microseconds, as milliseconds.
    fn millis(&mut self, micros: u64) -> &mut Self {
        let (millis, rest) = (micros / 1_000, micros % 1_000);
        self.number(millis).text(".");
        self.text(if rest < 10 {
            "00"
        } else if rest < 100 {
            "0"
        } else {
            ""
        })
        .number(rest)
    }
}

impl Line<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut out = Out(out);
        out.text(r#"{"at":"#).number(self.at);
        out.text(r#","request_id":""#).shown(self.request_id).text("\"");
        if let Some(call) = self.call {
            out.text(r#","key_id":""#).shown(call.key_id);
            out.text(r#"","tier":""#).text(call.tier.as_str());
            out.text(r#"","tool":""#).text(call.tool.as_str());
            out.text(r#"","action":""#).text(&call.action);
            out.text(r#"","method":""#).text(call.method.method().as_str()).text("\"");
        }
        out.text(r#","status":"#).number(self.status.into());
        if let Some(code) = self.refusal {
            out.text(r#","refusal":""#).text(code.as_str()).text("\"");
        }
        if let Some(upstream) = self.upstream {
            out.text(r#","upstream":""#).text(upstream).text(r#"","tries":"#).number(self.tries.into());
        }
        out.text(r#","ms":"#).millis(self.micros);
        out.text(r#","bytes":"#).number(u64::try_from(self.sent).unwrap_or(u64::MAX));
        if let Some(timings) = &self.timings {
            timings.write(&mut out);
        }
        out.text("}\n");
    }
}

impl Timings<'_> {
    fn write(&self, out: &mut Out<'_>) {
        if let Some(micros) = self.gateway_micros {
            out.text(r#","gateway_ms":"#).millis(micros);
        }
        if let Some(micros) = self.upstream_micros {
            out.text(r#","upstream_ms":"#).millis(micros);
        }
        if let Some(trace_id) = self.trace_id {
            out.text(r#","trace_id":""#).text(trace_id).text("\"");
        }
        out.text(r#","received":"#).number(self.received);
    }
}

/// The trace id of a `traceparent` (W3C Trace Context, section 3.2.2): 32 hexadecimal digits, or `None`.
#[must_use]
pub fn trace_id(traceparent: &str) -> Option<&str> {
    let mut parts = traceparent.split('-');
    let (_version, id) = (parts.next()?, parts.next()?);
    let well_formed = id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (well_formed && id.bytes().any(|b| b != b'0')).then_some(id)
}

#[cfg(test)]
mod tests {
    use shared::{key::KeyId, route::CallMethod, tier::Tier, tool::Tool};

    use super::*;
    use crate::{
        config::{PoolConfig, PoolSettings},
        upstreams::{Pool, ResolvedNames},
    };

    fn line(call: Option<&Call>) -> Line<'_> {
        Line {
            at: 1,
            request_id: RequestId([7; 16]),
            call,
            status: 503,
            refusal: Some(Code::ToolTimeout),
            upstream: Some("127.0.0.1:9100"),
            tries: 1,
            micros: 1_234_005,
            sent: 9,
            timings: None,
        }
    }

    #[test]
    fn a_line_is_one_json_object() {
        let config = PoolConfig { tool: Tool::Qr, upstreams: Vec::new(), settings: PoolSettings::default() };
        let call = Call {
            method: CallMethod::Post,
            tool: Tool::Qr,
            pool: std::sync::Arc::new(Pool::new(config, &ResolvedNames::default(), None)),
            action: "generate".into(),
            key_id: KeyId::new([3; 12]),
            tier: Tier::Pro,
        };
        for call in [None, Some(&call)] {
            let mut text = Vec::new();
            line(call).write(&mut text);
            assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), 1);
            let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(json["ms"], 1234.005);
            assert_eq!(json["refusal"], "tool-timeout");
            assert_eq!(json["tool"].as_str(), call.map(|_| "qr"));
        }
    }

    #[test]
    fn timings_are_part_of_the_line_and_what_is_unknown_is_left_out() {
        let trace_id = trace_id("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        for (upstream_micros, expected) in [(Some(2_500), Some(2.5)), (None, None)] {
            let timings = Timings { gateway_micros: Some(70), upstream_micros, received: 5, trace_id };
            let mut text = Vec::new();
            Line { timings: Some(timings), ..line(None) }.write(&mut text);
            let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!((json["gateway_ms"].as_f64(), json["upstream_ms"].as_f64()), (Some(0.07), expected));
            assert_eq!(json["trace_id"], "0af7651916cd43dd8448eb211c80319c");
            assert_eq!(json["received"], 5);
        }
    }

    #[test]
    fn a_trace_id_that_could_break_the_line_is_none() {
        for text in [
            "",
            "00",
            "00-\"}-x",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7-01",
        ] {
            assert_eq!(trace_id(text), None, "{text}");
        }
    }
}
