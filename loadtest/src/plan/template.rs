//! Texts with fields that differ from call to call.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rand::RngExt as _;

use super::error::PlanErrorReason;
use crate::random;

/// The values of variables.
pub(crate) type Variables = BTreeMap<String, String>;

/// A text with fields: `{{n}}` is the number of the call, `{{uuid}}` and `{{hex(8)}}` are random,
/// `{{random(1,100)}}` is a number and `{{pick(a|b)}}` one of several texts.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Literal(String),
    Number,
    Random { from: u64, to: u64 },
    Hex(usize),
    Uuid,
    Pick(Vec<String>),
}

impl Template {
    /// Parses a text. Fields that are variables become part of it.
    pub(crate) fn parse(text: &str, variables: &Variables) -> Result<Self, PlanErrorReason> {
        let text = substitute(text, variables);
        let (mut parts, mut rest) = (Vec::new(), text.as_str());
        while let Some((literal, (field, after))) =
            rest.split_once("{{").and_then(|(literal, after)| Some((literal, after.split_once("}}")?)))
        {
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let part = Part::parse(field.trim()).ok_or_else(|| PlanErrorReason::Field(field.to_owned()))?;
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }

    /// Returns the text if it is the same for every call.
    pub(crate) fn constant(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the text of call number `nth`.
    pub(crate) fn render(&self, nth: u64) -> String {
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
            };
        }
        text
    }
}

impl Part {
    fn parse(field: &str) -> Option<Self> {
        match field.split_once('(') {
            None if field == "n" => Some(Self::Number),
            None if field == "uuid" => Some(Self::Uuid),
            None => None,
            Some((name, rest)) => {
                let argument = rest.strip_suffix(')')?;
                match name {
                    "hex" => {
                        argument.parse().ok().filter(|digits| (1..=4096).contains(digits)).map(Self::Hex)
                    }
                    "pick" => Some(Self::Pick(argument.split('|').map(str::to_owned).collect())),
                    "random" => {
                        let (from, to) = argument.split_once(',')?;
                        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
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

    fn render(text: &str, nth: u64) -> String {
        Template::parse(text, &Variables::from([("tool".to_owned(), "qr".to_owned())])).unwrap().render(nth)
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
            assert!(Template::parse(text, &Variables::new()).is_err(), "{text}");
        }
        assert_eq!(Template::parse("{{", &Variables::new()).unwrap().render(0), "{{");
    }
}
