//! Prices of shops, exactly: no floating-point number is involved.

use crate::page::document::Price;

/// Most digits before the point.
const MAX_WHOLE: usize = 9;
/// Most digits behind the point.
const MAX_FRACTION: usize = 3;

/// Symbols of currencies. One of several currencies stands for that of the source.
const SYMBOLS: [(char, Option<&str>); 4] =
    [('\u{20ac}', Some("EUR")), ('\u{a3}', Some("GBP")), ('$', None), ('\u{a5}', None)];

/// Reads a price such as `15.00 EUR`, `EUR 15.00`, `15,00 €` or `15.00`; the latter in `currency`. Returns
/// `None` for anything else, and for a price without a currency.
pub(super) fn price(text: &str, currency: Option<&str>) -> Option<Price> {
    let text = text.trim();
    for (symbol, code) in SYMBOLS {
        let amount = text.strip_prefix(symbol).or_else(|| text.strip_suffix(symbol));
        if let Some(amount) = amount {
            let currency = code.or(currency)?.to_ascii_uppercase();
            return Some(Price { amount: decimal(amount.trim())?, currency });
        }
    }
    let (amount, currency) = match text.split_once(char::is_whitespace) {
        None => (text, currency?),
        Some((first, rest)) if is_currency(first) => (rest.trim(), first),
        Some((first, rest)) => (first, rest.trim()),
    };
    let currency = currency.to_ascii_uppercase();
    is_currency(&currency).then_some(())?;
    Some(Price { amount: decimal(amount)?, currency })
}

/// Reads a price in minor units, such as `1500` cents with two digits behind the point.
pub(super) fn minor_units(text: &str, digits: u64, currency: &str) -> Option<Price> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = usize::try_from(digits).ok().filter(|digits| *digits <= 6)?;
    let padded = format!("{text:0>width$}", width = digits + 1);
    let (whole, fraction) = padded.split_at_checked(padded.len().checked_sub(digits)?)?;
    price(&format!("{whole}.{fraction}"), Some(currency))
}

/// Returns true for three letters (ISO 4217).
fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Returns a decimal number in the form in which pages have it. Takes `1299`, `1299.5`, `1,299.50`
/// and `12,50`. Zeros behind the third digit are dropped, and other digits there are refused: no
/// price is rounded.
fn decimal(text: &str) -> Option<String> {
    let plain = match (text.contains(','), text.contains('.')) {
        (false, _) => text.to_owned(),
        (true, _) if has_groups(text) => text.replace(',', ""),
        (true, false) => decimal_comma(text)?,
        (true, true) => return None,
    };
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        whole => whole,
    };
    let (kept, rest) = fraction.split_at_checked(MAX_FRACTION).unwrap_or((fraction, ""));
    if whole.len() > MAX_WHOLE || rest.bytes().any(|digit| digit != b'0') {
        return None;
    }
    // A third digit that is zero says nothing.
    let kept = if kept.len() == MAX_FRACTION { kept.strip_suffix('0').unwrap_or(kept) } else { kept };
    Some(if kept.is_empty() { whole.to_owned() } else { format!("{whole}.{kept}") })
}

/// Returns true for groups of three digits before an optional fraction.
fn has_groups(text: &str) -> bool {
    let whole = text.split('.').next().unwrap_or_default();
    let mut groups = whole.split(',');
    let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
    let has_more = whole.contains(',');
    first && has_more && groups.all(|group| group.len() == 3)
}

/// Reads a comma as the decimal point, if one or two digits follow.
fn decimal_comma(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',')?;
    (1..=2).contains(&fraction.len()).then(|| format!("{whole}.{fraction}"))
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
        price(text, Some("EUR")).map(|price| format!("{} {}", price.amount, price.currency))
    }

    #[test]
    fn price_is_read_exactly() {
        for (text, expected) in [
            ("15.00 EUR", "15.00 EUR"),
            ("15.00  usd", "15.00 USD"),
            ("USD 15", "15 USD"),
            (" 15.00 ", "15.00 EUR"),
            ("1,299.50 GBP", "1299.50 GBP"),
            ("1,299", "1299 EUR"),
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
            "1.299,50",
            "15 EURO",
            "15 E1R",
            "NaN",
            "\u{663}",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
        for text in ["15.00", "$15.00", "15 \u{a5}", "\u{20ac}", "\u{20ac}15 USD"] {
            assert_eq!(price(text, None), None, "{text}");
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
            assert_eq!(minor_units(text, digits, "EUR").map(|price| price.amount).as_deref(), Some(expected));
        }
        for (text, digits) in [("", 2), ("-5", 2), ("1.5", 2), ("5", 99), ("12345", 4)] {
            assert_eq!(minor_units(text, digits, "EUR"), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn minor_units_keep_their_value(units in 0u64..10_000_000_000, digits in 0u64..=3) {
            if let Some(price) = minor_units(&units.to_string(), digits, "EUR") {
                let scale = 10u64.pow(3 - u32::try_from(digits).unwrap());
                prop_assert_eq!(amount_of(&price.amount), Some(units * scale));
            } else {
                prop_assert!(units / 10u64.pow(u32::try_from(digits).unwrap()) > 999_999_999);
            }
        }

        #[test]
        fn plain_price_keeps_its_value(whole in 0u64..1_000_000_000, fraction in "[0-9]{0,3}") {
            let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
            let price = price(&text, Some("EUR")).unwrap();
            let thousandths: u64 = format!("{whole}{fraction:0<3}").parse().unwrap();
            prop_assert_eq!(amount_of(&price.amount), Some(thousandths));
        }

        #[test]
        fn no_text_is_misread(text in "\\PC{0,12}") {
            if let Some(price) = price(&text, Some("EUR")) {
                prop_assert!(amount_of(&price.amount).is_some());
                prop_assert_eq!(super::price(&price.amount, Some("EUR")).map(|again| amount_of(&again.amount)), Some(amount_of(&price.amount)));
            }
        }
    }
}
