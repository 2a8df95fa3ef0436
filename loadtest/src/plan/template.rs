//! Texts with fields that differ from call to call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rand::RngExt as _;

use super::data::{DataSet, DataSets};
use super::error::PlanErrorReason;
use crate::random;

/// The values of variables.
pub(crate) type Variables = BTreeMap<String, String>;

/// A text with fields: `{{n}}` is the number of the call, `{{uuid}}` and `{{hex(8)}}` are random,
/// `{{random(1,100)}}` is a number and `{{pick(a|b)}}` one of several texts.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
    escape: Escape,
}

/// The names that a text may use.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    /// Values that are the same for every call.
    pub(crate) variables: &'a Variables,
    pub(crate) data: &'a DataSets,
    /// Names that earlier steps of a flow capture.
    pub(crate) captured: &'a [String],
}

/// How values of data and of responses are written, which may have any character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As they are.
    None,
    /// In a path or query.
    Url,
    /// In a string of JSON, without its quotation marks.
    Json,
}

/// The characters that a value must not bring into a path or query.
const IN_URL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

#[derive(Clone, Debug)]
enum Part {
    Literal(String),
    Number,
    Random {
        from: u64,
        to: u64,
    },
    Hex(usize),
    Uuid,
    Pick(Vec<String>),
    /// A column of data.
    Column(Arc<DataSet>, usize),
    /// A value that an earlier step captured.
    Captured(String),
}

impl Template {
    /// Parses a text. Fields that are variables become part of it.
    pub(crate) fn parse(text: &str, fields: Fields<'_>, escape: Escape) -> Result<Self, PlanErrorReason> {
        let text = substitute(text, fields.variables);
        let (mut parts, mut rest) = (Vec::new(), text.as_str());
        while let Some((literal, (field, after))) =
            rest.split_once("{{").and_then(|(literal, after)| Some((literal, after.split_once("}}")?)))
        {
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let part =
                Part::parse(field.trim(), fields).ok_or_else(|| PlanErrorReason::Field(field.to_owned()))?;
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts, escape })
    }

    /// Returns the text if it is the same for every call.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the text of call number `nth`, with values that earlier steps of its flow captured.
    pub(crate) fn render(&self, nth: u64, captured: &Variables) -> String {
        // From the number of the call, so that a run that is repeated sends the same.
        let mut random = random::at(0x7e3a, nth);
        let mut text = String::new();
        for part in &self.parts {
            // Writing to a String never fails.
            let _infallible = match part {
                Part::Literal(literal) => text.write_str(literal),
                Part::Number => write!(text, "{nth}"),
                Part::Random { from, to } => write!(text, "{}", random.random_range(*from..=*to)),
                Part::Hex(digits) => {
                    (0..*digits).try_for_each(|_| write!(text, "{:x}", random.random_range(0..16_u8)))
                }
                Part::Uuid => {
                    let bits: u128 = random.random();
                    // Version 4, variant 1 (RFC 9562).
                    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
                    let hex = format!("{bits:032x}");
                    let part = |from, to| hex.get(from..to).unwrap_or_default();
                    write!(
                        text,
                        "{}-{}-{}-{}-{}",
                        part(0, 8),
                        part(8, 12),
                        part(12, 16),
                        part(16, 20),
                        part(20, 32)
                    )
                }
                Part::Pick(choices) => {
                    let choice = choices.get(random.random_range(0..choices.len().max(1)));
                    text.write_str(choice.map_or("", String::as_str))
                }
                Part::Column(data, column) => text.write_str(&self.escape.apply(data.value(*column, nth))),
                // A sample before the run has a value that is text and number.
                Part::Captured(name) => {
                    text.write_str(&self.escape.apply(captured.get(name).map_or("0", String::as_str)))
                }
            };
        }
        text
    }
}

impl Escape {
    fn apply(self, value: &str) -> String {
        match self {
            Self::None => value.to_owned(),
            Self::Url => utf8_percent_encode(value, IN_URL).to_string(),
            Self::Json => {
                let quoted = serde_json::Value::from(value).to_string();
                // The scenario has the quotes around the field already.
                let inner = quoted.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"'));
                inner.unwrap_or_default().to_owned()
            }
        }
    }
}

