//! The feed of key changes: `GET /internal/keys/changes?cursor=&limit=`, for proxies that verify
//! keys by themselves.
//!
//! The feed holds the newest record of each key of which a record says more than the key's own
//! text: of keys that were changed, and of those issued with their own limits or end. Records
//! are without their holders.
//!
//! **What a reader does.** The first request has no cursor. Each further one has the cursor of the
//! page before, and follows immediately while there are more keys. The reader keeps the record of the
//! highest version of each key, because a page may repeat what it has, and all records come again
//! when the feed was reset. It judges a key by [`KeyRecord::check`] of that record, or of
//! [`KeyRecord::provisional`] for a key that the feed does not name.
//!
//! Edge and proxy may be of different versions: fields are only ever added, with a default, and an
//! unknown one is ignored. An unknown *value*, such as a new tier, makes a page unreadable, because
//! a reader that skipped the record could serve a key that has ended. Proxies must learn new values
//! first.

mod cursor;
mod request;

pub use cursor::Cursor;
pub use request::ChangesRequest;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::json;
use crate::key::KeyRecord;

const VERSION: u8 = 1;
const PATH: &str = "/internal/keys/changes";

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

/// An error of a response that is not a page. It never quotes the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChangesError {
    /// The response is too long.
    #[error("has {length} bytes; expected at most {}", ChangesPage::MAX_BYTES)]
    TooLong {
        /// Bytes of the response.
        length: usize,
    },
    /// The page has no keys and says that there are more. A reader would repeat its request for
    /// ever.
    #[error("is empty and says that there is more")]
    Endless,
    /// The page is of another version.
    #[error("is of version {version}; expected {VERSION}")]
    OtherVersion {
        /// The version of the page.
        version: u8,
    },
    /// The text is not a page.
    #[error("cannot be read at line {line} column {column}")]
    Malformed {
        /// Line of the text, from 1.
        line: usize,
        /// Column of the line, from 1.
        column: usize,
    },
}

impl ChangesPage {
    /// Maximum number of keys on a page.
    pub const MAX_KEYS: usize = 1_000;
    /// Maximum length of a page in bytes, enough for [`ChangesPage::MAX_KEYS`] of the longest
    /// records.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;

    /// Returns a page of these records, which are sent without their holders.
    pub fn new(keys: impl IntoIterator<Item = KeyRecord>, cursor: Cursor, more: bool) -> Self {
        let keys = keys.into_iter().map(|record| record.public()).collect();
        Self { version: VERSION, keys, cursor, more }
    }

    /// Returns the path and query of the page after `cursor`, or of the first one.
    pub fn target(cursor: Option<&Cursor>) -> String {
        match cursor {
            Some(cursor) => format!("{PATH}?cursor={cursor}"),
            None => PATH.to_owned(),
        }
    }

    /// Parses a response.
    ///
    /// # Errors
    /// Returns an error if it is not a page.
    pub fn from_json(text: &[u8]) -> Result<Self, ChangesError> {
        // Before it is parsed: what claims to be the edge may be another server.
        if text.len() > Self::MAX_BYTES {
            return Err(ChangesError::TooLong { length: text.len() });
        }
        let page: Self = serde_json::from_slice(text)
            .map_err(|error| ChangesError::Malformed { line: error.line(), column: error.column() })?;
        match page {
            Self { version: VERSION, more: true, keys, .. } if keys.is_empty() => Err(ChangesError::Endless),
            page @ Self { version: VERSION, .. } => Ok(page),
            Self { version, .. } => Err(ChangesError::OtherVersion { version }),
        }
    }

    /// Returns the page as it is sent.
    pub fn to_json(&self) -> String {
        // Plain strings and numbers always serialize; an empty text would read as a fault.
        json::to_string(self).unwrap_or_default()
    }
}

/// A message to the object that keeps the feed, and the directory of keys beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a message lives for one call and is never kept in bulk")]
pub enum ChangesMessage {
    /// A key's record as it is now. It may be a duplicate, or older than the one before.
    Note(KeyRecord),
    /// A reader's request. The response is a [`ChangesPage`].
    Read(ChangesRequest),
    /// A key's record as it is now, with its holder, for the directory. It may be a duplicate, or older than
    /// the one before.
    Enter(KeyRecord),
    /// An administrator's request for a page of the directory, as `ListRequest::to_message` has it. The
    /// response is a page as `KeyPage::to_message` has it, or empty while the directory is being filled.
    List(String),
}

