use std::iter;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use shared::key::KeyId;

use super::*;
use crate::page::{
    ImageId,
    document::{Color, Platform},
};

const ADDRESS: &str = "https://pages.example.com/q/8sK2mTq7";

fn options(query: &str) -> QrOptions {
    QrOptions::parse(Some(query)).unwrap()
}

/// Returns the brightness of each pixel of a PNG, read by another program than ours.
fn pixels(png: &[u8]) -> (usize, Vec<u8>) {
    let mut decoder = ::png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(::png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!((info.color_type, info.width), (::png::ColorType::Rgb, info.height));
    let is_light = |[r, g, b]: [u8; 3]| Color { r, g, b }.contrast(Color::BLACK) > 8.0;
    // An image has millions of pixels, and few runs of one color.
    let runs = rgb.as_chunks::<3>().0.chunk_by(|one, next| one == next);
    let brightness =
        runs.flat_map(|run| iter::repeat_n(if is_light(run[0]) { 255 } else { 0 }, run.len())).collect();
    (usize::try_from(info.width).unwrap(), brightness)
}

/// Returns what an independent reader finds in an image.
fn decoded(side: usize, brightness: &[u8]) -> String {
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(side, side, |x, y| brightness[y * side + x]);
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1);
    grids[0].decode().unwrap().1
}

#[test]
fn png_is_decoded_at_every_size_and_correction() {
    for ecc in ["L", "M", "Q", "H"] {
        for size in [128, 200, 257, 512, 1024, 2048] {
            let response = qr_png(ADDRESS, &options(&format!("size={size}&ecc={ecc}")), None).unwrap();
            let (side, brightness) = pixels(&response.body);
            assert_eq!((side, decoded(side, &brightness).as_str()), (size, ADDRESS), "{ecc}");
            assert!(response.body.len() < 9_216, "{size} {ecc}: {} bytes", response.body.len());
        }
    }
}

#[test]
fn png_has_its_colors() {
    let response = qr_png(ADDRESS, &options("fg=1d4ed8&bg=%23fff4ee"), None).unwrap();
    let (side, brightness) = pixels(&response.body);
    assert_eq!(decoded(side, &brightness), ADDRESS);
    assert_eq!(response.header("content-type"), Some("image/png"));
    let palette = response.body.windows(10).find(|window| window.starts_with(b"PLTE")).unwrap();
    assert_eq!(palette[4..], [0xff, 0xf4, 0xee, 0x1d, 0x4e, 0xd8]);
}

#[test]
fn svg_is_one_path_that_is_decoded() {
    for query in ["", "ecc=H&margin=8", "fg=0b5f80&bg=ecf8fb"] {
        let options = options(query);
        let svg = qr_svg(ADDRESS, &options, None).unwrap().body;
        assert_eq!(svg.matches("<path").count(), 1);
        assert!(
            svg.contains(&format!("fill=\"{}\" d=", options.fg)) && svg.contains("width=\"512\""),
            "{svg}"
        );
        let (side, brightness) = drawn(&svg);
        assert_eq!(decoded(side, &brightness), ADDRESS, "{query}");
    }
}

#[test]
fn pdf_is_decoded_and_its_offsets_are_right() {
    for query in ["", "size=300&ecc=H&margin=8&fg=0b5f80&bg=ecf8fb", "via=flyer"] {
        let pdf = qr_pdf(ADDRESS, &options(query), None).unwrap().body;
        let find = |text: &str| pdf.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
        for number in 1..=4 {
            let offset = format!("{:010} 00000 n ", find(&format!("{number} 0 obj")));
            assert!(find(&offset) > find("xref"), "{number}");
        }
        let start = find("stream\n") + 7;
        let content = &pdf[start..find("\nendstream")];
        let drawing = String::from_utf8(fdeflate::decompress_to_vec(content).unwrap()).unwrap();
        let (head, runs) = drawing.split_once(" cm\n").unwrap();
        let scale: f64 = head.rsplit(' ').nth(2).unwrap().parse().unwrap();
        let size = f64::from(options(query).size);
        let is_side = |side: &u16| (size / f64::from(*side) - scale).abs() < 1e-4;
        let side = usize::from((1..200).find(is_side).unwrap());
        let mut image = vec![255; side * side * 16];
        for run in runs.lines().filter_map(|line| line.strip_suffix(" 1 re")) {
            let numbers: Vec<usize> = run.split(' ').map(|number| number.parse().unwrap()).collect();
            let [x, y, length] = numbers[..] else { panic!("{run}") };
            for line in (side - y - 1) * 4..(side - y) * 4 {
                image[line * side * 4 + x * 4..][..length * 4].fill(0);
            }
        }
        assert_eq!(decoded(side * 4, &image), ADDRESS, "{query}");
    }
}