impl Part {
    fn parse(field: &str, fields: Fields<'_>) -> Option<Self> {
        // Before the other fields: a captured value may have any name.
        if fields.captured.iter().any(|name| name == field) {
            return Some(Self::Captured(field.to_owned()));
        }
        let column = field.split_once('.').and_then(|(name, column)| Some((fields.data.get(name)?, column)));
        if let Some((data, column)) = column {
            return data.column(column).map(|column| Self::Column(Arc::clone(data), column));
        }
        match field.split_once('(') {
            None if field == "n" => Some(Self::Number),
            None if field == "uuid" => Some(Self::Uuid),
            None => None,
            Some((name, rest)) => {
                let argument = rest.strip_suffix(')')?;
                match name {
                    "hex" => {
                        // The text is made for each call, so a typo must not ask for gigabytes.
                        argument.parse().ok().filter(|digits| (1..=4096).contains(digits)).map(Self::Hex)
                    }
                    "pick" => Some(Self::Pick(argument.split('|').map(str::to_owned).collect())),
                    "random" => {
                        let (from, to) = argument.split_once(',')?;
                        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
                        // An empty range makes the generator panic.
                        (from <= to).then_some(Self::Random { from, to })
                    }
                    _ => None,
                }
            }
        }
    }
}

/// Replaces `{{name}}` of each variable by its value.
pub(crate) fn substitute(text: &str, variables: &Variables) -> String {
    variables
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{{{name}}}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, escape: Escape) -> Result<Template, PlanErrorReason> {
        let variables = Variables::from([("tool".to_owned(), "qr".to_owned())]);
        let (data, captured) = (DataSets::new(), ["id".to_owned()]);
        Template::parse(text, Fields { variables: &variables, data: &data, captured: &captured }, escape)
    }

    fn render(text: &str, nth: u64) -> String {
        parse(text, Escape::None).unwrap().render(nth, &Variables::new())
    }

    /// A value of a response may have any character, and is no part of the path or body around it.
    #[test]
    fn captured_value_is_escaped_where_it_stands() {
        let captured = Variables::from([("id".to_owned(), "\"a\" b/c?d".to_owned())]);
        let text = |text, escape| parse(text, escape).unwrap().render(0, &captured);
        assert_eq!(text("/x/{{id}}?y=1", Escape::Url), "/x/%22a%22%20b%2Fc%3Fd?y=1");
        assert_eq!(text(r#"{"id": "{{id}}"}"#, Escape::Json), r#"{"id": "\"a\" b/c?d"}"#);
        assert_eq!(text("{{id}}", Escape::None), "\"a\" b/c?d");
    }

    #[test]
    fn fields_differ_by_call_and_are_repeatable() {
        assert_eq!(render("/v1/{{tool}}/x?n={{n}}", 7), "/v1/qr/x?n=7");
        let random = |nth| render("{{random(5,9)}} {{hex(6)}} {{pick(a|b)}} {{uuid}}", nth);
        assert_eq!(random(3), random(3));
        assert_ne!(random(3), random(4));
        for nth in 0..200 {
            let text = random(nth);
            let parts: Vec<&str> = text.split(' ').collect();
            assert!((5..=9).contains(&parts[0].parse::<u64>().unwrap()), "{text}");
            assert!(parts[1].len() == 6 && parts[2].len() == 1, "{text}");
            assert!(parts[3].len() == 36 && parts[3].as_bytes()[14] == b'4', "{text}");
        }
    }

    #[test]
    fn unknown_field_is_error() {
        for text in ["{{m}}", "{{random(1)}}", "{{random(9,1)}}", "{{hex(0)}}", "{{hex(a)}}", "{{pick}}"] {
            assert!(parse(text, Escape::None).is_err(), "{text}");
        }
        assert_eq!(render("{{", 0), "{{");
    }
}
