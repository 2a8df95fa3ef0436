//! The name of a short link or QR code.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// 2 to 24 of `a-z 0-9 _ -`, not `qr`, which is a QR code without a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Via {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Via {
    /// The longest name.
    pub const MAX: usize = 24;

    /// Reads a name. Capital letters become small ones. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(2..=Self::MAX).contains(&text.len()) || !text.bytes().all(is_plain) {
            return None;
        }
        let mut bytes = [0; Self::MAX];
        bytes.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from.to_ascii_lowercase());
        let via = Self { bytes, len: u8::try_from(text.len()).ok()? };
        (via.as_str() != "qr").then_some(via)
    }

    /// Returns the name that is closest to an invalid one: `flyer-mai` for `Flyer Mai`.
    pub fn suggested(text: &str) -> Option<Self> {
        let parts = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
        Self::parse(name.get(..Self::MAX).unwrap_or(&name).trim_end_matches('-'))
    }

    /// Reads the parameter `via` of an address; `None` if it has none that is a name.
    pub fn of_query(query: Option<&str>) -> Option<Self> {
        query?.split('&').filter_map(|pair| pair.strip_prefix("via=")).find_map(Self::parse)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        self.bytes
            .get(..usize::from(self.len))
            .and_then(|bytes| str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Via {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Via {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a name"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_read_from_text_and_query() {
        assert_eq!(Via::parse("Flyer-1_a").map(|via| via.to_string()).as_deref(), Some("flyer-1_a"));
        for text in ["", "a", "qr", "QR", "a b", "\u{e4}bc", &"x".repeat(25)] {
            assert_eq!(Via::parse(text), None, "{text}");
        }
        assert_eq!(Via::of_query(Some("a=b&via=qr&via=flyer")), Via::parse("flyer"));
        assert_eq!(Via::of_query(Some("via=&xvia=flyer")), None);
    }

    #[test]
    fn name_is_suggested_for_what_people_type() {
        for (typed, suggested) in [
            ("Flyer Mai", Some("flyer-mai")),
            ("  Schaufenster / Nord  ", Some("schaufenster-nord")),
            ("caf\u{e9} 2", Some("caf-2")),
            ("a_b-c", Some("a_b-c")),
            ("Plakat am Bahnhof Zoo links", Some("plakat-am-bahnhof-zoo-li")),
            ("Plakat am Bahnhof Zoologi scher", Some("plakat-am-bahnhof-zoolog")),
            ("Plakat am Bahnhofs Nordx y", Some("plakat-am-bahnhofs-nordx")),
            ("\u{96ea}", None),
            ("!", None),
            ("QR", None),
            ("", None),
        ] {
            let found = Via::suggested(typed).map(|via| via.to_string());
            assert_eq!(found.as_deref(), suggested, "{typed}");
        }
    }
}
