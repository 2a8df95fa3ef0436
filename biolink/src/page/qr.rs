//! The QR code of a page, as SVG, PNG and PDF.

mod logo;
mod options;
mod pdf;
mod picture;
mod png;

use std::fmt::Write as _;

use qrcode::{Color as Module, EcLevel, QrCode};

use logo::Icon;
use options::invalid;
pub use options::{Correction, LogoName, QrOptions};
use picture::Picture;

use crate::page::document::Color;
use shared::{problem::Problem, response::Response};

/// The least size of a module in pixels. Cameras and screens blur smaller ones.
const MIN_MODULE: usize = 2;

/// Returns the code of an address as an SVG with one path, and the logo. `image` is the file of
/// [`LogoName::Image`].
///
/// # Errors
/// Returns `fields-invalid` if the address is too long for a code, and for a logo that cannot be shown.
pub fn qr_svg(address: &str, options: &QrOptions, image: Option<&[u8]>) -> Result<Response, Problem> {
    let modules = Modules::encode(address, options, image)?;
    let response = Response::public("image/svg+xml", modules.svg(options));
    // An SVG that is opened by itself is a document.
    let policy = ("content-security-policy", "default-src 'none'; img-src data:");
    Ok(response.with_headers([policy, ("x-robots-tag", "noindex")]))
}

/// Returns the code of an address as a PNG: with two colors, unless an image is in it.
///
/// # Errors
/// Returns `fields-invalid` if the address is too long for a code, or the size too small for it, and for a logo that
/// cannot be shown.
pub fn qr_png(
    address: &str,
    options: &QrOptions,
    image: Option<&[u8]>,
) -> Result<Response<Vec<u8>>, Problem> {
    let modules = Modules::encode(address, options, image)?;
    let response = Response::public("image/png", modules.png(options)?);
    Ok(response.with_headers([("x-robots-tag", "noindex")]))
}

/// Returns the code of an address as a PDF of one page, for printers. `size` is its side in points.
///
/// # Errors
/// Returns `fields-invalid` if the address is too long for a code, and for a logo that cannot be shown.
pub fn qr_pdf(
    address: &str,
    options: &QrOptions,
    image: Option<&[u8]>,
) -> Result<Response<Vec<u8>>, Problem> {
    let modules = Modules::encode(address, options, image)?;
    let bitmap = match &modules.logo {
        Some((Logo::Picture(picture), _)) => Some(picture.bitmap(options.bg)?),
        _ => None,
    };
    let drawing = modules.drawing(options);
    let response = Response::public("application/pdf", pdf::encode(options.size, &drawing, bitmap.as_ref()));
    Ok(response.with_headers([("x-robots-tag", "noindex")]))
}

/// The dark and light modules of a code.
struct Modules<'a> {
    side: usize,
    colors: Vec<Module>,
    /// The logo, and the modules of the square in the middle that is cleared for it.
    logo: Option<(Logo<'a>, usize)>,
}

enum Logo<'a> {
    Icon(Icon),
    Picture(Picture<'a>),
}

impl<'a> Modules<'a> {
    fn encode(address: &str, options: &QrOptions, image: Option<&'a [u8]>) -> Result<Self, Problem> {
        let level = match options.correction {
            Correction::L => EcLevel::L,
            Correction::M => EcLevel::M,
            Correction::Q => EcLevel::Q,
            Correction::H => EcLevel::H,
        };
        let code = QrCode::with_error_correction_level(address, level)
            .map_err(|_| invalid("the address is too long for a QR code with this `ecc`"))?;
        let modules = Self { side: code.width(), colors: code.into_colors(), logo: None };
        match options.logo {
            None => Ok(modules),
            Some(LogoName::Site(platform)) => {
                let expected = format!("`logo` is {}, which has no icon that may be used", platform.as_str());
                Ok(modules.with(Logo::Icon(Icon::of(platform).ok_or_else(|| invalid(&expected))?)))
            }
            Some(LogoName::Image(id)) => {
                let expected = format!("`logo` is {id}, which is no image of this page's account");
                let content = image.ok_or_else(|| invalid(&expected))?;
                Ok(modules.with(Logo::Picture(Picture::read(content)?)))
            }
        }
    }

    /// Returns the modules with a logo in a light square in the middle.
    fn with(mut self, logo: Logo<'a>) -> Self {
        let side = logo::side(self.side);
        let cleared = (self.side - side) / 2..(self.side + side) / 2;
        for (y, row) in self.colors.chunks_mut(self.side).enumerate() {
            if cleared.contains(&y) {
                row.iter_mut()
                    .enumerate()
                    .filter(|(x, _)| cleared.contains(x))
                    .for_each(|(_, it)| *it = Module::Light);
            }
        }
        Self { logo: Some((logo, side)), ..self }
    }

    /// Returns the corner of the square of a logo of this many modules.
    fn corner(&self, side: usize, margin: usize) -> usize {
        margin + (self.side - side) / 2
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
        let logo = self.logo.as_ref().map(|(logo, modules)| {
            let (at, side) = (self.corner(*modules, margin) as f64, *modules as f64);
            match logo {
                Logo::Icon(icon) => icon.svg(at, side, &fg.to_string()),
                Logo::Picture(picture) => picture.svg(at, side),
            }
        });
        let logo = logo.unwrap_or_default();
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {side} {side}" shape-rendering="crispEdges"><rect width="{side}" height="{side}" fill="{bg}"/><path fill="{fg}" d="{path}"/>{logo}</svg>"#
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
        if let Some((logo, modules)) = &self.logo {
            let (at, height) = (self.corner(*modules, margin) as f64, side as f64);
            drawing += &match logo {
                Logo::Icon(icon) => icon.pdf(at, *modules as f64, height),
                Logo::Picture(picture) => pdf::place(picture.placed(at, *modules as f64), height),
            };
        }
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
        let colors = [options.bg, options.fg];
        let Some((logo, modules)) = &self.logo else { return Ok(png::encode(options.size, colors, lines)) };
        let mut lines: Vec<_> = lines.flat_map(|(line, times)| vec![(line, 1); times]).collect();
        let pixels = |modules: usize| u16::try_from(modules * module).unwrap_or(u16::MAX);
        let corner = margin + (self.side - modules) / 2 * module;
        let icon = match logo {
            Logo::Icon(icon) => icon,
            Logo::Picture(picture) => {
                // The margin is three quarters of a module on each side.
                let square = modules * module;
                let (width, height) = picture.fitted(square - module * 3 / 2);
                let (x, y) = ((square - width) / 2, (square - height) / 2);
                let bitmap = picture.bitmap(options.bg)?.scaled(width, height);
                return Ok(png::encode_with(options.size, colors, lines, (corner + x, corner + y), &bitmap));
            }
        };
        for (row, dark) in icon.pixels(pixels(*modules), pixels(1)).iter().enumerate() {
            let Some((line, _)) = lines.get_mut(corner + row) else { continue };
            for pixel in dark.iter().enumerate().filter(|(_, dark)| **dark).map(|(at, _)| corner + at) {
                if let Some(byte) = line.get_mut(pixel / 8) {
                    *byte |= 0x80 >> (pixel % 8);
                }
            }
        }
        Ok(png::encode(options.size, colors, lines.into_iter()))
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

#[cfg(test)]
mod tests;
