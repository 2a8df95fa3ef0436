//! Charts as SVG. Their texts are HTML beside them, so that they stay legible at any width.

use maud::{Markup, html};

/// Height of a chart, in its own units.
const HEIGHT: u64 = 100;
/// Width of a bar and the gap after it, in the chart's own units.
const STEP: usize = 10;

/// The counts of a metric in equal periods.
pub(super) struct Series<'a> {
    /// The metric.
    pub(super) name: &'a str,
    /// The name of a period: hour, day, week or month.
    pub(super) period: &'a str,
    /// The beginning of each period and its count.
    pub(super) points: Vec<(String, u64)>,
    /// The count of the whole time. Those of periods need not add up to it.
    pub(super) total: u64,
}

impl Series<'_> {
    /// Returns a chart with a bar for each period.
    pub(super) fn bars(&self) -> Markup {
        let highest = self.points.iter().map(|(_, count)| *count).max().unwrap_or_default();
        let (first, last) = (self.points.first(), self.points.last());
        let label = format!("{} by {}: {} in all, at most {highest}", self.name, self.period, self.total);
        html! {
            figure.chart {
                figcaption { strong { (self.name) } " " (self.total) span.soft { ", at most " (highest) " a " (self.period) } }
                svg viewBox=(format!("0 0 {} {HEIGHT}", self.points.len() * STEP)) preserveAspectRatio="none" role="img" aria-label=(label) {
                    @for (number, (start, count)) in self.points.iter().enumerate() {
                        @let height = share(*count, highest);
                        rect x=(number * STEP + 1) y=(HEIGHT - height) width=(STEP - 2) height=(height) {
                            title { (start) ": " (count) }
                        }
                    }
                }
                div.soft {
                    @if let (Some((first, _)), Some((last, _))) = (first, last) {
                        span { (first) } span { (last) }
                    }
                }
            }
        }
    }
}

/// Returns a bar for the share that a count has of the highest one.
pub(super) fn bar(count: u64, highest: u64) -> Markup {
    html! {
        svg.bar-of viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" {
            rect width=(share(count, highest)) height="10" {}
        }
    }
}

/// Returns the height of a bar. A count that is not 0 is visible.
fn share(count: u64, highest: u64) -> u64 {
    let share = count.saturating_mul(HEIGHT).checked_div(highest).unwrap_or_default();
    share.max(u64::from(count > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(counts: &[u64]) -> Series<'static> {
        let points = (20..).zip(counts).map(|(day, count)| (format!("2026-11-{day}"), *count)).collect();
        Series { name: "Views", period: "day", points, total: counts.iter().sum() }
    }

    #[test]
    fn highest_bar_is_as_high_as_the_chart() {
        let chart = series(&[5, 0, 1_000]).bars().into_string();
        assert!(chart.contains(r#"viewBox="0 0 30 100""#), "{chart}");
        assert!(chart.contains(r#"<rect x="21" y="0" width="8" height="100">"#), "{chart}");
        assert!(
            chart.contains(r#"<rect x="1" y="99" width="8" height="1">"#),
            "a small count is visible: {chart}"
        );
        assert!(chart.contains(r#"<rect x="11" y="100" width="8" height="0">"#), "{chart}");
        assert!(chart.contains("<title>2026-11-22: 1000</title>"));
    }

    #[test]
    fn chart_without_counts_has_no_bars() {
        let chart = series(&[0]).bars().into_string();
        assert!(chart.contains(r#"height="0""#) && chart.contains("0 in all"), "{chart}");
        assert!(series(&[]).bars().into_string().contains("<svg"));
    }
}
