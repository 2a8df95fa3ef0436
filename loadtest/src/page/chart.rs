//! A chart as SVG, in colors of the page's style sheet.

use std::error::Error;

use maud::PreEscaped;
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext, MeshStyle};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::IntoDrawingArea;
use plotters::element::PathElement;
use plotters::series::{AreaSeries, LineSeries};
use plotters::style::{Color, IntoFont, RGBColor, TRANSPARENT};
use strum::VariantArray;

/// A line or an area of a chart.
pub(super) struct Series {
    pub(super) name: &'static str,
    pub(super) color: Paint,
    pub(super) points: Vec<(f64, f64)>,
    /// True if the space below is filled.
    pub(super) filled: bool,
}

/// A chart over the seconds of a run.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) series: Vec<Series>,
    /// Times of events.
    pub(super) marks: Vec<f64>,
    /// True if the vertical axis is logarithmic.
    pub(super) logarithmic: bool,
}

/// A color of the style sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
pub(super) enum Paint {
    Ink,
    Line,
    Good,
    Limited,
    Warning,
    Bad,
    Failed,
    Wrong,
}

impl Paint {
    /// Returns a color that stands for the variable until the drawing is finished.
    pub(super) const fn placeholder(self) -> RGBColor {
        RGBColor(1, 2, self as u8)
    }

    pub(super) const fn variable(self) -> &'static str {
        match self {
            Self::Ink => "var(--muted)",
            Self::Line => "var(--line)",
            Self::Good => "var(--good)",
            Self::Limited => "var(--limited)",
            Self::Warning => "var(--warning)",
            Self::Bad => "var(--bad)",
            Self::Failed => "var(--failed)",
            Self::Wrong => "var(--wrong)",
        }
    }
}

impl Chart {
    /// Draws the chart. Returns an empty text if there is nothing to draw.
    pub(super) fn svg(&self, size: (u32, u32)) -> PreEscaped<String> {
        let mut svg = String::new();
        if self.series.iter().all(|series| series.points.is_empty()) || self.draw(&mut svg, size).is_err() {
            return PreEscaped(String::new());
        }
        for_page(svg, size, &self.title)
    }

    fn draw(&self, svg: &mut String, size: (u32, u32)) -> Result<(), Box<dyn Error>> {
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        let points = || self.series.iter().flat_map(|series| &series.points);
        let end = points().map(|point| point.0).fold(1.0, f64::max);
        let top = points().map(|point| point.1).fold(0.0, f64::max) * 1.05;
        let mut builder = ChartBuilder::on(&area);
        builder.margin(6).x_label_area_size(26).y_label_area_size(52);
        if self.logarithmic {
            let least = points().map(|point| point.1).filter(|&y| y > 0.0).fold(f64::MAX, f64::min);
            let bottom = least.min(top / 2.0).max(0.001);
            let mut chart =
                builder.build_cartesian_2d(0.0..end, (bottom..top.max(bottom * 10.0)).log_scale())?;
            mesh(chart.configure_mesh(), size, &|x| format!("{} s", short(*x)))?;
            for series in &self.series {
                let visible = series.points.iter().map(|&(x, y)| (x, y.max(bottom)));
                chart.draw_series(LineSeries::new(visible, series.color.placeholder().stroke_width(2)))?;
            }
            self.draw_marks(&mut chart, bottom, top)?;
        } else {
            let mut chart = builder.build_cartesian_2d(0.0..end, 0.0..top.max(1.0))?;
            mesh(chart.configure_mesh(), size, &|x| format!("{} s", short(*x)))?;
            for series in &self.series {
                let color = series.color.placeholder();
                if series.filled {
                    chart.draw_series(AreaSeries::new(series.points.iter().copied(), 0.0, color.filled()))?;
                } else {
                    chart
                        .draw_series(LineSeries::new(series.points.iter().copied(), color.stroke_width(2)))?;
                }
            }
            self.draw_marks(&mut chart, 0.0, top.max(1.0))?;
        }
        area.present()?;
        Ok(())
    }

    fn draw_marks<Y>(
        &self,
        chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<RangedCoordf64, Y>>,
        bottom: f64,
        top: f64,
    ) -> Result<(), Box<dyn Error>>
    where
        Y: Ranged<ValueType = f64>,
    {
        for &at in &self.marks {
            let line =
                PathElement::new(vec![(at, bottom), (at, top)], Paint::Ink.placeholder().stroke_width(1));
            chart.draw_series([line]).map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// Draws axes with labels.
pub(super) fn mesh<'b, X, Y>(
    mut mesh: MeshStyle<'_, 'b, X, Y, SVGBackend<'_>>,
    size: (u32, u32),
    x_label: &'b dyn Fn(&f64) -> String,
) -> Result<(), Box<dyn Error>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let ink = Paint::Ink.placeholder();
    let text = ("sans-serif", 12).into_font().color(&ink);
    mesh.disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(Paint::Line.placeholder())
        .axis_style(Paint::Line.placeholder())
        .x_labels(if size.0 > 600 { 12 } else { 5 })
        .y_labels(5)
        .x_label_formatter(x_label)
        .y_label_formatter(&|y| short(*y))
        .x_label_style(text.clone())
        .y_label_style(text)
        .draw()
        .map_err(|error| error.to_string().into())
}

/// Returns a drawing with the colors and the size of the style sheet.
pub(super) fn for_page(mut svg: String, size: (u32, u32), title: &str) -> PreEscaped<String> {
    for color in Paint::VARIANTS {
        let RGBColor(red, green, blue) = color.placeholder();
        svg = svg.replace(&format!("#{red:02X}{green:02X}{blue:02X}"), color.variable());
    }
    let (width, height) = size;
    let fixed = format!("width=\"{width}\" height=\"{height}\"");
    let label = format!("role=\"img\" aria-label=\"{title}\"");
    PreEscaped(svg.replacen(&fixed, &label, 1))
}

/// Returns a number for an axis.
pub(super) fn short(number: f64) -> String {
    match number {
        1_000_000.0.. => format!("{}M", number / 1e6),
        10_000.0.. => format!("{}k", number / 1e3),
        _ => format!("{}", (number * 1000.0).round() / 1000.0),
    }
}
