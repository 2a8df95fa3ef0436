//! Limits the attempts of an address to guess the admin secret.

use std::collections::HashMap;

use parking_lot::Mutex;
use shared::caller;
use shared::problem::Problem;
use shared::quota::Usage;
use shared::secret::{AdminSecret, MacKeys};
use shared::time::UnixMillis;

/// Failed attempts by pseudonym of the address.
#[derive(Default)]
pub(super) struct AdminAttempts(Mutex<HashMap<String, Usage>>);

/// Maximum number of addresses with their own counter. The others share one, which bounds
/// memory and still limits guessing.
const MAX_ADDRESSES: usize = 10_000;

impl AdminAttempts {
    /// Checks an admin secret. An address over its limit is refused also with the right secret.
    ///
    /// # Errors
    /// `admin-secret-invalid`, `attempts-exceeded`.
    pub(super) fn check(
        &self,
        presented: &str,
        secret: &AdminSecret,
        address: Option<&str>,
        names: &MacKeys,
        now: UnixMillis,
    ) -> Result<(), Problem> {
        let right = secret.matches(presented);
        let mut known = self.0.lock();
        let name = counted_name(&mut known, caller::name(address, names), now);
        let decision = caller::attempt(known.entry(name.clone()).or_default(), right, now);
        let admitted = caller::admitted(&decision, right);
        if admitted.is_ok() {
            known.remove(&name);
        }
        admitted
    }
}

/// Returns the name under which an address is counted.
fn counted_name(known: &mut HashMap<String, Usage>, name: String, now: UnixMillis) -> String {
    if known.contains_key(&name) || known.len() < MAX_ADDRESSES {
        return name;
    }
    known.retain(|_, usage| {
        usage.roll(now);
        usage.used() != (0, 0)
    });
    if known.len() < MAX_ADDRESSES { name } else { "others".to_owned() }
}
