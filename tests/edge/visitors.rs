//! Routes of visitors besides pages and links: reports, codes, cards, and the site's own files.

use std::{fs, io::Cursor, time::Duration};

use calcard::{Entry, Parser, vcard::VCardProperty};
use resvg::{tiny_skia, usvg};
use serde_json::{Value, json};
use tests::{
    http::{Request, Response},
    keys,
    stack::{Edge, NOWHERE},
    wait::wait_for,
};

use super::{
    pages::unique,
    site::{Site, person},
};

/// The header in which the platform names the client's address.
const ADDRESS: &str = "CF-Connecting-IP";

/// Issues a key and publishes a page with it. Returns the key and the page.
fn publish(edge: &Edge, page: &Value) -> (String, Value) {
    let body = json!({"email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": "business",
        "admin_secret": keys::ADMIN_SECRET});
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr);
    let key = issued.json()["key"].as_str().unwrap().to_owned();
    let created = Request::post("/pages", page).key(&key).send(edge.addr);
    assert_eq!(created.status, 201, "{}", created.text());
    (key, created.json())
}

fn ada(slug: &str) -> Value {
    json!({"title": "Ada Example", "slug": slug, "status": "published", "bio": "Mathematician, and writer",
        "links": [{"type": "email", "title": "Mail", "url": "ada@example.com"}]})
}

fn visit(edge: &Edge, path: &str) -> Response {
    Request::get(path).send(edge.addr)
}

fn report(edge: &Edge, slug: &str, form: &str, address: &str) -> Response {
    Request::new("POST", &format!("/{slug}/report"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header(ADDRESS, address)
        .body(form)
        .send(edge.addr)
}

/// Returns true if a file below the folder holds the text.
fn is_stored(folder: &std::path::Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        let holds = |bytes: Vec<u8>| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        if path.is_dir() { is_stored(&path, text) } else { fs::read(&path).is_ok_and(holds) }
    })
}

#[test]
fn report_is_kept_without_the_address_of_its_sender() {
    let edge = Edge::start_stored(NOWHERE);
    publish(&edge, &ada("ada"));
    let form = visit(&edge, "/ada/report");
    assert_eq!((form.status, form.header("x-robots-tag")), (200, Some("noindex")));
    assert!(form.text().contains("action=\"/ada/report\"") && !form.text().contains("<script"));

    let sent = report(&edge, "ada", "reason=phishing&details=asks+for+a+password", "192.0.2.7");
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert!(sent.text().contains("Thank you"));
    for place in ["asks for a password", "phishing"] {
        assert!(is_stored(edge.state(), place), "{place}");
    }
    assert!(!is_stored(edge.state(), "192.0.2.7"));
    assert!(!edge.output().contains("192.0.2.7"));
}

#[test]
fn address_reports_a_page_three_times_a_day() {
    let edge = Edge::shared();
    let slug = unique("ada");
    publish(&edge, &ada(&slug));
    let send = |address: &str| report(&edge, &slug, "reason=spam&details=", address).status;
    assert_eq!([0; 4].map(|_| send("192.0.2.7")), [200, 200, 200, 429]);
    assert_eq!(send("198.51.100.8"), 200, "another address");
    let refused = report(&edge, &slug, "reason=spam", "192.0.2.7");
    assert_eq!(refused.header("retry-after"), Some("86400"));
}

#[test]
fn report_that_is_malformed_or_of_another_site_is_not_kept() {
    let edge = Edge::start_stored(NOWHERE);
    publish(&edge, &ada("ada"));
    assert_eq!(report(&edge, "ada", "reason=boredom&details=never-kept", "192.0.2.7").status, 422);
    let long = format!("reason=spam&details={}", "x".repeat(20_000));
    assert_eq!(report(&edge, "ada", &long, "192.0.2.7").status, 413);
    let foreign = Request::new("POST", "/ada/report")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "cross-site")
        .body("reason=spam&details=never-kept")
        .send(edge.addr);
    assert!(
        foreign.status == 200 && foreign.text().contains("Report this page"),
        "the form, to be sent again"
    );
    let missing = Request { target: "/nobody/report".to_owned(), ..Request::new("POST", "") }
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body("reason=spam&details=never-kept")
        .send(edge.addr);
    assert_eq!(missing.status, 404);
    assert!(!is_stored(edge.state(), "never-kept"));
}

