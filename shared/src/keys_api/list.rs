//! Listing keys: `GET /v1/keys?cursor=&limit=&q=&email=&tier=&status=&sort=`, and what `GET
//! /v1/keys/{id}?include=` asks for.
//!
//! An edge finds keys in SQL, and a proxy in memory. By which texts a key is found and sorted is decided
//! here. Both compare them byte by byte.
//!
//! Why: docs/decisions/keys.md, "A list cursor is encrypted, not stored".

use std::cmp::Ordering;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use serde_json::Value;
use strum::VariantArray;

use super::MAX_EMAIL;
use crate::key::{KeyId, KeyRecord};
use crate::keys_api::describe;
use crate::problem::Problem;
use crate::query::{invalid, parameters, unknown_parameter};
use crate::secret::{MacKey, MacKeys};
use crate::sorting::sort_by;
use crate::tier::Tier;

/// Keys on a page when the request does not say.
const DEFAULT_LIMIT: u32 = 50;
/// Maximum number of keys on a page.
const MAX_LIMIT: u32 = 100;
const MAX_CURSOR: usize = 2_048;

/// A request for one page of the list of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// The position at which the page before ended.
    pub from: Option<Position>,
    /// Keys on the page at the most.
    pub limit: u32,
    /// The order of the list.
    pub sort: Sort,
    /// The filter.
    pub filter: KeyFilter,
}

/// The order of a list of keys. Keys that are alike are in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// The field that is compared.
    pub by: SortField,
    /// Whether the last one comes first.
    pub is_descending: bool,
}

/// A field by which a list of keys is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
#[allow(missing_docs, reason = "each is a field of a key")]
pub enum SortField {
    IssuedAt,
    Name,
    Email,
}

/// A filter on the list of keys. The default shows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyFilter {
    /// Only keys that this search finds.
    pub search: Option<KeySearch>,
    /// Only keys of this e-mail address, which is in lower case.
    pub email: Option<String>,
    /// Only keys of this tier.
    pub tier: Option<Tier>,
    /// Only keys in this status.
    pub status: Option<String>,
}

/// A search for a part of a holder's name or e-mail address, or for the beginning of a key's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySearch {
    /// The part, in lower case.
    pub part: String,
    /// The beginning of the id, if the text can be one.
    pub id: Option<String>,
}

/// The position at which a page ended: that of a key in the order of the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The text by which the key is sorted.
    pub text: String,
    /// The key.
    pub id: KeyId,
}

/// A page of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPage {
    /// The keys, in the order of the list.
    pub keys: Vec<KeyRecord>,
    /// The position at which the next page begins; `None` on the last page.
    pub next: Option<Position>,
}

