//! The prices of calls, in units: one file for the edge and every proxy (`conf/prices.toml`).
//!
//! Why: docs/decisions/limits.md, "A price is a fixed number of units, or at most so many".

use serde_json::{Map, Value};
use thiserror::Error;

use crate::action::Action;
use crate::policy::MAX_PRICE;
use crate::tool::Tool;

/// The name that stands for every other action of a tool.
const ANY_ACTION: &str = "*";
/// The member of a price that is not fixed.
const AT_MOST: &str = "at_most";

/// The price of one call, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Price {
    /// Always this number of units.
    Fixed(u32),
    /// So many, unless the response says that it was less.
    AtMost(u32),
}

/// What a call costs in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The units that are charged.
    pub units: u32,
    /// The units that the response named, if they are more than the price allows.
    pub reported: Option<u64>,
}

/// The prices of all calls. A call without a price costs nothing.
///
/// ```
/// use shared::{action::Action, prices::{Price, Prices}, tool::Tool};
///
/// let prices = Prices::from_json(r#"{"narrate": {"create": {"at_most": 600}, "*": 2}}"#).unwrap();
/// let price = |tool, action| prices.of(tool, Action::parse(action).unwrap());
/// assert_eq!(price(Tool::Narrate, "create"), Price::AtMost(600));
/// assert_eq!(price(Tool::Narrate, "voices"), Price::Fixed(2));
/// assert_eq!(price(Tool::Qr, "create"), Price::FREE);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prices(Vec<(Tool, Vec<(String, Price)>)>);

/// An error of a price list. It names the place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PriceError {
    /// The text is not JSON.
    #[error("is not JSON: {0}")]
    NotJson(String),
    /// The list or a tool's part of it is not a table.
    #[error("{0} must be a table of prices")]
    NotATable(String),
    /// There is no such tool.
    #[error("{name} is not a tool; did you mean {nearest}?")]
    UnknownTool {
        /// The name.
        name: String,
        /// The name that it is most like.
        nearest: &'static str,
    },
    /// No path has such an action.
    #[error(
        "{tool}.\"{action}\" is not an action; expected a path segment such as create, or * for all others"
    )]
    NotAnAction {
        /// The tool.
        tool: Tool,
        /// The name.
        action: String,
    },
    /// It is not a price.
    #[error(
        "{place} must be a whole number of units from 0 to {MAX_PRICE}, or {{ at_most = 600 }}, not {value}"
    )]
    NotAPrice {
        /// The tool and the action.
        place: String,
        /// The value.
        value: String,
    },
}

impl Price {
    /// The price of a call that no list names.
    pub const FREE: Self = Self::Fixed(0);

    /// Returns the most units that a call can cost.
    pub const fn most(self) -> u32 {
        match self {
            Self::Fixed(units) | Self::AtMost(units) => units,
        }
    }

    /// Returns what a call costs whose response has this `X-Usage-Units`. Without one, or with one that is
    /// not a whole number, it costs the most that it can. So does a call that names more.
    ///
    /// ```
    /// use shared::prices::{Cost, Price};
    ///
    /// let price = Price::AtMost(60);
    /// assert_eq!(price.cost(Some("37")), Cost { units: 37, reported: None });
    /// assert_eq!(price.cost(None), Cost { units: 60, reported: None });
    /// assert_eq!(price.cost(Some("61")), Cost { units: 60, reported: Some(61) });
    /// ```
    pub fn cost(self, reported: Option<&str>) -> Cost {
        // Digits alone: a sign or a point is no number of units, and `parse` would take `+5`.
        let digits = reported.map(str::trim).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let units = digits.and_then(|text| text.parse::<u64>().ok());
        let most = self.most();
        let above = units.filter(|units| *units > u64::from(most));
        let less = units.and_then(|units| u32::try_from(units).ok()).filter(|units| *units < most);
        match self {
            Self::Fixed(_) => Cost { units: most, reported: above },
            Self::AtMost(_) => Cost { units: less.unwrap_or(most), reported: above },
        }
    }
}

impl Prices {
    /// Reads a list in JSON, as the edge has it.
    ///
    /// # Errors
    /// Returns every error of the list.
    pub fn from_json(text: &str) -> Result<Self, Vec<PriceError>> {
        let value =
            serde_json::from_str(text).map_err(|error| vec![PriceError::NotJson(error.to_string())])?;
        Self::read(&value)
    }

