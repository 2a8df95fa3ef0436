//! How often an address may try an admin secret.

use std::collections::HashMap;

use parking_lot::Mutex;
use shared::{
    caller,
    problem::Problem,
    quota::Usage,
    secret::{AdminSecret, MacKeys},
    time::UnixMillis,
};

/// Wrong secrets by address, whose names tell nobody the address.
#[derive(Default)]
pub(super) struct Attempts(Mutex<HashMap<String, Usage>>);

/// Addresses that are told apart. The others share one name, so that memory has a bound and guessing no way round.
const MOST: usize = 10_000;

impl Attempts {
    /// Compares an admin secret. Of an address that has sent too many wrong ones a right one is refused too.
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
        let name = room(&mut known, caller::name(address, names), now);
        let decision = caller::attempt(known.entry(name.clone()).or_default(), right, now);
        let admitted = caller::admitted(&decision, right);
        if admitted.is_ok() {
            known.remove(&name);
        }
        admitted
    }
}

/// The name under which an address is counted.
fn room(known: &mut HashMap<String, Usage>, name: String, now: UnixMillis) -> String {
    if known.contains_key(&name) || known.len() < MOST {
        return name;
    }
    known.retain(|_, usage| {
        usage.roll(now);
        usage.used() != (0, 0)
    });
    if known.len() < MOST { name } else { "others".to_owned() }
}
