//! WebP: chunks of a RIFF file, whose length its header says.

use super::{Picture, orientation, reader::Reader};

/// Chunks without which a picture would look different.
const KEPT: [&[u8; 4]; 7] = [b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF", b"ICCP"];
/// Flags of `VP8X`.
const HAS_EXIF: u8 = 8;
const HAS_XMP: u8 = 4;

pub(super) fn is_webp(content: &[u8]) -> bool {
    content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP")
}

/// Returns the picture; `None` if it is not whole.
pub(super) fn read(content: &[u8]) -> Option<Picture> {
    let length = Reader(content.get(4..)?).u32_le()?;
    // By the length in the header: what follows the file is left out.
    let mut reader = Reader(content.get(12..length.checked_add(8)?)?);
    let (mut kept, mut canvas, mut still, mut turned) = (Vec::new(), None, None, None);
    let mut frames = 0;
    while !reader.0.is_empty() {
        let kind: [u8; 4] = reader.array()?;
        let length = reader.u32_le()?;
        let data = reader.take(length)?;
        // Some writers leave out the padding of the last chunk.
        reader.take((length % 2).min(reader.0.len()))?;
        match &kind {
            b"VP8X" => canvas = Some(canvas_size(data)?),
            b"VP8 " => still = Some(lossy_size(data)?),
            b"VP8L" => still = Some(lossless_size(data)?),
            b"ANMF" => frames += 1,
            b"EXIF" => turned = orientation::read(data),
            _ => {}
        }
        if KEPT.contains(&&kind) {
            kept.push((kind, data));
        }
    }
    // A decoder goes by either.
    let is_contradicted = matches!((canvas, still), (Some(canvas), Some(still)) if canvas != still);
    if is_contradicted || (frames == 0) != still.is_some() {
        return None;
    }
    let (width, height) = canvas.or(still)?;
    Some(Picture { width, height, frames: frames.max(1), content: write(&kept, turned)? })
}

fn write(chunks: &[([u8; 4], &[u8])], turned: Option<u8>) -> Option<Vec<u8>> {
    // Only a file with `VP8X` has more than pixels.
    let turned = turned.filter(|_| chunks.first().is_some_and(|(kind, _)| kind == b"VP8X"));
    let mut body = b"WEBP".to_vec();
    for (kind, data) in chunks {
        match (kind, data.split_first()) {
            (b"VP8X", Some((flags, rest))) => {
                let exif = if turned.is_some() { HAS_EXIF } else { 0 };
                // The flags must say what the file has, or decoders look for a chunk that is gone.
                push(&mut body, kind, &[&[flags & !(HAS_EXIF | HAS_XMP) | exif], rest].concat())?;
            }
            _ => push(&mut body, kind, data)?,
        }
    }
    if let Some(orientation) = turned {
        push(&mut body, b"EXIF", &orientation::exif(orientation))?;
    }
    let mut content = Vec::with_capacity(body.len() + 8);
    push(&mut content, b"RIFF", &body)?;
    Some(content)
}

fn push(content: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) -> Option<()> {
    content.extend_from_slice(kind);
    content.extend_from_slice(&u32::try_from(data.len()).ok()?.to_le_bytes());
    content.extend_from_slice(data);
    if !data.len().is_multiple_of(2) {
        content.push(0);
    }
    Some(())
}

fn canvas_size(data: &[u8]) -> Option<(usize, usize)> {
    let mut reader = Reader(data.get(4..)?);
    Some((reader.u24_le()? + 1, reader.u24_le()? + 1))
}

fn lossy_size(data: &[u8]) -> Option<(usize, usize)> {
    let mut reader = Reader(data.get(3..)?.strip_prefix(b"\x9d\x01\x2a")?);
    // The upper two bits are a hint for scaling (RFC 6386, section 9.1).
    Some((reader.u16_le()? & 0x3fff, reader.u16_le()? & 0x3fff))
}

fn lossless_size(data: &[u8]) -> Option<(usize, usize)> {
    let bits = Reader(data.strip_prefix(b"\x2f")?).u32_le()?;
    Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
}
