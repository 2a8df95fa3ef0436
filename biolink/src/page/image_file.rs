//! What an uploaded file is, by its content.

use imagesize::{Compression, ImageType, blob_size, image_type};
use serde::{Deserialize, Serialize};
use shared::{headers::Header, key::KeyId, problem::Problem};

use super::ImageId;
use crate::codes;

/// The largest image, in bytes.
pub const MAX_IMAGE_BYTES: usize = 2_097_152;
/// The largest width and height, in pixels. Browsers decode no larger ones everywhere.
const MAX_SIDE: usize = 8_192;
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

impl ImageFile {
    /// Reads what a file is.
    ///
    /// # Errors
    /// Returns `fields-invalid` for any other content than a PNG, JPEG, WebP, GIF or AVIF image, and if its
    /// dimensions cannot be read or are too large.
    pub fn read(account: &KeyId, content: &[u8]) -> Result<Self, Problem> {
        let media_type = media_type(content).ok_or_else(not_an_image)?;
        let size = blob_size(content)
            .map_err(|_| refused("the image is cut off or damaged: it has no dimensions"))?;
        if size.width == 0 || size.height == 0 || size.width.max(size.height) > MAX_SIDE {
            let (width, height) = (size.width, size.height);
            return Err(refused(&format!(
                "the image has {width} x {height} pixels; each side must have 1 to {MAX_SIDE}"
            )));
        }
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(Self {
            id: ImageId::of(account, content),
            media_type: media_type.to_owned(),
            width: number(size.width),
            height: number(size.height),
            bytes: number(content.len()),
        })
    }
}

/// Returns the headers of an image beside its type. It never changes. Should its bytes be read as
/// something else, then as a document that may do nothing. Pages of other sites may show it.
pub fn image_headers(id: &ImageId) -> Vec<Header> {
    [
        ("etag", format!("\"{id}\"")),
        ("cache-control", "public, max-age=31536000, immutable".to_owned()),
        ("content-security-policy", "default-src 'none'; sandbox".to_owned()),
        ("cross-origin-resource-policy", "cross-origin".to_owned()),
        ("x-content-type-options", "nosniff".to_owned()),
    ]
    .map(|(name, value)| (name.into(), value.into()))
    .into()
}

fn media_type(content: &[u8]) -> Option<&'static str> {
    match image_type(content).ok()? {
        ImageType::Png => Some("image/png"),
        ImageType::Jpeg => Some("image/jpeg"),
        ImageType::Webp => Some("image/webp"),
        ImageType::Gif => Some("image/gif"),
        ImageType::Heif(Compression::Av1) => Some("image/avif"),
        _ => None,
    }
}

fn not_an_image() -> Problem {
    let detail = "the body is no PNG, JPEG, WebP, GIF or AVIF image; send the bytes of the file, without a form or base64 around them";
    refused(detail)
}

fn refused(detail: &str) -> Problem {
    Problem::new(codes::FIELDS_INVALID, detail.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ACCOUNT: KeyId = KeyId::new([1; 12]);

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.set_depth(png::BitDepth::One);
        let row = usize::try_from(width.div_ceil(8)).unwrap();
        let pixels = vec![0; row * usize::try_from(height).unwrap()];
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        file
    }

    /// A file of the ISO base media format with one image of 5 by 4 pixels.
    fn avif() -> Vec<u8> {
        fn part(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
            let length = u32::try_from(content.len() + 8).unwrap();
            [&length.to_be_bytes(), kind.as_slice(), content].concat()
        }
        let size = part(b"ispe", &[0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 4]);
        let properties = part(b"iprp", &part(b"ipco", &size));
        let meta = part(b"meta", &[&[0; 4], properties.as_slice()].concat());
        [part(b"ftyp", b"avif\0\0\0\0avifmif1"), meta].concat()
    }

    #[test]
    fn content_says_what_an_image_is() {
        let gif = b"GIF89a\x05\0\x04\0\0\0\0".to_vec();
        let jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\0\x04\0\x05\x03\x01\x22\0\x02\x11\x01\x03\x11\x01".to_vec();
        let webp = b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x04\0\0\x03\0\0".to_vec();
        for (content, media_type) in [
            (png(5, 4), "image/png"),
            (gif, "image/gif"),
            (jpeg, "image/jpeg"),
            (webp, "image/webp"),
            (avif(), "image/avif"),
        ] {
            let file = ImageFile::read(&ACCOUNT, &content).unwrap();
            assert_eq!((&*file.media_type, file.width, file.height), (media_type, 5, 4));
            assert_eq!(file.bytes, u32::try_from(content.len()).unwrap());
            assert_eq!(file.id, ImageId::of(&ACCOUNT, &content));
            assert_ne!(file.id, ImageId::of(&KeyId::new([2; 12]), &content), "another account's is another");
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let cut = png(5, 4)[..12].to_vec();
        for (content, status) in [
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(), 422),
            (b"<!DOCTYPE html><script>alert(1)</script>".to_vec(), 422),
            (b"BM\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), 422),
            (Vec::new(), 422),
            (cut, 422),
            (png(8_193, 1), 422),
        ] {
            let refused = ImageFile::read(&ACCOUNT, &content).unwrap_err();
            assert_eq!(refused.status(), status, "{}", refused.detail());
        }
    }

    proptest! {
        #[test]
        fn any_content_is_read_or_refused(kind in 0usize..3, content in proptest::collection::vec(any::<u8>(), 0..200)) {
            let begin = [b"\x89PNG\r\n\x1a\n".as_slice(), b"\xff\xd8\xff", b"\0\0\0\x10ftypavif"][kind];
            let _read = ImageFile::read(&ACCOUNT, &[begin, &content].concat());
        }
    }
}
