//! The properties that a report is grouped and filtered by.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::metric::{Metric, Metrics};
use crate::events::Dimension;

/// A property that a report can be grouped by. All but the first two are filters too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say what each one is")]
pub enum GroupBy {
    Timeseries,
    Page,
    Link,
    Product,
    QrCode,
    Referrer,
    Source,
    Channel,
    Country,
    Device,
    Browser,
    Os,
    Language,
    UtmSource,
    UtmMedium,
    UtmCampaign,
    UtmTerm,
    UtmContent,
    Via,
    Variant,
    BotClass,
}

shared::named!(GroupBy);

impl GroupBy {
    /// Every group once.
    pub const ALL: [Self; 21] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the column that has its values; `None` for what is no property of an event.
    pub const fn dimension(self) -> Option<Dimension> {
        Some(match self {
            Self::Timeseries | Self::Page => return None,
            Self::Link | Self::Product => Dimension::Target,
            Self::QrCode => Dimension::QrCode,
            Self::Referrer => Dimension::Referrer,
            Self::Source => Dimension::Source,
            Self::Channel => Dimension::Channel,
            Self::Country => Dimension::Country,
            Self::Device => Dimension::Device,
            Self::Browser => Dimension::Browser,
            Self::Os => Dimension::Os,
            Self::Language => Dimension::Language,
            Self::UtmSource => Dimension::UtmSource,
            Self::UtmMedium => Dimension::UtmMedium,
            Self::UtmCampaign => Dimension::UtmCampaign,
            Self::UtmTerm => Dimension::UtmTerm,
            Self::UtmContent => Dimension::UtmContent,
            Self::Via => Dimension::Via,
            Self::Variant => Dimension::Variant,
            Self::BotClass => Dimension::Ignored,
        })
    }

    /// Returns the value that the group has for a value of the column. `None` if an event with it
    /// does not belong to the group: a click on a product is no value of the group of links. An empty
    /// text is an event without a value, such as a visit without a referrer.
    pub(super) fn value(self, column: &str) -> Option<&str> {
        match self {
            Self::Timeseries | Self::Page => None,
            Self::Link => Some(column).filter(|id| id.starts_with("lnk_")),
            Self::Product => Some(column).filter(|id| id.starts_with("prd_")),
            Self::QrCode | Self::Variant => Some(column).filter(|value| !value.is_empty()),
            Self::BotClass => column.strip_prefix(BOT),
            _ => Some(column),
        }
    }

    /// Returns the metrics that the group can have.
    pub(super) const fn metrics(self) -> Metrics {
        match self {
            Self::Link | Self::Product => {
                Metrics::of(&[Metric::Clicks, Metric::UniqueClicks, Metric::Ctr, Metric::Bots])
            }
            Self::BotClass => Metrics::of(&[Metric::Bots]),
            Self::Variant => Metrics::of(&[Metric::Clicks, Metric::UniqueClicks]),
            Self::QrCode => Metrics::ALL.without(Metrics::CONFIRMED),
            Self::Timeseries | Self::Page => Metrics::ALL,
            _ => Metrics::ALL.without(Metrics::BARE),
        }
    }

    /// Returns the metrics that are left if events are filtered by the property. Of an ignored event
    /// only the reason and the target are stored.
    pub(super) const fn filtered_metrics(self) -> Metrics {
        match self {
            Self::BotClass => Metrics::ALL,
            Self::Link | Self::Product | Self::QrCode => Metrics::ALL.without(Metrics::CONFIRMED),
            _ => Metrics::ALL.without(Metrics::BARE),
        }
    }

    /// Returns the metrics that the group has if the client names none: those that are cheap.
    pub(super) const fn default_metrics(self) -> Metrics {
        match self {
            Self::Timeseries | Self::Page => {
                Metrics::of(&[Metric::Views, Metric::Visitors, Metric::Clicks, Metric::Scans])
            }
            Self::Link | Self::Product => Metrics::of(&[Metric::Clicks, Metric::UniqueClicks, Metric::Ctr]),
            Self::QrCode => Metrics::of(&[Metric::Scans, Metric::UniqueScans]),
            Self::BotClass => Metrics::of(&[Metric::Bots]),
            Self::Variant => Metrics::of(&[Metric::Clicks, Metric::UniqueClicks]),
            _ => Metrics::of(&[Metric::Views, Metric::Clicks, Metric::Ctr]),
        }
    }
}

/// The beginning of a value of [`Dimension::Ignored`] of an event by a program.
pub(super) const BOT: &str = "bot:";
