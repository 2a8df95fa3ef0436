//! The ids of traces and spans. None is all zeros, which is invalid.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::hex;
use crate::request_id::RequestId;

/// The id of a trace, written as 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId([u8; 16]);

/// The id of a span, written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId([u8; 8]);

impl TraceId {
    /// Reads what `Display` writes. Returns `None` for anything else, and for zeros.
    pub(super) fn parse(text: &str) -> Option<Self> {
        hex::parse(text).filter(|bytes| *bytes != [0; 16]).map(Self)
    }

    /// Returns the bytes.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl From<RequestId> for TraceId {
    /// Returns the id of the trace that a request begins.
    fn from(id: RequestId) -> Self {
        // Zeros are as likely as any other id.
        Self(u128::from_be_bytes(id.0).max(1).to_be_bytes())
    }
}

impl SpanId {
    /// Returns the span id of random bytes.
    pub fn new(entropy: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(entropy).max(1).to_be_bytes())
    }

    /// Reads what `Display` writes. Returns `None` for anything else, and for zeros.
    pub(super) fn parse(text: &str) -> Option<Self> {
        hex::parse(text).filter(|bytes| *bytes != [0; 8]).map(Self)
    }

    /// Returns the bytes.
    pub const fn bytes(self) -> [u8; 8] {
        self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(&self.0, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(&self.0, f)
    }
}

impl Serialize for TraceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_zeros_are_a_valid_id() {
        let (trace, span) = (TraceId::from(RequestId([0; 16])), SpanId::new([0; 8]));
        assert_eq!(TraceId::parse(&trace.to_string()), Some(trace));
        assert_eq!(SpanId::parse(&span.to_string()), Some(span));
    }
}
