//! The feed of key changes: `GET /internal/keys/changes?cursor=&limit=`, for proxies that verify keys by themselves.
//!
//! The feed holds the newest record of each key of which a record says more than the key's own text: of keys that
//! were changed, and of those issued with limits or an end of their own. Records are without their holders.
//!
//! **What a reader does.** It asks without a cursor at first, then always with the last one it was given, and again
//! at once while there is more. It keeps of each key the record of the highest version: what it is sent may be what
//! it has already, and all of it comes again when the feed has begun anew. It judges a key by
//! [`KeyRecord::check`] of that record, or of [`KeyRecord::provisional`] for a key that the feed does not name.
//!
//! Edge and proxy may be of different versions: fields are only ever added, with a default, and an unknown one is
//! ignored. An unknown *value*, say a new tier, makes a page unreadable, since to pass over a record could mean to
//! serve a key that has ended: proxies learn new values first.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    endpoint::Endpoint,
    key::KeyRecord,
    problem::{Code, Problem},
    time::UnixMillis,
};

const VERSION: u8 = 1;

/// A part of the feed, in the order in which the keys were changed last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesPage {
    version: u8,
    /// The newest records, each key once.
    pub keys: Vec<KeyRecord>,
    /// The position at which the next page begins, now or later.
    pub cursor: Cursor,
    /// Whether there is a next page already.
    pub more: bool,
}

/// A reason for which a response is not a page. Never quotes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangesFault {
    /// More than [`ChangesPage::MAX_BYTES`].
    TooLong,
    /// It says that there is more and has nothing: to ask again would go on for ever.
    Endless,
    /// Of a version that is not known here.
    OtherVersion,
    /// Not a page at this place of the text.
    Malformed {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
}

impl fmt::Display for ChangesFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "is longer than {} bytes", ChangesPage::MAX_BYTES),
            Self::Endless => f.write_str("is empty and says that there is more"),
            Self::OtherVersion => f.write_str("is of a version that is not known here"),
            Self::Malformed { line, column } => write!(f, "cannot be read at line {line} column {column}"),
        }
    }
}

impl ChangesPage {
    /// Most keys on a page.
    pub const MAX_KEYS: usize = 1_000;
    /// Most bytes of a page: as many as so many of the longest records need.
    pub const MAX_BYTES: usize = 512 * 1024;

    /// Returns a page of these records, which are sent without their holders.
    #[must_use]
    pub fn new(keys: impl IntoIterator<Item = KeyRecord>, cursor: Cursor, more: bool) -> Self {
        let keys = keys.into_iter().map(|record| record.public()).collect();
        Self { version: VERSION, keys, cursor, more }
    }

    /// Returns the path and query of the page after `cursor`, or of the first one.
    #[must_use]
    pub fn target(cursor: Option<&Cursor>) -> String {
        let path = Endpoint::KeyChanges.path();
        match cursor {
            Some(cursor) => format!("{path}?cursor={cursor}"),
            None => path,
        }
    }

    /// Parses a response.
    ///
    /// # Errors
    /// Returns the [`ChangesFault`].
    pub fn from_json(text: &[u8]) -> Result<Self, ChangesFault> {
        if text.len() > Self::MAX_BYTES {
            return Err(ChangesFault::TooLong);
        }
        let page: Self = serde_json::from_slice(text)
            .map_err(|fault| ChangesFault::Malformed { line: fault.line(), column: fault.column() })?;
        match page {
            Self { version: VERSION, more: true, keys, .. } if keys.is_empty() => Err(ChangesFault::Endless),
            page @ Self { version: VERSION, .. } => Ok(page),
            _ => Err(ChangesFault::OtherVersion),
        }
    }

    /// Returns the page as it is sent.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain strings and numbers always serialise; an empty text would read as a fault.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The position at which a page ended. A reader keeps it and sends it back unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(String);

impl Cursor {
    const MAX_LEN: usize = 64;

    /// Returns a cursor in the feed that began at `begun`, after the change of this number.
    #[must_use]
    pub fn new(begun: UnixMillis, number: u64) -> Self {
        Self(format!("{}-{number}", begun.0))
    }

