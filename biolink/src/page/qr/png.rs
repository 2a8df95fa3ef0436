//! A PNG (W3C Recommendation, third edition) of two colors. `png` writes all of the format, which
//! costs the worker more than what is needed here: three chunks around what `fdeflate` compresses.

use crate::page::document::Color;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// One bit per pixel, an index into the palette.
const DEPTH_AND_TYPE: [u8; 5] = [1, 3, 0, 0, 0];
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
            pixels.push(FILTER_UP);
            pixels.resize(pixels.len() + line.len(), 0);
        }
    }
    let side = u32::from(size).to_be_bytes();
    let palette = palette.map(|color| [color.r, color.g, color.b]);
    let mut png = SIGNATURE.to_vec();
    chunk(&mut png, *b"IHDR", &[&side[..], &side, &DEPTH_AND_TYPE].concat());
    chunk(&mut png, *b"PLTE", palette.as_flattened());
    chunk(&mut png, *b"IDAT", &fdeflate::compress_to_vec(&pixels));
    chunk(&mut png, *b"IEND", &[]);
    png
}

fn chunk(png: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let mut crc = crc32fast::Hasher::new();
    crc.update(&kind);
    crc.update(data);
    png.extend_from_slice(&length.to_be_bytes());
    png.extend_from_slice(&kind);
    png.extend_from_slice(data);
    png.extend_from_slice(&crc.finalize().to_be_bytes());
}
