//! Prices of shops, exactly: no floating-point number is involved.

use super::{
    currency::{self, Name},
    number_format::{MAX_FRACTION, Number, NumberFormat},
    product_error::ProductError,
    texts::one_line,
};
use crate::page::document::Price;

/// The longest text of a price in an error, in characters.
const SHOWN: usize = 40;

/// The number format in which the prices of a source are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PriceRules<'a> {
    /// The currency of prices without one.
    pub currency: Option<&'a str>,
    /// Their number format.
    pub numbers: NumberFormat,
}

/// The evidence of all prices of a feed for its number format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Evidence {
    /// A price can be read with a point only.
    dot: bool,
    /// A price can be read with a comma only.
    comma: bool,
    /// A price has as many digits behind its point as its currency, which are three.
    three_digits: bool,
    /// A price can be read with both.
    is_open: bool,
}

/// A price, with its number as it is written.
struct Written<'a> {
    number: Number,
    currency: Option<&'a str>,
}

impl<'a> From<Option<&'a str>> for PriceRules<'a> {
    fn from(currency: Option<&'a str>) -> Self {
        Self { currency, numbers: NumberFormat::Auto }
    }
}

impl<'a> PriceRules<'a> {
    /// Returns the rules for numbers that a program wrote: JSON numbers, and the prices of shops' APIs.
    pub(super) const fn of_programs(self) -> Self {
        Self { numbers: NumberFormat::Dot, ..self }
    }

    /// Reads a price such as `15.00 EUR`, `EUR 15.00`, `15,00 €` or `15.00`.
    pub(super) fn read(&self, text: &str) -> Result<Price, ProductError> {
        let Written { number, currency } = self.written(text)?;
        let currency = currency.ok_or_else(|| ProductError::NoCurrency(one_line(text, SHOWN)))?;
        let price = || one_line(text, SHOWN);
        let amount = match (self.numbers, number) {
            (_, Number::Plain(amount))
            | (NumberFormat::Auto | NumberFormat::Dot, Number::Dot(amount))
            | (NumberFormat::Auto | NumberFormat::Comma, Number::Comma(amount)) => amount,
            // It contradicts the format of its source. Which of both is right is not known, and no
            // price is better than a wrong one.
            (NumberFormat::Dot, Number::Comma(_)) | (NumberFormat::Comma, Number::Dot(_)) => {
                return Err(ProductError::OtherNumberFormat { price: price(), format: self.numbers });
            }
            (NumberFormat::Dot, Number::Either { is_point, fraction, groups }) => {
                if is_point {
                    fraction
                } else {
                    groups
                }
            }
            (NumberFormat::Comma, Number::Either { is_point, fraction, groups }) => {
                if is_point {
                    groups
                } else {
                    fraction
                }
            }
            (NumberFormat::Auto, Number::Either { is_point, fraction, groups }) => {
                match currency::digits(&currency.to_ascii_uppercase()) {
                    // A currency without a fraction decides it: 1.299 yen is no price.
                    0 => groups,
                    3 if is_point => fraction,
                    _ => {
                        let (dot, comma) = if is_point { (fraction, groups) } else { (groups, fraction) };
                        return Err(ProductError::AmbiguousPrice { price: price(), dot, comma });
                    }
                }
            }
        };
        Ok(Price { amount, currency: currency.to_ascii_uppercase() })
    }