impl ListRequest {
    /// The statuses that a key may have.
    pub const STATUSES: [&'static str; 3] = ["active", "disabled", "revoked"];
    /// The orders that a list may have, as a regular expression.
    pub const SORT_PATTERN: &'static str = "^-?(issued_at|name|email)$";

    /// Separates the key and the nonces of cursors from other MACs.
    const KEY: &[u8] = b"utg.cursor-key.v3";
    const NONCE: &[u8] = b"utg.cursor-nonce.v3";

    /// Reads the query, whose values may be percent-encoded. `keys` have encrypted the cursor.
    ///
    /// # Errors
    /// Returns `fields-invalid` for a parameter that is unknown or sent twice, a value out of
    /// bounds, or a cursor that was never handed out for this order and filter.
    pub fn read(query: Option<&str>, keys: &MacKeys) -> Result<Self, Problem> {
        let (mut request, cursor) = Self::read_parameters(query)?;
        if let Some(cursor) = cursor {
            request.from = Some(request.parse_cursor(&cursor, keys).ok_or_else(not_a_cursor)?);
        }
        Ok(request)
    }

    /// Reads the query but for its cursor, which it returns.
    fn read_parameters(query: Option<&str>) -> Result<(Self, Option<String>), Problem> {
        let mut request =
            Self { from: None, limit: DEFAULT_LIMIT, sort: Sort::default(), filter: KeyFilter::default() };
        let mut cursor = None;
        for (name, value) in parameters(query)? {
            match (name, &*value) {
                ("cursor", text) => cursor = Some(text.to_owned()).filter(|text| !text.is_empty()),
                ("limit", text) => request.limit = read_limit(text)?,
                ("q", text) => request.filter.search = KeySearch::read(text)?,
                ("email", text) => request.filter.email = Some(text.to_ascii_lowercase()),
                ("tier", text) => request.filter.tier = Some(text.parse::<Tier>().map_err(|_| not_a_tier())?),
                ("status", text) => request.filter.status = Some(read_status(text)?),
                ("sort", text) => request.sort = Sort::read(text)?,
                _ => {
                    return Err(unknown_parameter(name, "cursor, limit, q, email, tier, status and sort"));
                }
            }
        }
        Ok((request, cursor))
    }

    /// Returns the request of this query as a text for the directory of keys, which has no keys to check a cursor.
    pub fn to_message(&self, query: Option<&str>) -> String {
        let from = self.from.as_ref().map(Position::to_text).unwrap_or_default();
        format!("{}\n{from}", query.unwrap_or_default())
    }

    /// Reads what [`ListRequest::to_message`] returns.
    ///
    /// # Errors
    /// Those of [`ListRequest::read`].
    pub fn from_message(message: &str) -> Result<Self, Problem> {
        let (query, from) = message.split_once('\n').unwrap_or_default();
        // The cursor in the query is still encrypted. Its position comes beside it.
        let (request, _) = Self::read_parameters(Some(query))?;
        Ok(Self { from: Position::parse(from), ..request })
    }

    /// Returns the page of these records, which come in any order.
    pub fn page(&self, records: Vec<KeyRecord>) -> KeyPage {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let is_ahead =
            |at: &Position| self.from.as_ref().is_none_or(|from| self.sort.compare(from, at).is_lt());
        let mut found: Vec<(Position, KeyRecord)> = records
            .into_iter()
            .filter(|record| self.filter.matches(record))
            .map(|record| (self.sort.position(&record), record))
            .filter(|(at, _)| is_ahead(at))
            .collect();
        sort_by(&mut found, |(one, _), (other, _)| self.sort.compare(one, other));
        // More than are shown, so that the last page has no cursor to an empty one.
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| more).map(|(at, _)| at.clone());
        KeyPage { keys: found.into_iter().map(|(_, record)| record).collect(), next }
    }

    /// Returns the body of the response, made of [`KeyPage::to_message`]: the keys, and where the next page
    /// begins, if there is one.
    pub fn describe(&self, page: &str, keys: &MacKeys) -> String {
        let (next, listed) = page.split_once('\n').unwrap_or_default();
        let cursor = Position::parse(next).map(|next| format!("\"{}\"", self.cursor(&next, keys)));
        format!(r#"{{"cursor":{},"keys":{listed}}}"#, cursor.as_deref().unwrap_or("null"))
    }

    /// Returns the cursor as clients get it: URL-safe, and encrypted, because it may have a name or an e-mail
    /// address, and URLs are logged. A forged one is refused, and one of another list too.
    pub fn cursor(&self, at: &Position, keys: &MacKeys) -> String {
        let (text, list, (_, key)) = (at.to_text(), self.list(), keys.current());
        // Of the position and its list, so that no two texts ever share a nonce.
        let digest = key.sign(&[Self::NONCE, &text.len().to_be_bytes(), text.as_bytes(), &list]);
        let nonce: [u8; 24] = digest.first_chunk().copied().unwrap_or_default();
        let payload = Payload { msg: text.as_bytes(), aad: &list };
        // It fails for 256 GiB and more.
        let sealed = Self::cipher(key).encrypt(&nonce.into(), payload).unwrap_or_default();
        URL_SAFE_NO_PAD.encode([&nonce, &*sealed].concat())
    }

    fn parse_cursor(&self, cursor: &str, keys: &MacKeys) -> Option<Position> {
        // Before anything is decoded or decrypted.
        let bytes = Some(cursor).filter(|text| text.len() <= MAX_CURSOR)?;
        let bytes = URL_SAFE_NO_PAD.decode(bytes).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<24>()?;
        let list = self.list();
        let open =
            |key| Self::cipher(key).decrypt(&(*nonce).into(), Payload { msg: sealed, aad: &list }).ok();
        // A page may be read on after the signing secret was rotated.
        let text = keys.live().find_map(|(_, key)| open(key))?;
        Position::parse(std::str::from_utf8(&text).ok()?)
    }

    fn cipher(key: &MacKey) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(&key.sign(&[Self::KEY]).into())
    }

