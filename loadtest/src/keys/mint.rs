//! Keys made with the signing secret. A proxy in direct mode takes them without a record.

use shared::key::{ApiKey, KeyEnv, KeyId};
use shared::secret::MacKeys;
use shared::tier::Tier;
use shared::time::UnixMillis;

use super::KeysError;
use crate::random;
use crate::scenario::KeysSpec;
use rand::RngExt as _;

/// Mints the keys of a pool. Their ids differ from run to run, so that no limit is used up.
pub(super) fn mint(spec: &KeysSpec, secret: &str) -> Result<Vec<String>, KeysError> {
    let signing = MacKeys::parse(secret).map_err(|error| KeysError::Signing(error.to_string()))?;
    let unknown = |_| KeysError::Tier { pool: spec.name.clone(), tier: spec.tier.clone() };
    let tier: Tier = spec.tier.parse().map_err(unknown)?;
    let now = UnixMillis(crate::clock::unix_millis());
    let seed = now.0 ^ u64::from(std::process::id()) << 44;
    let key = |nth: u32| {
        let mut random = random::at(seed, nth.into());
        let (id, entropy): ([u8; 12], [u8; 16]) = (random.random(), random.random());
        ApiKey::mint(KeyEnv::Live, KeyId::new(id), tier, now, entropy, &signing).0.reveal()
    };
    Ok((0..spec.count).map(key).collect())
}
