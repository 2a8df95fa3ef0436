//! The query of the feed of key changes.

use serde::{Deserialize, Serialize};

use super::{ChangesPage, Cursor};
use crate::problem::Problem;
use crate::query::{invalid, not_a_cursor, unknown_parameter};

/// A request for one page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesRequest {
    /// The position at which the page before ended; `None` requests the first one.
    pub cursor: Option<Cursor>,
    /// Keys on the page at the most.
    pub limit: usize,
}

impl ChangesRequest {
    /// Reads the query: `cursor`, and `limit` from 1 to [`ChangesPage::MAX_KEYS`], which it is if
    /// left out.
    ///
    /// # Errors
    /// Returns `fields-invalid` for an unknown parameter, or a value out of bounds.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut request = Self { cursor: None, limit: ChangesPage::MAX_KEYS };
        for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=').unwrap_or((pair, "")) {
                ("cursor", "") => request.cursor = None,
                ("cursor", text) => request.cursor = Some(Cursor::parse(text).ok_or_else(not_a_cursor)?),
                ("limit", text) => request.limit = read_limit(text)?,
                _ => {
                    return Err(unknown_parameter(
                        pair.split('=').next().unwrap_or_default(),
                        "cursor and limit",
                    ));
                }
            }
        }
        Ok(request)
    }
}

fn read_limit(text: &str) -> Result<usize, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=ChangesPage::MAX_KEYS).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 1000"))
}