    /// Reads a list: for each tool, a table of actions with their prices. `*` stands for every other
    /// action of the tool. A price is a number of units, or `{ at_most = 600 }`.
    ///
    /// # Errors
    /// Returns every error of the list.
    pub fn read(list: &Value) -> Result<Self, Vec<PriceError>> {
        let Some(list) = list.as_object() else {
            return Err(vec![PriceError::NotATable("the list".to_owned())]);
        };
        let (mut prices, mut errors) = (Vec::new(), Vec::new());
        for (name, actions) in list {
            match read_tool(name, actions, &mut errors) {
                Ok(tool) => prices.push(tool),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(Self(prices)) } else { Err(errors) }
    }

    /// Returns the price of a call.
    pub fn of(&self, tool: Tool, action: Action<'_>) -> Price {
        let Some((_, actions)) = self.0.iter().find(|(own, _)| *own == tool) else { return Price::FREE };
        let named = |name: &str| actions.iter().find(|(own, _)| own == name).map(|(_, price)| *price);
        // The exact name first, whatever the order in the list.
        named(action.as_str()).or_else(|| named(ANY_ACTION)).unwrap_or(Price::FREE)
    }

    /// Returns true if no call costs anything.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the list in JSON, for the edge.
    pub fn to_json(&self) -> String {
        let price = |price: &Price| match *price {
            Price::Fixed(units) => Value::from(units),
            Price::AtMost(units) => Value::Object(Map::from_iter([(AT_MOST.to_owned(), units.into())])),
        };
        let tools = self.0.iter().map(|(tool, actions)| {
            let actions = actions.iter().map(|(action, own)| (action.clone(), price(own)));
            (tool.as_str().to_owned(), Value::Object(actions.collect()))
        });
        Value::Object(tools.collect()).to_string()
    }
}

fn read_tool(
    name: &str,
    actions: &Value,
    errors: &mut Vec<PriceError>,
) -> Result<(Tool, Vec<(String, Price)>), PriceError> {
    let tool = name.parse::<Tool>().map_err(|_| PriceError::UnknownTool {
        name: name.to_owned(),
        nearest: Tool::nearest(name).first().map_or("qr", |tool| tool.as_str()),
    })?;
    let actions = actions.as_object().ok_or_else(|| PriceError::NotATable(name.to_owned()))?;
    let mut prices = Vec::with_capacity(actions.len());
    for (action, value) in actions {
        if action != ANY_ACTION && Action::parse(action).is_none() {
            errors.push(PriceError::NotAnAction { tool, action: action.clone() });
        }
        match read_price(value) {
            Some(price) => prices.push((action.clone(), price)),
            None => errors
                .push(PriceError::NotAPrice { place: format!("{tool}.{action}"), value: value.to_string() }),
        }
    }
    Ok((tool, prices))
}

fn read_price(value: &Value) -> Option<Price> {
    let units = |value: &Value| {
        value.as_u64().and_then(|units| u32::try_from(units).ok()).filter(|units| *units <= MAX_PRICE)
    };
    match value.as_object() {
        None => units(value).map(Price::Fixed),
        // A second member would be a condition that nobody reads.
        Some(members) if members.len() == 1 => members.get(AT_MOST).and_then(units).map(Price::AtMost),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        Prices::from_json(text).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn list_reads_back_from_its_json() {
        let prices = Prices::from_json(r#"{"image":{"generate":40,"*":{"at_most":7}},"qr":{}}"#).unwrap();
        assert_eq!(Prices::from_json(&prices.to_json()), Ok(prices.clone()));
        assert!(!prices.is_empty() && Prices::from_json("{}").unwrap().is_empty());
    }

    #[test]
    fn every_error_of_a_list_names_its_place() {
        let text = r#"{"imag":{"generate":1},"qr":5,"pdf":{"a/b":1,"merge":-1,"split":{"at_most":1000001},
            "x":{"at_most":1,"fixed":2},"y":1.5}}"#;
        let errors = errors(text);
        for part in [
            "imag is not a tool; did you mean image?",
            "qr must be a table of prices",
            "pdf.\"a/b\" is not an action",
            "pdf.merge must be a whole number of units from 0 to 1000000",
            "pdf.split",
            "pdf.x",
            "pdf.y must be a whole number of units from 0 to 1000000, or { at_most = 600 }, not 1.5",
        ] {
            assert!(errors.iter().any(|error| error.contains(part)), "{part}: {errors:#?}");
        }
        assert_eq!(errors.len(), 7);
        assert!(Prices::from_json("[]").is_err() && Prices::from_json("{").is_err());
    }

    #[test]
    fn cost_is_never_more_than_the_price() {
        let at_most = Price::AtMost(10);
        for (reported, units, above) in [
            (None, 10, None),
            (Some("0"), 0, None),
            (Some(" 9 "), 9, None),
            (Some("10"), 10, None),
            (Some("11"), 10, Some(11)),
            (Some("4294967297"), 10, Some(4_294_967_297)),
            (Some("99999999999999999999999"), 10, None),
            (Some("-1"), 10, None),
            (Some("+3"), 10, None),
            (Some("3.5"), 10, None),
            (Some(""), 10, None),
            (Some("3, 4"), 10, None),
        ] {
            assert_eq!(at_most.cost(reported), Cost { units, reported: above }, "{reported:?}");
        }
        assert_eq!(Price::Fixed(10).cost(Some("3")), Cost { units: 10, reported: None });
        assert_eq!(Price::Fixed(10).cost(Some("12")), Cost { units: 10, reported: Some(12) });
        assert_eq!(Price::FREE.cost(None), Cost { units: 0, reported: None });
    }
}