    /// Reads what a page gave; `None` for more than 64 characters, or others than letters, digits, `-` and `_`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let well_formed = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(plain);
        well_formed.then(|| Self(text.to_owned()))
    }

    /// Returns the number after which to go on in the feed that began at `begun` and has come to
    /// `last`. It is 0, the very beginning, for a cursor from another feed or from further on: the
    /// feed was lost, or set back, since then.
    #[must_use]
    pub fn number_in(&self, begun: UnixMillis, last: u64) -> u64 {
        let (feed, number) = self.0.split_once('-').unwrap_or_default();
        match (feed.parse(), number.parse()) {
            (Ok(feed), Ok(number)) if begun == UnixMillis(feed) && number <= last => number,
            _ => 0,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Cursor {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not a cursor")
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.0
    }
}

/// A request for one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesRequest {
    /// The position at which the page before ended; `None` requests the first one.
    #[serde(default)]
    pub cursor: Option<Cursor>,
    /// Keys on the page at the most.
    pub limit: usize,
}

impl ChangesRequest {
    /// Reads the query: `cursor`, and `limit` from 1 to [`ChangesPage::MAX_KEYS`], which it is if
    /// left out.
    ///
    /// # Errors
    /// Returns `fields-invalid` for a parameter that is none, or a value out of bounds.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut request = Self { cursor: None, limit: ChangesPage::MAX_KEYS };
        for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("cursor", "") => request.cursor = None,
                ("cursor", text) => request.cursor = Some(Cursor::parse(text).ok_or_else(not_a_cursor)?),
                ("limit", text) => request.limit = read_limit(text)?,
                _ => return Err(invalid("the query has a parameter other than cursor and limit")),
            }
        }
        Ok(request)
    }
}

fn read_limit(text: &str) -> Result<usize, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=ChangesPage::MAX_KEYS).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 1000"))
}

fn not_a_cursor() -> Problem {
    invalid("cursor is not one that a page before this has given")
}

fn invalid(detail: &'static str) -> Problem {
    Problem::new(Code::FieldsInvalid, detail)
}

/// A message to the store of the feed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum ChangesMessage {
    /// A key's record as it is now. It may be a duplicate, or older than the one before.
    Note(KeyRecord),
    /// A reader's request. The response is a [`ChangesPage`].
    Read(ChangesRequest),
}

impl ChangesMessage {
    /// Makes a note of a record, without its holder.
    #[must_use]
    pub fn note(record: &KeyRecord) -> Self {
        Self::Note(record.public())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        key::{BiolinkPlan, FormerSecret, KeyHolder, KeyId, KeyStatus, SecretHash},
        policy::LimitOverrides,
        tier::Tier,
    };

    const BEGUN: UnixMillis = UnixMillis(1_763_712_000_000);

    /// Returns a record with everything in it, at its longest.
    fn longest(id: u8) -> KeyRecord {
        let (hash, end) = (SecretHash::of(&[255; 16]), UnixMillis(u64::MAX));
        KeyRecord {
            version: u64::MAX,
            id: KeyId::new([id; 12]),
            tier: Tier::Enterprise,
            limits: LimitOverrides { minute: Some(NonZeroU32::MAX), day: Some(NonZeroU32::MAX) },
            status: KeyStatus::Revoked { at: end },
            secret: hash,
            former: Some(FormerSecret { hash, until: end }),
            holder: Some(KeyHolder { email: "ada@example.com".to_owned(), name: "Ada".to_owned() }),
            biolink_plan: BiolinkPlan::Business,
            issued_at: end,
            expires_at: Some(end),
        }
    }

    #[test]
    fn a_page_reads_back_without_the_holders() {
        let page = ChangesPage::new([longest(1), longest(2)], Cursor::new(BEGUN, 2), true);
        let text = page.to_json();
        assert!(!text.contains("ada") && !text.contains("Ada"), "{text}");
        assert_eq!(ChangesPage::from_json(text.as_bytes()), Ok(page));
        let told = serde_json::to_string(&ChangesMessage::note(&longest(1))).unwrap();
        assert!(!told.contains("Ada"), "{told}");
    }