impl ChangesMessage {
    /// Makes a note of a record, without its holder and names.
    pub fn note(record: &KeyRecord) -> Self {
        Self::Note(record.public())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use proptest::prelude::*;

    use super::*;
    use crate::key::{
        BiolinkPlan, Connection, FormerSecret, KeyHolder, KeyId, KeyStatus, NamedSecret, Scopes, SecretHash,
        SecretId, WhenMeterUnreachable,
    };
    use crate::policy::{LimitOverrides, UnitLimits};
    use crate::tier::Tier;
    use crate::time::UnixMillis;

    const BEGUN: UnixMillis = UnixMillis(1_763_712_000_000);

    /// Returns a record with everything in it, at its longest.
    fn longest(id: u8) -> KeyRecord {
        let (hash, end) = (SecretHash::of(&[255; 16]), UnixMillis(u64::MAX));
        let secret = NamedSecret {
            id: SecretId::new([255; 8]),
            name: "Ada".to_owned(),
            scopes: Scopes::ALL,
            hash,
            former: Some(FormerSecret { hash, until: end }),
            created_at: end,
            expires_at: Some(end),
            connection: Some(Connection::Token { until: end }),
        };
        KeyRecord {
            version: u64::MAX,
            id: KeyId::new([id; 12]),
            tier: Tier::Enterprise,
            limits: LimitOverrides {
                minute: Some(NonZeroU32::MAX),
                day: Some(NonZeroU32::MAX),
                units: UnitLimits {
                    minute: Some(NonZeroU32::MAX),
                    day: Some(NonZeroU32::MAX),
                    month: Some(NonZeroU32::MAX),
                },
            },
            status: KeyStatus::Revoked { at: end },
            secret: hash,
            former: Some(FormerSecret { hash, until: end }),
            secrets: vec![secret; NamedSecret::MAX],
            holder: Some(KeyHolder { email: "ada@example.com".to_owned(), name: "Ada".to_owned() }),
            biolink_plan: BiolinkPlan::Business,
            when_meter_unreachable: WhenMeterUnreachable::Refuse,
            account: Some(KeyId::new([255; 12])),
            issued_at: end,
            expires_at: Some(end),
        }
    }

    #[test]
    fn page_reads_back_without_holders() {
        let page = ChangesPage::new([longest(1), longest(2)], Cursor::new(BEGUN, 2), true);
        let text = page.to_json();
        assert!(!text.contains("ada") && !text.contains("Ada"), "{text}");
        assert_eq!(ChangesPage::from_json(text.as_bytes()), Ok(page));
        let note = serde_json::to_string(&ChangesMessage::note(&longest(1))).unwrap();
        assert!(!note.contains("Ada"), "{note}");
    }

    #[test]
    fn full_page_of_the_longest_records_is_not_too_long() {
        let keys = (0..ChangesPage::MAX_KEYS).map(|_| longest(255));
        let text = ChangesPage::new(keys, Cursor::new(UnixMillis(u64::MAX), u64::MAX), true).to_json();
        assert!(text.len() <= ChangesPage::MAX_BYTES, "{}", text.len());
        assert!(ChangesPage::from_json(text.as_bytes()).is_ok());
        let padded = format!("{text}{}", " ".repeat(ChangesPage::MAX_BYTES));
        assert_eq!(
            ChangesPage::from_json(padded.as_bytes()),
            Err(ChangesError::TooLong { length: padded.len() })
        );
    }

    #[test]
    fn page_with_unknown_field_is_read_and_unknown_value_is_refused() {
        let read = |text: &str| ChangesPage::from_json(text.as_bytes());
        let added = r#"{"version":1,"keys":[],"cursor":"1-0","more":false,"next_in_ms":5}"#;
        assert_eq!(read(added).map(|page| page.cursor.to_string()), Ok("1-0".to_owned()));
        assert_eq!(read(&added.replace(":1,", ":2,")), Err(ChangesError::OtherVersion { version: 2 }));
        assert_eq!(read(&added.replace("false", "true")), Err(ChangesError::Endless));
        for text in ["", "{}", &added.replace("1-0", "1 0"), &added.replace("1-0", &"1".repeat(65))] {
            assert!(matches!(read(text), Err(ChangesError::Malformed { .. })), "{text}");
        }
        let unknown = ChangesPage::new([longest(1)], Cursor::new(BEGUN, 1), false).to_json();
        let unknown = unknown.replace("enterprise", "hush");
        let Err(error) = read(&unknown) else { panic!("a record that cannot be understood was passed over") };
        assert!(!error.to_string().contains("hush"), "{error}");
    }

    #[test]
    fn page_is_requested_by_the_cursor_of_the_one_before() {
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
    fn cursor_of_another_feed_or_ahead_restarts() {
        assert_eq!(Cursor::new(BEGUN, 7).number_in(BEGUN, 7), 7);
        assert_eq!(Cursor::new(BEGUN, 8).number_in(BEGUN, 7), 0);
        assert_eq!(Cursor::new(BEGUN.plus(1), 7).number_in(BEGUN, 7), 0);
        for text in ["7", "x-7", "-", "_"] {
            assert_eq!(Cursor::parse(text).unwrap().number_in(BEGUN, 7), 0, "{text}");
        }
    }

    proptest! {
        #[test]
        fn cursor_reads_back_from_a_query(begun: u64, number: u64) {
            let cursor = Cursor::new(UnixMillis(begun), number);
            prop_assert_eq!(Cursor::parse(&cursor.to_string()), Some(cursor.clone()));
            prop_assert_eq!(cursor.number_in(UnixMillis(begun), number), number);
        }

        #[test]
        fn page_with_a_malformed_cursor_is_refused(text in "\\PC{0,80}") {
            let quoted = serde_json::to_string(&text).unwrap();
            let page = format!(r#"{{"version":1,"keys":[],"cursor":{quoted},"more":false}}"#);
            prop_assert_eq!(ChangesPage::from_json(page.as_bytes()).is_ok(), Cursor::parse(&text).is_some());
        }
    }
}
