//! What an uploaded file is, by its content, and what of it is kept: the picture, and nothing that its camera or
//! anybody else wrote beside it.
//!
//! Why: docs/decisions/pages.md, "An image is stored without what is not its picture".

mod avif;
mod gif;
mod jpeg;
mod orientation;
mod png;
mod reader;
mod webp;

use serde::{Deserialize, Serialize};
use shared::{headers::Header, key::KeyId, problem::Problem};

use super::ImageId;
use crate::codes;

/// The largest image, in bytes.
pub const MAX_IMAGE_BYTES: usize = 2_097_152;
/// The largest width and height, in pixels. Browsers decode no larger ones everywhere.
const MAX_SIDE: usize = 8_192;
/// The most pixels of all frames together: those of the largest photos of phones. A browser needs four bytes for each.
const MAX_PIXELS: u64 = 50_000_000;
/// The most frames of an animation.
const MAX_FRAMES: usize = 500;
/// The types that a body may be called. The content decides what it is.
pub const IMAGE_TYPES: [&str; 6] =
    ["image/png", "image/jpeg", "image/webp", "image/gif", "image/avif", "application/octet-stream"];

/// An image file: what its bytes say of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFile {
    /// Its id.
    pub id: ImageId,
    /// Its media type.
    #[serde(rename = "type")]
    pub media_type: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Length in bytes.
    pub bytes: u32,
}

/// A whole image.
#[derive(Default)]
struct Picture {
    width: usize,
    height: usize,
    frames: usize,
    /// The file without what is not the picture's.
    content: Vec<u8>,
}

impl ImageFile {
    /// Reads what a file is. Returns it with the bytes that are to be stored.
    ///
    /// # Errors
    /// Returns `fields-invalid` for any other content than a whole PNG, JPEG, WebP, GIF or AVIF image, for one that is
    /// too large to be shown, and for an AVIF image that is animated or has metadata.
    pub fn read(account: &KeyId, content: &[u8]) -> Result<(Self, Vec<u8>), Problem> {
        let (media_type, picture) = read(content)?;
        let Picture { width, height, frames, content } = picture;
        // From the header alone. Nothing is decoded here, so nothing can be made to swell.
        if width == 0 || height == 0 || width.max(height) > MAX_SIDE {
            return Err(refused(format!(
                "the image has {width} x {height} pixels; each side must have 1 to {MAX_SIDE}"
            )));
        }
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        // Together: a small file may unpack to many large frames, and freeze the browsers of
        // visitors.
        let pixels = [width, height, frames].map(|side| u64::from(number(side))).iter().product::<u64>();
        if frames > MAX_FRAMES || pixels > MAX_PIXELS {
            return Err(refused(format!(
                "the image has {frames} frames with {pixels} pixels together; at most {MAX_FRAMES} frames and \
                 {MAX_PIXELS} pixels are accepted"
            )));
        }
        let file = Self {
            // Of the cleaned content: a photo that was uploaded with another place is the same
            // image.
            id: ImageId::of(account, &content),
            media_type: media_type.to_owned(),
            width: number(width),
            height: number(height),
            bytes: number(content.len()),
        };
        Ok((file, content))
    }
}

/// The properties of a stored image.
pub(super) struct Dimensions {
    pub(super) media_type: &'static str,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// Returns what an image that was stored is.
///
/// # Errors
/// As [`ImageFile::read`].
pub(super) fn dimensions(content: &[u8]) -> Result<Dimensions, Problem> {
    let (media_type, picture) = read(content)?;
    Ok(Dimensions { media_type, width: picture.width, height: picture.height })
}

fn read(content: &[u8]) -> Result<(&'static str, Picture), Problem> {
    let (media_type, picture) = if content.starts_with(png::SIGNATURE) {
        ("image/png", png::read(content))
    } else if content.starts_with(jpeg::SIGNATURE) {
        ("image/jpeg", jpeg::read(content))
    } else if gif::SIGNATURES.iter().any(|signature| content.starts_with(signature)) {
        ("image/gif", gif::read(content))
    } else if webp::is_webp(content) {
        ("image/webp", webp::read(content))
    } else if avif::is_avif(content) {
        match avif::read(content) {
            Ok(picture) => ("image/avif", Some(picture)),
            Err(avif::Refused::NotWhole) => ("image/avif", None),
            Err(avif::Refused::Animated) => {
                return Err(refused("the image is an animated AVIF; send a GIF, WebP or PNG instead"));
            }
            Err(avif::Refused::Metadata) => {
                return Err(refused(
                    "the AVIF image has metadata (Exif or XMP), such as the place of a photo; export it without",
                ));
            }
        }
    } else {
        return Err(refused(
            "the body is no PNG, JPEG, WebP, GIF or AVIF image; send the bytes of the file, without a form or base64 around them",
        ));
    };
    let picture = picture.ok_or_else(|| {
        refused("the image is cut off or damaged: every part must be whole, from the header to the end")
    })?;
    Ok((media_type, picture))
}

/// Returns the headers of an image beside its type. Its bytes never change, but it may be suspended or deleted, so
/// a copy is asked for again after a minute. Should its bytes be read as something else, then as a document that may
/// do nothing. Pages of other sites may show it.
pub fn image_headers(id: &ImageId) -> Vec<Header> {
    [
        ("etag", format!("\"{id}\"")),
        ("cache-control", "public, max-age=60, must-revalidate".to_owned()),
        // Opened by itself, a file that a browser takes for a document must run nothing on this
        // host.
        ("content-security-policy", "default-src 'none'; sandbox".to_owned()),
        ("cross-origin-resource-policy", "cross-origin".to_owned()),
        // The type was decided here, by the content. A browser must not decide otherwise.
        ("x-content-type-options", "nosniff".to_owned()),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(codes::FIELDS_INVALID, detail.into())
}

#[cfg(test)]
mod tests;
