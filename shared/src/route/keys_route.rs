//! The routes of the keys API.

use crate::endpoints;
use crate::key::{KeyId, SecretId};

endpoints! {
    /// A request of the keys API.
    KeysRoute of KeysEndpoint
    Issue: Post "/v1/keys/issue",
    ReadOwn: Get "/v1/keys/me",
    RotateOwn: Post "/v1/keys/me/rotate",
    RevokeOwn: Delete "/v1/keys/me",
    ReadHistory: Get "/v1/usage",
    ReadCalls: Get "/v1/usage/calls",
    ReadAlerts: Get "/v1/keys/me/alerts",
    ListSecrets: Get "/v1/keys/me/secrets",
    CreateSecret: Post "/v1/keys/me/secrets",
    ChangeSecret(SecretId): Patch "/v1/keys/me/secrets/{secret_id}",
    RevokeSecret(SecretId): Delete "/v1/keys/me/secrets/{secret_id}",
    RotateSecret(SecretId): Post "/v1/keys/me/secrets/{secret_id}/rotate",
    List: Get "/v1/keys",
    Read(KeyId): Get "/v1/keys/{id}",
    Change(KeyId): Patch "/v1/keys/{id}",
    Revoke(KeyId): Post "/v1/keys/{id}/revoke",
    Rotate(KeyId): Post "/v1/keys/{id}/rotate",
    RevokeSecretOf(KeyId, SecretId): Delete "/v1/keys/{id}/secrets/{secret_id}",
}
