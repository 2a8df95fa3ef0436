//! A member of a change that distinguishes "leave unchanged" from "set to nothing", for serde.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[allow(clippy::ref_option, reason = "serde's signature")]
pub(super) fn serialize<T: Serialize, S: Serializer>(
    value: &Option<Option<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().and_then(Option::as_ref).serialize(serializer)
}

pub(super) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(deserializer).map(Some)
}
