//! PNG, and APNG: chunks from `IHDR` to `IEND`.

use shared::crc32::crc32;

use super::{Picture, orientation, reader::Reader};

pub(super) const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Chunks without which a picture would look different.
const KEPT: [&[u8; 4]; 18] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT", b"bKGD",
    b"pHYs", b"acTL", b"fcTL", b"fdAT", b"cICP", b"mDCV", b"cLLI",
];

/// Returns the picture; `None` if it is not whole. Checksums stay as they are: a decoder looks at them.
pub(super) fn read(content: &[u8]) -> Option<Picture> {
    let mut reader = Reader(content.strip_prefix(SIGNATURE)?);
    let mut picture = Picture { content: SIGNATURE.to_vec(), ..Picture::default() };
    let (mut has_pixels, mut frames) = (false, 0);
    loop {
        let chunk = reader.0;
        let length = reader.u32()?;
        let (kind, data): ([u8; 4], _) = (reader.array()?, reader.take(length)?);
        reader.take(4)?;
        match &kind {
            b"IHDR" if picture.width == 0 && length == 13 => {
                let mut header = Reader(data);
                (picture.width, picture.height) = (header.u32()?, header.u32()?);
            }
            // A second header, or one of another length, could say another size to a decoder.
            b"IHDR" => return None,
            _ if picture.width == 0 => return None,
            b"IDAT" => has_pixels = true,
            b"fcTL" => frames += 1,
            b"eXIf" => {
                // Written anew, because the chunk may hold the place and the camera beside it.
                let turned = orientation::read(data).map(|orientation| exif(&orientation::exif(orientation)));
                picture.content.extend_from_slice(&turned.unwrap_or_default());
            }
            _ => {}
        }
        if KEPT.contains(&&kind) {
            picture.content.extend_from_slice(chunk.get(..chunk.len() - reader.0.len())?);
        }
        if &kind == b"IEND" {
            // What stands behind the end is not read, and so not kept.
            return (has_pixels && length == 0).then_some(Picture { frames: frames.max(1), ..picture });
        }
    }
}

fn exif(data: &[u8; 26]) -> Vec<u8> {
    let chunk = [b"eXIf", data.as_slice()].concat();
    [&[0, 0, 0, 26], &*chunk, &crc32(&[&chunk]).to_be_bytes()].concat()
}
