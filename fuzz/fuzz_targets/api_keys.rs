#![no_main]

use std::sync::LazyLock;

use fuzz::{KEYS, NOW, mutated};
use libfuzzer_sys::fuzz_target;
use shared::{
    key::{ApiKey, KeyEnv, KeyId},
    request_id::RequestId,
    tier::Tier,
};

static KEY: LazyLock<String> = LazyLock::new(|| {
    ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Pro, NOW, [9; 16], &KEYS).0.reveal()
});

fuzz_target!(|data: &[u8]| {
    check(data);
    check(&mutated(&KEY, data));
});

/// Oracle: the one key that was made. It is valid, and any other text is refused. What is parsed, of keys
/// and ids, is printed as the same text.
fn check(text: &[u8]) {
    let Ok(text) = str::from_utf8(text) else { return };
    let key = ApiKey::parse(text);
    if let Ok(key) = &key {
        assert_eq!(key.reveal(), text);
    }
    let is_valid = key.is_ok_and(|key| key.verify(&KEYS).is_ok());
    assert_eq!(is_valid, text == *KEY, "{text:?}");
    if let Some(id) = KeyId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
    if let Some(id) = RequestId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
}
