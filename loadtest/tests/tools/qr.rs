//! `qr/generate`: an independent reader finds in the picture what was asked for.

use loadtest::tools::{self, Bind};
use resvg::{tiny_skia, usvg};
use rqrr::PreparedImage;
use serde_json::json;
use shared::tool::Tool;

use crate::http::{self, Reply};

const URL: &str = "https://example.com/a/page?with=a&query=ü#and-a-fragment";

/// A picture's side in pixels, and the brightness of each.
struct Picture {
    side: usize,
    luma: Vec<u8>,
}

impl Picture {
    fn of(reply: &Reply) -> Self {
        match reply.header("content-type") {
            "image/svg+xml" => Self::rasterise(std::str::from_utf8(&reply.body).unwrap()),
            "image/png" => Self::decode(&reply.body),
            other => panic!("not a picture: {other}"),
        }
    }

    fn rasterise(svg: &str) -> Self {
        let tree = usvg::Tree::from_str(svg, &usvg::Options::default()).unwrap();
        let side = tree.size().to_int_size().width();
        assert_eq!(side, tree.size().to_int_size().height());
        let mut pixmap = tiny_skia::Pixmap::new(side, side).unwrap();
        resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixmap.as_mut());
        let luma = pixmap.pixels().iter().map(|pixel| {
            assert_eq!(pixel.alpha(), 255, "the picture brings its own background");
            pixel.red()
        });
        Self { side: side as usize, luma: luma.collect() }
    }

    fn decode(png: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut luma = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut luma).unwrap();
        assert_eq!(info.width, info.height);
        Self { side: info.width as usize, luma }
    }

    fn read(&self) -> String {
        let mut image =
            PreparedImage::prepare_from_greyscale(self.side, self.side, |x, y| self.luma[y * self.side + x]);
        let grids = image.detect_grids();
        assert_eq!(grids.len(), 1, "one QR code in the picture");
        grids[0].decode().unwrap().1
    }
}

#[tokio::test]
async fn a_code_of_any_size_and_format_holds_the_url_and_has_exactly_that_many_pixels() {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    for size in [101, 256, 300, 777, 1024, 4096] {
        for format in ["svg", "png"] {
            let order = json!({ "url": URL, "size": size, "format": format });
            let reply = http::post(running.addr(Tool::Qr), "/generate", &order).await;
            assert_eq!(reply.status, 200, "{size} {format}");
            let picture = Picture::of(&reply);
            assert_eq!((picture.side, picture.read().as_str()), (size, URL), "{format}");
        }
    }
}

#[tokio::test]
async fn a_long_url_is_encoded_too() {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    let url = format!("https://example.com/{}", "long-".repeat(400));
    let reply = http::post(
        running.addr(Tool::Qr),
        "/generate",
        &json!({ "url": url, "size": 1000, "format": "png" }),
    )
    .await;
    assert_eq!(Picture::of(&reply).read(), url);
}

#[tokio::test]
async fn a_get_with_a_query_makes_the_same_code_as_a_post() {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Qr);
    let posted =
        http::post(addr, "/generate", &json!({ "url": "https://example.com/?a=1", "size": 300 })).await;
    let got = http::get(addr, "/generate?url=https%3A%2F%2Fexample.com%2F%3Fa%3D1&size=300").await;
    assert_eq!(got.status, 200);
    assert_eq!(got.body, posted.body);
    assert_eq!(Picture::of(&got).read(), "https://example.com/?a=1");
}

#[tokio::test]
async fn without_a_size_it_is_256_pixels_and_without_a_format_what_accept_prefers() {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Qr);
    let plain = http::get(addr, "/generate?url=https://example.com").await;
    assert_eq!((plain.header("content-type"), Picture::of(&plain).side), ("image/svg+xml", 256));

    let mut wants_png = http::request("GET", "/generate?url=https://example.com", "");
    wants_png.headers_mut().insert("accept", "image/png, */*;q=0.1".parse().unwrap());
    let preferred = http::send(addr, wants_png).await;
    assert_eq!((preferred.header("content-type"), preferred.header("vary")), ("image/png", "accept"));
}

#[tokio::test]
async fn each_kind_of_bad_order_is_told_apart() {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Qr);
    let cases = [
        (r#"{"url": "#, 400, "/error/code", "body-not-json"),
        (r#"["https://example.com"]"#, 400, "/error/code", "body-not-object"),
        ("{}", 422, "/error/faults/0/code", "required"),
        (r#"{"url": 5}"#, 422, "/error/faults/0/code", "not-a-string"),
        (r#"{"url": "no scheme"}"#, 422, "/error/faults/0/code", "not-a-url"),
        (r#"{"url": "https://e.com", "size": "big"}"#, 422, "/error/faults/0/code", "not-a-whole-number"),
        (r#"{"url": "https://e.com", "size": 4097}"#, 422, "/error/faults/0/code", "out-of-range"),
        (r#"{"url": "https://e.com", "format": "gif"}"#, 422, "/error/faults/0/code", "unknown"),
    ];
    for (body, status, pointer, code) in cases {
        let reply = http::send(addr, http::request("POST", "/generate", body)).await;
        assert_eq!(reply.status, status, "{body}");
        assert_eq!(reply.json().pointer(pointer), Some(&code.into()), "{body}");
        assert_eq!(reply.header("content-type"), "application/json");
    }
    let too_long = format!(r#"{{"url": "https://e.com/{}"}}"#, "x".repeat(3000));
    let reply = http::send(addr, http::request("POST", "/generate", too_long)).await;
    assert_eq!(reply.json()["error"]["faults"][0]["code"], "too-long");
    let too_large = http::send(addr, http::request("POST", "/generate", vec![b' '; 17_000])).await;
    assert_eq!(too_large.status, 413);
}
