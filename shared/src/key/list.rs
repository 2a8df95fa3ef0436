//! Listing keys: `GET /v1/keys?cursor=&limit=`.

use serde_json::{Value, json};

use crate::{
    key::{KeyRecord, describe},
    problem::{Code, Problem},
};

/// Keys on a page when the request does not say.
const DEFAULT_LIMIT: u32 = 50;
/// Most keys on a page: as many records as the store reads at once.
const MAX_LIMIT: u32 = 100;
const MAX_CURSOR: usize = 1_024;

/// Which keys are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRequest {
    /// Where the page before ended, as it said.
    pub cursor: Option<String>,
    /// Keys on the page at the most.
    pub limit: u32,
}

impl ListRequest {
    /// Reads the query.
    ///
    /// # Errors
    /// `fields-invalid` for a parameter that is none, or a limit out of bounds.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut request = Self { cursor: None, limit: DEFAULT_LIMIT };
        for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("cursor", "") => request.cursor = None,
                ("cursor", cursor) if is_cursor(cursor) => request.cursor = Some(cursor.to_owned()),
                ("limit", limit) => request.limit = read_limit(limit)?,
                ("cursor", _) => return Err(invalid("cursor is not one that a page before this has given")),
                _ => return Err(invalid("the query has a parameter other than cursor and limit")),
            }
        }
        Ok(request)
    }
}

/// The answer: the keys, and where the next page begins, if there is one.
#[must_use]
pub fn describe_page(records: &[KeyRecord], cursor: Option<&str>) -> Value {
    json!({ "keys": records.iter().map(describe).collect::<Value>(), "cursor": cursor })
}

/// Cursors are the store's own. They are handed out and taken back as they are, so they must not need encoding.
fn is_cursor(text: &str) -> bool {
    text.len() <= MAX_CURSOR && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=+/.".contains(&b))
}

fn read_limit(text: &str) -> Result<u32, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 100"))
}

fn invalid(detail: &'static str) -> Problem {
    Problem::new(Code::FieldsInvalid, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_asked_for_by_cursor_and_limit() {
        assert_eq!(ListRequest::read(None), Ok(ListRequest { cursor: None, limit: 50 }));
        let asked = ListRequest::read(Some("limit=7&cursor=AbC-_=")).unwrap();
        assert_eq!((asked.limit, asked.cursor.as_deref()), (7, Some("AbC-_=")));
        for query in ["limit=0", "limit=101", "limit=x", "cursor=%00", "page=2"] {
            assert!(ListRequest::read(Some(query)).is_err(), "{query}");
        }
    }
}
