//! Queries of the APIs: their parameters, and what is wrong with them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::problem::{Problem, codes};
use crate::request::shown;

/// The suffixes that clients add to the name of a list's parameter.
const BRACKETS: [&str; 3] = ["[]", "%5B%5D", "%5b%5d"];

/// Returns the parameters of a query, percent-decoded. A `+` stands for itself, because e-mail
/// addresses have it.
///
/// # Errors
/// Returns `fields-invalid` for a parameter that is sent twice or is not UTF-8.
pub fn parameters(query: Option<&str>) -> Result<Vec<(&str, Cow<'_, str>)>, Problem> {
    parameters_with_lists(query, |_| false)
}

/// Returns the same of a query with lists. Clients write a list with commas (`a=1,2`), repeat its
/// parameter (`a=1&a=2`), or add brackets to its name (`a[]=1&a[]=2`). All of them become one value
/// with commas.
///
/// # Errors
/// Returns `fields-invalid` for another parameter that is sent twice, and for one that is not UTF-8.
pub fn parameters_with_lists(
    query: Option<&str>,
    is_list: impl Fn(&str) -> bool,
) -> Result<Vec<(&str, Cow<'_, str>)>, Problem> {
    let mut found: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode_str(value).decode_utf8().map_err(|_| {
            faulty(format!(
                "the value of the parameter `{}` is not UTF-8 once it is percent-decoded",
                shown(name)
            ))
        })?;
        let list = BRACKETS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        let name = if is_list(list) { list } else { name };
        match found.iter_mut().find(|(other, _)| *other == name) {
            Some((_, values)) if is_list(name) => *values = format!("{values},{value}").into(),
            Some(_) => {
                // Programs differ on which of two counts, so a check and a use could see another
                // one.
                return Err(faulty(format!("the parameter `{}` of the query comes twice", shown(name))));
            }
            None => found.push((name, value)),
        }
    }
    Ok(found)
}

/// Returns the refusal of a cursor that was never handed out.
pub fn not_a_cursor() -> Problem {
    invalid("cursor is not one that a page before this has given")
}

/// Returns the refusal of an unknown parameter. `known` names the ones that exist.
pub fn unknown_parameter(name: &str, known: &str) -> Problem {
    faulty(format!("the query has an unknown parameter `{}`; it may have {known}", shown(name)))
}

fn faulty(detail: String) -> Problem {
    Problem::new(codes::FIELDS_INVALID, detail)
}

/// Returns the refusal of a query.
pub fn invalid(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(codes::FIELDS_INVALID, detail)
}
