//! Currencies: how feeds name them, and how many digits their amounts have behind the point.

/// Signs and names of currencies. One of several currencies stands for that of the source.
const SIGNS: [(&str, Option<&str>); 43] = [
    ("\u{20ac}", Some("EUR")),
    ("\u{a3}", Some("GBP")),
    ("$", None),
    ("US$", Some("USD")),
    ("R$", Some("BRL")),
    ("A$", Some("AUD")),
    ("AU$", Some("AUD")),
    ("C$", Some("CAD")),
    ("CA$", Some("CAD")),
    ("NZ$", Some("NZD")),
    ("HK$", Some("HKD")),
    ("MX$", Some("MXN")),
    ("S$", Some("SGD")),
    ("\u{a5}", None),
    ("\u{ffe5}", None),
    ("\u{5186}", Some("JPY")),
    ("\u{5143}", Some("CNY")),
    ("\u{20a9}", Some("KRW")),
    ("\u{c6d0}", Some("KRW")),
    ("\u{20ab}", Some("VND")),
    ("\u{111}", Some("VND")),
    ("\u{20b9}", Some("INR")),
    ("Rs", None),
    ("Rs.", None),
    ("\u{20ba}", Some("TRY")),
    ("TL", Some("TRY")),
    ("\u{20bd}", Some("RUB")),
    ("\u{440}\u{443}\u{431}.", Some("RUB")),
    ("\u{20b4}", Some("UAH")),
    ("\u{20aa}", Some("ILS")),
    ("\u{20b1}", Some("PHP")),
    ("\u{20a6}", Some("NGN")),
    ("\u{e3f}", Some("THB")),
    ("Rp", Some("IDR")),
    ("z\u{142}", Some("PLN")),
    ("K\u{10d}", Some("CZK")),
    ("Ft", Some("HUF")),
    ("lei", Some("RON")),
    ("\u{43b}\u{432}.", Some("BGN")),
    ("Fr.", Some("CHF")),
    ("SFr.", Some("CHF")),
    ("kr", None),
    ("kr.", None),
];

/// Currencies without digits behind the point, in ISO 4217 and in CLDR.
const WITHOUT_DIGITS: [&str; 16] = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF",
    "XPF",
];
/// Those with three, in both.
const WITH_THREE: [&str; 6] = ["BHD", "JOD", "KWD", "LYD", "OMR", "TND"];

/// The name of a currency in a price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// Three letters (ISO 4217), or a sign of one currency.
    Code(&'a str),
    /// A sign of several currencies.
    Shared,
}

/// Reads the name of a currency.
pub(super) fn name(text: &str) -> Option<Name<'_>> {
    if let Some((_, code)) = SIGNS.iter().find(|(sign, _)| *sign == text) {
        return Some(code.map_or(Name::Shared, Name::Code));
    }
    // Any three letters: the list of ISO 4217 changes, and shops write what they use.
    let is_code = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_code.then_some(Name::Code(text))
}

/// Returns the digits that amounts of a currency have behind the point.
pub(super) fn digits(code: &str) -> usize {
    match code {
        code if WITHOUT_DIGITS.contains(&code) => 0,
        code if WITH_THREE.contains(&code) => 3,
        _ => 2,
    }
}