    /// Returns the identity of the list, which a cursor is bound to: its order and its filter.
    fn list(&self) -> Vec<u8> {
        let Self { sort, filter: KeyFilter { search, email, tier, status }, .. } = self;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let (part, id) =
            search.as_ref().map(|KeySearch { part, id }| (part.clone(), text(id))).unwrap_or_default();
        let (field, direction) = (sort.by.as_str(), if sort.is_descending { "-" } else { "" });
        let tier = tier.map(Tier::as_str).unwrap_or_default();
        [direction, field, &part, &id, &text(email), tier, &text(status)].join("\n").into_bytes()
    }
}

impl Position {
    fn to_text(&self) -> String {
        format!("{}.{}", self.id, self.text)
    }

    fn parse(text: &str) -> Option<Self> {
        let (id, text) = text.split_once('.')?;
        Some(Self { text: text.to_owned(), id: KeyId::parse(id)? })
    }
}

impl KeyPage {
    /// Returns the page as a text, for [`ListRequest::describe`].
    pub fn to_message(&self) -> String {
        let next = self.next.as_ref().map(Position::to_text).unwrap_or_default();
        format!("{next}\n{}", self.keys.iter().map(describe).collect::<Value>())
    }
}

impl Default for Sort {
    /// Returns the order in which the newest key comes first.
    fn default() -> Self {
        Self { by: SortField::IssuedAt, is_descending: true }
    }
}

impl Sort {
    fn read(text: &str) -> Result<Self, Problem> {
        let (name, is_descending) = text.strip_prefix('-').map_or((text, false), |name| (name, true));
        let by = SortField::VARIANTS.iter().find(|field| field.as_str() == name);
        let by = by.ok_or_else(|| {
            invalid("sort must be one of issued_at, -issued_at, name, -name, email, -email")
        })?;
        Ok(Self { by: *by, is_descending })
    }

    /// Returns the position of a key in this order.
    pub fn position(self, record: &KeyRecord) -> Position {
        Position { text: self.by.text(record), id: record.id }
    }

    fn compare(self, one: &Position, other: &Position) -> Ordering {
        let ascending = one.cmp(other);
        if self.is_descending { ascending.reverse() } else { ascending }
    }
}

impl SortField {
    /// Returns the name of the field.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IssuedAt => "issued_at",
            Self::Name => "name",
            Self::Email => "email",
        }
    }

    /// Returns the text by which a key is found and sorted: in lower case, and empty without a holder.
    pub fn text(self, record: &KeyRecord) -> String {
        let holder = record.holder.as_ref();
        match self {
            // All have the same number of digits, so that the earlier moment is the lesser text.
            Self::IssuedAt => format!("{:020}", record.issued_at.0),
            Self::Name => holder.map_or_else(String::new, |holder| holder.name.to_lowercase()),
            Self::Email => holder.map_or_else(String::new, |holder| holder.email.to_ascii_lowercase()),
        }
    }
}

impl KeyFilter {
    /// Returns true if it shows every key.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if it shows this key. Case does not matter in names and e-mail addresses.
    pub fn matches(&self, record: &KeyRecord) -> bool {
        let email = SortField::Email.text(record);
        self.search.as_ref().is_none_or(|search| search.finds(record, &email))
            && self.email.as_ref().is_none_or(|wanted| *wanted == email)
            && self.tier.is_none_or(|tier| tier == record.tier)
            && self.status.as_ref().is_none_or(|status| status == record.status.as_str())
    }
}

impl KeySearch {
    /// The prefix of every id. Alone it finds nothing.
    const ID: &str = "key_";

    /// Reads a search. Returns `None` for an empty one, which finds all.
    fn read(text: &str) -> Result<Option<Self>, Problem> {
        if text.chars().count() > MAX_EMAIL {
            return Err(invalid("q must have at most 254 characters"));
        }
        let id = Some(text).filter(|text| text.starts_with(Self::ID) && text.len() > Self::ID.len());
        let search = Self { part: text.to_lowercase(), id: id.map(str::to_owned) };
        Ok(Some(search).filter(|_| !text.is_empty()))
    }

    fn finds(&self, record: &KeyRecord, email: &str) -> bool {
        let is_beginning = |id: &String| record.id.to_string().starts_with(id.as_str());
        email.contains(&self.part)
            || SortField::Name.text(record).contains(&self.part)
            || self.id.as_ref().is_some_and(is_beginning)
    }
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
            _ => return Err(unknown_parameter(name, "include")),
        }
    }
    Ok(usage)
}

