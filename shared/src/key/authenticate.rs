//! Authentication by the key's text alone.

use crate::key::{ApiKey, KeyError, VerifiedKey};
use crate::problem::Problem;
use crate::secret::MacKeys;
use crate::url;

/// Verifies the key of a request by checksum and MAC. It needs no I/O, so that garbage and forged
/// keys cost nothing.
///
/// `text` is the value of `X-API-Key`. `confidential` is false if the request could be read on the
/// way.
///
/// # Errors
/// Returns `key-missing` without a text, `https-required` if the request is not confidential,
/// `key-malformed` or `key-invalid`. Whether the key is revoked, disabled or expired is for its
/// record to say.
pub fn authenticate(text: Option<&str>, confidential: bool, keys: &MacKeys) -> Result<VerifiedKey, Problem> {
    let text = text.ok_or(KeyError::Missing)?;
    url::check_confidential(confidential)?;
    Ok(ApiKey::parse(text)?.verify(keys)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{KeyEnv, KeyId, KeyRecord, KeyStatus, Subject};
    use crate::problem::codes;
    use crate::tier::Tier;
    use crate::time::UnixMillis;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn mint(keys: &MacKeys) -> (ApiKey, VerifiedKey) {
        ApiKey::mint(KeyEnv::Live, KeyId::new([1; 12]), Tier::Pro, NOW, [2; 16], keys)
    }

    #[test]
    fn text_alone_decides_before_any_record() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let other = MacKeys::parse("fedcba9876543210fedcba9876543210").unwrap();
        let (key, verified) = mint(&keys);
        assert_eq!(authenticate(Some(&key.reveal()), true, &keys), Ok(verified));
        let forged = mint(&other).0.reveal();
        for (text, confidential, code) in [
            (None, true, codes::KEY_MISSING),
            (Some(key.reveal()), false, codes::HTTPS_REQUIRED),
            (Some("utg_live_x".to_owned()), true, codes::KEY_MALFORMED),
            (Some(forged), true, codes::KEY_INVALID),
        ] {
            let problem = authenticate(text.as_deref(), confidential, &keys).unwrap_err();
            assert_eq!(problem.code(), code, "{text:?}");
        }
    }

    #[test]
    fn record_says_whether_the_key_may_be_used() {
        let (_, verified) = mint(&MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap());
        let record =
            |status, expires_at| KeyRecord { status, expires_at, ..KeyRecord::provisional(&verified) };
        for (record, code) in [
            (record(KeyStatus::Revoked { at: NOW }, None), codes::KEY_REVOKED),
            (record(KeyStatus::Disabled, None), codes::KEY_DISABLED),
            (record(KeyStatus::Active, Some(NOW)), codes::KEY_EXPIRED),
        ] {
            let error = record.check(&verified, NOW).unwrap_err();
            assert_eq!(Problem::from(error).code(), code, "{record:?}");
        }
        assert_eq!(record(KeyStatus::Active, Some(NOW.plus(1))).check(&verified, NOW), Ok(()));
    }

    #[test]
    fn subject_is_the_callers_only_if_it_is_the_own_key() {
        let (_, verified) = mint(&MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap());
        let (named, own) = (Subject::Named(&verified.id), Subject::Own(&verified));
        assert_eq!((named.id(), named.by()), (&verified.id, None));
        assert_eq!((own.id(), own.by()), (&verified.id, Some(verified)));
    }
}
