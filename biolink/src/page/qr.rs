//! The QR code of a page, as SVG, PNG and PDF.

mod options;
mod pdf;
mod png;

use std::fmt::Write as _;

use qrcode::{Color as Module, EcLevel, QrCode};

pub use options::{Correction, QrOptions};

use crate::{codes, page::document::Color};
use shared::{problem::Problem, response::Response};

/// The least size of a module in pixels. Cameras and screens blur smaller ones.
const MIN_MODULE: usize = 2;

/// Returns the code of an address as an SVG with one path.
///
/// # Errors
/// Returns `fields-invalid` if the address is too long for a code.
pub fn qr_svg(address: &str, options: &QrOptions) -> Result<Response, Problem> {
    let modules = Modules::encode(address, options)?;
    let response = Response::public("image/svg+xml", modules.svg(options));
    Ok(response
        .with_headers([("content-security-policy", "default-src 'none'"), ("x-robots-tag", "noindex")]))
}

/// Returns the code of an address as a PNG with two colors.
///
/// # Errors
/// Returns `fields-invalid` if the address is too long for a code, or the size too small for it.
pub fn qr_png(address: &str, options: &QrOptions) -> Result<Response<Vec<u8>>, Problem> {
    let modules = Modules::encode(address, options)?;
    let response = Response::public("image/png", modules.png(options)?);
    Ok(response.with_headers([("x-robots-tag", "noindex")]))
}

/// Returns the code of an address as a PDF of one page, for printers. `size` is its side in points.
///
/// # Errors
/// Returns `fields-invalid` if the address is too long for a code.
pub fn qr_pdf(address: &str, options: &QrOptions) -> Result<Response<Vec<u8>>, Problem> {
    let modules = Modules::encode(address, options)?;
    let response = Response::public("application/pdf", pdf::encode(options.size, &modules.drawing(options)));
    Ok(response.with_headers([("x-robots-tag", "noindex")]))
}

/// The dark and light modules of a code.
struct Modules {
    side: usize,
    colors: Vec<Module>,
}

impl Modules {
    fn encode(address: &str, options: &QrOptions) -> Result<Self, Problem> {
        let level = match options.correction {
            Correction::L => EcLevel::L,
            Correction::M => EcLevel::M,
            Correction::Q => EcLevel::Q,
            Correction::H => EcLevel::H,
        };
        let code = QrCode::with_error_correction_level(address, level)
            .map_err(|_| invalid("the address is too long for a QR code with this `ecc`"))?;
        Ok(Self { side: code.width(), colors: code.into_colors() })
    }

    fn rows(&self) -> impl Iterator<Item = &[Module]> {
        self.colors.chunks(self.side)
    }

    /// Returns the side of the image in modules, margin included.
    fn full_side(&self, options: &QrOptions) -> usize {
        self.side + 2 * usize::from(options.margin)
    }

    fn svg(&self, options: &QrOptions) -> String {
        let QrOptions { size, margin, fg, bg, .. } = *options;
        let (side, margin) = (self.full_side(options), usize::from(margin));
        let mut path = String::with_capacity(self.colors.len() * 4);
        for (y, row) in self.rows().enumerate() {
            for (x, length) in dark_runs(row) {
                // Writing to a `String` cannot fail.
                let _written = write!(path, "M{},{}h{length}v1h-{length}z", x + margin, y + margin);
            }
        }
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {side} {side}" shape-rendering="crispEdges"><rect width="{side}" height="{side}" fill="{bg}"/><path fill="{fg}" d="{path}"/></svg>"#
        )
    }

    /// Returns the operators of a PDF page that draw the code, whose origin is below it.
    fn drawing(&self, options: &QrOptions) -> String {
        let QrOptions { size, margin, fg, bg, .. } = *options;
        let (side, margin) = (self.full_side(options), usize::from(margin));
        let scale = f64::from(size) / side as f64;
        let color = |color: Color| {
            [color.r, color.g, color.b].map(|value| format!("{:.4} ", f64::from(value) / 255.0)).concat()
        };
        let mut drawing = format!(
            "{}rg 0 0 {size} {size} re f\n{}rg {scale:.5} 0 0 {scale:.5} 0 0 cm\n",
            color(bg),
            color(fg)
        );
        for (y, row) in self.rows().enumerate() {
            for (x, length) in dark_runs(row) {
                // Writing to a `String` cannot fail.
                let _written = writeln!(drawing, "{} {} {length} 1 re", x + margin, side - margin - y - 1);
            }
        }
        drawing.push_str("f\n");
        drawing
    }

    /// Each module is the same number of pixels; what is left widens the margin.
    fn png(&self, options: &QrOptions) -> Result<Vec<u8>, Problem> {
        let (pixels, side) = (usize::from(options.size), self.full_side(options));
        let module = pixels / side;
        if module < MIN_MODULE {
            let least = side * MIN_MODULE;
            return Err(invalid(&format!("`size` is {pixels}, and this code needs at least {least}")));
        }
        let margin = (pixels - self.side * module) / 2;
        let light = vec![0; pixels.div_ceil(8)];
        let dark = |row| {
            let mut line = light.clone();
            for (x, length) in dark_runs(row) {
                for pixel in margin + x * module..margin + (x + length) * module {
                    if let Some(byte) = line.get_mut(pixel / 8) {
                        *byte |= 0x80 >> (pixel % 8);
                    }
                }
            }
            line
        };
        let below = pixels - margin - self.side * module;
        let code = self.rows().map(|row| (dark(row), module));
        let lines = std::iter::once((light.clone(), margin)).chain(code).chain([(light.clone(), below)]);
        Ok(png::encode(options.size, [options.bg, options.fg], lines))
    }
}

/// Returns the start and length of each run of dark modules.
fn dark_runs(row: &[Module]) -> impl Iterator<Item = (usize, usize)> {
    let mut x = 0;
    row.chunk_by(|left, right| left == right).filter_map(move |run| {
        let start = x;
        x += run.len();
        (run.first() == Some(&Module::Dark)).then_some((start, run.len()))
    })
}

fn invalid(detail: &str) -> Problem {
    Problem::new(codes::FIELDS_INVALID, detail.to_owned())
}

#[cfg(test)]
mod tests;
