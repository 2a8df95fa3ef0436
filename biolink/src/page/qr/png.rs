//! A PNG (W3C Recommendation, third edition) of two colors, or of those of an image. `png` writes all of the format,
//! which costs the worker more than what is needed here: three chunks around what `fdeflate` compresses.

use shared::crc32::crc32;

use super::picture::Bitmap;
use crate::page::document::Color;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// One bit per pixel, an index into the palette.
const PALETTE: [u8; 5] = [1, 3, 0, 0, 0];
/// Three bytes per pixel.
const TRUE_COLOR: [u8; 5] = [8, 2, 0, 0, 0];
/// A line as it is.
const FILTER_NONE: u8 = 0;
/// A line as its difference to the one above.
const FILTER_UP: u8 = 2;

/// Returns a square of `size` pixels. A line comes with the number of times that it is repeated.
pub(super) fn encode(
    size: u16,
    palette: [Color; 2],
    lines: impl Iterator<Item = (Vec<u8>, usize)>,
) -> Vec<u8> {
    let mut pixels = Vec::with_capacity(usize::from(size) * (usize::from(size).div_ceil(8) + 1));
    for (line, times) in lines.filter(|(_, times)| *times > 0) {
        pixels.push(FILTER_NONE);
        pixels.extend_from_slice(&line);
        for _repeated in 1..times {
            // The difference from the line above is all zeros, which compress to almost nothing.
            pixels.push(FILTER_UP);
            pixels.resize(pixels.len() + line.len(), 0);
        }
    }
    let palette = palette.map(|color| [color.r, color.g, color.b]);
    file(size, PALETTE, palette.as_flattened(), &pixels)
}

/// Returns a square of `size` pixels of two colors, one line at a time, with an image at a place of it.
pub(super) fn encode_with(
    size: u16,
    palette: [Color; 2],
    lines: Vec<(Vec<u8>, usize)>,
    (left, top): (usize, usize),
    image: &Bitmap,
) -> Vec<u8> {
    let [light, dark] = palette.map(|color| [color.r, color.g, color.b]);
    let length = usize::from(size) * 3;
    let mut pixels = Vec::with_capacity(usize::from(size) * (length + 1));
    let mut above: Option<Vec<u8>> = None;
    let shown = image.rgb.chunks(image.width * 3);
    let mut shown = std::iter::repeat_n(None, top).chain(shown.map(Some));
    for (line, _) in lines {
        let over = shown.next().flatten();
        if over.is_none() && above.as_ref() == Some(&line) {
            pixels.push(FILTER_UP);
            pixels.resize(pixels.len() + length, 0);
            continue;
        }
        pixels.push(FILTER_NONE);
        let start = pixels.len();
        let bits = line.iter().flat_map(|byte| (0..8).map(move |bit| byte & 0x80 >> bit != 0));
        pixels.extend(bits.take(usize::from(size)).flat_map(|is_dark| if is_dark { dark } else { light }));
        let place = pixels.get_mut(start + left * 3..).unwrap_or_default();
        place.iter_mut().zip(over.unwrap_or_default()).for_each(|(below, over)| *below = *over);
        above = over.is_none().then_some(line);
    }
    file(size, TRUE_COLOR, &[], &pixels)
}

fn file(size: u16, form: [u8; 5], palette: &[u8], pixels: &[u8]) -> Vec<u8> {
    let side = u32::from(size).to_be_bytes();
    let mut png = SIGNATURE.to_vec();
    chunk(&mut png, *b"IHDR", &[&side[..], &side, &form].concat());
    if !palette.is_empty() {
        chunk(&mut png, *b"PLTE", palette);
    }
    chunk(&mut png, *b"IDAT", &fdeflate::compress_to_vec(pixels));
    chunk(&mut png, *b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    png.extend_from_slice(&length.to_be_bytes());
    png.extend_from_slice(&kind);
    png.extend_from_slice(data);
    png.extend_from_slice(&crc32(&[&kind, data]).to_be_bytes());
}