/// Returns what an independent reader finds in an image, given the brightness of its pixels.
fn decoded(side: usize, brightness: impl Fn(usize, usize) -> u8) -> String {
    let mut image = rqrr::PreparedImage::prepare_from_greyscale(side, side, brightness);
    let grids = image.detect_grids();
    assert_eq!(grids.len(), 1, "one code in the image");
    grids[0].decode().unwrap().1
}

fn decoded_png(png: &[u8], size: usize) -> String {
    let mut decoder = png::Decoder::new(Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut rgb).unwrap();
    assert_eq!((info.width as usize, info.height as usize), (size, size), "the requested size");
    decoded(size, |x, y| rgb[y * info.line_size + x * 3])
}

fn decoded_svg(svg: &str) -> String {
    let tree = usvg::Tree::from_str(svg, &usvg::Options::default()).unwrap();
    let mut pixels = tiny_skia::Pixmap::new(512, 512).unwrap();
    resvg::render(&tree, tiny_skia::Transform::identity(), &mut pixels.as_mut());
    decoded(512, |x, y| pixels.data()[(y * 512 + x) * 4])
}

#[test]
fn qr_codes_are_decoded_and_lead_to_the_page_for_ever() {
    let edge = Edge::shared();
    let (slug, later) = (unique("ada"), unique("lovelace"));
    let (key, page) = publish(&edge, &ada(&slug));
    assert_eq!(page["urls"]["qr"], format!("http://{}/{slug}/qr.svg", edge.addr));
    let svg = visit(&edge, &format!("/{slug}/qr.svg"));
    assert_eq!((svg.status, svg.header("content-type")), (200, Some("image/svg+xml")));
    let address = decoded_svg(&svg.text());
    for (query, size) in [("", 512), ("?size=300&ecc=H", 300), ("?size=1024&fg=1d4ed8&bg=fff4ee", 1024)] {
        let png = visit(&edge, &format!("/{slug}/qr.png{query}"));
        assert_eq!((png.status, png.header("content-type")), (200, Some("image/png")), "{query}");
        if !query.contains("fg") {
            assert_eq!(decoded_png(&png.body, size), address, "{query}");
        }
    }
    let path = format!("/{slug}/qr.png");
    let png = visit(&edge, &path);
    let unchanged = Request::get(&path).header("If-None-Match", png.header("etag").unwrap()).send(edge.addr);
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    assert_eq!(visit(&edge, &format!("{path}?size=1")).status, 422);

    let code = address.strip_prefix(&format!("http://{}", edge.addr)).unwrap().to_owned();
    assert!(code.starts_with("/q/") && !code.contains("ada"), "{code} stays when the slug changes");
    let scan = |to: &str| {
        wait_for(Duration::from_secs(30), || {
            let scanned = visit(&edge, &code);
            (scanned.status == 302 && scanned.header("location") == Some(to)).then_some(scanned)
        })
    };
    let scanned = scan(&format!("/{slug}?via=qr"));
    assert_eq!(scanned.header("cache-control"), Some("no-store"));
    assert_eq!(scanned.header("x-robots-tag"), Some("noindex"));
    let shown = visit(&edge, &format!("/{slug}?via=qr"));
    assert!(shown.status == 200 && shown.text().contains(&format!("href=\"http://{}/{slug}\"", edge.addr)));

    let path = format!("/pages/{}", page["id"].as_str().unwrap());
    let change = json!({"slug": later, "status": "published"}).to_string();
    let changed = Request::new("PATCH", &path).json(&change).key(&key).send(edge.addr);
    assert_eq!(changed.status, 200, "{}", changed.text());
    scan(&format!("/{later}?via=qr"));
    let moved = wait_for(Duration::from_secs(30), || {
        Some(visit(&edge, &format!("/{slug}/qr.svg?margin=8"))).filter(|response| response.status == 301)
    });
    assert_eq!(moved.header("location"), Some(format!("/{later}/qr.svg?margin=8").as_str()));
    assert_eq!(Request::new("DELETE", &path).key(&key).send(edge.addr).status, 204);
    wait_for(Duration::from_secs(30), || (visit(&edge, &code).status == 410).then_some(()));
}

