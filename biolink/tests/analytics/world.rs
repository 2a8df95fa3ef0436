//! Random events of a few pages.

use biolink::{
    events::{Dimension, Event, EventKind},
    page::PageId,
};
use proptest::{collection::vec, prelude::*, sample::select};
use shared::time::UnixMillis;

pub(crate) const SECOND: u64 = 1_000;
pub(crate) const DAY: u64 = 86_400 * SECOND;

/// An event, and the page that it happened on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Happened {
    pub(crate) page: PageId,
    pub(crate) event: Event,
}

/// The pages of a world.
pub(crate) fn pages() -> [PageId; 3] {
    [1, 2, 3].map(|number| PageId::new([number; 12]))
}

/// Returns the values that a dimension has in a world. An empty one is an event without a value.
pub(crate) fn values(dimension: Dimension) -> &'static [&'static str] {
    match dimension {
        Dimension::Target => &["", "lnk_a", "lnk_b", "lnk_c", "prd_a", "prd_b"],
        Dimension::QrCode => &["", "poster", "card"],
        Dimension::Referrer => &["", "", "instagram.com", "google.de", "t.co"],
        Dimension::Source => &["", "Instagram", "Google", "X"],
        Dimension::Channel => &["direct", "social", "search", "qr"],
        Dimension::Country => &["", "DE", "US", "NP", "AU", "WS"],
        Dimension::Device => &["", "mobile", "desktop", "tablet"],
        Dimension::Browser => &["", "Safari", "Chrome", "Firefox"],
        Dimension::Os => &["", "iOS", "Android", "Windows"],
        Dimension::Language => &["", "de", "en", "ne"],
        Dimension::UtmSource => &["", "newsletter", "=cmd()", "a b", "\"quoted\""],
        Dimension::UtmMedium => &["", "", "", "email", "Email"],
        Dimension::UtmCampaign => &["", "spring", "sommerfest-ä", "50%"],
        Dimension::UtmTerm | Dimension::UtmContent | Dimension::Via | Dimension::Variant => {
            &["", "", "1", "2"]
        }
        Dimension::Ignored => &[
            "",
            "",
            "",
            "",
            "head",
            "own",
            "embed",
            "flood",
            "prefetch",
            "bot:search-engine",
            "bot:ai-crawler",
        ],
    }
}

/// Returns events of the last `days` days before `now`.
pub(crate) fn events(now: UnixMillis, days: u64) -> impl Strategy<Value = Vec<Happened>> {
    vec(event(now, days), 0..120)
}

fn event(now: UnixMillis, days: u64) -> impl Strategy<Value = Happened> {
    let kind = select(
        &[
            EventKind::View,
            EventKind::View,
            EventKind::View,
            EventKind::Click,
            EventKind::Click,
            EventKind::Scan,
            EventKind::Confirm,
        ][..],
    );
    let ago = ago(days);
    let values: Vec<_> = Dimension::ALL.into_iter().map(|dimension| select(values(dimension))).collect();
    // Few visitors, so that they come again, and 0, which is none.
    (select(pages().to_vec()), kind, ago, 0..6u64, values).prop_map(
        move |(page, kind, ago, visitor, values)| {
            let at = UnixMillis(now.minus(ago).0 / SECOND * SECOND);
            let event =
                Event { visitor: visitor.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16, ..Event::new(at, kind) };
            let event = Dimension::ALL
                .into_iter()
                .zip(values)
                .fold(event, |event, (dimension, value)| event.with(dimension, value));
            Happened { page, event }
        },
    )
}

/// Returns times before now: half of them within a day, so that events share hours.
fn ago(days: u64) -> impl Strategy<Value = u64> {
    prop_oneof![0..DAY, 0..days * DAY]
}
