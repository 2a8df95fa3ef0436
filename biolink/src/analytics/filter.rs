//! Filters: which events a report counts.

use serde::{Deserialize, Serialize};

use super::{group::GroupBy, parameter_error::ParameterError};

/// A condition on a property of events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    pub(super) by: GroupBy,
    /// The values. An empty text is an event without a value.
    pub(super) values: Vec<String>,
    /// Whether events with one of the values are left out, instead of all others.
    pub(super) excludes: bool,
}

/// The value in a query that stands for events without one.
const NONE: &str = "(none)";

impl Filter {
    /// The most values of a filter.
    pub const MAX_VALUES: usize = 100;

    /// Reads values: `US,CA` includes these, `-US,CA` and `-US,-CA` leave these out.
    ///
    /// # Errors
    /// Returns what is expected.
    pub(super) fn parse(by: GroupBy, text: &str) -> Result<Self, ParameterError> {
        let excludes = text.starts_with('-');
        let values = text.split(',').map(str::trim).map(|value| {
            // Only if the list excludes: a value may itself begin with a minus sign.
            let bare = value.strip_prefix('-').filter(|_| excludes);
            normal(by, bare.unwrap_or(value).trim())
        });
        let values: Vec<_> = values.collect();
        if values.len() > Self::MAX_VALUES {
            return Err(ParameterError::TooMany {
                count: values.len(),
                what: "values",
                max: Self::MAX_VALUES,
            });
        }
        for value in &values {
            check(by, value)?;
        }
        // After the check, to which an empty text is two commas in a row.
        let values = values.into_iter().map(|value| if value == NONE { String::new() } else { value });
        Ok(Self { by, values: values.collect(), excludes })
    }

    /// Returns true if events with this value of the column are counted.
    pub(super) fn accepts(&self, column: &str) -> bool {
        let value = if column.is_empty() { Some(column) } else { self.by.value(column) };
        value.is_some_and(|value| self.values.iter().any(|other| other == value)) != self.excludes
    }
}

/// Returns a value as it is stored.
fn normal(by: GroupBy, value: &str) -> String {
    match by {
        _ if value.eq_ignore_ascii_case(NONE) => NONE.to_owned(),
        GroupBy::Country => value.to_ascii_uppercase(),
        GroupBy::Referrer | GroupBy::Channel | GroupBy::Device | GroupBy::Language | GroupBy::BotClass => {
            value.to_ascii_lowercase()
        }
        _ => value.to_owned(),
    }
}

fn check(by: GroupBy, value: &str) -> Result<(), ParameterError> {
    let expected = match by {
        _ if value.is_empty() => "a value after each comma, or (none) for events without one",
        _ if value == NONE => return Ok(()),
        GroupBy::Link if !value.starts_with("lnk_") => "ids of links, which begin with lnk_",
        GroupBy::Product if !value.starts_with("prd_") => "ids of products, which begin with prd_",
        GroupBy::Country if value.len() != 2 => "two-letter codes of countries, such as DE (ISO 3166-1)",
        _ => return Ok(()),
    };
    Err(ParameterError::Malformed { expected })
}
