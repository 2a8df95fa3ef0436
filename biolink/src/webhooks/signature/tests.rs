use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use http::HeaderMap;
use proptest::prelude::*;
use standardwebhooks::Webhook;

use super::*;

const ID: &str = "evt_0000000000a";
const BODY: &[u8] = br#"{"type":"click"}"#;
const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

fn secret(byte: u8) -> WebhookSecret {
    WebhookSecret::generate([byte; 24])
}

fn check(
    headers: &[(&str, &'static str)],
    secrets: &[WebhookSecret],
) -> Result<&'static str, SignatureError> {
    let headers: BTreeMap<_, _> = headers.iter().copied().collect();
    verify(|name| headers.get(name).copied(), BODY, secrets, NOW)
}

fn check_at(seconds: u64) -> Result<&'static str, SignatureError> {
    let signature = sign(ID, seconds, BODY, &[secret(1)]);
    let timestamp = seconds.to_string();
    let value = |name: &str| match name {
        HEADER_ID => Some(ID),
        HEADER_TIMESTAMP => Some(timestamp.as_str()),
        _ => Some(signature.as_str()),
    };
    verify(value, BODY, &[secret(1)], NOW).map(|_| ID)
}

/// The vectors of the specification and of the libraries of its authors.
#[test]
fn signature_is_that_of_the_specification() {
    let vectors = [
        (
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            r#"{"test": 2432232314}"#,
            "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        ),
        (
            "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
            "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
            1_649_367_553,
            r#"{"email":"test@example.com","username":"test_user"}"#,
            "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
        ),
    ];
    for (secret, id, timestamp, body, expected) in vectors {
        let secret = WebhookSecret::parse(secret).unwrap();
        assert_eq!(sign(id, timestamp, body.as_bytes(), &[secret]), expected);
    }
}

#[test]
fn secret_is_24_to_64_bytes_of_standard_base64() {
    for length in [24, 48, 64] {
        let text = format!("whsec_{}", STANDARD.encode(vec![0xfb; length]));
        assert_eq!(WebhookSecret::parse(&text).unwrap().reveal(), text);
    }
    for length in [0, 23, 65] {
        let text = format!("whsec_{}", STANDARD.encode(vec![7; length]));
        assert_eq!(WebhookSecret::parse(&text), Err(WebhookSecretError::Length { bytes: length }));
    }
    let whole = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    for text in ["", "whsec_?", whole, &format!("whsec-{whole}"), "whsec_-_KQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        assert_eq!(WebhookSecret::parse(text), Err(WebhookSecretError::Malformed), "{text}");
    }
    assert_eq!(format!("{:?}", secret(7)), "WebhookSecret(redacted)");
}

#[test]
fn several_signatures_have_one_space_between_them() {
    let both = sign(ID, 7, BODY, &[secret(1), secret(2)]);
    let parts: Vec<_> = both.split(' ').map(str::to_owned).collect();
    assert_eq!(parts, [sign(ID, 7, BODY, &[secret(1)]), sign(ID, 7, BODY, &[secret(2)])]);
    assert_eq!(sign(ID, 7, BODY, &[]), "");
}

#[test]
fn message_outside_the_tolerance_is_refused() {
    let now = NOW.seconds();
    for good in [now - TOLERANCE_S, now, now + TOLERANCE_S] {
        assert_eq!(check_at(good), Ok(ID));
    }
    assert_eq!(check_at(now - TOLERANCE_S - 1), Err(SignatureError::TooOld { age_s: 301 }));
    assert_eq!(check_at(now + TOLERANCE_S + 1), Err(SignatureError::TooNew { ahead_s: 301 }));
}

#[test]
fn message_without_a_good_header_is_refused() {
    let stamp = (HEADER_TIMESTAMP, "1800000000");
    let signature = (HEADER_SIGNATURE, "v1,AAAA");
    let id = (HEADER_ID, ID);
    let missing = SignatureError::MissingHeader;
    let cases = [
        (vec![stamp, signature], missing(HEADER_ID)),
        (vec![(HEADER_ID, ""), stamp, signature], missing(HEADER_ID)),
        (vec![id, signature], missing(HEADER_TIMESTAMP)),
        (vec![id, stamp], missing(HEADER_SIGNATURE)),
        (vec![id, (HEADER_TIMESTAMP, "+1800000000"), signature], SignatureError::MalformedTimestamp),
        (vec![id, (HEADER_TIMESTAMP, "now"), signature], SignatureError::MalformedTimestamp),
        (vec![id, stamp, (HEADER_SIGNATURE, "v1a,AAAA v2,AAAA AAAA")], SignatureError::NoSignature),
        (vec![id, stamp, signature], SignatureError::Mismatch),
    ];
    for (headers, expected) in cases {
        assert_eq!(check(&headers, &[secret(1)]), Err(expected), "{headers:?}");
    }
}

proptest! {
    /// Any live secret verifies among signatures of others; a changed id, body or timestamp does not.
    #[test]
    fn only_the_signed_message_is_verified(body in prop::collection::vec(any::<u8>(), 1..40), at in 0usize..3) {
        let secrets = [secret(1), secret(2), secret(3)];
        let now = NOW.seconds();
        let signature = format!("v1a,x {} v2,y", sign(ID, now, &body, &secrets));
        let stamp = now.to_string();
        let later = (now + 1).to_string();
        let run = |id, stamp, body: &[u8], secret: &WebhookSecret| {
            let value = |name: &str| Some(match name {
                HEADER_ID => id,
                HEADER_TIMESTAMP => stamp,
                _ => signature.as_str(),
            });
            verify(value, body, std::slice::from_ref(secret), NOW)
        };
        prop_assert_eq!(run(ID, &stamp, &body, &secrets[at]), Ok(ID));
        let mut changed = body.clone();
        changed[0] ^= 1;
        for refused in [
            run(ID, &stamp, &changed, &secrets[at]),
            run(ID, &later, &body, &secrets[at]),
            run("evt_0000000000b", &stamp, &body, &secrets[at]),
            run(ID, &stamp, &body, &secret(4)),
        ] {
            prop_assert_eq!(refused, Err(SignatureError::Mismatch));
        }
    }

    /// The library of the specification's authors verifies what we sign, and we what it signs.
    #[test]
    fn library_of_the_authors_agrees(key in prop::collection::vec(any::<u8>(), 24..=64), body in ".{0,80}") {
        let secret = WebhookSecret::from_bytes(key).unwrap();
        let theirs = Webhook::new(&secret.reveal()).unwrap();
        let other = secret_list(&secret);
        // It reads the clock itself.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let ours = sign(ID, now, body.as_bytes(), &other);
        let headers = |signature: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(HEADER_ID, ID.parse().unwrap());
            headers.insert(HEADER_TIMESTAMP, now.to_string().parse().unwrap());
            headers.insert(HEADER_SIGNATURE, signature.parse().unwrap());
            headers
        };
        prop_assert!(theirs.verify(body.as_bytes(), &headers(&ours)).is_ok());
        let changed = theirs.verify(b"changed!", &headers(&ours));
        prop_assert!(body == "changed!" || changed.is_err());
        let signed = theirs.sign(ID, i64::try_from(now).unwrap(), body.as_bytes()).unwrap();
        let headers = headers(&signed);
        let value = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        prop_assert_eq!(verify(value, body.as_bytes(), &other, UnixMillis(now * 1000)), Ok(ID));
    }
}

fn secret_list(last: &WebhookSecret) -> [WebhookSecret; 3] {
    [secret(8), secret(9), last.clone()]
}
