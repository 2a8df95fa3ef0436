//! How often an address may try an admin secret.

use std::collections::HashMap;

use parking_lot::Mutex;
use shared::{
    caller,
    policy::ADMIN_ATTEMPTS,
    problem::{Code, Problem},
    quota::{Decision, Usage},
    secret::{AdminSecret, MacKeys},
    time::UnixMillis,
};

/// Wrong secrets by address, whose names tell nobody the address.
#[derive(Default)]
pub(super) struct Attempts(Mutex<HashMap<String, Usage>>);

/// Addresses that are told apart. The others share one name, so that memory has a bound and guessing no way round.
const MOST: usize = 10_000;

impl Attempts {
    /// Compares an admin secret. The attempt is counted first: of secrets presented at the same moment no more are
    /// compared than may be.
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
        let name = self.name(caller::name(address, names), now);
        let decision = self.0.lock().entry(name.clone()).or_default().admit(&ADMIN_ATTEMPTS, now);
        match decision {
            Decision::Deny(denial, _) => Err(caller::attempts_exceeded(&denial)),
            Decision::Allow(_) if secret.matches(presented) => {
                self.0.lock().remove(&name);
                Ok(())
            }
            Decision::Allow(_) => Err(Problem::new(Code::AdminSecretInvalid, "the admin secret is wrong")),
        }
    }

    fn name(&self, name: String, now: UnixMillis) -> String {
        let mut known = self.0.lock();
        if known.contains_key(&name) || known.len() < MOST {
            return name;
        }
        known.retain(|_, usage| {
            usage.roll(now);
            usage.used() != (0, 0)
        });
        if known.len() < MOST { name } else { "others".to_owned() }
    }
}
