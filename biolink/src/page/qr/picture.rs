//! An uploaded image in the middle of a QR code.
//!
//! Why: docs/decisions/pages.md, "A custom logo is a PNG in PNG and PDF".

use base64::{Engine as _, engine::general_purpose::STANDARD};
use shared::problem::Problem;

use super::{logo::PADDING, options::invalid};
use crate::page::{
    document::Color,
    image_file::{Dimensions, dimensions},
};

/// The largest width and height: more than a code of 2,048 pixels has room for.
const MAX_SIDE: usize = 1_024;
/// The most bytes, which an SVG has a third more of.
const MAX_BYTES: usize = 262_144;

/// An image in its file.
pub(super) struct Picture<'a> {
    content: &'a [u8],
    media_type: &'static str,
    width: usize,
    height: usize,
}

/// The pixels of an image on a background, row by row, three bytes for each.
pub(super) struct Bitmap {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) rgb: Vec<u8>,
}

impl<'a> Picture<'a> {
    /// Reads what a file is.
    ///
    /// # Errors
    /// Returns `fields-invalid` if it is larger than a logo has to be.
    pub(super) fn read(content: &'a [u8]) -> Result<Self, Problem> {
        let Dimensions { media_type, width, height } = dimensions(content)?;
        if width.max(height) > MAX_SIDE || width.min(height) == 0 || content.len() > MAX_BYTES {
            let bytes = content.len();
            return Err(invalid(&format!(
                "the image of `logo` has {width} x {height} pixels in {bytes} bytes; a logo has at most {MAX_SIDE} x {MAX_SIDE} in {MAX_BYTES}"
            )));
        }
        Ok(Self { content, media_type, width, height })
    }

    /// Returns the element of an SVG whose units are modules. `at` is the corner of the cleared square.
    pub(super) fn svg(&self, at: f64, side: f64) -> String {
        let (at, side) = (at + PADDING, side - 2.0 * PADDING);
        let (media_type, content) = (self.media_type, STANDARD.encode(self.content));
        format!(
            r#"<image x="{at}" y="{at}" width="{side}" height="{side}" href="data:{media_type};base64,{content}"/>"#
        )
    }

    /// Returns the place of the image in a square, corner and size, with its own ratio.
    pub(super) fn placed(&self, at: f64, side: f64) -> [f64; 4] {
        let (at, side) = (at + PADDING, side - 2.0 * PADDING);
        let longest = self.width.max(self.height) as f64;
        let (width, height) = (self.width as f64 / longest * side, self.height as f64 / longest * side);
        [at + (side - width) / 2.0, at + (side - height) / 2.0, width, height]
    }

    /// Returns the largest width and height of the image in a square of `side` pixels.
    pub(super) fn fitted(&self, side: usize) -> (usize, usize) {
        let longest = self.width.max(self.height).max(1);
        [self.width, self.height].map(|length| (length * side / longest).max(1)).into()
    }

    /// Returns the pixels over a background.
    ///
    /// # Errors
    /// Returns `fields-invalid` for an image that is no PNG, or a damaged one.
    pub(super) fn bitmap(&self, bg: Color) -> Result<Bitmap, Problem> {
        if self.media_type != "image/png" {
            let media_type = self.media_type;
            return Err(invalid(&format!(
                "the image of `logo` is {media_type}; qr.png and qr.pdf take image/png, and qr.svg takes all"
            )));
        }
        let (width, height) = (self.width, self.height);
        let rgba = self.decode().ok_or_else(|| invalid("the image of `logo` is damaged"))?;
        let mut rgb = Vec::with_capacity(width * height * 3);
        for pixel in rgba.as_chunks().0 {
            let [r, g, b, alpha] = *pixel;
            let over = |top: u8, below: u8| {
                let sum = u32::from(top) * u32::from(alpha) + u32::from(below) * (255 - u32::from(alpha));
                u8::try_from((sum + 127) / 255).unwrap_or(u8::MAX)
            };
            rgb.extend([over(r, bg.r), over(g, bg.g), over(b, bg.b)]);
        }
        Ok(Bitmap { width, height, rgb })
    }

    /// Returns the first frame, four bytes for each pixel.
    fn decode(&self) -> Option<Vec<u8>> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(self.content));
        decoder
            .set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
        let mut reader = decoder.read_info().ok()?;
        let mut pixels =
            vec![0; reader.output_buffer_size().filter(|size| *size <= MAX_SIDE * MAX_SIDE * 4)?];
        let info = reader.next_frame(&mut pixels).ok()?;
        Some(match info.color_type {
            png::ColorType::GrayscaleAlpha => {
                pixels.as_chunks().0.iter().flat_map(|[grey, alpha]| [*grey, *grey, *grey, *alpha]).collect()
            }
            _ => pixels,
        })
    }
}

impl Bitmap {
    /// Returns the image with another size: each pixel is the average of what it covers.
    pub(super) fn scaled(&self, width: usize, height: usize) -> Self {
        let covered = |at: usize, sides: (usize, usize)| {
            let from = at * sides.0 / sides.1;
            from..((at + 1) * sides.0 / sides.1).max(from + 1)
        };
        let mut rgb = Vec::with_capacity(width * height * 3);
        for y in 0..height {
            for x in 0..width {
                let (mut sum, mut count) = ([0; 3], 0);
                for row in covered(y, (self.height, height)) {
                    for column in covered(x, (self.width, width)) {
                        let pixel = self.rgb.get((row * self.width + column) * 3..).unwrap_or_default();
                        sum.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u32::from(*value));
                        count += 1;
                    }
                }
                rgb.extend(sum.map(|sum| u8::try_from(sum / count).unwrap_or(u8::MAX)));
            }
        }
        Self { width, height, rgb }
    }
}
