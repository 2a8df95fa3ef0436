#![no_main]

use std::sync::LazyLock;

use fuzz::{KEYS, NOW, mutated};
use libfuzzer_sys::fuzz_target;
use shared::{
    action::Action,
    grant::Grant,
    key::{KeyId, SecretId},
    origin_token::OriginToken,
    request_id::RequestId,
    route::{CallMethod, ToolCall},
    tier::Tier,
    tool::Tool,
};

const TARGET: &str = "/v1/qr/generate?url=x";

static CALL: LazyLock<ToolCall<'static>> = LazyLock::new(|| ToolCall {
    method: CallMethod::Post,
    tool: Tool::Qr,
    action: Action::parse("generate").expect("an action"),
});
static GRANT: LazyLock<String> = LazyLock::new(|| {
    grant(None)
});
static NAMED: LazyLock<String> = LazyLock::new(|| grant(Some(SecretId::new([7; 8]))));
static TOKEN: LazyLock<String> =
    LazyLock::new(|| OriginToken { data_center: "fra-1".to_owned(), issued_at: NOW }.sign(&KEYS));

fn grant(secret_id: Option<SecretId>) -> String {
    let (key_id, request_id) = (KeyId::new([3; 12]), RequestId([4; 16]));
    let grant = Grant { key_id, secret_id, tier: Tier::Pro, request_id, issued_at: NOW };
    grant.sign(&CALL, TARGET, "fra", &KEYS).text
}

fuzz_target!(|data: &[u8]| {
    check(data);
    check(&mutated(&GRANT, data));
    check(&mutated(&NAMED, data));
    check(&mutated(&TOKEN, data));
});

/// Oracle: the texts that were signed. They are valid, and any other is refused.
fn check(text: &[u8]) {
    let granted = Grant::verify(text, &CALL, TARGET, "fra", &KEYS, NOW).is_ok();
    assert_eq!(granted, [&*GRANT, &*NAMED].iter().any(|signed| text == signed.as_bytes()), "{:?}", text.escape_ascii().to_string());
    let Ok(text) = str::from_utf8(text) else { return };
    let is_token = OriginToken::verify(Some(text), &KEYS, NOW).is_ok();
    // The name of a scheme has any case, and spaces may follow it (RFC 9110, section 11.4). Spaces and
    // tabs may stand around the value (section 5.6.3).
    let credentials = |text: &str| {
        let (scheme, rest) = text.trim_matches([' ', '\t']).split_once(' ')?;
        Some((scheme.to_ascii_lowercase(), rest.trim_start_matches(' ').to_owned()))
    };
    assert_eq!(is_token, credentials(text) == credentials(&TOKEN), "{text:?}");
}