/// At every length of addresses, and so in every version of codes that one can have.
#[test]
fn code_with_a_logo_is_decoded_by_its_correction() {
    for length in (30..=300).step_by(45) {
        let address = format!("https://pages.example.com/q/{}", "x".repeat(length - 28));
        let options = options("size=1024&logo=github&ecc=L");
        assert_eq!(options.correction, Correction::H, "raised");
        let (side, brightness) = pixels(&qr_png(&address, &options, None).unwrap().body);
        assert_eq!(decoded(side, &brightness), address, "{length}");
    }
}

/// Returns the query of a code with an uploaded image.
fn with_image(query: &str) -> QrOptions {
    let id = ImageId::of(&KeyId::new([1; 12]), b"");
    options(&format!("logo={id}&{query}"))
}

/// Returns a PNG, written by another program than ours, whose pixels `of` gives.
fn image(width: u32, height: u32, of: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, width, height);
    encoder.set_color(::png::ColorType::Rgba);
    let pixels: Vec<_> = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).collect();
    let data: Vec<_> = pixels.into_iter().flat_map(|(x, y)| of(x, y)).collect();
    encoder.write_header().unwrap().write_image_data(&data).unwrap();
    file
}

/// Images that hide as much of a code as any can: dark, light, clear, and like the code itself.
fn images() -> [(&'static str, Vec<u8>); 6] {
    let ring = |at: u32| matches!(at * 7 / 70, 0 | 6);
    let core = |at: u32| (2..=4).contains(&(at * 7 / 70));
    let finder = move |x, y| if ring(x) || ring(y) || core(x) && core(y) { 0 } else { 255 };
    [
        ("black", image(64, 64, |_, _| [0, 0, 0, 255])),
        ("red, wide", image(300, 100, |_, _| [220, 30, 30, 255])),
        ("tall", image(50, 200, |_, y| [0, u8::try_from(y).unwrap(), 90, 255])),
        ("checkered", image(40, 40, |x, y| if (x / 4 + y / 4) % 2 == 0 { [0, 0, 0, 255] } else { [255; 4] })),
        ("half clear", image(90, 90, |x, _| [20, 20, 160, if x < 45 { 0 } else { 255 }])),
        ("like a finder pattern", image(70, 70, move |x, y| [finder(x, y), finder(x, y), finder(x, y), 255])),
    ]
}

#[test]
fn code_with_an_uploaded_logo_is_decoded() {
    for (name, file) in images() {
        for length in [30, 300] {
            let address = format!("https://pages.example.com/q/{}", "x".repeat(length - 28));
            let options = with_image("");
            assert_eq!(options.correction, Correction::H, "raised");
            let png = qr_png(&address, &options, Some(&file)).unwrap().body;
            let (side, brightness) = pixels(&png);
            assert_eq!((side, decoded(side, &brightness)), (512, address), "{name} of {length}");
        }
    }
}

/// Returns the color of a pixel of a PNG.
fn color_at(png: &[u8], x: usize, y: usize) -> [u8; 3] {
    let mut reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let width = usize::try_from(reader.next_frame(&mut rgb).unwrap().width).unwrap();
    rgb[(y * width + x) * 3..][..3].try_into().unwrap()
}

#[test]
fn uploaded_logo_has_its_colors_ratio_and_place() {
    let wide = image(300, 100, |x, _| if x < 150 { [220, 30, 30, 255] } else { [10, 60, 200, 128] });
    let options = with_image("size=1024&bg=ffffff&fg=112233");
    let png = qr_png(ADDRESS, &options, Some(&wide)).unwrap().body;
    assert_eq!(color_at(&png, 512 - 40, 512), [220, 30, 30]);
    // 10 + 245 * (127/255), 60 + 195 * (127/255) and 200 + 55 * (127/255).
    assert_eq!(color_at(&png, 512 + 40, 512), [132, 157, 227], "half clear over white");
    assert_eq!(color_at(&png, 512 - 40, 512 - 50), [255; 3], "a third as high as wide");
    assert_eq!(color_at(&png, 8, 8), [255; 3]);
    let svg = qr_svg(ADDRESS, &options, Some(&wide)).unwrap();
    let policy = svg.header("content-security-policy");
    assert_eq!(policy, Some("default-src 'none'; img-src data:"));
    let encoded = svg.body.split_once("data:image/png;base64,").unwrap().1.split_once('"').unwrap().0;
    assert_eq!(STANDARD.decode(encoded).unwrap(), wide, "the file itself");
    let (side, brightness) = drawn(&svg.body);
    assert_eq!(decoded(side, &brightness), ADDRESS, "below the image");
    let pdf = qr_pdf(ADDRESS, &options, Some(&wide)).unwrap().body;
    let find = |text: &str| pdf.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    let offset = format!("{:010} 00000 n ", find("5 0 obj"));
    assert!(find(&offset) > find("xref") && find("/Width 300/Height 100") > find("5 0 obj"));
    let start =
        find("5 0 obj") + pdf[find("5 0 obj")..].windows(7).position(|it| it == b"stream\n").unwrap() + 7;
    let pixels = fdeflate::decompress_to_vec(&pdf[start..]).unwrap();
    assert_eq!((pixels.len(), &pixels[..3]), (300 * 100 * 3, &[220, 30, 30][..]));
}

#[test]
fn image_that_is_no_logo_is_refused_with_what_would_be() {
    let large = image(1_025, 1, |_, _| [0; 4]);
    let gif = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    let small = images()[0].1.clone();
    let mut damaged = small.clone();
    // Within the compressed pixels: the chunks are whole.
    damaged[50] ^= 0xff;
    for (file, said) in [
        (None, "no image of this page's account"),
        (Some(&large[..]), "1025 x 1 pixels"),
        (Some(&gif[..]), "qr.svg takes all"),
        (Some(&damaged[..]), "damaged"),
        (Some(b"text".as_slice()), "no PNG"),
    ] {
        for refused in
            [qr_png(ADDRESS, &with_image(""), file).err(), qr_pdf(ADDRESS, &with_image(""), file).err()]
        {
            let refused = refused.unwrap();
            assert!(refused.status() == 422 && refused.detail().contains(said), "{}", refused.detail());
        }
    }
    assert!(qr_svg(ADDRESS, &with_image(""), Some(gif)).unwrap().body.contains("data:image/gif;base64,R0lG"));
    for query in ["logo=img_1", "logo=/i/", "logo=https://example.com/i/img_1"] {
        assert!(QrOptions::parse(Some(query)).is_err(), "{query}");
    }
}

#[test]
fn every_icon_can_be_a_logo() {
    for platform in Platform::ALL {
        let options = options(&format!("size=512&logo={}", platform.as_str()));
        if Icon::of(*platform).is_none() {
            assert!(qr_svg(ADDRESS, &options, None).is_err(), "{platform:?}");
            continue;
        }
        let (side, brightness) = pixels(&qr_png(ADDRESS, &options, None).unwrap().body);
        assert_eq!(decoded(side, &brightness), ADDRESS, "{platform:?}");
        let middle = side * 2 / 5..side * 3 / 5;
        let dark = middle.clone().flat_map(|y| middle.clone().map(move |x| (x, y)));
        let dark = dark.filter(|(x, y)| brightness[y * side + x] == 0).count();
        let area = middle.len() * middle.len();
        assert!((area / 12..area * 9 / 10).contains(&dark), "{platform:?}: {dark} of {area}");
        let svg = qr_svg(ADDRESS, &options, None).unwrap().body;
        assert_eq!(svg.matches("<path").count(), 2, "{platform:?}");
        let (side, brightness) = drawn(&svg);
        assert_eq!(decoded(side, &brightness), ADDRESS, "below the icon: {platform:?}");
        assert!(qr_pdf(ADDRESS, &options, None).is_ok());
    }
}

/// Draws the path of an SVG, four pixels for each unit. It has the commands `M`, `h`, `v` and `z`.
fn drawn(svg: &str) -> (usize, Vec<u8>) {
    let (_, rest) = svg.split_once("viewBox=\"0 0 ").unwrap();
    let side = rest.split(' ').next().unwrap().parse::<usize>().unwrap() * 4;
    let (_, path) = svg.split_once(" d=\"").unwrap();
    let mut image = vec![255; side * side];
    for run in path.split('"').next().unwrap().split('z').filter(|run| !run.is_empty()) {
        let (start, length) = run.strip_prefix('M').unwrap().split_once('h').unwrap();
        let (x, y) = start.split_once(',').unwrap();
        let number = |text: &str| text.parse::<usize>().unwrap() * 4;
        let length = length.split_once("v1h-").map(|(there, back)| {
            assert_eq!(there, back);
            number(there)
        });
        for line in number(y)..number(y) + 4 {
            image[line * side + number(x)..][..length.unwrap()].fill(0);
        }
    }
    (side, image)
}

#[test]
fn size_that_is_too_small_names_the_least_one() {
    let problem = qr_png(&"x".repeat(300), &options("size=64"), None).err().unwrap();
    assert!(problem.detail().contains("needs at least"), "{}", problem.detail());
    let least = problem.detail().rsplit(' ').next().unwrap().to_owned();
    let response = qr_png(&"x".repeat(300), &options(&format!("size={least}")), None).unwrap();
    let (side, brightness) = pixels(&response.body);
    assert_eq!(decoded(side, &brightness), "x".repeat(300));
    assert!(qr_svg(&"x".repeat(3_000), &QrOptions::default(), None).is_err());
}

#[test]
fn options_that_readers_could_not_read_are_refused() {
    assert_eq!(QrOptions::parse(None).unwrap(), QrOptions::default());
    for query in [
        "size=63",
        "size=2049",
        "size=",
        "size=-1",
        "size=99999",
        "margin=3",
        "margin=17",
        "ecc=X",
        "fg=red",
        "fg=999999&bg=aaaaaa",
        "fg=ffffff&bg=000000",
        "logo=1",
        "logo=https://example.com/logo.png",
        "label=1",
        "fg",
    ] {
        assert!(QrOptions::parse(Some(query)).is_err(), "{query}");
    }
}
