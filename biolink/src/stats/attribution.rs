//! Where clicks come from: each takes the origin of its visitor's last view of the page on that UTC day.

use std::collections::BTreeMap;

use shared::{secret::sha256, time::UtcDay};

use crate::events::{Origin, Segment};

/// The most visitors of a day whose views are remembered. Clicks of others have no origin.
const MAX_VISITORS: usize = 300_000;
/// The most views of a visitor that are remembered, the last ones.
const MAX_VIEWS: usize = 16;
/// The most origins that are told apart on a day. They are chosen by visitors.
const MAX_ORIGINS: usize = 20_000;
/// Each isolate has its own clock: a view may seem to be this much later than its click, in seconds.
const SKEW: u32 = 1;

/// The origins of the last views of a page's visitors on one UTC day.
#[derive(Clone, Debug)]
pub struct Origins {
    day: UtcDay,
    /// Origins, each once, in the order in which they came.
    origins: Vec<Origin>,
    /// The places of origins by their hashes.
    places: BTreeMap<u64, u32>,
    /// The places of visitors in `views`.
    visitors: BTreeMap<u64, u32>,
    /// The views of each visitor in order. Several, because a click may arrive after the view that
    /// follows it. Of views with the same origin that follow each other only the first is kept.
    views: Vec<Vec<View>>,
}

#[derive(Clone, Copy, Debug)]
struct View {
    second: u32,
    origin: u32,
}

impl Origins {
    /// Returns the origins of a day without views.
    pub const fn new(day: UtcDay) -> Self {
        Self {
            day,
            origins: Vec::new(),
            places: BTreeMap::new(),
            visitors: BTreeMap::new(),
            views: Vec::new(),
        }
    }

    /// Returns the day.
    pub const fn day(&self) -> UtcDay {
        self.day
    }

    /// Remembers the views of a segment of the day.
    pub fn learn(&mut self, segment: &Segment) {
        for (second, visitor, origin) in segment.views() {
            let Some(origin) = self.place(origin) else { continue };
            let Some(place) = next(&mut self.visitors, visitor, MAX_VISITORS) else { continue };
            if place as usize == self.views.len() {
                self.views.push(Vec::new());
            }
            if let Some(views) = self.views.get_mut(place as usize) {
                remember(views, View { second, origin });
            }
        }
    }

    /// Gives each click of a segment the origin of the last view before it. A click that has a channel
    /// keeps what it has: it came with a campaign or from another site, or it was given one before.
    pub fn attribute(&self, segment: &mut Segment) {
        segment.attribute(|second, visitor| {
            let views = self.views.get(*self.visitors.get(&visitor)? as usize)?;
            let last = |until: u32| views.iter().rfind(|view| view.second <= until);
            // Only if there is none before: the skew must not prefer a later view to an earlier
            // one.
            let view = last(second).or_else(|| last(second.saturating_add(SKEW)))?;
            self.origins.get(view.origin as usize)
        });
    }

    fn place(&mut self, origin: Origin) -> Option<u32> {
        // A separator, without which `a` and `bc` would be the same origin as `ab` and `c`.
        let parts = origin.each_ref().map(|value| [value.as_bytes(), b"\0"]);
        // Cryptographic, because visitors choose the values and could make two of them collide.
        let hash = sha256(parts.as_flattened());
        let hash = u64::from_be_bytes(*hash.first_chunk()?);
        let place = next(&mut self.places, hash, MAX_ORIGINS)?;
        if place as usize == self.origins.len() {
            self.origins.push(origin);
        }
        Some(place)
    }
}

/// Returns the place of a key, which is the next one if it is new. `None` if there are too many.
fn next(places: &mut BTreeMap<u64, u32>, key: u64, max: usize) -> Option<u32> {
    if let Some(place) = places.get(&key) {
        return Some(*place);
    }
    let place = u32::try_from(places.len()).ok().filter(|_| places.len() < max)?;
    places.insert(key, place);
    Some(place)
}

