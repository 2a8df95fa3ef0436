//! Prints the messages with which a page's store gets many events: `events KEY_ID PAGE_ID COUNT END_MS`.
//!
//! The events are spread over the 29 days before the end, and those of the last of these days are a
//! third of all. Half of the visitors come once, and links, countries, sources and campaigns have the
//! long tails of real pages. The same arguments give the same events.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program of the tests fails by panicking"
)]

use biolink::{
    events::{Batch, Buffer, Dimension, Event, EventKind, deliveries},
    page::PageId,
    stats::StatsMessage,
};
use shared::{key::KeyId, time::UnixMillis};

const DAYS: u64 = 29;
const DAY_MS: u64 = 86_400_000;
/// Batches of a message, as the queue's consumer groups them.
const BATCHES: usize = 50;
const DEVICES: [(&str, &str, &str); 6] = [
    ("mobile", "Safari", "iOS"),
    ("mobile", "Instagram", "iOS"),
    ("mobile", "Chrome", "Android"),
    ("desktop", "Chrome", "Windows"),
    ("desktop", "Safari", "macOS"),
    ("tablet", "Safari", "iPadOS"),
];
const SOURCES: [(&str, &str, &str); 6] = [
    ("l.instagram.com", "Instagram", "social"),
    ("", "", "direct"),
    ("www.google.com", "Google", "search"),
    ("t.co", "X", "social"),
    ("youtube.com", "YouTube", "video"),
    ("", "", "qr"),
];
const LANGUAGES: [&str; 5] = ["en", "de", "es", "fr", "pt"];

/// A generator of numbers: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a number below `end`; small ones are much more frequent.
    fn tailed(&mut self, end: u64) -> u64 {
        let bound = self.below(end) + 1;
        let bound = self.below(bound) + 1;
        self.below(bound)
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[usize::try_from(self.tailed(values.len() as u64)).unwrap()]
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [key, page, count, end] = arguments.as_slice() else {
        panic!("usage: events KEY_ID PAGE_ID COUNT END_MS");
    };
    let (key, page) = (KeyId::parse(key).unwrap(), PageId::parse(page).unwrap());
    let (count, end): (u64, u64) = (count.parse().unwrap(), end.parse().unwrap());
    let (mut numbers, mut buffer, mut batches) = (Numbers(7), Buffer::new([7; 8]), Vec::new());
    for nth in 0..count {
        // Ascending, and slow enough for the buffer to be full whenever it is sent.
        let at = UnixMillis(end - DAYS * DAY_MS + offset(nth, count));
        let event = event(&mut numbers, at);
        buffer.push(key, page, &event);
        if nth % 400 == 399 || nth + 1 == count {
            batches.extend(buffer.take());
        }
        if batches.len() >= BATCHES {
            print(std::mem::take(&mut batches));
        }
    }
    print(batches);
}

/// Returns the milliseconds from the first event to this one.
fn offset(nth: u64, count: u64) -> u64 {
    let quiet = count * 2 / 3;
    match nth.checked_sub(quiet) {
        None => nth * ((DAYS - 1) * DAY_MS) / quiet,
        Some(nth) => (DAYS - 1) * DAY_MS + nth * (DAY_MS - 1) / (count - quiet),
    }
}

fn event(numbers: &mut Numbers, at: UnixMillis) -> Event {
    let kind = match numbers.below(100) {
        0..62 => EventKind::View,
        62..95 => EventKind::Click,
        _ => EventKind::Scan,
    };
    if numbers.below(100) < 4 {
        let reason = numbers.pick(&["bot:search", "bot:preview", "prefetch", "bot:library", "head"]);
        return Event::new(at, kind).with(Dimension::Ignored, reason);
    }
    let (device, browser, os) = numbers.pick(&DEVICES);
    let (referrer, source, channel) = numbers.pick(&SOURCES);
    let letter = |number: u64| char::from(b'A' + u8::try_from(number % 26).unwrap());
    let country = numbers.tailed(120);
    let mut event = Event::new(at, kind)
        .with(Dimension::Country, String::from_iter([letter(country), letter(country / 5)]))
        .with(Dimension::Device, device)
        .with(Dimension::Browser, browser)
        .with(Dimension::Os, os)
        .with(Dimension::Referrer, referrer)
        .with(Dimension::Source, source)
        .with(Dimension::Channel, channel)
        .with(Dimension::Language, numbers.pick(&LANGUAGES));
    if kind == EventKind::Click {
        event = event.with(Dimension::Target, format!("lnk_{:020}", numbers.tailed(60)));
    }
    if numbers.below(4) == 0 {
        event = event
            .with(Dimension::UtmSource, "newsletter")
            .with(Dimension::UtmCampaign, format!("campaign-{}", numbers.tailed(40)));
    }
    // Half of the events are a visitor's only one; the others are of visitors who come again.
    event.visitor = match numbers.below(2) {
        0 => numbers.next() | 1,
        _ => (numbers.below(20_000) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
    };
    event
}

fn print(batches: Vec<Batch>) {
    for delivery in deliveries(batches) {
        let message =
            StatsMessage::Append { account: delivery.account, page: delivery.page, parts: delivery.parts };
        println!("{}", serde_json::to_string(&message).unwrap());
    }
}
