//! Secrets and keys of the tests. Nothing here is used anywhere else.

use std::{
    process::Command,
    sync::atomic::{AtomicU64, Ordering},
};

use shared::{
    key::{ApiKey, KeyEnv, KeyId},
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
};

use crate::vector::Credential;

pub const ADMIN_SECRET: &str = "admin-secret-of-the-tests-0123456789";
pub const KEY_SIGNING_SECRET: &str = "key-signing-secret-of-the-tests-0123";
pub const GRANT_SECRET: &str = "grant-secret-of-the-tests-0123456789";
pub const WEBHOOK_ENCRYPTION_SECRET: &str = "webhook-secret-of-the-tests-01234567";

/// Holders of keys with their e-mail addresses, for [`LISTS`].
pub const HOLDERS: [(&str, &str); 4] = [
    ("Ada Lovelace", "ada@example.com"),
    ("bob 100%_", "bob@example.org"),
    ("Émile Zola", "zola@example.com"),
    ("ada byron", "byron@example.com"),
];
/// Queries of the list of their keys, with the e-mail addresses in the order of the list. It is the same at the
/// edge and at a proxy in direct mode.
pub const LISTS: [(&str, &[&str]); 15] = [
    ("sort=name", &["byron@example.com", "ada@example.com", "bob@example.org", "zola@example.com"]),
    ("sort=-name", &["zola@example.com", "bob@example.org", "ada@example.com", "byron@example.com"]),
    ("sort=email", &["ada@example.com", "bob@example.org", "byron@example.com", "zola@example.com"]),
    ("sort=-email", &["zola@example.com", "byron@example.com", "bob@example.org", "ada@example.com"]),
    ("q=ADA&sort=name", &["byron@example.com", "ada@example.com"]),
    ("q=ADA&sort=-name", &["ada@example.com", "byron@example.com"]),
    ("q=%C3%A9mile", &["zola@example.com"]),
    ("q=EXAMPLE.org", &["bob@example.org"]),
    ("q=%25", &["bob@example.org"]),
    ("q=_", &["bob@example.org"]),
    ("q=a%25", &[]),
    ("q=key_", &[]),
    ("email=BYRON@example.com&tier=free", &["byron@example.com"]),
    ("q=byron&tier=pro", &[]),
    ("q=byron&status=revoked", &[]),
];

/// Sets the secrets in the environment of a process, as an operator does.
pub fn give(command: &mut Command) -> &mut Command {
    command
        .env("ADMIN_SECRET", ADMIN_SECRET)
        .env("KEY_SIGNING_SECRET", KEY_SIGNING_SECRET)
        .env("GRANT_SECRET", GRANT_SECRET)
        .env("WEBHOOK_ENCRYPTION_SECRET", WEBHOOK_ENCRYPTION_SECRET)
}

pub fn signing() -> MacKeys {
    MacKeys::parse(KEY_SIGNING_SECRET).unwrap()
}

/// Mints a key of this tier as if it had just been issued. Returns its text and its id.
pub fn fresh(tier: Tier) -> (String, KeyId) {
    issued_at(tier, now())
}

/// Mints a key as if it had been issued at `at`. Returns its text and its id, which is unique.
pub fn issued_at(tier: Tier, at: UnixMillis) -> (String, KeyId) {
    static DRAWN: AtomicU64 = AtomicU64::new(1);
    let number = DRAWN.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut id = [0; 12];
    id[..8].copy_from_slice(&number.to_be_bytes());
    id[8..].copy_from_slice(&number.to_le_bytes()[..4]);
    let id = KeyId::new(id);
    let (key, _) = ApiKey::mint(KeyEnv::Live, id, tier, at, [7; 16], &signing());
    (key.reveal(), id)
}

/// Returns the key text to send for a credential, given the text of a live key.
pub fn present(credential: Credential, live: &str) -> Option<String> {
    match credential {
        Credential::None => None,
        Credential::Valid => Some(live.to_owned()),
        Credential::Mistyped => {
            let (head, last) = live.split_at(live.len() - 1);
            Some(format!("{head}{}", if last == "0" { "1" } else { "0" }))
        }
        Credential::Forged => Some(forged()),
    }
}

/// Returns a key whose checksum is right and whose MAC was made with another secret.
pub fn forged() -> String {
    let stranger = MacKeys::parse("a-secret-that-is-not-the-gateways-own").unwrap();
    let (key, _) =
        ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Enterprise, UnixMillis(0), [7; 16], &stranger);
    key.reveal()
}

/// Returns the current time.
pub fn now() -> UnixMillis {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    UnixMillis(u64::try_from(since.as_millis()).unwrap())
}
