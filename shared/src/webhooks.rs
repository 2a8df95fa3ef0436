//! Webhooks of bio-link pages, by [Standard Webhooks](https://www.standardwebhooks.com): what is
//! sent, to which endpoints, when, and how it is signed.
//!
//! The account's object stores endpoints, events and deliveries, and sends requests. Everything that
//! it decides is in here.

mod encryption;
mod signature;

pub use encryption::{EncryptionKeys, Nonce, SealedSecret, UnsealError};
pub use signature::{
    HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, SignatureError, TOLERANCE_S, WebhookSecret,
    WebhookSecretError, sign, verify,
};
