//! `qr/generate`: an independent decoder reads the requested URL from the image.

use loadtest::tools::{self, BindAddress};
use resvg::{tiny_skia, usvg};
use rqrr::PreparedImage;
use serde_json::json;
use shared::tool::Tool;

use crate::http::{self, HttpResponse};

const URL: &str = "https://example.com/a/page?with=a&query=ü#and-a-fragment";

/// A decoded image: its side in pixels and the brightness of each pixel.
struct DecodedImage {
    side: usize,
    luma: Vec<u8>,
}

impl DecodedImage {
    fn of(reply: &HttpResponse) -> Self {
        match reply.header("content-type") {
            "image/svg+xml" => Self::rasterise(std::str::from_utf8(&reply.body).unwrap()),
            "image/png" => Self::decode(&reply.body),
            other => panic!("not an image: {other}"),
        }
    }

    fn rasterise(svg: &str) -> Self {
        let tree = usvg::Tree::from_str(svg, &usvg::Options::default()).unwrap();
        let side = tree.size().to_int_size().width();
        assert_eq!(side, tree.size().to_int_size().height());
        let mut pixmap = tiny_skia::Pixmap::new(side, side).unwrap();
        resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixmap.as_mut());
        let luma = pixmap.pixels().iter().map(|pixel| {
            assert_eq!(pixel.alpha(), 255, "the image has an opaque background");
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
        assert_eq!(grids.len(), 1, "one QR code in the image");
        grids[0].decode().unwrap().1
    }
}

#[tokio::test]
async fn image_encodes_url_with_exact_size() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    for size in [101, 256, 300, 777, 1024, 4096] {
        for format in ["svg", "png"] {
            let request = json!({ "url": URL, "size": size, "format": format });
            let reply = http::post(running.addr(Tool::Qr), "/generate", &request).await;
            assert_eq!(reply.status, 200, "{size} {format}");
            let image = DecodedImage::of(&reply);
            assert_eq!((image.side, image.read().as_str()), (size, URL), "{format}");
        }
    }
}

#[tokio::test]
async fn long_url_is_encoded() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let url = format!("https://example.com/{}", "long-".repeat(400));
    let reply = http::post(
        running.addr(Tool::Qr),
        "/generate",
        &json!({ "url": url, "size": 1000, "format": "png" }),
    )
    .await;
    assert_eq!(DecodedImage::of(&reply).read(), url);
}

#[tokio::test]
async fn get_with_query_returns_same_image_as_post() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Qr);
    let posted =
        http::post(addr, "/generate", &json!({ "url": "https://example.com/?a=1", "size": 300 })).await;
    let got = http::get(addr, "/generate?url=https%3A%2F%2Fexample.com%2F%3Fa%3D1&size=300").await;
    assert_eq!(got.status, 200);
    assert_eq!(got.body, posted.body);
    assert_eq!(DecodedImage::of(&got).read(), "https://example.com/?a=1");
}

#[tokio::test]
async fn default_size_is_256_and_default_format_is_by_accept() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Qr);
    let plain = http::get(addr, "/generate?url=https://example.com").await;
    assert_eq!((plain.header("content-type"), DecodedImage::of(&plain).side), ("image/svg+xml", 256));

    let mut wants_png = http::request("GET", "/generate?url=https://example.com", "");
    wants_png.headers_mut().insert("accept", "image/png, */*;q=0.1".parse().unwrap());
    let preferred = http::send(addr, wants_png).await;
    assert_eq!((preferred.header("content-type"), preferred.header("vary")), ("image/png", "accept"));
}

#[tokio::test]
async fn invalid_request_has_code_per_cause() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Qr);
    let cases = [
        (r#"{"url": "#, 422, "/code", "body-not-json"),
        (r#"["https://example.com"]"#, 422, "/code", "body-not-object"),
        ("{}", 422, "/errors/0/code", "required"),
        (r#"{"url": 5}"#, 422, "/errors/0/code", "not-a-string"),
        (r#"{"url": "no scheme"}"#, 422, "/errors/0/code", "not-a-url"),
        (r#"{"url": "https://e.com", "size": "big"}"#, 422, "/errors/0/code", "not-a-whole-number"),
        (r#"{"url": "https://e.com", "size": 4097}"#, 422, "/errors/0/code", "out-of-range"),
        (r#"{"url": "https://e.com", "format": "gif"}"#, 422, "/errors/0/code", "unknown"),
    ];
    for (body, status, pointer, code) in cases {
        let reply = http::send(addr, http::request("POST", "/generate", body)).await;
        assert_eq!(reply.status, status, "{body}");
        assert_eq!(reply.json().pointer(pointer), Some(&code.into()), "{body}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
        assert_eq!(reply.json()["status"], status);
    }
    let too_long = format!(r#"{{"url": "https://e.com/{}"}}"#, "x".repeat(3000));
    let reply = http::send(addr, http::request("POST", "/generate", too_long)).await;
    assert_eq!(reply.json()["errors"][0]["code"], "too-long");
    let too_large = http::send(addr, http::request("POST", "/generate", vec![b' '; 17_000])).await;
    assert_eq!(too_large.status, 413);
}
