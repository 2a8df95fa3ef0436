//! Listing keys: `GET /v1/keys?cursor=&limit=&email=&tier=&status=`, and what `GET
//! /v1/keys/{id}?include=` asks for.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::key::{KeyId, KeyRecord};
use crate::keys_api::describe;
use crate::problem::Problem;
use crate::query::{invalid, not_a_cursor, parameters};
use crate::secret::MacKeys;
use crate::tier::Tier;

/// Keys on a page when the request does not say.
const DEFAULT_LIMIT: u32 = 50;
/// Maximum number of keys on a page: as many records as the store reads at once.
const MAX_LIMIT: u32 = 100;
const MAX_CURSOR: usize = 2_048;

/// A request for one page of the list of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// The position at which the page before ended.
    pub from: Option<Position>,
    /// Keys on the page at the most.
    pub limit: u32,
    /// The filter.
    pub filter: KeyFilter,
}

/// A filter on the list of keys. The default shows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFilter {
    email: Option<String>,
    tier: Option<Tier>,
    status: Option<&'static str>,
}

/// The position at which a page ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The store's own cursor of the stretch in which it ended; empty for the first one.
    pub store: String,
    /// The last key that was read, if the stretch continues after it.
    pub after: Option<KeyId>,
}

impl ListRequest {
    /// The statuses that a key may have.
    pub const STATUSES: [&'static str; 3] = ["active", "disabled", "revoked"];

    /// Reads the query, whose values may be percent-encoded. `keys` have signed the cursor.
    ///
    /// # Errors
    /// Returns `fields-invalid` for a parameter that is unknown or sent twice, a value out of
    /// bounds, or a cursor that was never handed out.
    pub fn read(query: Option<&str>, keys: &MacKeys) -> Result<Self, Problem> {
        let mut request = Self { from: None, limit: DEFAULT_LIMIT, filter: KeyFilter::default() };
        for (name, value) in parameters(query)? {
            match (name, &*value) {
                ("cursor", "") => {}
                ("cursor", text) => {
                    request.from = Some(Position::parse(text, keys).ok_or_else(not_a_cursor)?)
                }
                ("limit", text) => request.limit = read_limit(text)?,
                ("email", text) => request.filter.email = Some(text.to_owned()),
                ("tier", text) => request.filter.tier = Some(text.parse::<Tier>().map_err(|_| not_a_tier())?),
                ("status", text) => request.filter.status = Some(read_status(text)?),
                _ => {
                    return Err(invalid(
                        "the query has a parameter other than cursor, limit, email, tier and status",
                    ));
                }
            }
        }
        Ok(request)
    }
}

impl KeyFilter {
    /// Returns true if it shows every key.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if it shows this key. Case does not matter in an e-mail address.
    pub fn matches(&self, record: &KeyRecord) -> bool {
        let holder = record.holder.as_ref();
        let same = |email: &String| holder.is_some_and(|holder| holder.email.eq_ignore_ascii_case(email));
        self.email.as_ref().is_none_or(same)
            && self.tier.is_none_or(|tier| tier == record.tier)
            && self.status.is_none_or(|status| status == record.status.as_str())
    }
}

impl Position {
    const DOMAIN: &[u8] = b"utg.cursor.v1";
    const TAG: usize = 12;

    /// Returns the cursor as clients get it: URL-safe, and signed, so that a forged one is refused.
    pub(crate) fn to_cursor(&self, keys: &MacKeys) -> String {
        let after = self.after.map(|id| id.to_string()).unwrap_or_default();
        let payload = format!("{after}.{}", self.store);
        let tag = keys.current().1.sign(&[Self::DOMAIN, payload.as_bytes()]);
        let signed: Vec<u8> = tag.into_iter().take(Self::TAG).chain(payload.into_bytes()).collect();
        URL_SAFE_NO_PAD.encode(signed)
    }

    fn parse(cursor: &str, keys: &MacKeys) -> Option<Self> {
        let bytes = Some(cursor).filter(|text| text.len() <= MAX_CURSOR)?;
        let bytes = URL_SAFE_NO_PAD.decode(bytes).ok()?;
        let (tag, payload) = bytes.split_at_checked(Self::TAG)?;
        keys.live().find(|(_, key)| key.verify(&[Self::DOMAIN, payload], tag))?;
        let (after, store) = std::str::from_utf8(payload).ok()?.split_once('.')?;
        let after = if after.is_empty() { None } else { Some(KeyId::parse(after)?) };
        Some(Self { store: store.to_owned(), after })
    }
}

/// Returns the response: the keys, and where the next page begins, if there is one.
pub fn describe_page(records: &[KeyRecord], next: Option<&Position>, keys: &MacKeys) -> Value {
    let cursor = next.map(|next| next.to_cursor(keys));
    json!({ "keys": records.iter().map(describe).collect::<Value>(), "cursor": cursor })
}

/// Returns true if the query of `GET /v1/keys/{id}` requests the key's usage.
///
/// # Errors
/// Returns `fields-invalid` for anything else than `include=usage`.
pub fn includes_usage(query: Option<&str>) -> Result<bool, Problem> {
    let mut usage = false;
    for (name, value) in parameters(query)? {
        match (name, &*value) {
            ("include", "usage") => usage = true,
            ("include", _) => return Err(invalid("include must be usage")),
            _ => return Err(invalid("the query has a parameter other than include")),
        }
    }
    Ok(usage)
}

fn read_limit(text: &str) -> Result<u32, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 100"))
}

