//! A moment as RFC 3339, or null.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use shared::time::UnixMillis;

#[allow(clippy::ref_option, reason = "serde's signature")]
pub(crate) fn serialize<S: Serializer>(at: &Option<UnixMillis>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(UnixMillis::to_rfc3339).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<UnixMillis>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let parse = |text: String| UnixMillis::from_rfc3339(&text).ok_or_else(|| D::Error::custom("not a time"));
    text.map(parse).transpose()
}
