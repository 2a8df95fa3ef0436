//! One line of the access log: a JSON object.

use std::fmt;
use std::io::Write as _;

use shared::problem::Code;
use shared::request_id::RequestId;
use shared::route::CallMethod;
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::trace::{SpanContext, TraceId};

use crate::call::{Call, RefusedCall};
use transport::record::Aborted;

/// The fields of a line. Their types exclude quotes and control characters.
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
    /// Timings, if `log.detail` is `timings`.
    pub timings: Option<Timings>,
}

/// The fields that `log.detail = "timings"` adds.
#[derive(Clone, Copy, Debug)]
pub struct Timings {
    /// Time from the end of the request headers to sending the request to the tool. `None` if it
    /// was not sent.
    pub gateway_micros: Option<u64>,
    /// Time from then to the start of the tool's response.
    pub upstream_micros: Option<u64>,
    /// Bytes of the request body.
    pub received: u64,
    /// The trace id of the caller's `traceparent`.
    pub trace_id: Option<TraceId>,
}

/// The buffer that a line is appended to. It is built from parts, because every request writes one;
/// only values without a text of their own are formatted.
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

    /// Appends microseconds as milliseconds with three decimals.
    fn millis(&mut self, micros: u64) -> &mut Self {
        self.number(micros / 1_000).text(".").padded(micros % 1_000, 3)
    }

    /// Appends a number with leading zeros.
    fn padded(&mut self, number: u64, digits: u32) -> &mut Self {
        for digit in (1..digits).rev() {
            if number < 10_u64.pow(digit) {
                self.text("0");
            }
        }
        self.number(number)
    }

    /// Appends a time as RFC 3339, in UTC, with milliseconds. It does not allocate, unlike
    /// `UnixMillis::to_rfc3339`.
    fn time(&mut self, time: UnixMillis) -> &mut Self {
        let (year, month, day) = date(time.0 / DAY_MS);
        let (seconds, millis) = (time.0 % DAY_MS / 1_000, time.0 % 1_000);
        self.padded(year, 4).text("-").padded(month, 2).text("-").padded(day, 2);
        self.text("T").padded(seconds / 3_600, 2);
        self.text(":").padded(seconds / 60 % 60, 2);
        self.text(":").padded(seconds % 60, 2).text(".").padded(millis, 3).text("Z")
    }

    /// Appends the members that name a call.
    fn call(&mut self, method: CallMethod, tool: Tool, action: &str) {
        self.text(r#","method":""#).text(method.method().as_str());
        self.text(r#"","tool":""#).text(tool.as_str());
        self.text(r#"","action":""#).text(action).text("\"");
    }
}

const DAY_MS: u64 = 86_400_000;

/// Returns year, month and day of the proleptic Gregorian calendar for days since 1970-01-01
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`).
const fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + (month <= 2) as u64;
    (year, month, day)
}

impl Line<'_> {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut out = Out(out);
        out.text(r#"{"time":""#).time(self.time);
        out.text(r#"","request_id":""#).shown(self.request_id).text("\"");
        if let Some(call) = self.call {
            out.text(r#","key_id":""#).shown(call.key_id);
            out.text(r#"","tier":""#).text(call.tier.as_str()).text("\"");
            out.call(call.method, call.tool, &call.action);
        } else if let Some(call) = self.refused {
            out.call(call.method, call.tool, &call.action);
        }
        out.text(r#","status":"#).number(self.status.into());
        if let Some(code) = self.refusal {
            out.text(r#","code":""#).text(code.as_str()).text("\"");
        }
        if let Some(by) = self.aborted {
            out.text(r#","aborted":""#).text(by.into_str()).text("\"");
        }
        if let Some(upstream) = self.upstream {
            out.text(r#","upstream":""#).text(upstream).text(r#"","tries":"#).number(self.tries.into());
        }
        out.text(r#","duration_ms":"#).millis(self.micros);
        out.text(r#","response_bytes":"#).number(u64::try_from(self.sent).unwrap_or(u64::MAX));
        if let Some(units) = self.units {
            out.text(r#","units":"#).number(units.into());
        }
        let caller = self.timings.and_then(|timings| timings.trace_id);
        if let Some(trace_id) = self.span.map(|span| span.trace_id).or(caller) {
            out.text(r#","trace_id":""#).shown(trace_id).text("\"");
        }
        if let Some(span) = self.span {
            out.text(r#","span_id":""#).shown(span.span_id).text("\"");
        }
        if let Some(timings) = &self.timings {
            timings.write(&mut out);
        }
        out.text("}\n");
    }
}

impl Timings {
    fn write(&self, out: &mut Out<'_>) {
        if let Some(micros) = self.gateway_micros {
            out.text(r#","overhead_ms":"#).millis(micros);
        }
        if let Some(micros) = self.upstream_micros {
            out.text(r#","upstream_ms":"#).millis(micros);
        }
        out.text(r#","request_bytes":"#).number(self.received);
    }
}

#[cfg(test)]
mod tests {
    use shared::key::KeyId;
    use shared::tier::Tier;

    use shared::action::Action;
    use shared::problem::codes;
    use shared::route::ToolCall;

    use super::*;
    use crate::config::{PoolConfig, PoolSettings};
    use crate::upstreams::{Pool, ResolvedNames};

    fn line(call: Option<&Call>) -> Line<'_> {
        Line {
            time: UnixMillis(1),
            request_id: RequestId([7; 16]),
            call,
            refused: None,
            status: 503,
            refusal: Some(codes::TOOL_TIMEOUT),
            aborted: None,
            upstream: Some("127.0.0.1:9100"),
            tries: 1,
            micros: 1_234_005,
            sent: 9,
            units: None,
            span: None,
            timings: None,
        }
    }

    #[test]
    fn line_is_one_json_object() {
        let config = PoolConfig {
            tool: Tool::Qr,
            upstreams: Vec::new(),
            settings: PoolSettings::default(),
            mirror: None,
        };
        let pool = Pool::new(config, &ResolvedNames::default(), None);
        let action = Action::parse("generate").unwrap();
        let called = ToolCall { method: CallMethod::Post, tool: Tool::Qr, action };
        let call = Call::new(&called, std::sync::Arc::new(pool), KeyId::new([3; 12]), Tier::Pro);
        for call in [None, Some(&call)] {
            let mut text = Vec::new();
            Line { units: Some(7), ..line(call) }.write(&mut text);
            assert_eq!(text.iter().filter(|&&b| b == b'\n').count(), 1);
            let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(json["duration_ms"], 1234.005);
            assert_eq!((&json["code"], &json["units"]), (&"tool-timeout".into(), &7.into()));
            assert_eq!(json["tool"].as_str(), call.map(|_| "qr"));
        }
    }

    #[test]
    fn unknown_timings_are_omitted() {
        let caller = SpanContext::parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
        let trace_id = Some(caller.trace_id);
        for (upstream_micros, expected) in [(Some(2_500), Some(2.5)), (None, None)] {
            let timings = Timings { gateway_micros: Some(70), upstream_micros, received: 5, trace_id };
            let mut text = Vec::new();
            Line { timings: Some(timings), ..line(None) }.write(&mut text);
            let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
            assert_eq!((json["overhead_ms"].as_f64(), json["upstream_ms"].as_f64()), (Some(0.07), expected));
            assert_eq!(json["trace_id"], "0af7651916cd43dd8448eb211c80319c");
            assert_eq!(json["request_bytes"], 5);
        }
    }

    #[test]
    fn refused_call_is_named_without_a_key() {
        let refused = RefusedCall { method: CallMethod::Post, tool: Tool::Qr, action: "generate".into() };
        let mut text = Vec::new();
        Line { refused: Some(&refused), ..line(None) }.write(&mut text);
        let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let call = ["method", "tool", "action"].map(|key| json[key].as_str());
        assert_eq!(call, [Some("POST"), Some("qr"), Some("generate")]);
        assert_eq!((json["key_id"].as_str(), json["tier"].as_str()), (None, None));
    }

    #[test]
    fn time_equals_the_shared_rfc_3339_form() {
        let day = |day: u64| UnixMillis(day * DAY_MS + day * 7_919 % DAY_MS / 1_000 * 1_000 + 123);
        for time in (0..80_000).map(day).chain([UnixMillis(1_763_712_000_123)]) {
            let mut text = Vec::new();
            Out(&mut text).time(time);
            assert_eq!(String::from_utf8(text).unwrap(), time.to_rfc3339());
        }
    }
}