fn read_limit(text: &str) -> Result<u32, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 100"))
}

fn read_status(text: &str) -> Result<String, Problem> {
    let status = ListRequest::STATUSES.into_iter().find(|status| *status == text);
    status.map(str::to_owned).ok_or_else(|| invalid("status must be one of active, disabled, revoked"))
}

fn not_a_cursor() -> Problem {
    invalid(
        "cursor is not one that a page before this has given for the same q, email, tier, status and sort",
    )
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

    /// Returns a key of a holder, if a name is given, and the more recent the greater its number is.
    fn record(number: u8, holder: Option<(&str, &str)>) -> KeyRecord {
        let key = VerifiedKey {
            id: KeyId::new([number; 12]),
            is_named: false,
            issued_tier: Tier::Pro,
            issued_at: UnixMillis(u64::from(number)),
            secret: SecretHash::of(&[1; 16]),
        };
        let holder = holder.map(|(name, email)| KeyHolder { email: email.to_owned(), name: name.to_owned() });
        KeyRecord { holder, ..KeyRecord::provisional(&key) }
    }

    fn people() -> Vec<KeyRecord> {
        vec![
            record(9, Some(("Ada Lovelace", "ada@example.com"))),
            record(12, Some(("émile 100%_", "Zola@example.com"))),
            record(10, Some(("bob", "bob@example.org"))),
            record(11, None),
            record(1, Some(("Ada Lovelace", "lovelace@example.com"))),
        ]
    }

    /// Returns the numbers of the keys on all pages.
    fn listed(query: &str) -> Vec<u8> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let request = read(&format!("{query}&cursor={cursor}")).unwrap();
            let page = request.page(people());
            assert!(u32::try_from(page.keys.len()).unwrap() <= request.limit);
            found.extend(page.keys.iter().map(|record| record.id.as_bytes()[0]));
            let body: Value = serde_json::from_str(&request.describe(&page.to_message(), &keys())).unwrap();
            assert_eq!(body["keys"].as_array().unwrap().len(), page.keys.len());
            match body["cursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return found,
            }
        }
    }

    #[test]
    fn page_is_requested_by_cursor_limit_and_filters() {
        let all = ListRequest::read(None, &keys()).unwrap();
        assert_eq!((all.from, all.limit, all.filter.is_empty()), (None, 50, true));
        let request =
            read("limit=%37&email=Ada%2Bx%40example.com&tier=pro&status=revoked&cursor=&q=").unwrap();
        let expected = KeyFilter {
            search: None,
            email: Some("ada+x@example.com".to_owned()),
            tier: Some(Tier::Pro),
            status: Some("revoked".to_owned()),
        };
        assert_eq!((request.limit, request.filter), (7, expected));
        for (query, detail) in [
            ("limit=0", "from 1 to 100"),
            ("limit=101", "from 1 to 100"),
            ("limit=x", "from 1 to 100"),
            ("page=2", "q, email, tier, status and sort"),
            ("tier=gold", "free, pro, enterprise"),
            ("status=expired", "active, disabled, revoked"),
            ("sort=tier", "issued_at, -issued_at, name, -name, email, -email"),
            ("sort=--name", "issued_at, -issued_at"),
            ("sort=", "issued_at, -issued_at"),
            ("email=%ff", "UTF-8"),
            ("limit=1&limit=2", "twice"),
            (format!("q={}", "a".repeat(255)).as_str(), "254"),
        ] {
            let refused = read(query).unwrap_err();
            assert!(refused.detail().contains(detail), "{query}: {}", refused.detail());
        }
    }

    #[test]
    fn list_is_sorted_whatever_the_size_of_its_pages() {
        for (query, expected) in [
            ("", [12, 11, 10, 9, 1]),
            ("sort=-issued_at", [12, 11, 10, 9, 1]),
            ("sort=issued_at", [1, 9, 10, 11, 12]),
            ("sort=name", [11, 1, 9, 10, 12]),
            ("sort=-name", [12, 10, 9, 1, 11]),
            ("sort=email", [11, 9, 10, 1, 12]),
            ("sort=-email", [12, 1, 10, 9, 11]),
        ] {
            for limit in [1, 2, 5, 100] {
                assert_eq!(listed(&format!("{query}&limit={limit}")), expected, "{query}, {limit}");
            }
        }
    }

    #[test]
    fn search_finds_part_of_name_or_email_and_beginning_of_id() {
        let id = KeyId::new([10; 12]).to_string();
        let beginning = &id[..7];
        for (text, expected) in [
            ("lovelace", [9, 1].as_slice()),
            ("LOVE", &[9, 1]),
            ("%C3%89mile", &[12]),
            ("example.org", &[10]),
            ("ada%20l", &[9, 1]),
            ("%25", &[12]),
            ("_", &[12]),
            ("0%25_", &[12]),
            ("a%25e", &[]),
            (id.as_str(), &[10]),
            (beginning, &[10]),
            (&id[4..], &[]),
            ("key_", &[]),
            ("example.org&tier=free", &[]),
            ("example.org&tier=pro&status=active", &[10]),
        ] {
            assert_eq!(listed(&format!("limit=1&q={text}")), expected, "{text}");
        }
    }

    #[test]
    fn cursor_that_was_never_handed_out_is_refused() {
        let request = read("sort=name&q=ada").unwrap();
        let position = Position { text: "ada & +/==".to_owned(), id: KeyId::new([3; 12]) };
        let cursor = request.cursor(&position, &keys());
        let from = |list: &str| read(&format!("cursor={cursor}{list}")).map(|request| request.from);
        assert_eq!(from("&sort=name&q=ada&limit=7").unwrap(), Some(position.clone()));
        for other in
            ["", "&sort=name", "&q=ada", "&sort=-name&q=ada", "&sort=name&q=ad", "&sort=name&email=ada"]
        {
            assert!(from(other).unwrap_err().detail().contains("the same q"), "{other}");
        }
        let stranger = MacKeys::parse("fedcba9876543210fedcba9876543210").unwrap();
        let (forged, cut) = (request.cursor(&position, &stranger), &cursor[..cursor.len() - 1]);
        for invented in
            ["abc", "key_00000000000000001", "AAAA%3D%3D", "%00", &forged, cut, &"A".repeat(5_000)]
        {
            assert!(read(&format!("sort=name&q=ada&cursor={invented}")).is_err(), "{invented}");
        }
    }

    #[test]
    fn cursor_shows_neither_name_nor_email() {
        let position = Position { text: "ada@example.com".to_owned(), id: KeyId::new([3; 12]) };
        let cursor = |list| read(list).unwrap().cursor(&position, &keys());
        let bytes = URL_SAFE_NO_PAD.decode(cursor("sort=email")).unwrap();
        for part in ["ada@", "example", &position.id.to_string()] {
            assert!(!bytes.windows(part.len()).any(|window| window == part.as_bytes()), "{part}");
        }
        assert_ne!(
            cursor("sort=email")[..32],
            cursor("sort=email&q=ada")[..32],
            "another list, another nonce"
        );
    }

    proptest! {
        #[test]
        fn cursor_reads_back_from_a_query(text in "\\PC{0,200}", id: [u8; 12]) {
            let position = Position { text, id: KeyId::new(id) };
            let cursor = read("").unwrap().cursor(&position, &keys());
            prop_assert!(cursor.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'));
            prop_assert_eq!(read(&format!("cursor={cursor}")).unwrap().from, Some(position));
        }
    }

    #[test]
    fn request_reads_back_from_its_message() {
        for query in
            [None, Some(""), Some("q=%0Aada&limit=7&sort=-name&tier=free&email=A@b.com&status=active")]
        {
            let mut request = ListRequest::read(query, &keys()).unwrap();
            for from in [None, Some(Position { text: "a.b\n".to_owned(), id: KeyId::new([3; 12]) })] {
                request.from = from;
                assert_eq!(
                    ListRequest::from_message(&request.to_message(query)),
                    Ok(request.clone()),
                    "{query:?}"
                );
            }
        }
    }

    #[test]
    fn filters_match_keys_that_match_all_of_them() {
        let record = record(1, Some(("Ada", "Ada@example.com")));
        let shows = |query: &str| read(query).unwrap().filter.matches(&record);
        assert!(shows("") && shows("email=ada@EXAMPLE.com&tier=pro&status=active&q=ADA"));
        for query in [
            "email=bob@example.com",
            "email=ada@example",
            "tier=free",
            "status=revoked",
            "tier=pro&status=disabled",
            "q=bob",
        ] {
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
