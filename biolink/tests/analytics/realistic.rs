//! Events of a page as they are in practice: few values are frequent, and most are rare. The same each
//! time.

use biolink::events::{Dimension, Event, EventKind, Segment};
use shared::time::UtcDay;

/// A splitmix64 generator.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns a number below `end`. Half of the numbers are in the first eighth.
    fn skewed(&mut self, end: u64) -> u64 {
        let drawn = self.below(1_000);
        drawn * drawn * drawn * end / 1_000_000_000
    }

    fn is_one_of(&mut self, hundred: u64) -> bool {
        self.below(100) < hundred
    }
}

/// Returns `rows` events of a day, in the order of their times. A visitor does about three things.
pub(crate) fn segment(day: UtcDay, rows: usize) -> Segment {
    let mut draw = Draw(day.0);
    let mut segment = Segment::new(day);
    let visitors = (rows as u64 / 3).max(1);
    for nth in 0..rows as u64 {
        let at = day.start().plus(nth * 86_400_000 / rows as u64 + draw.below(2_000));
        let visitor =
            draw.below(visitors).wrapping_add(day.0 << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        segment.push(&event(&mut draw, at, visitor));
    }
    segment
}

fn event(draw: &mut Draw, at: shared::time::UnixMillis, visitor: u64) -> Event {
    const BOTS: [&str; 8] = [
        "head",
        "bot:search-engine",
        "bot:social-preview",
        "bot:ai-crawler",
        "bot:library",
        "bot:seo",
        "own",
        "flood",
    ];
    let kind = match draw.below(100) {
        0..55 => EventKind::View,
        55..82 => EventKind::Click,
        82..85 => EventKind::Scan,
        _ => return Event { visitor: draw.next(), ..Event::new(at, EventKind::Confirm) },
    };
    let mut event = Event { visitor, ..Event::new(at, kind) };
    match kind {
        EventKind::Click => event = event.with(Dimension::Target, id("lnk", draw.skewed(12))),
        EventKind::Scan => event = event.with(Dimension::QrCode, "abcdefghij"),
        _ => {}
    }
    if draw.is_one_of(15) {
        let reason = BOTS.get(usize::try_from(draw.skewed(8)).unwrap_or(0)).copied().unwrap_or("head");
        return Event { visitor: 0, ..event.with(Dimension::Ignored, reason) };
    }
    for (dimension, share, values) in [
        (Dimension::Referrer, 50, 150),
        (Dimension::Source, 70, 40),
        (Dimension::Country, 98, 60),
        (Dimension::Browser, 99, 12),
        (Dimension::Os, 99, 8),
        (Dimension::Language, 95, 30),
        (Dimension::UtmSource, 8, 20),
        (Dimension::UtmMedium, 8, 6),
        (Dimension::UtmCampaign, 6, 30),
    ] {
        if draw.is_one_of(share) {
            event = event.with(dimension, format!("{}-{}", dimension.as_str(), draw.skewed(values)));
        }
    }
    let device = if draw.is_one_of(75) { "mobile" } else { "desktop" };
    event.with(Dimension::Device, device).with(Dimension::Channel, format!("channel-{}", draw.skewed(10)))
}

fn id(prefix: &str, number: u64) -> String {
    format!("{prefix}_{:017}", number)
}
