//! The header `Idempotency-Key`.

use std::fmt::Write as _;

use crate::key::KeyId;
use crate::problem::{Problem, codes};
use crate::secret::sha256;

/// The header.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

const NAME_DOMAIN: &[u8] = b"utg.idempotency.v1";
const SECRET_DOMAIN: &[u8] = b"utg.idempotency-secret.v1";

/// The value of `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdempotencyKey<'a>(&'a str);

impl<'a> IdempotencyKey<'a> {
    const MAX_LEN: usize = 255;

    /// Reads the header; `None` without one.
    ///
    /// # Errors
    /// Returns `header-malformed` unless it is 1 to 255 characters of visible ASCII without a
    /// comma, which would join two.
    pub fn read(header: Option<&'a str>) -> Result<Option<Self>, Problem> {
        let Some(text) = header.map(str::trim) else { return Ok(None) };
        let plain = |b: u8| b.is_ascii_graphic() && b != b',';
        if (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Some(Self(text)));
        }
        let detail =
            "Idempotency-Key must be 1 to 255 characters of visible ASCII without a comma, sent once";
        Err(Problem::new(codes::HEADER_MALFORMED, detail))
    }

    /// Returns the text of the header.
    pub const fn as_str(&self) -> &'a str {
        self.0
    }

    /// Returns the name under which its state is kept. It does not reveal the header's text.
    pub fn name(&self) -> String {
        self.name_within(&[NAME_DOMAIN])
    }

    /// Returns the same for a secret of this key: another key's holder may send the same header.
    pub fn name_of_secret(&self, key: &KeyId) -> String {
        self.name_within(&[SECRET_DOMAIN, key.as_bytes()])
    }

    fn name_within(&self, space: &[&[u8]]) -> String {
        let parts: Vec<&[u8]> = space.iter().copied().chain([self.0.as_bytes()]).collect();
        let digest = sha256(&parts);
        digest.iter().take(16).fold("issue_".to_owned(), |mut name, byte| {
            // Writing to a text cannot fail.
            let _written = write!(name, "{byte:02x}");
            name
        })
    }
}
