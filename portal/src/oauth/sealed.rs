//! Values that clients carry and cannot read: JSON, encrypted, in base64url.

use biolink::webhooks::{EncryptionKeys, Nonce, SealedSecret};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::json;
use shared::secret::MacKeys;

/// The longest text that is decrypted, in bytes. A request has no longer target.
const MAX_LEN: usize = 8 * 1024;

/// Encrypts a value for one use. The nonce must be random.
pub(super) fn seal<T: Serialize>(value: &T, usage: &str, keys: &MacKeys, nonce: &Nonce) -> String {
    let text = json::to_string(value).unwrap_or_default();
    let sealed = EncryptionKeys::from(keys.clone()).seal_bytes(text.as_bytes(), usage, nonce);
    // It stands in addresses.
    sealed.as_str().replace('+', "-").replace('/', "_")
}

/// Decrypts a value; `None` for a text of another use, of another gateway, or that was changed.
pub(super) fn unseal<T: DeserializeOwned>(text: &str, usage: &str, keys: &MacKeys) -> Option<T> {
    if text.len() > MAX_LEN {
        return None;
    }
    let sealed = SealedSecret::from(text.replace('-', "+").replace('_', "/").as_str());
    let bytes = EncryptionKeys::from(keys.clone()).unseal_bytes(&sealed, usage).ok()?;
    json::from_str(std::str::from_utf8(&bytes).ok()?).ok()
}