#[test]
fn code_of_a_page_cannot_be_anothers_slug() {
    let edge = Edge::shared();
    let slug = unique("ada");
    publish(&edge, &ada(&slug));
    let address = decoded_svg(&visit(&edge, &format!("/{slug}/qr.svg")).text());
    let code = address.rsplit('/').next().unwrap().to_owned();
    wait_for(Duration::from_secs(30), || (visit(&edge, &format!("/q/{code}")).status == 302).then_some(()));
    let body = json!({"email": "eve@example.com", "name": "Eve", "tier": "free", "biolink_plan": "business",
        "admin_secret": keys::ADMIN_SECRET});
    let key =
        Request::post("/v1/keys/issue", &body).send(edge.addr).json()["key"].as_str().unwrap().to_owned();
    let taken = Request::post("/pages", &json!({"title": "Eve", "slug": code})).key(&key).send(edge.addr);
    assert_eq!(taken.code(), "slug-taken", "{}", taken.text());
}

#[test]
fn card_is_read_by_another_program() {
    let edge = Edge::shared();
    let slug = unique("ada");
    publish(&edge, &ada(&slug));
    let card = visit(&edge, &format!("/{slug}/card.vcf"));
    assert_eq!((card.status, card.header("content-type")), (200, Some("text/vcard; charset=utf-8")));
    assert_eq!(
        card.header("content-disposition"),
        Some(format!("attachment; filename=\"{slug}.vcf\"").as_str())
    );
    let text = card.text();
    let Entry::VCard(read) = Parser::new(&text).strict().entry() else { panic!("{text}") };
    let value = |name: &VCardProperty| {
        let entry = read.entries.iter().find(|entry| entry.name == *name).unwrap();
        entry.values.iter().filter_map(|value| value.as_text()).collect::<String>()
    };
    assert_eq!(value(&VCardProperty::Fn), "Ada Example");
    assert_eq!(value(&VCardProperty::Note), "Mathematician, and writer");
    assert_eq!(value(&VCardProperty::Email), "ada@example.com");
    assert_eq!(value(&VCardProperty::Url), format!("http://{}/{slug}", edge.addr));
}

#[test]
fn card_of_a_gated_page_needs_the_confirmation() {
    let edge = Edge::shared();
    let slug = unique("ada");
    let mut page = ada(&slug);
    page["gate"] = json!({"kind": "sensitive"});
    publish(&edge, &page);
    for path in ["", "/card.vcf"].map(|rest| format!("/{slug}{rest}")) {
        let asked = visit(&edge, &path);
        assert!(asked.status == 200 && !asked.text().contains("ada@example.com"), "{path}");
        let confirmed = visit(&edge, &format!("{path}?confirmed=yes"));
        assert!(confirmed.text().contains("ada@example.com"), "{path}");
    }
    assert!(visit(&edge, &format!("/{slug}/qr.svg")).text().starts_with("<svg"));
    assert!(visit(&edge, &format!("/{slug}/report")).text().contains("Report this page"));
}

