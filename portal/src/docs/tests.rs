//! The reference against the tables that it is made from.

use std::io::Write as _;

use biolink::codes;
use biolink::route::VisitEndpoint;
use flate2::Compression;
use flate2::write::GzEncoder;
use shared::policy::Policy;
use shared::response::Response;
use shared::tier::Tier;
use shared::tool::Tool;

use super::model::Description;
use super::*;
use crate::docs_page::DocsPage;
use crate::endpoint::Endpoint;
use crate::openapi;

const SERVER: &str = "https://api.example.com";
/// The most that a page may have: a phone lays out more only slowly.
const MAX_BYTES: usize = 120 * 1024;
/// The most that a page may weigh on its way.
const MAX_GZIPPED: usize = 20 * 1024;

fn pages() -> Vec<(DocsPage, String)> {
    super::pages(Host::Edge).into_iter().map(|(page, text)| (page, serve(&text, SERVER).body)).collect()
}

fn gzipped(text: &str) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}

#[test]
fn page_is_small_enough_for_a_phone() {
    for (page, text) in pages() {
        let size = gzipped(&text);
        println!("{}: {} bytes, {size} gzipped", page.path(), text.len());
        assert!(text.len() <= MAX_BYTES && size <= MAX_GZIPPED, "{}: {size}", page.path());
    }
}

#[test]
fn every_described_operation_has_an_anchor_and_its_path() {
    let pages = pages();
    let (gateway, biolink) = (Description::gateway(), Description::biolink());
    let operations: Vec<_> = gateway.operations().into_iter().chain(biolink.operations()).collect();
    let documents = [openapi::document(SERVER), openapi::biolink::document(SERVER)];
    let described = Endpoint::all().filter(|endpoint| {
        let method = endpoint.method().as_str().to_lowercase();
        documents.iter().any(|document| document["paths"][endpoint.path()].get(&method).is_some())
    });
    assert_eq!(operations.len(), described.count());
    for operation in &operations {
        let anchors = pages.iter().filter(|(_, text)| text.contains(&format!("id=\"{}\"", operation.id)));
        let found: Vec<_> = anchors.collect();
        assert_eq!(found.len(), 1, "{}", operation.id);
        let is_tool = operation.tag.parse::<Tool>().is_ok_and(|tool| tool != Tool::Qr);
        let path = if is_tool { operation.path.replace("{action}", "") } else { operation.path.clone() };
        assert!(found[0].1.contains(&path), "{path}");
    }
}

#[test]
fn operation_shows_parameters_responses_and_errors() {
    let page = reference(DocsPage::Pages, Host::Edge, SERVER).body;
    let objects = reference(DocsPage::Objects, Host::Edge, SERVER).body;
    let (_, section) = page.split_once("id=\"create_page\"").unwrap();
    let (section, _) = section.split_once("</section>").unwrap();
    for part in [
        "Idempotency-Key",
        "1 to 255 characters",
        "href=\"/docs/objects#PageInput\"",
        "/problems/slug-taken",
        "201",
        "fetch(",
        "urllib",
        "ureq::post",
        "http.NewRequest",
        " -sS -X POST",
    ] {
        assert!(section.contains(part), "{part}");
    }
    assert!(objects.contains("id=\"PageInput\""));
}

#[test]
fn anchor_is_unique_and_every_own_link_leads_to_one() {
    let pages = pages();
    for (page, text) in &pages {
        let ids: Vec<_> = text.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let mut unique = ids.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), ids.len(), "{}", page.path());
        for target in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = if path.is_empty() { page.path() } else { path };
            let Some((_, led)) = pages.iter().find(|(page, _)| page.path() == path) else { continue };
            assert!(
                anchor.is_empty() || led.contains(&format!("id=\"{anchor}\"")),
                "{}: {target}",
                page.path()
            );
        }
    }
}

#[test]
fn reference_names_every_tool_tier_problem_and_route_of_visitors() {
    let [calls, limits, errors, visitors] =
        [DocsPage::Calls, DocsPage::Limits, DocsPage::Errors, DocsPage::Publish]
            .map(|page| reference(page, Host::Edge, SERVER).body);
    for tool in Tool::ALL {
        assert!(calls.contains(&format!("/v1/{tool}/")) && calls.contains(tool.purpose()), "{tool}");
    }
    for tier in Tier::ALL {
        assert!(limits.contains(&format!("<td>{}</td>", Policy::for_tier(tier).minute)), "{tier}");
    }
    for code in codes::all() {
        assert!(errors.contains(&format!("href=\"/problems/{}\"", code.as_str())), "{}", code.as_str());
    }
    for endpoint in VisitEndpoint::ALL {
        assert!(visitors.contains(endpoint.path()), "{endpoint:?}");
    }
}

#[test]
fn every_problem_has_a_page() {
    for code in codes::all() {
        let page = problem_page(code, Host::Edge).body;
        assert!(page.contains(code.as_str()) && page.contains(&code.status().to_string()));
        assert!(page.contains("<html lang=\"en\">") && page.contains("<main"), "{}", code.as_str());
    }
}

#[test]
fn page_allows_its_style_and_its_script_only() {
    for (page, scripts) in [
        (landing(Host::Edge, SERVER), 0),
        (problem_page(codes::KEY_MISSING, Host::Edge), 0),
        (reference(DocsPage::Start, Host::Edge, SERVER), 1),
    ] {
        let html = &page.body;
        assert_eq!(html.matches("<script").count(), scripts);
        assert_eq!(html.matches("src=\"").count(), scripts);
        assert!(!html.contains("style=\"") && !html.contains("onclick"));
        assert_eq!(html.matches("<style>").count(), 1);
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy:?}");
        assert!(policy.contains("; connect-src 'self';"), "{policy:?}");
        let of_scripts = "; script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; ";
        assert_eq!(policy.contains(of_scripts), scripts == 1, "{policy:?}");
    }
}

#[test]
fn address_of_the_server_is_in_the_examples_and_escaped() {
    let page = reference(DocsPage::Start, Host::Edge, SERVER).body;
    assert!(page.contains("https://api.example.com/v1/keys/me") && !page.contains("server.invalid"));
    let page = reference(DocsPage::Start, Host::Edge, "https://a\"><script>alert(1)</script>").body;
    assert!(!page.contains("<script>"), "the host comes from the request");
}

#[test]
fn page_can_be_cached() {
    let response: Response = reference(DocsPage::Webhooks, Host::Edge, SERVER);
    assert_eq!(response.header("cache-control"), Some("public, max-age=300"));
    assert!(response.header("etag").is_some());
}

#[test]
fn page_of_direct_mode_leads_to_nothing_of_the_edge() {
    let pages = super::pages(Host::Direct).into_iter().map(|(_, text)| serve(&text, SERVER));
    let of_pages = DocsPage::ALL.into_iter().filter(|page| !Host::Direct.serves(*page));
    let of_edge = ["/status", "/biolink/", "/llms.txt", "/mcp", "/docs/tools"];
    let of_edge: Vec<_> = of_edge.into_iter().chain(of_pages.map(DocsPage::path)).collect();
    for page in pages.chain([landing(Host::Direct, SERVER), problem_page(codes::KEY_MISSING, Host::Direct)]) {
        for path in &of_edge {
            assert!(!page.body.contains(&format!("\"{path}")), "{path}");
        }
        assert!(page.body.contains("\"/docs\"") && page.body.contains("\"/openapi.json\""));
    }
    for host in [Host::Edge, Host::Direct] {
        assert!(landing(host, SERVER).body.contains("\"/console\""), "{host:?}");
    }
}