    /// Takes a price apart: its number, and the name of its currency before or after it.
    fn written<'b>(&self, text: &'b str) -> Result<Written<'b>, ProductError>
    where
        'a: 'b,
    {
        let unreadable = || ProductError::Price(one_line(text, SHOWN));
        // Shops of right-to-left languages put marks of direction around prices.
        let is_outer = |c: char| c.is_whitespace() || is_invisible(c);
        let text = text.trim_matches(is_outer);
        let begin = text.find(char::is_numeric).ok_or_else(unreadable)?;
        let (before, rest) = text.split_at_checked(begin).ok_or_else(unreadable)?;
        let end = rest.rfind(is_of_number).map(|at| at.saturating_add(rest.get(at..).map_or(0, first_len)));
        let (number, after) = rest.split_at_checked(end.unwrap_or(rest.len())).ok_or_else(unreadable)?;
        let names = [before, after].map(|name| name.trim_matches(is_outer));
        let mut read = [None, None];
        for (name, read) in names.into_iter().zip(&mut read).filter(|(name, _)| !name.is_empty()) {
            *read = Some(currency::name(name).ok_or_else(unreadable)?);
        }
        let number = Number::read(number.trim_matches(is_outer)).ok_or_else(unreadable)?;
        let currency = match read {
            // Two currencies are two prices.
            [Some(Name::Code(one)), Some(Name::Code(other))] if one != other => return Err(unreadable()),
            [Some(Name::Code(code)), _] | [_, Some(Name::Code(code))] => Some(code),
            _ => self.currency,
        };
        Ok(Written { number, currency })
    }
}

impl Evidence {
    /// Takes in a price of the feed.
    pub(super) fn add(&mut self, text: &str, rules: &PriceRules<'_>) {
        let Ok(Written { number, currency }) = rules.written(text) else { return };
        match number {
            Number::Plain(_) => {}
            Number::Dot(_) => self.dot = true,
            Number::Comma(_) => self.comma = true,
            Number::Either { is_point, .. } => {
                self.is_open = true;
                match currency::digits(&currency.unwrap_or_default().to_ascii_uppercase()) {
                    // Without a fraction, it can only be a separator of groups.
                    0 if is_point => self.comma = true,
                    0 => self.dot = true,
                    3 if is_point => self.three_digits = true,
                    _ => {}
                }
            }
        }
    }

    /// Returns the format that all prices together show; `Auto` if they show none, or both.
    pub(super) const fn format(&self) -> NumberFormat {
        match (self.dot, self.comma) {
            (true, false) => NumberFormat::Dot,
            (false, true) => NumberFormat::Comma,
            (false, false) if self.three_digits => NumberFormat::Dot,
            _ => NumberFormat::Auto,
        }
    }

    /// Returns true if a price is read otherwise, or only, once the format is known.
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Adds what another part of the same feed says.
    pub(super) const fn and(self, other: Self) -> Self {
        Self {
            dot: self.dot || other.dot,
            comma: self.comma || other.comma,
            three_digits: self.three_digits || other.three_digits,
            is_open: self.is_open || other.is_open,
        }
    }
}

/// Returns true for a character that may end a number: a digit, a point, or the dash of `15,-`.
fn is_of_number(c: char) -> bool {
    c.is_numeric() || matches!(c, '-' | '\u{2010}'..='\u{2015}')
}

fn first_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Returns true for marks of direction and characters without width, which stand around prices.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns an amount in minor units, such as `1500` cents with two digits behind the point, as a decimal number.
pub(super) fn of_minor_units(text: &str, digits: u64) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = usize::try_from(digits).ok().filter(|digits| *digits <= 6)?;
    let padded = format!("{text:0>width$}", width = digits + 1);
    let (whole, fraction) = padded.split_at_checked(padded.len().checked_sub(digits)?)?;
    Some(if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") })
}

/// Returns an amount in a form that can be read in one number format only: three digits behind the point
/// would be a group, so a zero follows them.
pub(super) fn unambiguous(price: &Price) -> String {
    let has_three = price.amount.split_once('.').is_some_and(|(_, fraction)| fraction.len() == MAX_FRACTION);
    let zero = if has_three { "0" } else { "" };
    format!("{}{zero}", price.amount)
}

