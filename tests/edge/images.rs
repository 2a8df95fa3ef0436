//! Custom images: uploaded, shown, and gone.

use std::io::Cursor;

use serde_json::{Value, json};
use tests::{
    faults::{Fate, Faults},
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE},
};

use crate::pages::{create, issue, request, unique, until, visit};

const PUT: &str = "/IMAGES/put";
const GET: &str = "/IMAGES/get";
const DELETE: &str = "/IMAGES/delete";

/// Returns a PNG of one pixel.
fn png() -> Vec<u8> {
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU\
        \0\0\0\nIDATx\x9cc\xf8\x0f\0\x01\x01\x01\0\xb18\xf6\x14\0\0\0\0IEND\xaeB`\x82"
        .to_vec()
}

fn upload(edge: &Edge, key: &str, content: Vec<u8>) -> Response {
    let request = Request::new("POST", "/images").header("Content-Type", "application/octet-stream");
    request.body(content).key(key).send(edge.addr)
}

fn shown(edge: &Edge, image: &Value) -> Response {
    let url = image["url"].as_str().unwrap();
    visit(edge, &url[url.find("/i/").unwrap()..])
}

fn listed(edge: &Edge, key: &str) -> usize {
    let list = Request::get("/images").key(key).send(edge.addr);
    assert_eq!(list.status, 200, "{}", list.text());
    list.json()["data"].as_array().unwrap().len()
}

#[test]
fn image_is_uploaded_shown_on_a_page_and_deleted() {
    let edge = Edge::shared();
    let (key, account) = issue(&edge, None);
    let uploaded = upload(&edge, &key, png());
    assert_eq!(uploaded.status, 201, "{}", uploaded.text());
    let image = uploaded.json();
    assert_eq!((&image["type"], &image["width"]), (&json!("image/png"), &json!(1)));
    assert_eq!(upload(&edge, &key, png()).json(), image, "the same file is stored once");
    assert_eq!(listed(&edge, &key), 1);

    let file = shown(&edge, &image);
    assert_eq!((file.status, file.body.clone()), (200, png()));
    for (name, expected) in [
        ("content-type", "image/png"),
        ("cache-control", "public, max-age=60, must-revalidate"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(file.header(name), Some(expected));
    }
    let id = image["id"].as_str().unwrap();
    let path = format!("/i/{id}");
    let etag = file.header("etag").unwrap();
    for known in [etag, "*", &format!("\"other\", W/{etag}")] {
        let known = Request::get(&path).header("If-None-Match", known).send(edge.addr);
        assert_eq!((known.status, known.body.len(), known.header("etag")), (304, 0, Some(etag)));
        assert_eq!(known.header("cache-control"), Some("public, max-age=60, must-revalidate"));
    }
    let other = Request::get(&path).header("If-None-Match", "\"other\"").send(edge.addr);
    assert_eq!((other.status, other.body.len()), (200, png().len()));
    assert_eq!(Request::new("HEAD", &path).send(edge.addr).status, 200);

    let slug = unique("images");
    let page = create(
        &edge,
        &key,
        &json!({"title": "Ada", "slug": slug, "status": "published",
        "avatar": {"url": image["url"], "alt": "Ada"}}),
    );
    assert_eq!((page.status, &page.json()["warnings"]), (201, &json!([])), "{}", page.text());
    let page = visit(&edge, &format!("/{slug}"));
    assert!(page.text().contains(&format!("src=\"{path}\"")), "{}", page.text());
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("img-src 'self' data:;"), "no other host: {policy}");

    let deleted = request("DELETE", &format!("/images/{id}"), &json!({})).key(&key).send(edge.addr);
    assert_eq!(deleted.status, 204);
    until(|| shown(&edge, &image).status == 404);
    let mut again = upload(&edge, &key, png());
    until(|| {
        again = upload(&edge, &key, png());
        again.status < 300
    });
    assert_eq!(again.json()["id"], image["id"]);
    let export = Request::get("/account/export").key(&key).send(edge.addr);
    assert!(export.text().contains(id), "{}", export.text());
    let erased = format!("/account/data?confirm={account}");
    assert_eq!(request("DELETE", &erased, &json!({})).key(&key).send(edge.addr).status, 204);
    until(|| shown(&edge, &image).status == 404);
}

#[test]
fn logo_of_a_qr_code_is_an_image_of_the_account() {
    let edge = Edge::shared();
    let ((key, _), (other, _)) = (issue(&edge, None), issue(&edge, None));
    let logo = png();
    let (image, foreign) = (upload(&edge, &key, logo.clone()).json(), upload(&edge, &other, logo).json());
    let id = |image: &Value| image["id"].as_str().unwrap().to_owned();
    assert_ne!(id(&image), id(&foreign), "the same file of two accounts");
    let slug = unique("logo");
    let page = create(&edge, &key, &json!({"title": "Ada", "slug": slug, "status": "published"}));
    assert_eq!(page.status, 201, "{}", page.text());
    let code = |form: &str, logo: &str| {
        let asked = Request::get(&format!("/{slug}/qr.{form}?logo={logo}"));
        asked.header("Accept", "application/json").send(edge.addr)
    };
    for form in ["svg", "png", "pdf"] {
        let plain = visit(&edge, &format!("/{slug}/qr.{form}?ecc=H"));
        let shown = code(form, &id(&image));
        assert_eq!((plain.status, shown.status), (200, 200), "{form}: {}", shown.text());
        assert_ne!(shown.body, plain.body, "{form}");
        for logo in
            [id(&foreign), "img_AAAAAAAAAAAAAAAAA".to_owned(), "https://example.com/logo.png".to_owned()]
        {
            let refused = code(form, &logo);
            assert_eq!(
                (refused.status, refused.code()),
                (422, "fields-invalid".to_owned()),
                "{form} of {logo}"
            );
        }
    }
    assert_eq!(decoded_png(&code("png", &id(&image)).body), decoded_png(&code("png", "github").body));
    let removed = request("DELETE", &format!("/images/{}", id(&image)), &json!({})).key(&key).send(edge.addr);
    assert_eq!(removed.status, 204);
    until(|| code("png", &id(&image)).status == 422);
}

/// Returns what another program reads in the code of a PNG.
fn decoded_png(png: &[u8]) -> String {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    let (width, height) = (info.width as usize, info.height as usize);
    let grey = |x: usize, y: usize| rgb[y * info.line_size + x * 3];
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, height, grey);
    image.detect_grids()[0].decode().unwrap().1
}

#[test]
fn file_that_is_no_image_or_too_large_is_refused() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    for (content, status) in [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(), 422),
        (vec![0; 2_097_153], 413),
        (png()[..20].to_vec(), 422),
    ] {
        let refused = upload(&edge, &key, content);
        assert_eq!(refused.status, status, "{}", refused.text());
    }
    let form = Request::new("POST", "/images").header("Content-Type", "multipart/form-data; boundary=x");
    assert_eq!(form.body("--x--").key(&key).send(edge.addr).status, 415);
    let never = "/i/img_00000000000000000";
    assert_eq!(visit(&edge, never).status, 404);
    assert_eq!(Request::get(never).header("If-None-Match", "*").send(edge.addr).status, 404);
    assert_eq!(listed(&edge, &key), 0);
}

#[test]
fn image_is_shown_without_what_its_camera_wrote() {
    let edge = Edge::shared();
    let (key, _) = issue(&edge, None);
    let contains = |content: &[u8], text: &str| content.windows(text.len()).any(|it| it == text.as_bytes());
    let photo = include_bytes!("../../biolink/tests/images/photo.jpg");
    assert!(contains(photo, "Ada Lovelace") && contains(photo, "Secret Camera"));
    let uploaded = upload(&edge, &key, [photo, &b"<script>alert(1)</script>"[..]].concat());
    assert_eq!(uploaded.status, 201, "{}", uploaded.text());
    let image = uploaded.json();
    let file = shown(&edge, &image);
    assert_eq!((file.status, file.header("content-type")), (200, Some("image/jpeg")));
    assert_eq!((&image["bytes"], file.body.starts_with(b"\xff\xd8\xff")), (&json!(file.body.len()), true));
    for secret in ["Ada Lovelace", "Secret Camera", "xmpmeta", "<script>"] {
        assert!(!contains(&file.body, secret), "{secret}");
    }
    let cut = upload(&edge, &key, photo[..400].to_vec());
    assert!(cut.status == 422 && cut.text().contains("cut off or damaged"), "{}", cut.text());
    let avif = include_bytes!("../../biolink/tests/images/photo.avif").to_vec();
    let refused = upload(&edge, &key, avif);
    assert!(refused.status == 422 && refused.text().contains("metadata"), "{}", refused.text());
}

#[test]
fn failed_bucket_is_503_and_loses_nothing() {
    let faults = Faults::start();
    let edge = Edge::start_with_faults(NOWHERE, &faults);
    let (key, account) = issue(&edge, None);
    for fate in [Fate::Fail, Fate::LoseReply] {
        faults.set_once(PUT, fate);
        let refused = upload(&edge, &key, png());
        assert_eq!((refused.status, refused.code()), (503, "images-unavailable".to_owned()));
        assert_eq!(listed(&edge, &key), 0, "{fate:?}");
    }
    let uploaded = upload(&edge, &key, png());
    assert_eq!((uploaded.status, listed(&edge, &key)), (200, 1), "{}", uploaded.text());
    let image = uploaded.json();
    faults.set_once(GET, Fate::Fail);
    let failed = Request::get(&format!("/i/{}", image["id"].as_str().unwrap()));
    let failed = failed.header("Accept", "application/json").send(edge.addr);
    assert_eq!((failed.status, failed.code()), (503, "images-unavailable".to_owned()));
    assert_eq!(shown(&edge, &image).status, 200);

    let operate = |what: &str| {
        let path = format!("/admin/accounts/{account}/{what}");
        let sent = Request::post(&path, &json!({}));
        let sent = sent.header("Authorization", &format!("Bearer {}", keys::ADMIN_SECRET)).send(edge.addr);
        assert_eq!(sent.status, 200, "{}", sent.text());
    };
    let path = format!("/i/{}", image["id"].as_str().unwrap());
    let revalidated = |etag: &str| Request::get(&path).header("If-None-Match", etag).send(edge.addr).status;
    let etag = shown(&edge, &image).header("etag").unwrap().to_owned();
    operate("suspend");
    until(|| shown(&edge, &image).status == 410);
    assert_eq!((revalidated(&etag), revalidated("*")), (410, 410), "no copy is fresh");
    operate("restore");
    until(|| shown(&edge, &image).status == 200);
    assert_eq!((revalidated(&etag), revalidated("*")), (304, 304));

    faults.set_once(DELETE, Fate::Fail);
    let path = format!("/images/{}", image["id"].as_str().unwrap());
    assert_eq!(request("DELETE", &path, &json!({})).key(&key).send(edge.addr).status, 204);
    until(|| shown(&edge, &image).status == 404);
}
