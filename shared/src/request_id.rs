//! The name of one request, the same at the edge, in the proxy, at the tool and in every log line.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::hex;

/// 128 random bits, written as 32 lower-case hexadecimal digits, so that it can serve as a trace id
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub [u8; 16]);

impl RequestId {
    /// Reads what [`RequestId`]'s `Display` writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        hex::parse(text).map(Self)
    }

    /// Returns what `Display` writes.
    pub fn text(self) -> [u8; 32] {
        let mut text = [0; 32];
        hex::write_digits(&self.0, &mut text);
        text
    }

    /// Returns half of the bits, as the entropy of the one span that a hop without its own randomness
    /// makes for the request.
    pub const fn span_entropy(self) -> [u8; 8] {
        let Self([_, _, _, _, _, _, _, _, half @ ..]) = self;
        half
    }

    /// Returns the place of the request among all, by which a sample is drawn.
    pub(crate) const fn place(self) -> u32 {
        let Self([a, b, c, d, ..]) = self;
        u32::from_be_bytes([a, b, c, d])
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(&self.0, f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("not a request id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_id_reads_back_and_other_texts_are_refused() {
        let id = RequestId([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 254, 255]);
        assert_eq!(id.to_string(), "000102030405060708090a0b0c0dfeff");
        assert_eq!(RequestId::parse(&id.to_string()), Some(id));
        assert_eq!(RequestId::parse(&id.to_string().to_uppercase()), None);
        assert_eq!(RequestId::parse("00"), None);
    }
}