/// Returns an amount in thousandths, to compare it.
pub(crate) fn amount_of(amount: &str) -> Option<u64> {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let thousandths = format!("{whole}{fraction:0<3}");
    (fraction.len() <= MAX_FRACTION).then_some(())?;
    thousandths.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(text: &str) -> Option<String> {
        let price = PriceRules::from(Some("EUR")).read(text).ok()?;
        Some(format!("{} {}", price.amount, price.currency))
    }

    #[test]
    fn price_is_read_exactly() {
        for (text, expected) in [
            ("15.00 EUR", "15.00 EUR"),
            ("15.00  usd", "15.00 USD"),
            ("USD 15", "15 USD"),
            (" 15.00 ", "15.00 EUR"),
            ("1,299.50 GBP", "1299.50 GBP"),
            ("12,50", "12.50 EUR"),
            ("0.10", "0.10 EUR"),
            ("007.5", "7.5 EUR"),
            ("15.000000", "15.00 EUR"),
            ("1.234 KWD", "1.234 KWD"),
            ("15,00 \u{20ac}", "15.00 EUR"),
            ("15,00\u{a0}\u{20ac}", "15.00 EUR"),
            ("\u{20ac}15.00", "15.00 EUR"),
            ("\u{a3} 1,299.50", "1299.50 GBP"),
            ("$9", "9 EUR"),
            ("$9.00 USD", "9.00 USD"),
            ("EUR15.00", "15.00 EUR"),
            ("12 kr", "12 EUR"),
            ("1.299,50 z\u{142}", "1299.50 PLN"),
            ("Fr. 12.-", "12 CHF"),
            ("\u{200f}15.00 \u{20aa}\u{200e}", "15.00 ILS"),
            ("0", "0 EUR"),
            ("999999999.999", "999999999.999 EUR"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn price_that_is_none_is_refused() {
        for text in [
            "",
            "EUR",
            "free",
            "-1",
            "+1",
            "1.2.3",
            ".5",
            "1e3",
            "15.0001",
            "1000000000",
            "1,29,9",
            "1.299,50.00",
            "10.00 - 15.00 EUR",
            "10,00 \u{2013} 15,00 \u{20ac}",
            "ab 10,00",
            "\u{2212}5.00 EUR",
            "$-5",
            "(5.00)",
            "15 EURO",
            "15 E1R",
            "NaN",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
        let without = PriceRules::default();
        for text in ["15.00", "$15.00", "15 \u{a5}", "kr 15"] {
            assert_eq!(without.read(text), Err(ProductError::NoCurrency(text.to_owned())), "{text}");
        }
        for text in ["\u{20ac}", "\u{20ac}15 USD", "15 EURO"] {
            assert_eq!(without.read(text), Err(ProductError::Price(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn minor_units_are_shifted() {
        for (text, digits, expected) in [
            ("1500", 2, "15.00"),
            ("5", 2, "0.05"),
            ("1500", 0, "1500"),
            ("1234", 3, "1.234"),
            ("0", 2, "0.00"),
        ] {
            assert_eq!(of_minor_units(text, digits).as_deref(), Some(expected));
        }
        for (text, digits) in [("", 2), ("-5", 2), ("1.5", 2), ("5", 99)] {
            assert_eq!(of_minor_units(text, digits), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn minor_units_keep_their_value(units in 0u64..10_000_000_000, digits in 0u64..=3) {
            let amount = of_minor_units(&units.to_string(), digits).unwrap();
            let scale = 10u64.pow(3 - u32::try_from(digits).unwrap());
            prop_assert_eq!(amount_of(&amount), Some(units * scale));
        }

        #[test]
        fn plain_price_keeps_its_value(whole in 0u64..1_000_000_000, fraction in "[0-9]{0,3}") {
            let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
            let price = PriceRules::from(Some("EUR")).of_programs().read(&text).unwrap();
            let thousandths: u64 = format!("{whole}{fraction:0<3}").parse().unwrap();
            prop_assert_eq!(amount_of(&price.amount), Some(thousandths));
        }

        #[test]
        fn no_text_is_misread(text in "\\PC{0,12}") {
            if let Ok(price) = PriceRules::from(Some("EUR")).read(&text) {
                prop_assert!(amount_of(&price.amount).is_some());
                let again = PriceRules::from(Some("EUR")).read(&unambiguous(&price)).unwrap();
                prop_assert_eq!(amount_of(&again.amount), amount_of(&price.amount));
            }
        }
    }
}
