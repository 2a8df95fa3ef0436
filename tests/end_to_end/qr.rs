//! The main use: a QR code made through edge and proxy.

use serde_json::json;
use tests::{http::Request, stack::Stack};

const URL: &str = "https://example.com/path?with=query&and=more";

/// Decodes the QR code of a picture with an independent decoder.
fn decode(png: &[u8]) -> String {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut pixels).unwrap();
    let (width, height) = (frame.width as usize, frame.height as usize);
    assert_eq!((width, height), (300, 300), "the requested size");
    let step = frame.line_size / width;
    let grey = |x: usize, y: usize| pixels[y * frame.line_size + x * step];
    let mut prepared = rqrr::PreparedImage::prepare_from_greyscale(width, height, grey);
    let grids = prepared.detect_grids();
    assert_eq!(grids.len(), 1, "one code in the picture");
    grids[0].decode().unwrap().1
}

#[test]
fn qr_code_through_edge_and_proxy_holds_the_url() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let body = json!({ "url": URL, "size": 300, "format": "png" });
    let posted = Request::post("/v1/qr/generate", &body).key(&key).send(stack.edge.addr);
    assert_eq!((posted.status, posted.header("content-type")), (200, Some("image/png")), "{}", posted.text());
    assert_eq!(decode(&posted.body), URL);
    let encoded = URL.replace('?', "%3F").replace('&', "%26").replace('=', "%3D");
    let got = Request::get(&format!("/v1/qr/generate?url={encoded}&size=300&format=png"))
        .key(&key)
        .send(stack.edge.addr);
    assert_eq!(decode(&got.body), URL);
}
