//! Drawing: the modules of a QR code as an SVG path or as the pixels of a PNG.

use std::fmt::Write as _;

use png::{BitDepth, ColorType, Compression, Encoder};
use qrcode::{Color, EcLevel, QrCode};

use super::order::{Fault, Format, Order};

/// The light margin that readers need on every side, in modules (ISO/IEC 18004).
const QUIET_ZONE: usize = 4;
/// Below two pixels a module, cameras and screens blur one into the next.
const SMALLEST_MODULE: usize = 2;

/// A finished picture.
pub(super) enum Drawing {
    Svg(String),
    Png(Vec<u8>),
}

/// Draws what was ordered. It is as hard to damage as fits: error correction level M, or L where only that
/// leaves room for the URL.
///
/// # Errors
/// When a PNG of this size has too few pixels for this URL; the fault names a size that has enough.
pub(super) fn draw(order: &Order<'_>) -> Result<Drawing, Fault> {
    let codes = || [EcLevel::M, EcLevel::L].into_iter().filter_map(|level| Modules::encode(order.url, level));
    let drawing = match order.format {
        Format::Svg => codes().next().map(|modules| Drawing::Svg(modules.svg(order.size))),
        Format::Png => codes().find_map(|modules| modules.png(order.size)).map(Drawing::Png),
    };
    drawing.ok_or_else(|| {
        let enough = codes().map(|modules| modules.smallest_png()).min().unwrap_or_default();
        let message =
            format!("this URL needs a PNG of at least {enough} pixels; an SVG of it can have any size");
        Fault { field: "size", code: "too-small-for-url", message }
    })
}

/// A square of dark and light modules.
struct Modules {
    side: usize,
    colors: Vec<Color>,
}

impl Modules {
    fn encode(url: &str, level: EcLevel) -> Option<Self> {
        let code = QrCode::with_error_correction_level(url, level).ok()?;
        Some(Self { side: code.width(), colors: code.into_colors() })
    }

    fn rows(&self) -> impl Iterator<Item = &[Color]> {
        self.colors.chunks(self.side)
    }

    /// The side of the whole picture in modules.
    const fn full_side(&self) -> usize {
        self.side + 2 * QUIET_ZONE
    }

    const fn smallest_png(&self) -> usize {
        self.full_side() * SMALLEST_MODULE
    }

    fn svg(&self, size: u32) -> String {
        let side = self.full_side();
        let mut path = String::with_capacity(self.colors.len() * 4);
        for (y, row) in self.rows().enumerate() {
            for (x, length) in dark_runs(row) {
                // Writing to a String cannot fail.
                let _infallible =
                    write!(path, "M{},{}h{length}v1h-{length}z", x + QUIET_ZONE, y + QUIET_ZONE);
            }
        }
        format!(
            concat!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{0}" viewBox="0 0 {1} {1}" "#,
                r##"shape-rendering="crispEdges"><path fill="#fff" d="M0,0h{1}v{1}H0z"/><path d="{2}"/></svg>"##,
            ),
            size, side, path
        )
    }

    /// Modules of as many whole pixels as fit; what is left over widens the quiet zone evenly.
    fn png(&self, size: u32) -> Option<Vec<u8>> {
        let pixels = usize::try_from(size).ok()?;
        let module = pixels / self.full_side();
        if module < SMALLEST_MODULE {
            return None;
        }
        let margin = (pixels - self.side * module) / 2;
        let white = vec![0xff; pixels.div_ceil(8)];
        let mut image = white.repeat(margin);
        for row in self.rows() {
            let line = pixel_line(&white, margin, module, row);
            image.extend(line.repeat(module));
        }
        image.resize(white.len() * pixels, 0xff);
        encode_png(size, &image)
    }
}

/// Where each run of dark modules begins and how long it is.
fn dark_runs(row: &[Color]) -> impl Iterator<Item = (usize, usize)> {
    let mut x = 0;
    row.chunk_by(|left, right| left == right).filter_map(move |run| {
        let start = x;
        x += run.len();
        (run.first() == Some(&Color::Dark)).then_some((start, run.len()))
    })
}

/// One line of pixels, a bit each, dark ones cleared.
fn pixel_line(white: &[u8], margin: usize, module: usize, row: &[Color]) -> Vec<u8> {
    let mut line = white.to_vec();
    for (x, length) in dark_runs(row) {
        for pixel in margin + x * module..margin + (x + length) * module {
            if let Some(byte) = line.get_mut(pixel / 8) {
                *byte &= !(0x80 >> (pixel % 8));
            }
        }
    }
    line
}

fn encode_png(size: u32, image: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, size, size);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    encoder.set_compression(Compression::Fast);
    encoder.write_header().ok()?.write_image_data(image).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_too_small_for_its_url_is_refused_with_a_size_that_is_enough() {
        let url = format!("https://example.com/{}", "x".repeat(1000));
        let mut order = Order { url: &url, size: 200, format: Format::Png };
        let fault = draw(&order).err().unwrap();
        assert_eq!(fault.code, "too-small-for-url");
        order.size = fault.message.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
        assert!(draw(&order).is_ok(), "{}", fault.message);
        order.size -= 1;
        assert!(draw(&order).is_err());
    }

    #[test]
    fn a_url_that_fits_only_without_much_correction_is_drawn_all_the_same() {
        let url = format!("x:{}", "y".repeat(2951));
        assert!(matches!(draw(&Order { url: &url, size: 64, format: Format::Svg }), Ok(Drawing::Svg(_))));
    }
}