#[test]
fn absent_pages_are_html_for_visitors_and_problems_for_programs() {
    let edge = Edge::shared();
    let slug = unique("ada");
    let (key, page) = publish(&edge, &ada(&slug));
    let (here, code) = (format!("/{slug}"), format!("/{slug}/qr.png"));
    let path = format!("/pages/{}/unpublish", page["id"].as_str().unwrap());
    assert_eq!(Request::new("POST", &path).key(&key).send(edge.addr).status, 200);
    wait_for(Duration::from_secs(30), || (visit(&edge, &here).status == 410).then_some(()));
    for (path, status, text) in [
        ("/nobody", 404, "There is no page here"),
        ("/nobody/card.vcf", 404, "There is no page here"),
        ("/q/nobody", 404, "There is no page here"),
        (&here, 410, "This page is not available"),
        (&code, 410, "This page is not available"),
    ] {
        let shown = visit(&edge, path);
        assert_eq!((shown.status, shown.header("content-type")), (status, Some("text/html; charset=utf-8")));
        assert!(shown.text().contains(text) && !shown.text().contains("<script"), "{path}: {}", shown.text());
        assert_eq!(shown.header("x-robots-tag"), Some("noindex"));
        assert_eq!((shown.header("cache-control"), shown.header("etag")), (Some("no-store"), None));
        assert!(shown.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
        let asked = Request::get(path).header("Accept", "application/json").send(edge.addr);
        assert_eq!(
            (asked.status, asked.problem()),
            (status, shown.header("x-gateway-problem").unwrap().to_owned())
        );
        assert_eq!(Request::new("HEAD", path).send(edge.addr).status, status);
    }
    let browser = |path: &str| Request::get(path).header("Accept", "text/html,*/*;q=0.8").send(edge.addr);
    assert!(browser("/no/such/path").text().contains("There is no page here"));
    assert_eq!(browser("/v1/keys/me").code(), "key-missing", "the API is not for visitors");
    assert_eq!(visit(&edge, "/no/such/path").code(), "route-unknown");
}

#[test]
fn client_that_tries_slug_after_slug_is_429() {
    let edge = Edge::start(NOWHERE);
    publish(&edge, &ada("ada"));
    wait_for(Duration::from_secs(30), || (visit(&edge, "/ada").status == 200).then_some(()));
    let ask = |path: &str, address: &str| Request::get(path).header(ADDRESS, address).send(edge.addr);
    let refused = wait_for(Duration::from_secs(120), || {
        (0..61).map(|n| ask(&format!("/nobody-{n}"), "192.0.2.9")).find(|response| response.status == 429)
    });
    let seconds: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    assert!(refused.text().contains("Too many requests"), "{}", refused.text());
    assert_eq!(ask("/nobody-1", "192.0.2.10").status, 404, "another address");
    assert_eq!(ask("/ada", "192.0.2.9").status, 200, "a page that is there");
    assert!(!edge.output().contains("192.0.2.9"));
}

#[test]
fn site_has_a_start_page_and_its_files() {
    let edge = Edge::start_with(NOWHERE, &["SECURITY_CONTACT=mailto:security@example.com"]);
    let start = visit(&edge, "/");
    assert_eq!((start.status, start.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        start
            .header("content-security-policy")
            .unwrap()
            .starts_with("default-src 'none'; style-src 'sha256-")
    );
    for link in ["/docs", "/openapi.json", "/v1/status"] {
        assert!(start.text().contains(&format!("href=\"{link}\"")), "{link}");
    }
    assert!(!start.text().contains("<script"));
    let robots = visit(&edge, "/robots.txt").text();
    assert!(robots.contains("Disallow: /q/\n") && robots.contains("Disallow: /*/l/\n"), "{robots}");
    assert_eq!(visit(&edge, "/favicon.ico").header("content-type"), Some("image/svg+xml"));
    let security = visit(&edge, "/.well-known/security.txt");
    assert_eq!((security.status, security.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    let text = security.text();
    assert!(text.starts_with("Contact: mailto:security@example.com\nExpires: 20"), "{text}");
}

/// Sends a request for a path under a host name.
fn at(edge: &Edge, host: &str, method: &str, path: &str) -> Response {
    Request::new(method, path).header("Host", host).send(edge.addr)
}

#[test]
fn pages_have_a_host_of_their_own() {
    let edge = Edge::start_with(NOWHERE, &["PAGES_HOST=pages.localhost"]);
    let (_, page) = publish(&edge, &ada("ada"));
    assert_eq!(page["urls"]["public"], "http://pages.localhost/ada");
    let pages = |path: &str| at(&edge, "pages.localhost", "GET", path);
    let api = |path: &str| at(&edge, "api.localhost", "GET", path);

    for path in ["/ada?a=b", "/ada/qr.svg", "/q/ada", "/ada/report", "/nobody"] {
        let moved = api(path);
        assert_eq!(moved.status, 308, "{path}");
        assert_eq!(moved.header("location").unwrap(), format!("http://pages.localhost{path}"));
    }
    assert_eq!(at(&edge, "api.localhost", "POST", "/ada/report").status, 308);
    let shown = pages("/ada");
    assert!(
        shown.text().contains("rel=\"canonical\" href=\"http://pages.localhost/ada\""),
        "{}",
        shown.text()
    );
    assert!(decoded_svg(&pages("/ada/qr.svg").text()).starts_with("http://pages.localhost/q/"));

    for path in ["/robots.txt", "/favicon.ico"] {
        assert_eq!((pages(path).status, api(path).status), (200, 200), "{path}");
    }
    for path in
        ["/", "/docs", "/healthz", "/openapi.json", "/pages", "/account", "/v1/qr/generate", "/v1/keys/me"]
    {
        assert_eq!((pages(path).status, pages(path).code().as_str()), (404, "route-unknown"), "{path}");
    }
    for path in ["/", "/docs", "/healthz"] {
        assert_eq!(api(path).status, 200, "{path}");
    }
    assert_eq!(api("/pages").code(), "key-missing");
    let issue = json!({"admin_secret": keys::ADMIN_SECRET});
    let sent = Request::post("/v1/keys/issue", &issue).header("Host", "pages.localhost").send(edge.addr);
    assert_eq!(sent.status, 404, "no secret is read here");
}

#[test]
fn hosts_and_contacts_are_checked_at_start() {
    let wrong = ["PAGES_HOST=https://pages.example", "SECURITY_CONTACT=security@example.com"];
    let edge = Edge::start_with(NOWHERE, &wrong);
    assert_eq!((visit(&edge, "/healthz").status, visit(&edge, "/ada").status), (200, 503));
    let faults = ["PAGES_HOST must be a host name", "SECURITY_CONTACT must be a URI"];
    wait_for(Duration::from_secs(10), || {
        let log = edge.output();
        faults.iter().all(|fault| log.contains(fault)).then_some(())
    });
    let same = ["PUBLIC_URL=https://api.example.com/", "PAGES_HOST=api.example.com"];
    assert_eq!(visit(&Edge::start_with(NOWHERE, &same), "/ada").status, 503);
}

/// Addresses that were copied with a slash or a space at their end.
#[test]
fn address_with_something_at_its_end_leads_to_the_page() {
    let site = Site::shared();
    for end in ["/", "%20", "/?utm_source=a"] {
        let response = site.send(&person(&format!("{}{end}", site.path)));
        let query = end.split_once('?').map(|(_, query)| format!("?{query}")).unwrap_or_default();
        assert_eq!(
            (response.status, response.header("location")),
            (301, Some(&*format!("{}{query}", site.path)))
        );
    }
    let link = site.link(0);
    let own = ["/report", "/card.vcf", "/qr.svg"].map(|part| site.at(part));
    for path in own.iter().map(String::as_str).chain([&*link, "/docs", "/docs/pages", "/status"]) {
        let response = site.send(&person(&format!("{path}/?a=b")));
        assert_eq!((response.status, response.header("location")), (301, Some(&*format!("{path}?a=b"))));
    }
}

/// A page of any site can have an image with the address of a page or link.
#[test]
fn image_with_the_address_of_a_page_does_not_count() {
    let site = Site::shared();
    for path in [&site.path, &site.link(0)] {
        site.send(&person(path).header("Sec-Fetch-Dest", "image"));
        site.send(&person(path).header("Sec-Fetch-Dest", "document"));
    }
    site.events(4);
    let totals = site.totals();
    assert_eq!([&totals["views"], &totals["clicks"]], [1, 1]);
    assert_eq!(site.report("")["ignored"]["embed"], 2);
}