/// Adds a view to those of its visitor, in whatever order views come.
fn remember(views: &mut Vec<View>, view: View) {
    let at = views.partition_point(|known| known.second <= view.second);
    if at.checked_sub(1).and_then(|before| views.get(before)).is_some_and(|it| it.origin == view.origin) {
        return;
    }
    // The one that follows is no longer the first of its origin.
    if views.get(at).is_some_and(|next| next.origin == view.origin) {
        views.remove(at);
    }
    views.insert(at, view);
    if views.len() > MAX_VIEWS {
        views.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::events::{Dimension, Event, EventKind};

    const DAY: UtcDay = UtcDay(20_779);

    fn event(kind: EventKind, second: u64, visitor: u64, campaign: &str) -> Event {
        let event = Event { visitor, ..Event::new(DAY.start().plus(second * 1_000), kind) };
        let channel = if kind == EventKind::View { "email" } else { "" };
        event.with(Dimension::UtmCampaign, campaign.to_owned()).with(Dimension::Channel, channel)
    }

    fn segment(events: &[Event]) -> Segment {
        let mut segment = Segment::new(DAY);
        events.iter().for_each(|event| segment.push(event));
        segment
    }

    /// Returns the campaigns of the clicks after the events came in these batches, each to the same row.
    fn campaigns(batches: &[&[Event]]) -> Vec<(u64, String)> {
        let (mut origins, mut stored) = (Origins::new(DAY), Segment::new(DAY));
        for batch in batches {
            let added = segment(batch);
            origins.learn(&added);
            stored.append(&added);
            origins.attribute(&mut stored);
        }
        let clicks = stored.events().filter(|event| event.kind == EventKind::Click);
        let campaign = |event: Event| match event.value(Dimension::Channel) {
            "" => "unknown".to_owned(),
            _ => event.value(Dimension::UtmCampaign).to_owned(),
        };
        clicks.map(|event| (event.at.since(DAY.start()) / 1_000, campaign(event))).collect()
    }

    #[test]
    fn click_has_the_campaign_of_the_last_view_before_it() {
        let (view, click) = (EventKind::View, EventKind::Click);
        let day = [
            event(view, 10, 1, "spring"),
            event(click, 20, 1, ""),
            event(view, 30, 1, ""),
            event(click, 40, 1, ""),
            event(view, 50, 1, "may"),
            event(click, 60, 1, ""),
            event(click, 60, 2, ""),
            event(view, 90, 2, "late"),
        ];
        let expected = [(20, "spring"), (40, ""), (60, "may"), (60, "unknown")]
            .map(|(second, campaign)| (second, campaign.to_owned()));
        assert_eq!(campaigns(&[&day]), expected);
        let one_by_one: Vec<_> = day.chunks(1).collect();
        assert_eq!(campaigns(&one_by_one), expected);
    }

    #[test]
    fn view_that_arrives_after_its_click_gives_it_the_campaign() {
        let click = [event(EventKind::Click, 20, 1, "")];
        let later = [event(EventKind::View, 30, 1, "may"), event(EventKind::View, 10, 1, "spring")];
        assert_eq!(campaigns(&[&click, &later[..1], &later[1..]]), [(20, "spring".to_owned())]);
        assert_eq!(campaigns(&[&later, &click]), [(20, "spring".to_owned())]);
        let reload = [event(EventKind::View, 10, 1, "may"), event(EventKind::View, 30, 1, "may")];
        assert_eq!(campaigns(&[&reload, &click]), [(20, "may".to_owned())]);
    }

    #[test]
    fn click_with_an_origin_of_its_own_keeps_it() {
        let own = event(EventKind::Click, 20, 1, "own").with(Dimension::Channel, "social");
        let day = [event(EventKind::View, 10, 1, "spring"), own];
        assert_eq!(campaigns(&[&day]), [(20, "own".to_owned())]);
        let without_number = [event(EventKind::View, 10, 0, "spring"), event(EventKind::Click, 20, 0, "")];
        assert_eq!(campaigns(&[&without_number]), [(20, "unknown".to_owned())]);
    }

    proptest! {
        /// Of a visitor's events in order, however they are split into batches.
        #[test]
        fn clicks_have_the_campaigns_that_a_loop_over_all_events_finds(
            drawn in vec((any::<bool>(), 1..4u64, 0..3usize, 2..9u64), 1..80), size in 1..9usize,
        ) {
            let mut second = 0;
            let day: Vec<_> = drawn.iter().map(|(is_view, visitor, campaign, wait)| {
                second += wait;
                match is_view {
                    true => event(EventKind::View, second, *visitor, ["", "spring", "may"][*campaign]),
                    false => event(EventKind::Click, second, *visitor, ""),
                }
            }).collect();
            let expected: Vec<_> = day.iter().enumerate().filter(|(_, it)| it.kind == EventKind::Click).map(|(at, click)| {
                let view = day[..at].iter().rfind(|it| it.kind == EventKind::View && it.visitor == click.visitor);
                let campaign = view.map_or("unknown", |view| view.value(Dimension::UtmCampaign));
                (click.at.since(DAY.start()) / 1_000, campaign.to_owned())
            }).collect();
            prop_assert_eq!(campaigns(&day.chunks(size).collect::<Vec<_>>()), expected);
        }
    }
}
