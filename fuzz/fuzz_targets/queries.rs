#![no_main]

use std::fmt::Debug;

use biolink::{
    analytics::{AnalyticsRequest, LiveRequest},
    page::QrOptions,
    pages_api::{ListQuery, ReportsQuery},
    webhooks_api::{DeliveryQuery, EventQuery},
};
use fuzz::{KEYS, mutated};
use libfuzzer_sys::fuzz_target;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use shared::{
    key::KeyId,
    keys_api::{ChangesRequest, Cursor, ListRequest, Position, includes_usage},
    problem::Problem,
    query::parameters,
};
use url::form_urlencoded;

fuzz_target!(|query: &str| {
    check_parameters(query);
    check_cursors(query);
    check(query, |query| ListRequest::read(query, &KEYS));
    check(query, ListQuery::read);
    check(query, ReportsQuery::read);
    // They read a plus sign as a space.
    let spaced = query.replace('+', "%20");
    check(&spaced, AnalyticsRequest::parse);
    check(&spaced, LiveRequest::parse);
    check(query, DeliveryQuery::read);
    check(query, EventQuery::read);
    check(query, QrOptions::parse);
    check(query, includes_usage);
});

/// Oracle: the same query with every character of its values percent-encoded. It is read as the same
/// request.
fn check<R: PartialEq + Debug>(query: &str, read: impl Fn(Option<&str>) -> Result<R, Problem>) {
    let encoded = |pair: &str| match pair.split_once('=') {
        Some((name, value)) => {
            let value: Vec<u8> = percent_decode_str(value).collect();
            format!("{name}={}", percent_encoding::percent_encode(&value, NON_ALPHANUMERIC))
        }
        None => pair.to_owned(),
    };
    let other = query.split('&').map(encoded).collect::<Vec<_>>().join("&");
    match (read(Some(query)), read(Some(&other))) {
        (Ok(ours), Ok(other)) => assert_eq!(ours, other, "{query:?}"),
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("{query:?} is {ours:?}, {other:?} is {theirs:?}"),
    }
}

/// Oracle: `application/x-www-form-urlencoded` of the URL standard, but for `+`, which stands for itself,
/// and names, which are as written.
fn check_parameters(query: &str) {
    let Ok(ours) = parameters(Some(query)) else { return };
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let theirs = pairs.map(|pair| {
        let value = pair.split_once('=').map_or("", |(_, value)| value).replace('+', "%2B");
        let pair_with_value = format!("a={value}");
        let parsed = form_urlencoded::parse(pair_with_value.as_bytes()).next();
        (
            pair.split('=').next().unwrap_or_default(),
            parsed.map(|(_, value)| value.into_owned()).unwrap_or_default(),
        )
    });
    assert!(ours.iter().map(|(name, value)| (*name, value.clone().into_owned())).eq(theirs), "{query:?}");
}

/// Oracle: the cursor that was printed. It reads back, any other text that is not one is refused, and a
/// changed one too.
fn check_cursors(text: &str) {
    let end = text.floor_char_boundary(1_000);
    let position = Position { text: text[..end].to_owned(), id: KeyId::new([3; 12]) };
    let all = ListRequest::read(None, &KEYS).expect("no parameter");
    let cursor = &*all.cursor(&position, &KEYS);
    let read = |cursor: &[u8]| {
        let query = format!("cursor={}", percent_encoding::percent_encode(cursor, NON_ALPHANUMERIC));
        ListRequest::read(Some(&query), &KEYS).ok().and_then(|request| request.from)
    };
    assert_eq!(read(cursor.as_bytes()), Some(position));
    let changed = mutated(cursor, text.as_bytes());
    assert!(
        changed == cursor.as_bytes() || read(&changed).is_none(),
        "{:?}",
        changed.escape_ascii().to_string()
    );
    assert!(text == cursor || read(text.as_bytes()).is_none(), "{text:?}");
    if let Some(cursor) = Cursor::parse(text) {
        assert_eq!(cursor.to_string(), text);
        let request =
            ChangesRequest::read(Some(&format!("cursor={}", utf8_percent_encode(text, NON_ALPHANUMERIC))));
        assert!(request.is_err() || request.is_ok_and(|request| request.cursor == Some(cursor)));
    }
}
