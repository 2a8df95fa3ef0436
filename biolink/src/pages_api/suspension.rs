//! The operator's orders that nothing of a page, or of an account, is shown.

use std::fmt::Write as _;

use crate::codes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{
    fields::{Fields, text},
    problem::Problem,
    time::UnixMillis,
};

use crate::page::{InvalidValue, PageId};

/// The longest reason, in characters.
pub const MAX_REASON: usize = 500;

/// An order of the operator. Owners see that there is one, and not its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Suspension {
    /// The moment of the order.
    pub(super) at: UnixMillis,
    /// The operator's note.
    pub(super) reason: Option<String>,
}

impl Suspension {
    /// Renews an order. The first moment stays, and so does the reason unless there is a new one.
    pub(super) fn renew(place: &mut Option<Self>, reason: Option<&String>, now: UnixMillis) {
        let order = place.get_or_insert(Self { at: now, reason: None });
        if reason.is_some() {
            order.reason = reason.cloned();
        }
    }

    /// Returns the order as the operator sees it; `null` for none.
    pub(super) fn describe(order: Option<&Self>) -> Value {
        order.map_or(Value::Null, |order| json!({ "at": order.at.to_rfc3339(), "reason": order.reason }))
    }
}

/// The suspended pages of an account, as the account replies them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuspendedPages(String);

impl SuspendedPages {
    /// Stands for every page.
    const ALL: &str = "*";

    /// Returns the pages of an account: all, or these.
    pub(super) fn of(all: bool, pages: impl Iterator<Item = PageId>) -> Self {
        let mut text = if all { Self::ALL.to_owned() } else { String::new() };
        for page in pages {
            // Writing to memory cannot fail.
            let _written = write!(text, " {page}");
        }
        Self(text)
    }

    /// Reads what [`SuspendedPages::as_str`] returns.
    pub const fn from_text(text: String) -> Self {
        Self(text)
    }

    /// Returns the text that is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the page is among them.
    pub fn contains(&self, page: &PageId) -> bool {
        let id = page.to_string();
        // Words and not a search in the text: an id must not match within another one.
        self.0.split(' ').any(|word| word == Self::ALL || word == id)
    }
}

/// Reads the body of a suspension, which may be empty: why the operator makes it.
///
/// # Errors
/// Returns `body-malformed` or `fields-invalid`.
pub(super) fn read_reason(body: &[u8]) -> Result<Option<String>, Problem> {
    if body.is_empty() {
        return Ok(None);
    }
    let mut fields = Fields::read(body)?;
    let reason = fields.nullable("reason", |value| {
        let reason = text(value)?;
        let fits = (1..=MAX_REASON).contains(&reason.chars().count()) && !reason.contains(char::is_control);
        let expected = || format!("must have 1 to {MAX_REASON} characters without line breaks").into();
        fits.then(|| reason.to_owned()).ok_or_else::<InvalidValue, _>(expected)
    });
    fields.finish()?;
    Ok(reason)
}

/// Returns the refusal of a change that would show, move or remove a suspended page.
pub(super) fn page_suspended() -> Problem {
    let detail = "the operator has suspended the page or the account: it can be read and edited, but not published, renamed or deleted";
    Problem::new(codes::PAGE_SUSPENDED, detail)
}
