//! The icon of a site in the middle of a QR code, drawn from its path.

use std::fmt::Write as _;

use crate::page::{document::Platform, html::icons};

/// The side of the box that paths are in.
const BOX: f64 = 24.0;
/// Straight pieces that stand for a curve.
const PIECES: u32 = 8;
/// The share of a code's side that is cleared for the logo, in hundredths. Readers correct what lies below it with
/// error correction H: of 30 % of the code, 5 % are lost. A test reads codes of every length with it.
const SHARE: usize = 22;

/// An icon as a logo.
pub(super) struct Icon {
    path: &'static str,
    steps: Vec<Step>,
}

/// A step of a path, in absolute coordinates.
#[derive(Clone, Copy)]
enum Step {
    Move(Point),
    Line(Point),
    Curve(Point, Point, Point),
    Close,
}

type Point = (f64, f64);

/// Returns the side in modules of the square that is cleared in a code of this side: an odd number.
pub(super) fn side(code: usize) -> usize {
    (code * SHARE / 100).saturating_sub(1) | 1
}

impl Icon {
    /// Returns the icon of a site; `None` if there is none.
    pub(super) fn of(platform: Platform) -> Option<Self> {
        let path = icons::path(platform)?;
        Some(Self { path, steps: steps(path) })
    }

    // Codes have odd sides, so only an odd square lies in the middle of one.
    /// Returns the element of an SVG whose units are modules. `at` is the corner of the cleared square.
    pub(super) fn svg(&self, at: f64, side: f64, color: &str) -> String {
        let (at, scale) = (at + PADDING, (side - 2.0 * PADDING) / BOX);
        let path = self.path;
        format!(
            r#"<path fill="{color}" shape-rendering="auto" transform="translate({at} {at}) scale({scale:.5})" d="{path}"/>"#
        )
    }

    /// Returns the operators of a PDF page whose units are modules and whose origin is `height` below.
    pub(super) fn pdf(&self, at: f64, side: f64, height: f64) -> String {
        let (at, scale) = (at + PADDING, (side - 2.0 * PADDING) / BOX);
        let mut drawing = format!("q {scale:.5} 0 0 -{scale:.5} {at} {} cm\n", height - at);
        for step in &self.steps {
            // Writing to a `String` cannot fail.
            let _written = match step {
                Step::Move((x, y)) => writeln!(drawing, "{x:.2} {y:.2} m"),
                Step::Line((x, y)) => writeln!(drawing, "{x:.2} {y:.2} l"),
                Step::Curve(a, b, c) => {
                    let [(ax, ay), (bx, by), (x, y)] = [a, b, c];
                    writeln!(drawing, "{ax:.2} {ay:.2} {bx:.2} {by:.2} {x:.2} {y:.2} c")
                }
                Step::Close => writeln!(drawing, "h"),
            };
        }
        drawing.push_str("f Q\n");
        drawing
    }

    /// Returns true for each dark pixel of a square of `pixels`, of which a module has `module`, row by row.
    pub(super) fn pixels(&self, pixels: u16, module: u16) -> Vec<Vec<bool>> {
        let padding = f64::from(module) * PADDING;
        let scale = BOX / (f64::from(pixels) - 2.0 * padding);
        let edges = self.edges();
        let center = |pixel: u16| (f64::from(pixel) + 0.5 - padding) * scale;
        let rows = (0..pixels).map(|row| {
            let y = center(row);
            let crossings: Vec<_> = edges.iter().filter_map(|edge| crossing(*edge, y)).collect();
            let is_dark = |column: u16| {
                let x = center(column);
                crossings.iter().filter(|(at, _)| *at <= x).map(|(_, winding)| winding).sum::<i32>() != 0
            };
            (0..pixels).map(is_dark).collect()
        });
        rows.collect()
    }

    /// Returns the outline in straight pieces.
    fn edges(&self) -> Vec<(Point, Point)> {
        let (mut edges, mut start, mut here) = (Vec::new(), (0.0, 0.0), (0.0, 0.0));
        for step in &self.steps {
            match *step {
                Step::Move(to) => (start, here) = (to, to),
                Step::Line(to) => {
                    edges.push((here, to));
                    here = to;
                }
                Step::Curve(a, b, to) => {
                    let from = here;
                    for piece in 1..=PIECES {
                        let next = on_curve([from, a, b, to], f64::from(piece) / f64::from(PIECES));
                        edges.push((here, next));
                        here = next;
                    }
                }
                Step::Close => {
                    edges.push((here, start));
                    here = start;
                }
            }
        }
        edges
    }
}

