//! Metrics: what a report counts.

use strum::{IntoStaticStr, VariantArray};

/// A metric of a report. docs/analytics.md defines each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Metric {
    /// Views of pages.
    Views,
    /// Visitors who viewed, clicked or scanned: each once per page and UTC day.
    Visitors,
    /// Clicks on links and products.
    Clicks,
    /// Visitors who clicked: each once per page and UTC day.
    UniqueClicks,
    /// Clicks by views.
    Ctr,
    /// Visitors who clicked by visitors.
    UniqueCtr,
    /// Scans of QR codes.
    Scans,
    /// Visitors who scanned: each once per page and UTC day.
    UniqueScans,
    /// Views whose single-use image was fetched.
    ViewsConfirmed,
    /// Events of programs, which count nowhere else.
    Bots,
}

shared::named!(Metric);

/// A set of metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Metrics(u16);

impl Metric {
    /// Every metric once, in the order of a report.
    pub const ALL: [Self; 10] = *Self::VARIANTS.as_array().unwrap();
}

impl Metrics {
    /// Every metric.
    pub(super) const ALL: Self = Self::of(&Metric::ALL);
    /// The metrics that need the visitors of events.
    const DISTINCT: Self = Self::of(&[
        Metric::Visitors,
        Metric::UniqueClicks,
        Metric::UniqueCtr,
        Metric::UniqueScans,
        Metric::ViewsConfirmed,
    ]);

    /// Confirmed views, of which no property is stored.
    pub(super) const CONFIRMED: Self = Self::of(&[Metric::ViewsConfirmed]);
    /// The metrics of events that have no property of their visitor.
    pub(super) const BARE: Self = Self::of(&[Metric::ViewsConfirmed, Metric::Bots]);

    /// Returns a set of these metrics.
    pub(super) const fn of(mut metrics: &[Metric]) -> Self {
        let mut set = 0;
        while let [first, rest @ ..] = metrics {
            set |= 1 << *first as u16;
            metrics = rest;
        }
        Self(set)
    }

    /// Adds a metric.
    pub(super) const fn add(&mut self, metric: Metric) {
        self.0 |= 1 << metric as u16;
    }

    /// Returns the metrics that both sets have.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the metrics that the other set does not have.
    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if one of them needs the visitors of events.
    pub(super) const fn needs_visitors(self) -> bool {
        !self.and(Self::DISTINCT).is_empty()
    }

    /// Returns true if there is none.
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the metrics in the order of a report.
    pub(super) fn iter(self) -> impl Iterator<Item = Metric> {
        Metric::ALL.into_iter().filter(move |metric| self.0 & (1 << *metric as u16) != 0)
    }
}
