//! The keys of a run: from the environment or a file, issued for the run, or minted.

mod admin;
mod demand;
mod error;
mod mint;
mod pool;
mod read;

pub(crate) use admin::KeyAdmin;
pub(crate) use demand::{LoadSize, add_keys, check_given, keys_needed};
pub(crate) use error::KeysError;
pub(crate) use pool::{KeyPool, PickedKey};
pub(crate) use read::{read_keys, read_secret};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::scenario::{KeySource, KeysSpec};

/// The pools of keys of a run by name.
pub(crate) type KeyPools = BTreeMap<String, Arc<KeyPool>>;

/// The source of keys.
pub(crate) struct KeySources<'a> {
    /// Keys of the environment or of a file, which take the place of all others.
    pub(crate) given: Option<Vec<String>>,
    /// Access to the gateway's key API.
    pub(crate) admin: Option<&'a KeyAdmin>,
    /// The signing secret.
    pub(crate) signing: Option<String>,
}

/// Prepares the pools of keys.
///
/// # Errors
/// Returns an error if keys cannot be issued or a secret is missing.
pub(crate) async fn prepare(specs: &[KeysSpec], sources: &KeySources<'_>) -> Result<KeyPools, KeysError> {
    let mut pools = KeyPools::new();
    for (number, spec) in (0_u32..).zip(specs) {
        let keys = match (&sources.given, spec.source) {
            (Some(given), _) => given.clone(),
            (None, KeySource::Issue) => {
                let admin = sources.admin.ok_or_else(|| KeysError::NoAdmin { pool: spec.name.clone() })?;
                admin.issue(spec).await?
            }
            (None, KeySource::Mint) => {
                let secret = sources.signing.as_deref();
                mint::mint(spec, secret.ok_or_else(|| KeysError::NoSigning { pool: spec.name.clone() })?)?
            }
        };
        pools.insert(spec.name.clone(), Arc::new(KeyPool::new(number, spec, &keys)?));
    }
    Ok(pools)
}
