//! What single headers say.

/// Returns the language that a visitor prefers: the primary subtag of the first entry of
/// `Accept-Language` with the highest weight (RFC 9110 section 12.5.4), in lower case, for example
/// `de`. `None` if the header is absent, names only `*`, or is malformed.
///
/// ```
/// use biolink::visitor::language;
///
/// assert_eq!(language(Some("de-AT,de;q=0.9,en;q=0.8")).as_deref(), Some("de"));
/// assert_eq!(language(Some("*")), None);
/// ```
pub fn language(accept_language: Option<&str>) -> Option<String> {
    preferred(accept_language).and_then(primary_subtag).map(str::to_ascii_lowercase)
}

/// Returns the range of `Accept-Language` with the greatest weight that names a language, the first of several.
pub(crate) fn preferred(accept_language: Option<&str>) -> Option<&str> {
    let mut best: Option<(&str, u16)> = None;
    for entry in accept_language?.split(',').take(20) {
        let (range, parameters) = entry.split_once(';').unwrap_or((entry, ""));
        let range = range.trim();
        let (Some(_), Some(weight)) = (primary_subtag(range), weight(parameters)) else {
            continue;
        };
        if weight > best.map_or(0, |(_, weight)| weight) {
            best = Some((range, weight));
        }
    }
    best.map(|(range, _)| range)
}

/// Returns the primary subtag, two or three letters (RFC 5646 section 2.2.1).
fn primary_subtag(range: &str) -> Option<&str> {
    let subtag = range.split(['-', '_']).next()?;
    ((2..=3).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .then_some(subtag)
}

/// Returns the weight in thousandths; `None` if it is malformed.
fn weight(parameters: &str) -> Option<u16> {
    let parameters = parameters.trim();
    if parameters.is_empty() {
        return Some(1000);
    }
    let value = parameters.strip_prefix("q=").or_else(|| parameters.strip_prefix("Q="))?.trim();
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    if fraction.len() > 3 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths: u16 = format!("{fraction:0<3}").parse().ok()?;
    match whole {
        "0" => Some(thousandths),
        "1" if thousandths == 0 => Some(1000),
        _ => None,
    }
}

/// Returns true if the request prefetches, prerenders or previews, so that no person has seen the
/// page: `Sec-Purpose` (Fetch), `Purpose`, `X-Purpose` and `X-Moz` (before it).
pub fn is_speculative<'a>(header: impl Fn(&str) -> Option<&'a str>) -> bool {
    ["sec-purpose", "purpose", "x-purpose", "x-moz"].into_iter().filter_map(header).any(|value| {
        value.split([';', ',']).any(|token| {
            let token = token.trim();
            ["prefetch", "prerender", "preview"].iter().any(|name| token.eq_ignore_ascii_case(name))
        })
    })
}

/// Returns true if the visitor opts out of being counted with Global Privacy Control
/// (`Sec-GPC: 1`). `DNT` is not read: its specification was retired in 2019, browsers have removed
/// it or had sent it by default, and it asked for no tracking across sites, which never happens
/// here.
pub fn opts_out<'a>(header: impl Fn(&str) -> Option<&'a str>) -> bool {
    header("sec-gpc").is_some_and(|value| value.trim() == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(name: &'a str, value: &'a str) -> impl Fn(&str) -> Option<&'a str> {
        move |asked| (asked == name).then_some(value)
    }

    #[test]
    fn language_is_the_primary_subtag_of_the_heaviest() {
        let table = [
            ("de-AT,de;q=0.9,en;q=0.8", Some("de")),
            ("EN", Some("en")),
            ("en;q=0.5, pt-BR", Some("pt")),
            ("fr;q=0.3,gsw;q=0.31", Some("gsw")),
            ("*, nl;q=0.1", Some("nl")),
            ("zh_CN", Some("zh")),
            ("en;q=0", None),
            ("*", None),
            ("", None),
            ("x", None),
            ("english", None),
            ("d3", None),
            ("en;q=1.5", None),
            ("en;q=0.1234", None),
            ("en;level=1", None),
            ("i-klingon, da;q=1.000", Some("da")),
        ];
        for (header, expected) in table {
            assert_eq!(language(Some(header)).as_deref(), expected, "{header}");
        }
        assert_eq!(language(None), None);
    }

    #[test]
    fn speculative_request_is_recognized_by_any_of_its_headers() {
        for (name, value) in [
            ("sec-purpose", "prefetch"),
            ("sec-purpose", "prefetch;prerender"),
            ("sec-purpose", "prefetch;anonymous-client-ip"),
            ("purpose", "Prefetch"),
            ("x-purpose", "preview"),
            ("x-moz", "prefetch"),
        ] {
            assert!(is_speculative(with(name, value)), "{name}: {value}");
        }
        assert!(!is_speculative(with("sec-purpose", "")));
        assert!(!is_speculative(with("sec-purpose", "prefetched")));
        assert!(!is_speculative(|_| None));
    }

    #[test]
    fn only_global_privacy_control_opts_out() {
        assert!(opts_out(with("sec-gpc", "1")));
        assert!(!opts_out(with("sec-gpc", "0")));
        assert!(!opts_out(with("dnt", "1")));
        assert!(!opts_out(|_| None));
    }
}
