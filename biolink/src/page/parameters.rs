//! Parameters of queries: whether one is there, and which of a visitor's are passed on.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Parameters that are for the gateway, and not for a destination.
const OWN: [&str; 3] = ["via", "notrack", "confirmed"];

/// Returns the address with those of these pairs whose names it does not have: a parameter of the
/// destination wins, whether it is empty, has no `=` or is percent-encoded. A fragment stays at the end.
///
/// ```
/// use biolink::page::with_parameters;
///
/// let url = with_parameters("https://a.example/?utm%5Fsource#top", ["utm_source=x", "a=b"]);
/// assert_eq!(url, "https://a.example/?utm%5Fsource&a=b#top");
/// ```
pub fn with_parameters<'a>(url: &str, pairs: impl IntoIterator<Item = &'a str>) -> String {
    // Behind the fragment, parameters would be a part of it and never reach the server.
    let (rest, fragment) = url.find('#').and_then(|at| url.split_at_checked(at)).unwrap_or((url, ""));
    let query = rest.split_once('?').map(|(_, query)| query);
    // What the owner set wins: a visitor must not change the campaign of a link.
    let own: Vec<_> = query.into_iter().flat_map(|query| query.split('&')).map(name).collect();
    let mut address = rest.to_owned();
    let mut separator = match query {
        None => "?",
        Some(query) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    for pair in pairs.into_iter().filter(|pair| !own.contains(&name(pair))) {
        address.extend([separator, pair]);
        separator = "&";
    }
    address + fragment
}

/// Returns the parameters of a visitor that a destination gets: campaigns and whatever else a short link
/// was given, and nothing that is for the gateway.
pub(crate) fn passed_on(query: Option<&str>) -> impl Iterator<Item = &str> {
    pairs(query).filter(|pair| !OWN.contains(&name(pair).as_ref()))
}

/// Returns the query of the page that a short link or QR code leads to: how the page was reached, and
/// what the visitor's address had. A name in that address is not the code's.
pub(crate) fn reached_by(via: &[&str], query: Option<&str>) -> String {
    let via = via.iter().map(|via| format!("via={via}"));
    let rest = pairs(query).filter(|pair| name(pair) != "via").map(str::to_owned);
    via.chain(rest).collect::<Vec<_>>().join("&")
}

/// Returns the parameters of a query, decoded as those of a form are, but for the confirmation.
pub(crate) fn decoded_parameters(query: Option<&str>) -> impl Iterator<Item = (String, String)> {
    // A plus is a space in forms, and only there.
    let text = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    pairs(query).filter(|pair| name(pair) != "confirmed").map(move |pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (text(name), text(value))
    })
}

fn pairs(query: Option<&str>) -> impl Iterator<Item = &str> {
    query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.is_empty())
}

/// Returns the decoded name of a pair.
fn name(pair: &str) -> Cow<'_, str> {
    let name = pair.split_once('=').map_or(pair, |(name, _)| name);
    percent_decode_str(name).decode_utf8_lossy()
}