    #[test]
    fn a_full_page_of_the_longest_records_is_not_too_long() {
        let keys = (0..ChangesPage::MAX_KEYS).map(|_| longest(255));
        let text = ChangesPage::new(keys, Cursor::new(UnixMillis(u64::MAX), u64::MAX), true).to_json();
        assert!(text.len() <= ChangesPage::MAX_BYTES, "{}", text.len());
        assert!(ChangesPage::from_json(text.as_bytes()).is_ok());
        let padded = format!("{text}{}", " ".repeat(ChangesPage::MAX_BYTES));
        assert_eq!(ChangesPage::from_json(padded.as_bytes()), Err(ChangesFault::TooLong));
    }

    #[test]
    fn a_later_version_may_add_and_what_it_changes_is_refused() {
        let read = |text: &str| ChangesPage::from_json(text.as_bytes());
        let added = r#"{"version":1,"keys":[],"cursor":"1-0","more":false,"next_in_ms":5}"#;
        assert_eq!(read(added).map(|page| page.cursor.to_string()), Ok("1-0".to_owned()));
        assert_eq!(read(&added.replace(":1,", ":2,")), Err(ChangesFault::OtherVersion));
        assert_eq!(read(&added.replace("false", "true")), Err(ChangesFault::Endless));
        for text in ["", "{}", &added.replace("1-0", "1 0"), &added.replace("1-0", &"1".repeat(65))] {
            assert!(matches!(read(text), Err(ChangesFault::Malformed { .. })), "{text}");
        }
        let unknown = ChangesPage::new([longest(1)], Cursor::new(BEGUN, 1), false).to_json();
        let unknown = unknown.replace("enterprise", "hush");
        let Err(fault) = read(&unknown) else { panic!("a record that cannot be understood was passed over") };
        assert!(!fault.to_string().contains("hush"), "{fault}");
    }

    #[test]
    fn a_page_is_asked_for_by_the_cursor_of_the_one_before() {
        let cursor = Cursor::new(BEGUN, 7);
        assert_eq!(ChangesPage::target(None), "/internal/keys/changes");
        let target = ChangesPage::target(Some(&cursor));
        let query = target.split_once('?').map(|(_, query)| query);
        let all = ChangesPage::MAX_KEYS;
        assert_eq!(ChangesRequest::read(query), Ok(ChangesRequest { cursor: Some(cursor), limit: all }));
        for (query, limit) in [(None, all), (Some(""), all), (Some("cursor=&limit=7"), 7)] {
            assert_eq!(ChangesRequest::read(query), Ok(ChangesRequest { cursor: None, limit }));
        }
        for query in ["cursor=a%20b", "page=2", "limit=0", "limit=1001", "limit=x", "cursor=1-0&limit"] {
            assert!(ChangesRequest::read(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn a_cursor_from_another_feed_or_from_further_on_begins_anew() {
        assert_eq!(Cursor::new(BEGUN, 7).number_in(BEGUN, 7), 7);
        assert_eq!(Cursor::new(BEGUN, 8).number_in(BEGUN, 7), 0);
        assert_eq!(Cursor::new(BEGUN.plus(1), 7).number_in(BEGUN, 7), 0);
        for text in ["7", "x-7", "-", "_"] {
            assert_eq!(Cursor::parse(text).unwrap().number_in(BEGUN, 7), 0, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_cursor_goes_through_a_query_unchanged(begun: u64, number: u64) {
            let cursor = Cursor::new(UnixMillis(begun), number);
            prop_assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor.clone()));
            prop_assert_eq!(cursor.number_in(UnixMillis(begun), number), number);
        }

        #[test]
        fn only_what_can_be_a_cursor_is_read_as_one(text in "\\PC{0,80}") {
            let quoted = serde_json::to_string(&text).unwrap();
            let page = format!(r#"{{"version":1,"keys":[],"cursor":{quoted},"more":false}}"#);
            prop_assert_eq!(ChangesPage::from_json(page.as_bytes()).is_ok(), Cursor::parse(&text).is_some());
        }
    }
}
