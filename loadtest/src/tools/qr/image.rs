//! Rendering of QR codes as an SVG path or as PNG pixels.
//!
//! Why: docs/decisions/pages.md, "The demo tool draws its own QR codes".

use std::fmt::Write as _;

use png::{BitDepth, ColorType, Compression, Encoder};
use qrcode::{Color, EcLevel, QrCode};

use super::request::{FieldError, Format, QrRequest};

/// The quiet zone on every side, in modules (ISO/IEC 18004).
const QUIET_ZONE: usize = 4;
/// The minimum size of a module in pixels. Cameras and screens blur smaller ones.
const MIN_MODULE_PIXELS: usize = 2;

/// A rendered QR code.
pub(super) enum QrImage {
    Svg(String),
    Png(Vec<u8>),
}

/// Renders a QR code with error correction level M, or L if the URL does not fit otherwise.
///
/// # Errors
/// Returns an error that contains the minimum size if a PNG of the requested size is too small for
/// the URL.
pub(super) fn render(request: &QrRequest<'_>) -> Result<QrImage, FieldError> {
    let codes =
        || [EcLevel::M, EcLevel::L].into_iter().filter_map(|level| Modules::encode(request.url, level));
    let image = match request.format {
        Format::Svg => codes().next().map(|modules| QrImage::Svg(modules.svg(request.size))),
        Format::Png => codes().find_map(|modules| modules.png(request.size)).map(QrImage::Png),
    };
    image.ok_or_else(|| {
        let minimum = codes().map(|modules| modules.min_png_size()).min().unwrap_or_default();
        let message = format!(
            "size {} is too small for this URL: expected at least {minimum}, or format svg",
            request.size
        );
        FieldError { field: "size", code: "too-small-for-url", message }
    })
}

/// The dark and light modules of a QR code.
struct Modules {
    side: usize,
    colors: Vec<Color>,
}

impl Modules {
    /// Encodes a URL. Returns `None` if it does not fit.
    fn encode(url: &str, level: EcLevel) -> Option<Self> {
        let code = QrCode::with_error_correction_level(url, level).ok()?;
        Some(Self { side: code.width(), colors: code.into_colors() })
    }

    fn rows(&self) -> impl Iterator<Item = &[Color]> {
        self.colors.chunks(self.side)
    }

    /// Returns the side of the image in modules, quiet zone included.
    const fn full_side(&self) -> usize {
        self.side + 2 * QUIET_ZONE
    }

    /// Returns the minimum size of a PNG in pixels.
    const fn min_png_size(&self) -> usize {
        self.full_side() * MIN_MODULE_PIXELS
    }

    /// Returns an SVG document with one path for all dark modules.
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

    /// Returns a PNG, or `None` if it is too small. Remaining pixels widen the quiet zone.
    fn png(&self, size: u32) -> Option<Vec<u8>> {
        let pixels = usize::try_from(size).ok()?;
        let module = pixels / self.full_side();
        if module < MIN_MODULE_PIXELS {
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

/// Returns the start and length of each run of dark modules.
fn dark_runs(row: &[Color]) -> impl Iterator<Item = (usize, usize)> {
    let mut x = 0;
    row.chunk_by(|left, right| left == right).filter_map(move |run| {
        let start = x;
        x += run.len();
        (run.first() == Some(&Color::Dark)).then_some((start, run.len()))
    })
}

/// Returns one line of pixels, with one bit per pixel and 0 for dark.
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
    fn too_small_png_is_error_with_minimum_size() {
        let url = format!("https://example.com/{}", "x".repeat(1000));
        let mut request = QrRequest { url: &url, size: 200, format: Format::Png };
        let error = render(&request).err().unwrap();
        assert_eq!(error.code, "too-small-for-url");
        let minimum = error.message.split_once("at least ").unwrap().1;
        request.size = minimum.split(',').next().unwrap().parse().unwrap();
        assert!(render(&request).is_ok(), "{}", error.message);
        request.size -= 1;
        assert!(render(&request).is_err());
    }

    #[test]
    fn url_that_fits_only_level_l_is_rendered() {
        let url = format!("x:{}", "y".repeat(2951));
        assert!(matches!(
            render(&QrRequest { url: &url, size: 64, format: Format::Svg }),
            Ok(QrImage::Svg(_))
        ));
    }
}
