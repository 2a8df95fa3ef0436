//! Why a proxy refuses a grant: for the operators of proxy and edge.
//!
//! Why: docs/decisions/proxy.md, "A refused grant's reason is told only to who could sign it".

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use strum::{IntoStaticStr, VariantArray};

use super::{Grant, GrantError, MAX_LEN, Parsed};
use crate::request_id::RequestId;
use crate::route::ToolCall;
use crate::secret::MacKeys;
use crate::time::UnixMillis;

/// The reason in one word: a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RefusalReason {
    /// The request has no grant.
    Missing,
    /// The header's value is no grant.
    Malformed,
    /// No secret of this proxy has signed it.
    Secret,
    /// The edge has another name for this data center.
    DataCenter,
    /// It is for another call.
    Request,
    /// It was issued more than 30 seconds in this clock's future.
    Clock,
    /// It was issued more than 30 seconds ago.
    Expired,
    /// It was used before.
    Replayed,
    /// It is from before this process started.
    Forgotten,
}

/// What a grant was refused for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRefusal {
    /// The reason.
    pub reason: RefusalReason,
    /// The id that the edge gave the request. Anyone may have written it if the reason is
    /// [`RefusalReason::Secret`].
    pub request_id: Option<RequestId>,
    /// Milliseconds between the grant and the clock. Only for reasons of time.
    pub off_by_ms: Option<u64>,
    /// The name that the edge has for this data center, if it is the reason.
    pub named: Option<String>,
}

/// What a grant was checked against.
#[derive(Clone, Copy, Debug)]
pub struct Checked<'a> {
    /// The header's value.
    pub text: &'a [u8],
    /// The call.
    pub call: &'a ToolCall<'a>,
    /// Path and query.
    pub target: &'a str,
    /// The name of this data center.
    pub data_center: &'a str,
    /// The name that the edge says it has for this data center.
    pub named: Option<&'a str>,
    /// The secrets.
    pub keys: &'a MacKeys,
    /// The time.
    pub now: UnixMillis,
}

impl RefusalReason {
    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl GrantRefusal {
    /// Returns why a grant was refused with `error`. It repeats the check, step by step.
    pub fn of(error: GrantError, checked: &Checked<'_>) -> Self {
        let only = |reason| Self { reason, request_id: None, off_by_ms: None, named: None };
        if error == GrantError::Missing {
            return only(RefusalReason::Missing);
        }
        let mut bytes = [0; MAX_LEN];
        let decoded = URL_SAFE_NO_PAD.decode_slice(checked.text, &mut bytes).ok();
        let Some(parsed) = decoded.and_then(|length| bytes.get(..length)).and_then(Grant::parse) else {
            return only(RefusalReason::Malformed);
        };
        let request_id = Some(parsed.grant.request_id);
        let known = |reason| Self { request_id, ..only(reason) };
        match error {
            GrantError::Missing | GrantError::Invalid => match refused_by_mac(&parsed, checked) {
                Some(RefusalReason::DataCenter) => {
                    let named = checked.named.map(str::to_owned);
                    Self { named, ..known(RefusalReason::DataCenter) }
                }
                reason => known(reason.unwrap_or(RefusalReason::Request)),
            },
            GrantError::Expired { age_ms } => {
                let is_ahead = parsed.grant.issued_at > checked.now;
                let reason = if is_ahead { RefusalReason::Clock } else { RefusalReason::Expired };
                Self { off_by_ms: Some(age_ms), ..known(reason) }
            }
            GrantError::Replayed => known(RefusalReason::Replayed),
            GrantError::Forgotten => known(RefusalReason::Forgotten),
        }
    }
}

/// Returns the reason why the MAC is not that of this secret and data center, or `None` if it is.
fn refused_by_mac(parsed: &Parsed<'_>, checked: &Checked<'_>) -> Option<RefusalReason> {
    let is_of = |name: &str| parsed.verify_mac(name, checked.keys).is_some();
    if is_of(checked.data_center) {
        return None;
    }
    // The name is the sender's word. It counts only if the MAC holds with it, which needs the
    // secret.
    Some(if checked.named.is_some_and(is_of) { RefusalReason::DataCenter } else { RefusalReason::Secret })
}

/// Writes the value of the header for the edge: words without quotes.
impl fmt::Display for GrantRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason.as_str())?;
        self.off_by_ms.map_or(Ok(()), |ms| write!(f, " off_by_ms={ms}"))
    }
}

/// Returns a reason that a proxy sent, if it is one: what claims to be a proxy may be another server.
pub fn sent_reason(value: &str) -> Option<&str> {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_= ".contains(&byte);
    (value.len() <= 64 && value.bytes().all(is_word)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::Action;
    use crate::grant::VALID_MS;
    use crate::key::KeyId;
    use crate::route::CallMethod;
    use crate::tier::Tier;
    use crate::tool::Tool;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
    const ID: RequestId = RequestId([4; 16]);

    fn keys(secret: &str) -> MacKeys {
        MacKeys::parse(&secret.repeat(32)).unwrap()
    }

    /// Returns the refusal of a grant as an edge signs it, at a proxy named `fra`.
    fn refused(secret: &str, place: &str, target: &str, now: u64, named: Option<&str>) -> GrantRefusal {
        let action = Action::parse("generate").unwrap();
        let call = ToolCall { method: CallMethod::Get, tool: Tool::Qr, action };
        let (key_id, tier) = (KeyId::new([3; 12]), Tier::Pro);
        let grant = Grant { key_id, secret_id: None, tier, request_id: ID, issued_at: NOW };
        let signed = grant.sign(&call, target, place, &keys(secret));
        let (text, now, keys) = (signed.text.as_bytes(), UnixMillis(now), keys("a"));
        let target = "/v1/qr/generate";
        let error = Grant::verify(text, &call, target, "fra", &keys, now).map(|_| ()).unwrap_err();
        let checked = Checked { text, call: &call, target, data_center: "fra", named, keys: &keys, now };
        GrantRefusal::of(error, &checked)
    }

    #[test]
    fn refusal_names_what_differs() {
        let target = "/v1/qr/generate";
        let late = NOW.0 + VALID_MS + 1;
        let early = NOW.0 - VALID_MS - 1;
        for (refusal, expected) in [
            (refused("b", "fra", target, NOW.0, Some("fra")), "secret"),
            (refused("b", "iad", target, NOW.0, Some("iad")), "secret"),
            (refused("a", "iad", target, NOW.0, Some("iad")), "data_center"),
            // An edge that does not say its name for it.
            (refused("a", "iad", target, NOW.0, None), "secret"),
            (refused("a", "iad", target, NOW.0, Some("ams")), "secret"),
            (refused("a", "fra", "/v1/qr/other", NOW.0, Some("fra")), "request"),
            (refused("a", "fra", target, late, Some("fra")), "expired off_by_ms=30001"),
            (refused("a", "fra", target, early, Some("fra")), "clock off_by_ms=30001"),
        ] {
            assert_eq!((refusal.to_string().as_str(), refusal.request_id), (expected, Some(ID)));
            assert_eq!(sent_reason(expected), Some(expected));
            let named = refusal.named.as_deref();
            assert_eq!(named, (expected == "data_center").then_some("iad"));
        }
    }

    #[test]
    fn only_words_are_taken_from_a_server_as_a_reason() {
        for value in ["<script>", "a\"b", "Secret", "a\u{1b}[31m", "a;b", "é"] {
            assert_eq!(sent_reason(value), None, "{value}");
        }
        assert_eq!(sent_reason(&"a".repeat(65)), None);
    }
}
