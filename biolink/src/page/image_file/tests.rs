use ::png::{Decoder, Transformations};
use proptest::prelude::*;

use super::*;

const ACCOUNT: KeyId = KeyId::new([1; 12]);

/// Files of Pillow, each of 12 by 8 pixels, with Exif (a name, a place, and an orientation), XMP, comments and a
/// color profile where the format has them.
const FILES: [(&str, &[u8]); 7] = [
    ("image/jpeg", include_bytes!("../../../tests/images/photo.jpg")),
    ("image/png", include_bytes!("../../../tests/images/photo.png")),
    ("image/png", include_bytes!("../../../tests/images/animated.png")),
    ("image/webp", include_bytes!("../../../tests/images/photo.webp")),
    ("image/webp", include_bytes!("../../../tests/images/animated.webp")),
    ("image/gif", include_bytes!("../../../tests/images/animated.gif")),
    ("image/avif", include_bytes!("../../../tests/images/plain.avif")),
];
const AVIF_WITH_METADATA: &[u8] = include_bytes!("../../../tests/images/photo.avif");
const AVIF_ANIMATED: &[u8] = include_bytes!("../../../tests/images/animated.avif");

fn detail(content: &[u8]) -> String {
    let refused = ImageFile::read(&ACCOUNT, content).unwrap_err();
    assert_eq!((refused.status(), refused.code()), (422, codes::FIELDS_INVALID));
    refused.detail().to_owned()
}

fn contains(content: &[u8], text: &[u8]) -> bool {
    content.windows(text.len()).any(|window| window == text)
}

/// Returns a PNG whose structure is whole.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut content = png::SIGNATURE.to_vec();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[1, 0, 0, 0, 0]].concat();
    for (kind, data) in [(b"IHDR", &*header), (b"IDAT", b"x"), (b"IEND", b"")] {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(kind);
        hasher.update(data);
        content.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        content.extend([kind, data, &hasher.finalize().to_be_bytes()].concat());
    }
    content
}

/// Returns a GIF of 10 by 10 pixels with this many frames.
fn gif(frames: usize) -> Vec<u8> {
    let frame = b"\x2c\0\0\0\0\x0a\0\x0a\0\0\x02\x01\x00\0";
    [b"GIF89a\x0a\0\x0a\0\0\0\0".to_vec(), frame.repeat(frames), b"\x3b".to_vec()].concat()
}

#[test]
fn content_says_what_an_image_is() {
    for (media_type, content) in FILES {
        let (file, kept) = ImageFile::read(&ACCOUNT, content).unwrap();
        assert_eq!((&*file.media_type, file.width, file.height), (media_type, 12, 8));
        assert_eq!(file.bytes, u32::try_from(kept.len()).unwrap());
        assert_eq!(file.id, ImageId::of(&ACCOUNT, &kept));
        assert_ne!(file.id, ImageId::of(&KeyId::new([2; 12]), &kept), "another account's is another");
    }
}

#[test]
fn image_is_kept_without_what_its_camera_wrote() {
    let secrets: [&[u8]; 3] = [b"Ada Lovelace", b"Secret Camera", b"xmpmeta"];
    let mut found = 0;
    for (media_type, content) in FILES {
        let (_, kept) = ImageFile::read(&ACCOUNT, content).unwrap();
        for secret in secrets {
            found += usize::from(contains(content, secret));
            assert!(!contains(&kept, secret), "{media_type}: {}", String::from_utf8_lossy(&kept));
        }
        // A photo of a phone stays upright.
        let place = kept.windows(4).position(|window| window == b"MM\0*");
        let is_turned = contains(content, b"Secret Camera");
        assert_eq!(
            place.and_then(|at| orientation::read(&kept[at..])),
            is_turned.then_some(6),
            "{media_type}"
        );
        for profile in [b"ICC_PROFILE".as_slice(), b"iCCP", b"ICCP"] {
            assert_eq!(contains(&kept, profile), contains(content, profile), "the colors stay: {media_type}");
        }
        let (_, again) = ImageFile::read(&ACCOUNT, &kept).unwrap();
        assert_eq!(again, kept, "{media_type}: nothing is left to remove");
    }
    assert!(found >= 10, "the files have something to remove: {found}");
    assert!(detail(AVIF_WITH_METADATA).contains("metadata"));
    assert!(detail(AVIF_ANIMATED).contains("animated"));
}