fn read_status(text: &str) -> Result<&'static str, Problem> {
    let status = ListRequest::STATUSES.into_iter().find(|status| *status == text);
    status.ok_or_else(|| invalid("status must be one of active, disabled, revoked"))
}

fn not_a_tier() -> Problem {
    invalid("tier must be one of free, pro, enterprise")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::key::{KeyHolder, SecretHash, VerifiedKey};
    use crate::time::UnixMillis;

    fn keys() -> MacKeys {
        MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap()
    }

    fn read(query: &str) -> Result<ListRequest, Problem> {
        ListRequest::read(Some(query), &keys())
    }

    #[test]
    fn page_is_requested_by_cursor_limit_and_filters() {
        let all = ListRequest::read(None, &keys()).unwrap();
        assert_eq!((all.from, all.limit, all.filter.is_empty()), (None, 50, true));
        let request = read("limit=%37&email=ada%2Bx%40example.com&tier=pro&status=revoked&cursor=").unwrap();
        assert_eq!(
            (request.limit, request.filter.tier, request.filter.status),
            (7, Some(Tier::Pro), Some("revoked"))
        );
        assert_eq!(request.filter.email.as_deref(), Some("ada+x@example.com"));
        for query in [
            "limit=0",
            "limit=101",
            "limit=x",
            "page=2",
            "tier=gold",
            "status=expired",
            "email=%ff",
            "limit=1&limit=2",
        ] {
            assert!(read(query).is_err(), "{query}");
        }
    }

    #[test]
    fn cursor_that_was_never_handed_out_is_refused() {
        let position = Position { store: "AAAA+/==".to_owned(), after: Some(KeyId::new([3; 12])) };
        let cursor = position.to_cursor(&keys());
        assert_eq!(read(&format!("cursor={cursor}")).unwrap().from, Some(position.clone()));
        let stranger = MacKeys::parse("fedcba9876543210fedcba9876543210").unwrap();
        let (forged, cut) = (position.to_cursor(&stranger), &cursor[..cursor.len() - 1]);
        for invented in
            ["abc", "key_00000000000000001", "AAAA%3D%3D", "%00", &forged, cut, &"A".repeat(5_000)]
        {
            assert!(read(&format!("cursor={invented}")).is_err(), "{invented}");
        }
    }

    proptest! {
        #[test]
        fn cursor_reads_back_from_a_query(store in "\\PC{0,200}", id: Option<[u8; 12]>) {
            let position = Position { store, after: id.map(KeyId::new) };
            let cursor = position.to_cursor(&keys());
            prop_assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(read(&format!("cursor={cursor}")).unwrap().from, Some(position));
        }
    }

    #[test]
    fn filters_match_keys_that_match_all_of_them() {
        let key = VerifiedKey {
            id: KeyId::new([1; 12]),
            is_named: false,
            issued_tier: Tier::Pro,
            issued_at: UnixMillis(0),
            secret: SecretHash::of(&[1; 16]),
        };
        let holder = KeyHolder { email: "Ada@example.com".to_owned(), name: "Ada".to_owned() };
        let record = KeyRecord { holder: Some(holder), ..KeyRecord::provisional(&key) };
        let shows = |query: &str| read(query).unwrap().filter.matches(&record);
        assert!(shows("") && shows("email=ada@EXAMPLE.com&tier=pro&status=active"));
        for query in ["email=bob@example.com", "tier=free", "status=revoked", "tier=pro&status=disabled"] {
            assert!(!shows(query), "{query}");
        }
    }

    #[test]
    fn usage_is_included_on_request_only() {
        assert_eq!((includes_usage(None), includes_usage(Some("include=usage"))), (Ok(false), Ok(true)));
        for query in ["include=all", "include=", "usage", "include=usage&x=1"] {
            assert!(includes_usage(Some(query)).is_err(), "{query}");
        }
    }
}
