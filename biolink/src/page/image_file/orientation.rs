//! How a picture is to be turned: the one value of Exif that is kept, or photos of phones would lie on their side.

use super::reader::Reader;

const TAG: usize = 0x0112;
const SHORT: usize = 3;
/// What some writers have before the data, as in JPEG.
pub(super) const PREFIX: &[u8] = b"Exif\0\0";

/// Returns the orientation that Exif data have, if it is not the usual one.
pub(super) fn read(exif: &[u8]) -> Option<u8> {
    let exif = exif.strip_prefix(PREFIX).unwrap_or(exif);
    let mut reader = Reader(exif);
    let is_little = match reader.take(4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let at = if is_little { reader.u32_le()? } else { reader.u32()? };
    let mut directory = Reader(exif.get(at..)?);
    let short = |reader: &mut Reader<'_>| if is_little { reader.u16_le() } else { reader.u16() };
    for _ in 0..short(&mut directory)? {
        let mut entry = Reader(directory.take(12)?);
        if short(&mut entry)? == TAG && short(&mut entry)? == SHORT {
            entry.take(4)?;
            return short(&mut entry)
                .and_then(|value| u8::try_from(value).ok())
                // 1 is upright, and anything else is not defined.
                .filter(|it| (2..=8).contains(it));
        }
    }
    None
}

/// Returns Exif data with nothing but an orientation.
pub(super) const fn exif(orientation: u8) -> [u8; 26] {
    let mut exif = *b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0\0\0\0\0";
    exif[19] = orientation;
    exif
}
