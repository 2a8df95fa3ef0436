#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use sfv::{BareItem, List, ListEntry, Parser};
use shared::quota::{QuotaStatus, WindowStatus};

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Window {
    limit: u32,
    remaining: u32,
    reset_ms: u32,
}

fuzz_target!(|windows: (Window, Option<Window>)| check(windows.0, windows.1));

/// Oracle: `sfv`. Both headers are Lists of String Items (RFC 9651), one for each quota, with its numbers.
fn check(minute: Window, day: Option<Window>) {
    let status = |window: Window| {
        let Window { limit, remaining, reset_ms } = window;
        WindowStatus { limit, remaining, reset_ms: reset_ms.into() }
    };
    let [policy, limit] = QuotaStatus { minute: status(minute), day: day.map(status), units: None }.headers();
    let windows = || [("minute", 60, Some(minute)), ("day", 86_400, day)].into_iter();
    let expected = |numbers: fn(i64, Window) -> [(&'static str, i64); 2]| -> Vec<_> {
        windows()
            .filter_map(|(name, seconds, window)| Some((name.to_owned(), numbers(seconds, window?))))
            .collect()
    };
    assert_eq!(items(&policy.1), expected(|seconds, window| [("q", window.limit.into()), ("w", seconds)]));
    let left = expected(|_, window| {
        [("r", window.remaining.into()), ("t", i64::from(window.reset_ms.div_ceil(1_000)))]
    });
    assert_eq!(items(&limit.1), left);
}

fn items(text: &str) -> Vec<(String, [(&'static str, i64); 2])> {
    let list: List = Parser::parse_list(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let item = |entry: &ListEntry| {
        let ListEntry::Item(item) = entry else { panic!("not an item: {text}") };
        let BareItem::String(name) = &item.bare_item else { panic!("not a string: {text}") };
        let names = if item.params.contains_key("q") { ["q", "w"] } else { ["r", "t"] };
        assert_eq!(item.params.len(), 2, "{text}");
        (name.clone(), names.map(|name| (name, item.params[name].as_int().expect("a number"))))
    };
    list.iter().map(item).collect()
}