#[test]
fn pixels_stay_as_they_are() {
    let pixels = |content: &[u8]| {
        let mut decoder = Decoder::new(std::io::Cursor::new(content.to_vec()));
        decoder.set_transformations(Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        pixels
    };
    // The part of a file that has its pixels is there byte for byte.
    let coded = |media_type: &str, content: &'static [u8]| {
        let place = |text: &[u8]| content.windows(text.len()).position(|window| window == text);
        match media_type {
            "image/jpeg" => &content[place(b"\xff\xda").unwrap()..],
            "image/webp" => {
                &content[place(b"ANMF").or_else(|| place(b"VP8L")).unwrap()..place(b"EXIF").unwrap()]
            }
            _ => &content[place(b"\x2c\0\0\0\0\x0c\0\x08\0").unwrap()..],
        }
    };
    for (media_type, content) in FILES {
        let (_, kept) = ImageFile::read(&ACCOUNT, content).unwrap();
        match media_type {
            "image/png" => assert_eq!(pixels(&kept), pixels(content)),
            "image/avif" => assert_eq!(kept, content),
            _ => assert!(contains(&kept, coded(media_type, content)), "{media_type}"),
        }
    }
}

#[test]
fn what_follows_the_image_is_left_out() {
    let page = b"<!DOCTYPE html><script>alert(1)</script>";
    for (media_type, content) in FILES.into_iter().filter(|(media_type, _)| *media_type != "image/avif") {
        let more = [content, page].concat();
        let (file, kept) = ImageFile::read(&ACCOUNT, &more).unwrap();
        let (plain, _) = ImageFile::read(&ACCOUNT, content).unwrap();
        assert_eq!(file, plain, "{media_type}");
        assert!(!contains(&kept, page));
    }
    let (_, avif) = FILES[6];
    let more = [avif, &48u32.to_be_bytes(), b"uuid", page].concat();
    let (file, kept) = ImageFile::read(&ACCOUNT, &more).unwrap();
    assert!(!contains(&kept, b"script") && kept.starts_with(avif), "a box of AVIF is blanked");
    assert_eq!((file.width, file.height), (12, 8));
    detail(&[avif, page].concat());
}

#[test]
fn image_that_is_not_whole_is_refused() {
    for (media_type, content) in FILES {
        for length in 0..content.len() {
            assert!(ImageFile::read(&ACCOUNT, &content[..length]).is_err(), "{media_type} {length}");
        }
    }
    assert!(detail(&FILES[0].1[..24]).contains("cut off"), "a header is no image");
}

#[test]
fn what_is_no_image_or_too_large_is_refused() {
    for (content, expected) in [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(), "no PNG"),
        (b"<!DOCTYPE html><script>alert(1)</script>".to_vec(), "no PNG"),
        (b"BM\0\0\0\0\0\0\0\0\0\0\0\0".to_vec(), "no PNG"),
        (Vec::new(), "no PNG"),
        (png(8_193, 1), "8193 x 1"),
        (png(0, 1), "damaged"),
        (png(1, 0), "1 x 0"),
        (png(8_192, 8_192), "67108864 pixels"),
        (gif(501), "501 frames"),
        (gif(0), "damaged"),
    ] {
        let detail = detail(&content);
        assert!(detail.contains(expected), "{expected}: {detail}");
    }
    for content in [png(8_192, 6_103), gif(500)] {
        assert!(ImageFile::read(&ACCOUNT, &content).is_ok());
    }
}

proptest! {
    #[test]
    fn any_content_is_read_or_refused(
        kind in 0usize..7,
        at in 0usize..2_000,
        cut in 0usize..2_000,
        content in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let file = FILES[kind].1;
        let (at, cut) = (at.min(file.len()), cut.min(file.len()));
        let damaged = [&file[..at], &content, &file[cut..]].concat();
        if let Ok((read, kept)) = ImageFile::read(&ACCOUNT, &damaged) {
            let again = ImageFile::read(&ACCOUNT, &kept).unwrap();
            prop_assert_eq!(again, (read, kept));
        }
    }
}
