//! Queries of the APIs.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::problem::{Code, Problem};

/// Returns the parameters of a query, percent-decoded. A `+` stands for itself, because e-mail
/// addresses have it.
///
/// # Errors
/// Returns `fields-invalid` for a parameter that is sent twice or is not UTF-8.
pub(crate) fn parameters(query: Option<&str>) -> Result<Vec<(&str, Cow<'_, str>)>, Problem> {
    let mut found: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode_str(value).decode_utf8();
        let value =
            value.map_err(|_| invalid("a value of the query is not UTF-8 once it is percent-decoded"))?;
        if found.iter().any(|(other, _)| *other == name) {
            return Err(invalid("a parameter of the query comes twice"));
        }
        found.push((name, value));
    }
    Ok(found)
}

/// Returns the refusal of a cursor that was never handed out.
pub(crate) fn not_a_cursor() -> Problem {
    invalid("cursor is not one that a page before this has given")
}

/// Returns the refusal of a query.
pub(crate) fn invalid(detail: &'static str) -> Problem {
    Problem::new(Code::FieldsInvalid, detail)
}
