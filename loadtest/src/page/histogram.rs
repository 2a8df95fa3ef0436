//! The histogram of latencies.

use std::error::Error;

use maud::{Markup, PreEscaped, html};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::combinators::IntoLogRange;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{PathElement, Rectangle};
use plotters::style::Color;

use super::chart::{Paint, for_page, mesh, short};
use super::graphs::{NARROW, WIDE};
use super::millis;
use crate::report::Report;

const TITLE: &str = "Latencies of all calls";
/// The share of its range that a bar takes, so that bars are apart.
const BAR: f64 = 0.985;

/// Returns the histogram: a bar for each range of latencies, and lines at two quantiles.
pub(super) fn histogram(report: &Report) -> Markup {
    let (p50, p99) = (report.latency_ms.p50, report.latency_ms.p99);
    html! {
        @if !report.histogram.is_empty() {
            section.chart {
                h2 { (TITLE) }
                p.legend {
                    span { i style={ "background:" (Paint::Limited.variable()) } {} "calls in a range of latencies" }
                    span { i style={ "background:" (Paint::Ink.variable()) } {} "p50 " (millis(p50)) " and p99 " (millis(p99)) }
                }
                div.wide { (svg(report, WIDE)) }
                div.narrow { (svg(report, NARROW)) }
                p.note { "Both ends of a range have the same ratio, so the horizontal axis is logarithmic." }
            }
        }
    }
}

fn svg(report: &Report, size: (u32, u32)) -> PreEscaped<String> {
    let mut svg = String::new();
    let drawn = draw(report, &mut svg, size);
    if drawn.is_err() { PreEscaped(String::new()) } else { for_page(svg, size, TITLE) }
}

fn draw(report: &Report, svg: &mut String, size: (u32, u32)) -> Result<(), Box<dyn Error>> {
    let ranges = &report.histogram;
    let (first, last) = ranges.first().zip(ranges.last()).ok_or("no latencies")?;
    let top = ranges.iter().map(|range| range.calls).max().unwrap_or(1) as f64 * 1.05;
    // At least two powers of ten, so that a single bar is no wall.
    let (from, to) = (first.from_ms / 1.5, (last.to_ms * 1.5).max(first.from_ms * 100.0));
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    let mut builder = ChartBuilder::on(&area);
    // The label of the last power of ten is wider than half the margin.
    builder.margin(6).margin_right(24).x_label_area_size(26).y_label_area_size(52);
    let mut chart = builder.build_cartesian_2d((from..to).log_scale(), 0.0..top)?;
    mesh(chart.configure_mesh(), size, &|ms| format!("{} ms", short(*ms)))?;
    let color = Paint::Limited.placeholder().filled();
    chart.draw_series(ranges.iter().map(|range| {
        Rectangle::new([(range.from_ms, 0.0), (range.to_ms * BAR, range.calls as f64)], color)
    }))?;
    let ink = Paint::Ink.placeholder().stroke_width(1);
    for at in [report.latency_ms.p50, report.latency_ms.p99] {
        let at = at.max(from);
        chart.draw_series([PathElement::new(vec![(at, 0.0), (at, top)], ink)])?;
    }
    area.present()?;
    Ok(())
}
