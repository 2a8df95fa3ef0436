//! Random questions, and how a client writes them.

use biolink::{events::Dimension, page::PageId};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
};
use shared::time::UnixMillis;

use crate::world::{DAY, SECOND, pages, values};

/// The groups of a report that are dimensions, and their columns.
pub(crate) const DIMENSIONS: [(&str, Dimension); 19] = [
    ("link", Dimension::Target),
    ("product", Dimension::Target),
    ("qr_code", Dimension::QrCode),
    ("referrer", Dimension::Referrer),
    ("source", Dimension::Source),
    ("channel", Dimension::Channel),
    ("country", Dimension::Country),
    ("device", Dimension::Device),
    ("browser", Dimension::Browser),
    ("os", Dimension::Os),
    ("language", Dimension::Language),
    ("utm_source", Dimension::UtmSource),
    ("utm_medium", Dimension::UtmMedium),
    ("utm_campaign", Dimension::UtmCampaign),
    ("utm_term", Dimension::UtmTerm),
    ("utm_content", Dimension::UtmContent),
    ("via", Dimension::Via),
    ("variant", Dimension::Variant),
    ("bot_class", Dimension::Ignored),
];

pub(crate) const METRICS: [&str; 10] = [
    "views",
    "visitors",
    "clicks",
    "unique_clicks",
    "ctr",
    "unique_ctr",
    "scans",
    "unique_scans",
    "views_confirmed",
    "bots",
];

pub(crate) const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/Havana",
    "Africa/Casablanca",
];

/// A condition on a property.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) group: &'static str,
    /// An empty value is an event without one.
    pub(crate) values: Vec<&'static str>,
    pub(crate) excludes: bool,
}

/// What a client asks.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// None: all.
    pub(crate) pages: Vec<PageId>,
    pub(crate) start: UnixMillis,
    pub(crate) end: UnixMillis,
    pub(crate) zone: &'static str,
    pub(crate) granularity: &'static str,
    /// None: those that the API chooses.
    pub(crate) metrics: Vec<&'static str>,
    pub(crate) groups: Vec<&'static str>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) limit: usize,
    pub(crate) compares: bool,
}

impl Question {
    /// Returns the query of the address.
    pub(crate) fn text(&self) -> String {
        let mut pairs = vec![
            ("start", self.start.to_rfc3339()),
            ("end", self.end.to_rfc3339()),
            ("timezone", self.zone.to_owned()),
            ("granularity", self.granularity.to_owned()),
            ("limit", self.limit.to_string()),
        ];
        let lists = [("metrics", &self.metrics), ("group_by", &self.groups)];
        pairs.extend(
            lists.into_iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| (name, list.join(","))),
        );
        if !self.pages.is_empty() {
            let ids: Vec<_> = self.pages.iter().map(PageId::to_string).collect();
            pairs.push(("page_id", ids.join(",")));
        }
        for Condition { group, values, excludes } in &self.conditions {
            let values: Vec<_> =
                values.iter().map(|value| if value.is_empty() { "(none)" } else { value }).collect();
            pairs.push((group, format!("{}{}", if *excludes { "-" } else { "" }, values.join(","))));
        }
        if self.compares {
            pairs.push(("compare", "previous_period".to_owned()));
        }
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        pairs.join("&")
    }

    /// Returns true if a condition leaves a metric out: of a program's request it is stored what it
    /// asked for, and of a confirmed view nothing.
    pub(crate) fn leaves_out(&self, metric: &str) -> bool {
        let mut groups = self.conditions.iter().map(|condition| condition.group);
        match metric {
            "views_confirmed" => groups.any(|group| group != "bot_class"),
            "bots" => groups.any(|group| !matches!(group, "bot_class" | "link" | "product" | "qr_code")),
            _ => false,
        }
    }
}

/// Returns questions that a client may ask at `now` with a window of `days` days.
pub(crate) fn questions(now: UnixMillis, days: u64) -> impl Strategy<Value = Question> {
    let all_groups: Vec<_> =
        ["timeseries", "page"].into_iter().chain(DIMENSIONS.map(|(name, _)| name)).collect();
    let span = (0..days * DAY / SECOND, 1..days * DAY / SECOND);
    let limit = prop_oneof![Just(100usize), 1..6usize];
    let asked =
        (span, select(&ZONES[..]), select(&["hour", "day", "week", "month"][..]), limit, any::<bool>());
    let listed = (
        subsequence(pages().to_vec(), 0..3),
        subsequence(all_groups, 0..=8),
        prop_oneof![Just(Vec::new()), subsequence(METRICS.to_vec(), 1..=METRICS.len())],
        conditions(),
    );
    (asked, listed).prop_map(
        move |((span, zone, granularity, limit, compares), (pages, groups, metrics, conditions))| {
            let end = UnixMillis(now.minus(span.0 * SECOND).0 / SECOND * SECOND + SECOND);
            let earliest = UnixMillis((now.0 / DAY - days) * DAY);
            let start = end.minus(span.1 * SECOND).max(earliest);
            let is_long = end.since(start) > 20 * DAY;
            let mut question = Question {
                pages,
                start,
                end,
                zone,
                groups,
                conditions,
                limit,
                compares,
                metrics,
                granularity: if is_long && granularity == "hour" { "day" } else { granularity },
            };
            question.drop_what_is_refused();
            question
        },
    )
}

impl Question {
    /// Drops metrics that a group or a condition does not have, so that the question is valid.
    fn drop_what_is_refused(&mut self) {
        let metrics: Vec<_> =
            self.metrics.iter().copied().filter(|metric| !self.leaves_out(metric)).collect();
        let without_bots = self.leaves_out("bots");
        let has = |names: &[&str]| metrics.is_empty() || metrics.iter().any(|metric| names.contains(metric));
        self.groups.retain(|group| match *group {
            "timeseries" | "page" => true,
            "link" | "product" => has(&["clicks", "unique_clicks", "ctr", "bots"]),
            "bot_class" => has(&["bots"]) && !without_bots,
            "variant" => has(&["clicks", "unique_clicks"]),
            "qr_code" => has(&METRICS.map(|metric| if metric == "views_confirmed" { "" } else { metric })),
            _ => has(&METRICS[..8]),
        });
        self.metrics = metrics;
    }
}

fn conditions() -> impl Strategy<Value = Vec<Condition>> {
    let condition = |(group, dimension): (&'static str, Dimension)| {
        let mut choices: Vec<&'static str> = values(dimension).to_vec();
        match group {
            "link" => choices.retain(|value| value.is_empty() || value.starts_with("lnk_")),
            "product" => choices.retain(|value| value.is_empty() || value.starts_with("prd_")),
            "bot_class" => choices = vec!["", "search-engine", "ai-crawler", "never"],
            _ => choices.push("never"),
        }
        if group == "country" {
            choices.retain(|value| *value != "never");
        }
        (vec(select(choices), 1..3), any::<bool>()).prop_map(move |(values, excludes)| Condition {
            group,
            values,
            excludes,
        })
    };
    let conditions: Vec<_> = DIMENSIONS
        .into_iter()
        .map(|dimension| proptest::option::weighted(0.06, condition(dimension)))
        .collect();
    conditions.prop_map(|conditions| conditions.into_iter().flatten().collect())
}
