//! JPEG: segments with scans between them, from `SOI` to the first `EOI`. What stands behind it, the second picture
//! of a phone for instance, has its own metadata and is left out.

use super::{Picture, orientation, reader::Reader};

pub(super) const SIGNATURE: &[u8] = b"\xff\xd8\xff";
/// The most scans. Each may cover all pixels, so many make a small file slow to show.
const MAX_SCANS: usize = 100;
/// Bytes of a JFIF header without its thumbnail.
const JFIF: usize = 12;

/// Returns the picture; `None` if it is not whole.
pub(super) fn read(content: &[u8]) -> Option<Picture> {
    let mut reader = Reader(content.strip_prefix(b"\xff\xd8")?);
    let mut picture = Picture { content: b"\xff\xd8".to_vec(), frames: 1, ..Picture::default() };
    let (mut scans, mut is_turned) = (0, false);
    loop {
        let marker = marker(&mut reader)?;
        if marker == 0xd9 {
            picture.content.extend_from_slice(b"\xff\xd9");
            return (scans > 0).then_some(picture);
        }
        // Without a length, and never between segments.
        if matches!(marker, 0x00 | 0x01 | 0xd0..=0xd8) {
            return None;
        }
        let length = reader.u16()?.checked_sub(2)?;
        let data = reader.take(length)?;
        match marker {
            // SOF
            // The first frame only: a second size would pass the check of the first.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf if picture.width == 0 => {
                let mut frame = Reader(data.get(1..)?);
                (picture.height, picture.width) = (frame.u16()?, frame.u16()?);
                push(&mut picture.content, marker, &[data])?;
            }
            // SOS
            // Each scan of a progressive picture passes over all of it, in a few bytes.
            0xda if picture.width > 0 && scans < MAX_SCANS => {
                scans += 1;
                push(&mut picture.content, marker, &[data])?;
                picture.content.extend_from_slice(reader.take(scan_length(reader.0)?)?);
            }
            // DHT, DAC, DQT, DNL, DRI
            0xc4 | 0xcc | 0xdb..=0xdd => push(&mut picture.content, marker, &[data])?,
            0xe0 if data.starts_with(b"JFIF\0") => {
                // Without the preview, which may show what was cut off.
                push(&mut picture.content, marker, &[data.get(..JFIF)?, &[0, 0]])?;
            }
            // Two would turn the picture twice in some programs, and not at all in others.
            0xe1 if data.starts_with(orientation::PREFIX) && !is_turned => {
                if let Some(orientation) = orientation::read(data) {
                    is_turned = true;
                    let exif = orientation::exif(orientation);
                    push(&mut picture.content, marker, &[orientation::PREFIX, &exif])?;
                }
            }
            // The colors would be others without these two.
            0xe2 if data.starts_with(b"ICC_PROFILE\0") => push(&mut picture.content, marker, &[data])?,
            0xee if data.starts_with(b"Adobe") => {
                push(&mut picture.content, marker, &[data.get(..12)?])?;
            }
            // All other segments of applications and comments are left out.
            0xe0..=0xef | 0xfe => {}
            _ => return None,
        }
    }
}

/// Returns the next marker. Decoders skip what stands before it.
fn marker(reader: &mut Reader<'_>) -> Option<u8> {
    let at = reader.0.iter().position(|byte| *byte == 0xff)?;
    reader.take(at)?;
    // Any number of 0xFF may come before a marker (ITU-T T.81, section B.1.1.2).
    let fill = reader.0.iter().position(|byte| *byte != 0xff)?;
    reader.take(fill)?;
    reader.u8()
}

/// Returns the length of the scan at the beginning: up to a marker that ends a scan.
fn scan_length(bytes: &[u8]) -> Option<usize> {
    // Within a scan, 0xFF is followed by 0 for itself, or by a restart marker (ITU-T T.81, section
    // B.1.1.5).
    bytes.windows(2).position(|pair| matches!(pair, [0xff, 0x01..=0xcf | 0xd8..=0xfe]))
}

fn push(content: &mut Vec<u8>, marker: u8, data: &[&[u8]]) -> Option<()> {
    let length: usize = data.iter().map(|part| part.len()).sum();
    content.extend_from_slice(&[0xff, marker]);
    content.extend_from_slice(&u16::try_from(length.checked_add(2)?).ok()?.to_be_bytes());
    data.iter().for_each(|part| content.extend_from_slice(part));
    Some(())
}
