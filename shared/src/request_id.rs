//! The name of one request, the same at the edge, in the proxy, at the tool and in every log line.

use std::fmt;

use crate::hex;

/// 128 random bits, written as 32 lower-case hexadecimal digits, so that it can serve as a trace id
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub [u8; 16]);

impl RequestId {
    /// Reads what [`RequestId`]'s `Display` writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        hex::parse(text).map(Self)
    }

    /// Returns half of the bits, as the entropy of the one span that a hop without randomness of its own
    /// makes for the request.
    pub const fn span_entropy(self) -> [u8; 8] {
        let Self([_, _, _, _, _, _, _, _, half @ ..]) = self;
        half
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(&self.0, f)
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
