//! What one line of the access log says.

use std::fmt::{self, Write as _};

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
    pub micros: u128,
    /// Bytes of the answer's body.
    pub sent: usize,
    /// Where its time went; only at the highest level of detail.
    pub timings: Option<Timings<'a>>,
}

/// What the highest level of detail adds.
#[derive(Clone, Copy, Debug)]
pub struct Timings<'a> {
    /// From the end of the request's headers until the tool was asked; `None` when it was not.
    pub gateway_micros: Option<u128>,
    /// From then until the tool's answer began.
    pub upstream_micros: Option<u128>,
    /// Bytes of the request's body.
    pub received: u64,
    /// The client's trace, from `traceparent`.
    pub trace_id: Option<&'a str>,
}

/// Text that is added to bytes.
struct Text<'a>(&'a mut Vec<u8>);

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Line<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        let _written = self.write_to(&mut Text(out));
    }

    fn write_to(&self, out: &mut Text<'_>) -> fmt::Result {
        write!(out, r#"{{"at":{},"request_id":"{}""#, self.at, self.request_id)?;
        if let Some(call) = self.call {
            let method = call.method.method();
            write!(
                out,
                r#","key_id":"{}","tier":"{}","tool":"{}","action":"{}","method":"{method}""#,
                call.key_id, call.tier, call.tool, call.action
            )?;
        }
        write!(out, r#","status":{}"#, self.status)?;
        if let Some(code) = self.refusal {
            write!(out, r#","refusal":"{}""#, code.as_str())?;
        }
        if let Some(upstream) = self.upstream {
            write!(out, r#","upstream":"{upstream}","tries":{}"#, self.tries)?;
        }
        write!(out, r#","ms":{},"bytes":{}"#, Millis(self.micros), self.sent)?;
        if let Some(timings) = &self.timings {
            timings.write_to(out)?;
        }
        out.write_str("}\n")
    }
}

impl Timings<'_> {
    fn write_to(&self, out: &mut Text<'_>) -> fmt::Result {
        if let Some(micros) = self.gateway_micros {
            write!(out, r#","gateway_ms":{}"#, Millis(micros))?;
        }
        if let Some(micros) = self.upstream_micros {
            write!(out, r#","upstream_ms":{}"#, Millis(micros))?;
        }
        if let Some(trace_id) = self.trace_id {
            write!(out, r#","trace_id":"{trace_id}""#)?;
        }
        write!(out, r#","received":{}"#, self.received)
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

/// Microseconds, shown as milliseconds.
struct Millis(u128);

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use shared::{key::KeyId, route::CallMethod, tier::Tier, tool::Tool};

    use super::*;
    use crate::{
        config::{PoolConfig, PoolSettings},
        pools::Pool,
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
            pool: std::sync::Arc::new(Pool::new(config, None)),
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