/// The light margin around a logo, in modules.
pub(super) const PADDING: f64 = 0.75;

/// Returns where an edge crosses a horizontal line, and in which direction.
fn crossing(((x1, y1), (x2, y2)): (Point, Point), y: f64) -> Option<(f64, i32)> {
    let winding = match (y1 <= y, y2 <= y) {
        (true, false) => 1,
        (false, true) => -1,
        _ => return None,
    };
    Some((x1 + (y - y1) / (y2 - y1) * (x2 - x1), winding))
}

fn on_curve([a, b, c, d]: [Point; 4], t: f64) -> Point {
    let s = 1.0 - t;
    let mix = |a: f64, b: f64, c: f64, d: f64| {
        s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
    };
    (mix(a.0, b.0, c.0, d.0), mix(a.1, b.1, c.1, d.1))
}

/// Returns the steps of a path with the commands `M`, and `m`, `l`, `h`, `v`, `c` and `z`: those that
/// `scripts/icons` writes.
fn steps(path: &str) -> Vec<Step> {
    let (mut steps, mut start, mut here) = (Vec::new(), (0.0, 0.0), (0.0, 0.0));
    for part in path.split_inclusive(|c: char| c.is_ascii_alphabetic()).collect::<Vec<_>>().windows(2) {
        let [before, text] = part else { continue };
        let command = before.chars().next_back().unwrap_or_default();
        let numbers = numbers(text);
        let to = |(x, y): Point, dx: f64, dy: f64| (x + dx, y + dy);
        let mut rest = numbers.as_slice();
        loop {
            let step;
            (step, rest) = match (command, rest) {
                ('M', [x, y, rest @ ..]) => (Step::Move((*x, *y)), rest),
                ('m', [dx, dy, rest @ ..]) => (Step::Move(to(here, *dx, *dy)), rest),
                ('l', [dx, dy, rest @ ..]) => (Step::Line(to(here, *dx, *dy)), rest),
                ('h', [dx, rest @ ..]) => (Step::Line(to(here, *dx, 0.0)), rest),
                ('v', [dy, rest @ ..]) => (Step::Line(to(here, 0.0, *dy)), rest),
                ('c', [ax, ay, bx, by, dx, dy, rest @ ..]) => {
                    (Step::Curve(to(here, *ax, *ay), to(here, *bx, *by), to(here, *dx, *dy)), rest)
                }
                _ => break,
            };
            match step {
                Step::Move(point) => (start, here) = (point, point),
                Step::Line(point) | Step::Curve(_, _, point) => here = point,
                Step::Close => {}
            }
            steps.push(step);
        }
        if text.ends_with('z') {
            steps.push(Step::Close);
            here = start;
        }
    }
    steps
}

/// Returns the numbers of a part of a path, which a space or a sign separates.
fn numbers(text: &str) -> Vec<f64> {
    let text = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).replace('-', " -");
    text.split_whitespace().filter_map(number).collect()
}

/// Returns a number of a few digits. `f64::from_str` reads all numbers, with 14 KiB of powers in the worker.
fn number(text: &str) -> Option<f64> {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let value: u32 = [whole, fraction].concat().parse().ok()?;
    let sign = if digits.len() < text.len() { -1.0 } else { 1.0 };
    // Both are exact, so the quotient is the number next to what is written.
    Some(sign * f64::from(value) / fraction.bytes().fold(1.0, |power, _| power * 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_icon_are_those_of_the_standard_library() {
        let mut read = 0;
        for path in Platform::ALL.iter().copied().filter_map(icons::path) {
            let spaced = path.replace('-', " -");
            for text in
                spaced.split(|c: char| c.is_ascii_alphabetic() || c == ' ').filter(|text| !text.is_empty())
            {
                assert_eq!(number(text), text.parse().ok(), "{text}");
                read += 1;
            }
        }
        assert!(read > 1_000, "only {read} numbers found");
        assert_eq!([number(""), number("-"), number("1e3"), number("1.2.3")], [None; 4]);
    }
}
