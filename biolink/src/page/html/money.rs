//! Prices as a page's language writes them: `€1,899.00`, `1.899,00 €`, `€ 1.899,00`.
//!
//! The forms are those of Unicode's CLDR for each language, without the variants of regions. In a language
//! that is not known here, a price is its number and the code of its currency.

use crate::page::document::{Locale, Price};

/// The space between a number and its currency, at which no line is broken.
const SPACE: &str = "\u{a0}";

/// The form of a language.
struct Form {
    group: &'static str,
    /// The fewest digits that are grouped.
    groups_from: usize,
    point: &'static str,
    /// Whether the currency stands before the number, and what is between them.
    before: bool,
    between: &'static str,
}

/// Returns a price in the form of a language.
pub(super) fn shown(price: &Price, locale: &Locale) -> String {
    let Price { amount, currency } = price;
    let Some(form) = form(locale) else { return format!("{amount}{SPACE}{currency}") };
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    let mut number = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && whole.len() >= form.groups_from && whole.len().saturating_sub(at).is_multiple_of(3) {
            number.push_str(form.group);
        }
        number.push(digit);
    }
    if !fraction.is_empty() {
        number.push_str(form.point);
        number.push_str(&format!("{fraction:0<2}"));
    }
    let symbol = symbol(currency, locale);
    let between = if symbol == currency { SPACE } else { form.between };
    if form.before { format!("{symbol}{between}{number}") } else { format!("{number}{between}{symbol}") }
}

fn form(locale: &Locale) -> Option<Form> {
    let language = locale.language();
    let (group, point, before, between) = match language.as_str() {
        "en" | "ja" | "ko" | "th" | "zh" => (",", ".", true, ""),
        "ar" | "he" => (",", ".", false, SPACE),
        "da" | "de" | "el" | "es" | "hr" | "it" | "sl" | "sr" | "vi" => (".", ",", false, SPACE),
        "bg" | "cs" | "et" | "fi" | "lt" | "lv" | "nb" | "nn" | "no" | "pl" | "ru" | "sk" | "sv" => {
            (SPACE, ",", false, SPACE)
        }
        "fr" => ("\u{202f}", ",", false, SPACE),
        "nl" | "pt" => (".", ",", true, SPACE),
        "id" | "tr" => (".", ",", true, ""),
        _ => return None,
    };
    let groups_from = match language.as_str() {
        "bg" | "es" | "et" | "it" | "lv" | "pl" | "sl" => 5,
        _ => 4,
    };
    Some(Form { group, groups_from, point, before, between })
}

/// Returns the symbol of a currency in a language, or its code.
fn symbol<'a>(currency: &'a str, locale: &Locale) -> &'a str {
    match (currency, locale.language().as_str()) {
        ("EUR", _) => "\u{20ac}",
        // These say most currencies by their codes.
        ("PLN", "pl") => "z\u{142}",
        ("USD", "sv") => "US$",
        ("SEK", "sv") | ("NOK", "nb" | "nn" | "no") => "kr",
        (_, "pl" | "sv") => currency,
        ("GBP", _) => "\u{a3}",
        ("USD", "en") if !matches!(locale.as_str(), "en" | "en-US") => "US$",
        ("USD", "es" | "ko" | "nl" | "pt" | "zh") => "US$",
        ("USD", "fr") => "$US",
        ("USD", _) => "$",
        ("JPY", "ja") => "\u{ffe5}",
        ("CNY", "zh") if !locale.is_traditional_chinese() => "\u{a5}",
        ("JPY", "zh") if !locale.is_traditional_chinese() => "JP\u{a5}",
        ("JPY", "ko" | "nl" | "pt") => "JP\u{a5}",
        ("CNY", "de" | "en" | "it" | "ko" | "nl" | "pt" | "tr" | "zh") => "CN\u{a5}",
        ("TWD", "zh") if locale.is_traditional_chinese() => "$",
        ("TWD", "de" | "en" | "ja" | "ko" | "nl" | "pt" | "tr" | "zh") => "NT$",
        ("JPY", _) => "\u{a5}",
        ("INR", _) => "\u{20b9}",
        ("BRL", _) => "R$",
        ("KRW", _) => "\u{20a9}",
        ("ILS", _) => "\u{20aa}",
        ("TRY", "tr") => "\u{20ba}",
        _ => currency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: `Intl.NumberFormat(locale, {style: "currency", currency})` of V8, with spaces for those that
    /// do not break.
    #[test]
    fn price_has_the_form_of_the_language() {
        for (locale, amount, currency, expected) in [
            ("en", "1899.00", "EUR", "\u{20ac}1,899.00"),
            ("en-US", "9.5", "USD", "$9.50"),
            ("en-GB", "9.50", "USD", "US$9.50"),
            ("en", "1899.00", "CHF", "CHF 1,899.00"),
            ("de", "1899.00", "EUR", "1.899,00 \u{20ac}"),
            ("de-DE", "1234567.89", "EUR", "1.234.567,89 \u{20ac}"),
            ("fr", "1899.00", "EUR", "1\u{202f}899,00 \u{20ac}"),
            ("nl", "1899.00", "EUR", "\u{20ac} 1.899,00"),
            ("pt-BR", "1899.00", "BRL", "R$ 1.899,00"),
            ("sv", "1899.00", "SEK", "1 899,00 kr"),
            ("es", "1899.00", "EUR", "1899,00 \u{20ac}"),
            ("es", "18999.00", "EUR", "18.999,00 \u{20ac}"),
            ("ja", "1899", "JPY", "\u{ffe5}1,899"),
            ("ja", "1899", "TWD", "NT$1,899"),
            ("ko", "1899", "KRW", "\u{20a9}1,899"),
            ("ko", "1899.00", "USD", "US$1,899.00"),
            ("ko", "1899", "JPY", "JP\u{a5}1,899"),
            ("nl", "1899.00", "USD", "US$ 1.899,00"),
            ("pl", "1899.00", "PLN", "1899,00 z\u{142}"),
            ("pl", "18999.00", "PLN", "18 999,00 z\u{142}"),
            ("pl", "1899.00", "USD", "1899,00 USD"),
            ("pl", "1899.00", "EUR", "1899,00 \u{20ac}"),
            ("sv", "1899.00", "USD", "1 899,00 US$"),
            ("sv", "1899.00", "GBP", "1 899,00 GBP"),
            ("tr", "1899.00", "TRY", "\u{20ba}1.899,00"),
            ("tr", "1899.00", "EUR", "\u{20ac}1.899,00"),
            ("zh-CN", "1899.00", "CNY", "\u{a5}1,899.00"),
            ("zh", "1899", "JPY", "JP\u{a5}1,899"),
            ("zh-TW", "1899", "TWD", "$1,899"),
            ("zh-TW", "1899.00", "CNY", "CN\u{a5}1,899.00"),
            ("en", "1899.00", "CNY", "CN\u{a5}1,899.00"),
            ("de", "999", "EUR", "999 \u{20ac}"),
            ("de", "1.234", "KWD", "1,234 KWD"),
            ("eo", "1899.00", "EUR", "1899.00 EUR"),
        ] {
            let price = Price { amount: amount.to_owned(), currency: currency.to_owned() };
            let shown = shown(&price, &Locale::parse(locale).unwrap());
            assert_eq!(shown.replace(SPACE, " "), expected, "{locale}");
        }
    }
}
