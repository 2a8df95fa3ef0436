//! The owner's headers at rest: their values may be credentials of the receiver.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared::json;

use super::Endpoint;
use crate::webhooks::{EncryptionKeys, Nonce, SealedSecret, UnsealError};

/// Headers as they are stored: names in clear, values encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedHeaders {
    names: Vec<String>,
    /// The values by name, a JSON object.
    values: SealedSecret,
}

impl Endpoint {
    /// Replaces the headers, encrypted for their owner. The nonce must be random.
    pub fn seal_headers(
        &mut self,
        headers: BTreeMap<String, String>,
        keys: &EncryptionKeys,
        owner: &str,
        nonce: &Nonce,
    ) {
        self.sealed_headers = (!headers.is_empty()).then(|| {
            let text = serde_json::to_vec(&headers).unwrap_or_default();
            SealedHeaders {
                names: headers.into_keys().collect(),
                values: keys.seal_bytes(&text, owner, nonce),
            }
        });
    }

    /// Returns the headers with their values.
    ///
    /// # Errors
    /// Returns an error if they cannot be decrypted.
    pub fn unseal_headers(
        &self,
        keys: &EncryptionKeys,
        owner: &str,
    ) -> Result<BTreeMap<String, String>, UnsealError> {
        let Some(sealed) = &self.sealed_headers else { return Ok(BTreeMap::new()) };
        let text = String::from_utf8(keys.unseal_bytes(&sealed.values, owner)?);
        text.ok().and_then(|text| json::from_str(&text).ok()).ok_or(UnsealError::Malformed)
    }

    /// Returns the names of the headers.
    pub(super) fn header_names(&self) -> Vec<&str> {
        self.sealed_headers.iter().flat_map(|sealed| &sealed.names).map(String::as_str).collect()
    }
}
