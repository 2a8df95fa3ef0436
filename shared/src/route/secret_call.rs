//! The requests that change a named secret of the caller's key.

use crate::key::SecretId;

/// A request that changes a named secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretCall {
    /// `POST /v1/keys/me/secrets`
    Create,
    /// `PATCH /v1/keys/me/secrets/{secret_id}`
    Change(SecretId),
    /// `DELETE /v1/keys/me/secrets/{secret_id}`
    Revoke(SecretId),
    /// `POST /v1/keys/me/secrets/{secret_id}/rotate`
    Rotate(SecretId),
}
