//! AVIF: boxes that refer to each other by their place in the file. So nothing is cut out: what is not the
//! picture's becomes free space, and a file whose picture has metadata as an item is refused.

use std::ops::Range;

use super::{Picture, reader::Reader};

/// Boxes of the picture, at the top and in `meta`.
const KEPT: [&[u8; 4]; 3] = [b"ftyp", b"meta", b"mdat"];
const KEPT_IN_META: [&[u8; 4]; 8] = [b"hdlr", b"pitm", b"iloc", b"iinf", b"iprp", b"iref", b"idat", b"grpl"];

/// A file that is not taken.
pub(super) enum Refused {
    NotWhole,
    Animated,
    Metadata,
}

/// A box: its kind, and where its content is.
type Part = ([u8; 4], Range<usize>);

pub(super) fn is_avif(content: &[u8]) -> bool {
    let brands = content.get(8..).filter(|_| content.get(4..8) == Some(b"ftyp"));
    brands.is_some_and(|brands| brands.starts_with(b"avif") || brands.starts_with(b"avis"))
}

/// Returns the picture.
///
/// # Errors
/// Returns why it is not taken.
pub(super) fn read(content: &[u8]) -> Result<Picture, Refused> {
    let parts = parts(content, 0..content.len()).ok_or(Refused::NotWhole)?;
    let find = |kind: &[u8; 4]| parts.iter().find(|(own, _)| own == kind).map(|(_, range)| range.clone());
    // A sequence has its frames in tracks, which these bounds do not see.
    if find(b"moov").is_some() {
        return Err(Refused::Animated);
    }
    // The first four bytes of `meta` are its version.
    let meta = find(b"meta").and_then(|meta| self::parts(content, meta.start.checked_add(4)?..meta.end));
    let meta = meta.ok_or(Refused::NotWhole)?;
    let inner = |kind: &[u8; 4]| meta.iter().find(|(own, _)| own == kind).map(|(_, range)| range.clone());
    let items = inner(b"iinf").and_then(|range| item_types(content, range)).ok_or(Refused::NotWhole)?;
    if items.iter().any(|kind| matches!(kind, b"Exif" | b"mime" | b"uri ")) {
        return Err(Refused::Metadata);
    }
    let size = inner(b"iprp").and_then(|range| size(content, range)).ok_or(Refused::NotWhole)?;
    let has_pixels = [find(b"mdat"), inner(b"idat")].into_iter().flatten().any(|range| !range.is_empty());
    if !has_pixels {
        return Err(Refused::NotWhole);
    }
    let mut kept = content.to_vec();
    let strange = parts.iter().filter(|(kind, _)| !KEPT.contains(&kind));
    for (_, range) in strange.chain(meta.iter().filter(|(kind, _)| !KEPT_IN_META.contains(&kind))) {
        blank(&mut kept, range.clone()).ok_or(Refused::NotWhole)?;
    }
    Ok(Picture { width: size.0, height: size.1, frames: 1, content: kept })
}

/// Makes a box free space of the same length.
fn blank(content: &mut [u8], range: Range<usize>) -> Option<()> {
    // The length stays: `iloc` names places in the file, which would move.
    content.get_mut(range.start.checked_sub(4)?..range.start)?.copy_from_slice(b"free");
    content.get_mut(range)?.fill(0);
    Some(())
}

/// Returns the boxes of a part of the file, which they fill.
fn parts(content: &[u8], range: Range<usize>) -> Option<Vec<Part>> {
    let (mut parts, mut at) = (Vec::new(), range.start);
    while at < range.end {
        let mut header = Reader(content.get(at..range.end)?);
        let (length, kind) = (header.u32()?, header.array()?);
        // Without a length it is the last one. A length beyond 4 GiB is of no file this small.
        let length = if length == 0 { range.end - at } else { length };
        let end = at.checked_add(length).filter(|end| length >= 8 && *end <= range.end)?;
        parts.push((kind, at + 8..end));
        at = end;
    }
    Some(parts)
}

fn item_types(content: &[u8], range: Range<usize>) -> Option<Vec<[u8; 4]>> {
    let version = *content.get(range.start)?;
    // The number of entries has two bytes in version 0 and four above (ISO/IEC 14496-12, `iinf`).
    let entries = range.start.checked_add(if version == 0 { 6 } else { 8 })?;
    let entries = parts(content, entries..range.end)?.into_iter().map(|(_, entry)| {
        let mut reader = Reader(content.get(entry)?);
        let id = if reader.u32()? >> 24 < 3 { 2 } else { 4 };
        reader.take(id + 2)?;
        reader.array()
    });
    entries.collect()
}

/// Returns the size of the largest picture: a grid is larger than its tiles.
fn size(content: &[u8], range: Range<usize>) -> Option<(usize, usize)> {
    let properties = parts(content, range)?.into_iter().find(|(kind, _)| kind == b"ipco")?.1;
    let sizes =
        parts(content, properties)?.into_iter().filter(|(kind, _)| kind == b"ispe").map(|(_, range)| {
            let mut reader = Reader(content.get(range)?);
            reader.take(4)?;
            Some((reader.u32()?, reader.u32()?))
        });
    let sizes: Option<Vec<_>> = sizes.collect();
    // A file has a size for each item: the picture, its alpha plane and its preview.
    sizes?.into_iter().max_by_key(|(width, height)| width.saturating_mul(*height))
}
