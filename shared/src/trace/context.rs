//! The value of a `traceparent` header.

use std::fmt;

use super::{SpanId, TraceId};
use crate::hex::{self, write_digits};

/// A span as other hops know it: the value of a `traceparent` header.
///
/// ```
/// use shared::trace::SpanContext;
///
/// let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// let context = SpanContext::parse(text).unwrap();
/// assert!(context.is_sampled);
/// assert_eq!(context.to_string(), text);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanContext {
    /// The trace.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
    /// Whether the caller may have recorded the span.
    pub is_sampled: bool,
}

/// Length of a value of version 00.
const LENGTH: usize = 55;

impl SpanContext {
    /// Parses the value of a `traceparent` header (W3C Trace Context, sections 3.2.2 and 3.2.4).
    /// Returns `None` if it is invalid. A value of a later version may have more fields, which are
    /// ignored, and so are flags other than `sampled`.
    pub fn parse(value: &str) -> Option<Self> {
        let known = value.get(..LENGTH)?;
        let mut fields = known.split('-');
        let [version, trace, span, flags] = std::array::from_fn(|_| fields.next().unwrap_or_default());
        let [version] = hex::parse(version)?;
        let [flags] = hex::parse(flags)?;
        let rest = value.get(LENGTH..)?;
        let is_over = rest.is_empty() || version > 0 && rest.starts_with('-');
        if version == 0xff || !is_over {
            return None;
        }
        let (trace_id, span_id) = (TraceId::parse(trace)?, SpanId::parse(span)?);
        Some(Self { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
    }

    /// Returns the value of a `traceparent` header. Each traced call writes one, so it is not formatted.
    pub fn to_header(&self) -> [u8; LENGTH] {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-00";
        let mut write = |at: usize, bytes: &[u8]| {
            write_digits(bytes, text.get_mut(at..).unwrap_or_default());
        };
        write(3, &self.trace_id.bytes());
        write(36, &self.span_id.bytes());
        write(53, &[u8::from(self.is_sampled)]);
        text
    }
}

/// The flag of a span that its caller may have recorded.
const SAMPLED: u8 = 1;

impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_header()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const SPAN: &str = "b7ad6b7169203331";

    #[test]
    fn invalid_traceparent_is_refused() {
        for text in [
            String::new(),
            "00".to_owned(),
            format!("00-{TRACE}-{SPAN}"),
            format!("00-{TRACE}-{SPAN}-"),
            format!("00-{TRACE}-{SPAN}-0"),
            format!("00-{TRACE}-{SPAN}-1x"),
            format!("00-{TRACE}-{SPAN}-01-"),
            format!("00-{TRACE}-{SPAN}-01 "),
            format!(" 00-{TRACE}-{SPAN}-01"),
            format!("00-{TRACE}-{SPAN}-01, 00-{TRACE}-{SPAN}-01"),
            format!("00_{TRACE}-{SPAN}-01"),
            format!("00-{}-{SPAN}-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-{}-01", SPAN.to_uppercase()),
            format!("00-{}-{SPAN}-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}0-{}-01", &SPAN[1..]),
            format!("ff-{TRACE}-{SPAN}-01"),
            format!("FE-{TRACE}-{SPAN}-01"),
            format!("01-{TRACE}-{SPAN}-01."),
            format!("00-{TRACE}-{SPAN}-0é"),
        ] {
            assert_eq!(SpanContext::parse(&text), None, "{text}");
        }
    }

    #[test]
    fn later_version_and_unknown_flags_are_read_as_version_00() {
        for (text, flags) in [
            (format!("00-{TRACE}-{SPAN}-00"), "00"),
            (format!("00-{TRACE}-{SPAN}-03"), "01"),
            (format!("00-{TRACE}-{SPAN}-fe"), "00"),
            (format!("01-{TRACE}-{SPAN}-01"), "01"),
            (format!("cc-{TRACE}-{SPAN}-01-what the future will be"), "01"),
        ] {
            let context = SpanContext::parse(&text).map(|context| context.to_string());
            assert_eq!(context, Some(format!("00-{TRACE}-{SPAN}-{flags}")), "{text}");
        }
    }
}
