//! Secrets that the meter has refused, so that a flood of them costs it nothing.

use crate::{
    key::{KeyFault, SecretHash},
    time::UnixMillis,
};

/// Time for which a refusal is cached, in milliseconds: a key may be enabled meanwhile.
const BELIEVE_MS: u64 = 5_000;

/// Secrets of one key whose refusal is remembered: the current one, the former one, and then some.
const MAX_SECRETS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Refused(Vec<(SecretHash, KeyFault, UnixMillis)>);

impl Refused {
    pub(super) fn believe(&mut self, secret: SecretHash, fault: KeyFault, now: UnixMillis) {
        self.0.retain(|&(other, _, until)| other != secret && now < until);
        self.0.truncate(MAX_SECRETS - 1);
        self.0.push((secret, fault, now.plus(BELIEVE_MS)));
    }

    pub(super) fn find(&mut self, secret: &SecretHash, now: UnixMillis) -> Option<KeyFault> {
        self.0.retain(|&(_, _, until)| now < until);
        self.0.iter().find(|(other, _, _)| other == secret).map(|&(_, fault, _)| fault)
    }

    /// The clock went back: no `until` means anything.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
