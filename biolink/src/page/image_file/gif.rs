//! GIF: blocks up to the trailer.

use super::{Picture, reader::Reader};

pub(super) const SIGNATURES: [&[u8]; 2] = [b"GIF87a", b"GIF89a"];
/// Applications whose blocks say how often an animation repeats.
const REPEATS: [&[u8]; 2] = [b"\x0bNETSCAPE2.0", b"\x0bANIMEXTS1.0"];

/// Returns the picture; `None` if it is not whole.
pub(super) fn read(content: &[u8]) -> Option<Picture> {
    let mut reader = Reader(content);
    reader.take(6)?;
    let (width, height) = (reader.u16_le()?, reader.u16_le()?);
    let flags = reader.u8()?;
    reader.take(2)?;
    colors(&mut reader, flags)?;
    let mut kept = content.get(..content.len() - reader.0.len())?.to_vec();
    let mut frames = 0;
    loop {
        let before = reader.0;
        let is_kept = match reader.u8()? {
            // What stands behind the trailer is no picture, and is left out.
            0x3b if frames > 0 => break,
            0x2c => {
                frames += 1;
                let (left, top) = (reader.u16_le()?, reader.u16_le()?);
                // Browsers would make the picture larger.
                if left + reader.u16_le()? > width || top + reader.u16_le()? > height {
                    return None;
                }
                let flags = reader.u8()?;
                colors(&mut reader, flags)?;
                reader.u8()?;
                true
            }
            0x21 => {
                let label = reader.u8()?;
                // Comments, and applications other than the one that repeats an animation, are left
                // out.
                label == 0xf9 || label == 0xff && REPEATS.iter().any(|known| reader.0.starts_with(known))
            }
            // Padding, which some writers leave between blocks.
            0 => continue,
            _ => return None,
        };
        sub_blocks(&mut reader)?;
        if is_kept {
            kept.extend_from_slice(before.get(..before.len() - reader.0.len())?);
        }
    }
    kept.push(0x3b);
    Some(Picture { width, height, frames, content: kept })
}

/// Skips a table of colors, if the flags say that there is one.
fn colors(reader: &mut Reader<'_>, flags: u8) -> Option<()> {
    let count = if flags & 0x80 == 0 { 0 } else { 2 << (flags & 7) };
    reader.take(3 * count).map(drop)
}

fn sub_blocks(reader: &mut Reader<'_>) -> Option<()> {
    loop {
        match usize::from(reader.u8()?) {
            0 => return Some(()),
            length => drop(reader.take(length)?),
        }
    }
}
