//! The reasons why a run has no keys.

use std::env::VarError;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::http::HttpError;

/// The reason why the keys of a run cannot be prepared. Keys and secrets are never shown.
#[derive(Debug, Error)]
pub(crate) enum KeysError {
    /// An environment variable is missing or not UTF-8.
    #[error("cannot read {option} {variable}: {source}")]
    Variable {
        /// The option that names the variable.
        option: &'static str,
        /// The name of the variable.
        variable: String,
        /// The cause.
        source: VarError,
    },
    /// A file with keys could not be read.
    #[error("cannot read keys from {}: {source}", path.display())]
    File {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There are no keys.
    #[error("{place} has no keys: expected one, or several separated by commas or line breaks")]
    Empty {
        /// The variable or file.
        place: String,
    },
    /// A key is invalid as a header value.
    #[error("a key of `{pool}` is invalid as a header value")]
    NotHeader {
        /// The name of the pool.
        pool: String,
    },
    /// Keys must be issued, and there is no admin secret.
    #[error(
        "keys `{pool}` are issued for the run: expected --admin-env with the admin secret's variable, or --key-env or --key-file with keys"
    )]
    NoAdmin {
        /// The name of the pool.
        pool: String,
    },
    /// Keys must be minted, and there is no signing secret.
    #[error(
        "keys `{pool}` are minted: expected --signing-env with the signing secret's variable, or --key-env or --key-file with keys"
    )]
    NoSigning {
        /// The name of the pool.
        pool: String,
    },
    /// The signing secret is invalid.
    #[error("the variable of --signing-env is no signing secret: {0}")]
    Signing(String),
    /// The load would reach the limits of the keys.
    #[error(
        "keys `{pool}`: {count} of {limit} calls a {window}, and the load has {calls} calls in a {window}: expected at \
         least {needed} keys, or a lower rate"
    )]
    TooFew {
        /// The name of the pool.
        pool: String,
        /// The number of keys.
        count: u32,
        /// The limit of a key.
        limit: u32,
        /// Minute or day.
        window: &'static str,
        /// The calls that the window has.
        calls: f64,
        /// The number of keys that is enough.
        needed: u32,
    },
    /// The tier is unknown.
    #[error("keys `{pool}`: unknown tier `{tier}`: expected free, pro or enterprise")]
    Tier {
        /// The name of the pool.
        pool: String,
        /// The tier.
        tier: String,
    },
    /// The exponent of a Zipf distribution is invalid.
    #[error("keys `{pool}`: invalid exponent {exponent}: expected a number from 0 to 10")]
    Exponent {
        /// The name of the pool.
        pool: String,
        /// The exponent.
        exponent: f64,
    },
    /// The gateway refused a request.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The gateway's response has no key.
    #[error("the response to {0} has no `key` or no `id`")]
    NoKey(&'static str),
}
