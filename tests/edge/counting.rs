//! Events of the routes of visitors: those that count, those that do not, and their dimensions.

use std::collections::{BTreeMap, BTreeSet};

use biolink::{
    events::{Dimension, EventKind, SeenToken},
    page::{LinkId, ProductId},
};
use serde_json::{Value, json};
use tests::{
    faults::{ACCOUNT, Fate, STATS},
    http::{Request, Response},
    keys,
};

use super::{
    pages::{create, request, unique, until},
    site::{Site, person},
};

/// An agent of each class of programs.
const BOTS: [(&str, &str); 13] = [
    ("search-engine", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
    ("social-preview", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"),
    ("ai-crawler", "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"),
    ("seo", "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"),
    ("monitoring", "Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)"),
    ("library", "curl/8.5.0"),
    ("advertising", "AdsBot-Google (+http://www.google.com/adsbot.html)"),
    ("feed-reader", "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)"),
    ("archiver", "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)"),
    ("scanner", "Mozilla/5.0 (compatible; CensysInspect/1.1; +https://about.censys.io/)"),
    ("academic", "Mozilla/5.0 (compatible; SemanticScholarBot) +https://www.semanticscholar.org/crawler"),
    (
        "automation",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/120.0.0.0 Safari/537.36",
    ),
    ("other", "SomethingNew/1.0 (+https://example.com/robot)"),
];
/// The built-in browser of an app.
const INSTAGRAM: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                         Mobile/21F79 Instagram 333.0.4.32.98 (iPhone14,5; iOS 17_5; en_US; en; scale=3.00; 1170x2532; 123)";

/// Returns the path of the single-use image of a page.
fn image(page: &Response) -> String {
    let text = page.text();
    let image = text.split('"').find(|part| part.contains("/seen/"));
    image.unwrap_or_else(|| panic!("no image: {text}")).to_owned()
}

#[test]
fn each_kind_of_event_is_counted_from_its_route() {
    let site = Site::shared();
    let page = site.send(&person(&site.path));
    assert_eq!((page.status, page.header("cache-control")), (200, Some("private, no-cache")));
    assert_eq!(site.visit(&image(&page)), 200);
    assert_eq!(site.visit(&site.link(0)), 302);
    assert_eq!(site.visit(&format!("{}?confirmed=yes", site.link(2))), 302);
    assert_eq!(site.visit(&site.product()), 302);
    let ping = Request { method: "POST".to_owned(), ..person(&site.ping()) };
    assert_eq!(site.send(&ping.header("Content-Type", "text/ping").body("PING")).status, 204);
    assert_eq!(site.visit(&site.code()), 302);

    let events = site.events(7);
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(EventKind::ALL.map(count), [1, 4, 1, 1]);
    let expected = json!({"views": 1, "visitors": 1, "clicks": 4, "unique_clicks": 1, "scans": 1, "unique_scans": 1,
        "views_confirmed": 1, "bots": 0});
    assert_eq!(site.totals(), expected);
    let report = site.report("group_by=link,product,qr_code,page");
    let groups = &report["groups"];
    let titles = |group: &str| {
        let rows = groups[group].as_array().unwrap().iter();
        rows.map(|row| (row["title"].as_str().unwrap().to_owned(), row["clicks"].as_u64().unwrap()))
            .collect::<BTreeMap<_, _>>()
    };
    let once = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 1)).collect::<BTreeMap<_, _>>();
    assert_eq!(titles("link"), once(&["News", "Mail", "Casino"]));
    assert_eq!(titles("product"), once(&["Engine"]));
    assert_eq!(
        (&groups["qr_code"][0]["qr_code"], &groups["qr_code"][0]["scans"]),
        (&site.page["slug"], &json!(1))
    );
    assert_eq!((&groups["page"][0]["id"], &groups["page"][0]["views"]), (&site.page["id"], &json!(1)));
}

/// The image of a page counts once, even if it is fetched again, and never for another visitor.
#[test]
fn single_use_image_confirms_its_view_once() {
    let site = Site::shared();
    let first = image(&site.send(&person(&site.path)));
    let second = image(&site.send(&person(&site.path)));
    assert_ne!(first, second);
    let stranger = Request::get(&second).header("User-Agent", INSTAGRAM);
    assert_eq!(site.send(&stranger).status, 200);
    for _ in 0..3 {
        let seen = site.send(&person(&first));
        assert_eq!((seen.status, seen.header("cache-control")), (200, Some("no-store")));
    }
    // Two views, and what the first image was fetched for.
    site.events(5);
    let totals = site.totals();
    assert_eq!((&totals["views"], &totals["views_confirmed"]), (&json!(2), &json!(1)));
    assert_eq!(site.visit(&second), 200);
    site.events(6);
    assert_eq!(site.totals()["views_confirmed"], 2);
}

/// Returns the pages of all batches so far with the number of their events, while the stores fail and
/// so every batch goes to the queue. Waits for the first.
fn queued(site: &Site) -> Vec<(String, usize)> {
    until(|| !site.batches().is_empty());
    let pages = site.batches().into_iter().flat_map(|batch| batch.pages);
    pages.map(|rows| (rows.page.to_string(), rows.segment().unwrap().rows())).collect()
}

#[test]
fn visits_that_count_nothing_send_nothing() {
    let site = Site::start();
    site.faults.set(STATS, Fate::Fail);
    let (link, product) = (LinkId::new([9; 12]), ProductId::new([9; 12]));
    let forged = SeenToken::parse("AAAAAAAAAAAAAAAAAAAAAA").unwrap();
    for (path, status) in [
        ("/unknown".to_owned(), 404),
        ("/q/unknown".to_owned(), 404),
        (site.at(&format!("/l/{link}")), 404),
        (site.at(&format!("/p/{product}")), 404),
        // Without consent.
        (site.link(2), 200),
        (site.at(&format!("/seen/{forged}")), 200),
        // The code's image is looked at, and not scanned.
        (site.at("/qr.svg"), 200),
        (site.at("/qr.png"), 200),
        (site.at("/card.vcf"), 200),
        (site.at("/report"), 200),
        ("/robots.txt".to_owned(), 200),
        ("/".to_owned(), 200),
    ] {
        assert_eq!(site.visit(&path), status, "{path}");
    }
    let ping = Request { method: "POST".to_owned(), ..person(&site.at(&format!("/ping/{link}"))) };
    assert_eq!(site.send(&ping.body("PING")).status, 204);
    site.visit(&site.path);
    assert_eq!(queued(&site), [(site.id().to_owned(), 1)]);
}

/// Asks for what a page no longer shows, or does not show yet.
#[test]
fn pages_that_are_not_shown_count_nothing() {
    let site = Site::start();
    site.faults.set(STATS, Fate::Fail);
    let publish = |slug: &str, status: &str, gate: Value| {
        let body = json!({"title": slug, "slug": slug, "status": status, "gate": gate, "links": [
            {"title": "Over", "url": "https://example.com/", "visible_until": "2026-01-01T00:00:00Z"},
            {"title": "Now", "url": "https://example.com/"}]});
        let response = create(&site.edge, &site.key, &body);
        assert_eq!(response.status, 201, "{}", response.text());
        response.json()
    };
    let path = |page: &Value| format!("/pages/{}", page["id"].as_str().unwrap());
    // From KV: the account knows before KV does, and KV would show the page once more.
    let card = |slug: &str, status: u16| {
        site.faults.set(ACCOUNT, Fate::Fail);
        until(|| site.visit(&format!("/{slug}/card.vcf")) == status);
        site.faults.set(ACCOUNT, Fate::Pass);
    };
    let follow = |page: &Value, nth: usize| {
        let (slug, id) = (page["slug"].as_str().unwrap(), page["links"][nth]["id"].as_str().unwrap());
        site.visit(&format!("/{slug}/l/{id}"))
    };

    let draft = publish("draft", "draft", Value::Null);
    assert_eq!((site.visit("/draft"), follow(&draft, 1)), (404, 404));
    let over = publish("over", "published", Value::Null);
    card("over", 200);
    assert_eq!(follow(&over, 0), 404, "its time is over");
    let gated = publish("gated", "published", json!({"kind": "sensitive"}));
    card("gated", 200);
    assert_eq!((site.visit("/gated"), follow(&gated, 1)), (200, 200), "only the question");
    let moved = publish("moved", "published", Value::Null);
    let changed =
        request("PATCH", &path(&moved), &json!({"slug": "new", "status": "published"})).key(&site.key);
    assert_eq!(site.send(&changed).status, 200);
    card("moved", 301);
    assert_eq!((site.visit("/moved"), follow(&moved, 1)), (301, 301));
    let suspended = publish("suspended", "published", Value::Null);
    let suspend = Request::new("POST", "/admin/pages/suspended/suspend");
    let admin = format!("Bearer {}", keys::ADMIN_SECRET);
    assert_eq!(site.send(&suspend.header("Authorization", &admin)).status, 200);
    card("suspended", 410);
    assert_eq!((site.visit("/suspended"), follow(&suspended, 1)), (410, 410));
    let deleted = publish("deleted", "published", Value::Null);
    assert_eq!(site.send(&Request::new("DELETE", &path(&deleted)).key(&site.key)).status, 204);
    card("deleted", 410);
    assert_eq!((site.visit("/deleted"), follow(&deleted, 1), site.visit("/q/deleted")), (410, 410, 410));

    site.visit("/gated?confirmed=yes");
    assert_eq!(queued(&site), [(gated["id"].as_str().unwrap().to_owned(), 1)]);
}

#[test]
fn ignored_events_are_reported_with_their_reason() {
    let site = Site::shared();
    let (link, code) = (site.link(0), site.code());
    for path in [&site.path, &link, &code] {
        let head = Request { method: "HEAD".to_owned(), ..person(path) };
        assert!(matches!(site.send(&head).status, 200 | 302), "{path}");
    }
    assert_eq!((site.visit(&site.at("?notrack")), site.visit(&format!("{link}?notrack=1"))), (200, 302));
    for (_, agent) in BOTS {
        assert_eq!(site.send(&Request::get(&site.path).header("User-Agent", agent)).status, 200, "{agent}");
    }
    // No agent at all.
    assert_eq!(site.send(&Request::get(&link)).status, 302);
    let events = site.events(3 + 2 + BOTS.len() + 1);
    assert!(events.iter().all(|event| event.visitor == 0 && !event.is_counted()));
    let report = site.report("metrics=views,clicks,scans,bots&group_by=bot_class,link&limit=100");
    assert_eq!(report["totals"], json!({"views": 0, "clicks": 0, "scans": 0, "bots": BOTS.len() + 1}));
    let bots: BTreeMap<_, _> = BOTS.map(|(class, _)| (class, 1 + u64::from(class == "library"))).into();
    let expected =
        json!({"head": 3, "prefetch": 0, "preview": 0, "own": 2, "embed": 0, "flood": 0, "bot": bots});
    assert_eq!(report["ignored"], expected);
    assert_eq!(report["groups"]["bot_class"].as_array().map(Vec::len), Some(BOTS.len()));
    let link = &report["groups"]["link"][0];
    assert_eq!(
        (&link["id"], &link["clicks"], &link["bots"]),
        (&site.page["links"][0]["id"], &json!(0), &json!(1))
    );
}

/// A browser that thinks the visitor might follow gets nothing, and asks again if the visitor does.
#[test]
fn speculative_visit_is_503_and_its_real_one_counts() {
    let site = Site::shared();
    let paths = [site.path.clone(), site.link(0), site.product(), site.code()];
    let headers = [("Sec-Purpose", "prefetch;prerender"), ("Purpose", "prefetch"), ("X-Moz", "prefetch")];
    for path in &paths {
        for (name, value) in headers {
            let refused = site.send(&person(path).header(name, value));
            assert_eq!(
                (refused.status, refused.header("cache-control")),
                (503, Some("no-store")),
                "{path} {name}"
            );
            assert_eq!(refused.header("location"), None);
        }
    }
    let ignored = paths.len() * headers.len();
    site.events(ignored);
    assert_eq!(site.report("")["ignored"]["prefetch"], ignored);
    assert_eq!(site.totals()["visitors"], 0);
    assert_eq!(paths.each_ref().map(|path| site.visit(path)), [200, 302, 302, 302]);
    site.events(ignored + 4);
    let totals = site.totals();
    assert_eq!((&totals["views"], &totals["clicks"], &totals["scans"]), (&json!(1), &json!(2), &json!(1)));
}

/// 130 visits take three minutes at least if none exceeds 60 a minute.
#[test]
fn visitor_counts_60_times_a_minute() {
    let site = Site::shared();
    for _ in 0..130 {
        assert_eq!(site.visit(&site.path), 200, "a flood is served");
    }
    let other = Request::get(&site.path).header("User-Agent", INSTAGRAM);
    assert_eq!(site.send(&other).status, 200);
    let mut minutes = BTreeMap::<u64, (u64, u64)>::new();
    let events = site.events(131);
    for event in events.iter().filter(|event| event.value(Dimension::Browser) != "Instagram") {
        let (counted, ignored) = minutes.entry(event.at.seconds() / 60).or_default();
        if event.is_counted() {
            *counted += 1;
        } else {
            assert_eq!((event.value(Dimension::Ignored), event.visitor), ("flood", 0));
            *ignored += 1;
        }
    }
    for (counted, ignored) in minutes.values() {
        assert_eq!(*counted, (counted + ignored).min(60), "{minutes:?}");
    }
    let (counted, flood) = minutes.values().fold((0, 0), |sum, minute| (sum.0 + minute.0, sum.1 + minute.1));
    assert!(flood > 0, "{minutes:?}");
    let report = site.report("metrics=views,visitors");
    assert_eq!(report["totals"], json!({"views": counted + 1, "visitors": 2}));
    assert_eq!(report["ignored"]["flood"], flood);
}

/// A view and its image can lie in two minutes, of which the second is no flood yet.
#[test]
fn view_of_a_flood_is_not_confirmed() {
    let site = Site::shared();
    for _ in 0..100 {
        let page = site.send(&person(&site.path));
        assert_eq!(site.send(&person(&image(&page))).status, 200);
    }
    let minutes: BTreeSet<_> = site.events(200).iter().map(|event| event.at.seconds() / 60).collect();
    let totals = site.totals();
    let read = |name: &str| totals[name].as_u64().unwrap();
    assert!(read("views") >= 60 && read("views_confirmed") >= 60, "{totals}");
    assert!(read("views_confirmed") < read("views") + minutes.len() as u64, "{totals}");
}

#[test]
fn visitor_who_opts_out_counts_without_a_number() {
    let site = Site::shared();
    for path in [&site.path, &site.link(0), &site.code()] {
        site.send(&person(path).header("Sec-GPC", "1"));
    }
    let events = site.events(3);
    assert!(events.iter().all(|event| event.visitor == 0 && event.is_counted()));
    let totals = site.totals();
    let read = ["views", "clicks", "scans", "visitors", "unique_clicks"].map(|name| totals[name].clone());
    assert_eq!(read, [1, 1, 1, 0, 0].map(Value::from));
    site.visit(&site.path);
    let numbered = site.events(4);
    assert_eq!(numbered.iter().filter(|event| event.visitor != 0).count(), 1);
}

#[test]
fn each_dimension_of_a_visit_is_reported() {
    let site = Site::shared();
    let query = "utm_source=Spring+letter&utm_medium=social&utm_campaign=may&utm_term=shoes&utm_content=top";
    let visit = person(&site.at(&format!("?{query}")))
        .header("Referer", "https://news.example.org/secret/path?token=1")
        .header("Accept-Language", "ne-NP,en;q=0.5")
        .header("CF-IPCountry", "CH")
        .header("MF-CF-Blob", r#"{"country":"NP"}"#);
    assert_eq!(site.send(&visit).status, 200);
    assert_eq!(site.visit(&site.path), 200);
    site.events(2);
    let groups = [
        ("referrer", "news.example.org"),
        ("source", "Spring letter"),
        ("channel", "social"),
        ("country", "NP"),
        ("device", "desktop"),
        ("browser", "Firefox"),
        ("os", "Windows"),
        ("language", "ne"),
        ("utm_source", "Spring letter"),
        ("utm_medium", "social"),
        ("utm_campaign", "may"),
        ("utm_term", "shoes"),
        ("utm_content", "top"),
    ];
    for groups in groups.chunks(8) {
        let names: Vec<_> = groups.iter().map(|(name, _)| *name).collect();
        let report = site.report(&format!("group_by={}", names.join(",")));
        for (name, value) in groups {
            let rows = report["groups"][name].as_array().unwrap();
            let views = rows.iter().find(|row| row[name] == *value).map(|row| &row["views"]);
            let expected = if matches!(*name, "device" | "browser" | "os") { 2 } else { 1 };
            assert_eq!(views, Some(&json!(expected)), "{name}: {rows:?}");
        }
    }
}

#[test]
fn built_in_browser_is_a_person_of_its_app() {
    let site = Site::shared();
    assert_eq!(site.send(&Request::get(&site.path).header("User-Agent", INSTAGRAM)).status, 200);
    site.events(1);
    let report = site.report("metrics=views,visitors,bots&group_by=source,channel,device");
    assert_eq!(report["totals"], json!({"views": 1, "visitors": 1, "bots": 0}));
    let value = |group: &str| report["groups"][group][0][group].clone();
    assert_eq!(
        ["source", "channel", "device"].map(value),
        ["Instagram", "social", "mobile"].map(Value::from)
    );
}

/// The page that a code leads to is viewed with the code as its channel, and a reload from there too.
#[test]
fn scan_and_its_view_have_the_channel_qr() {
    let site = Site::shared();
    let scanned = site.send(&person(&site.code()));
    assert_eq!(site.visit(scanned.header("location").unwrap()), 200);
    assert_eq!(site.visit(&site.path), 200);
    site.events(3);
    let report = site.report("metrics=views,scans&group_by=channel");
    let expected =
        json!([{"channel": "direct", "views": 1, "scans": 0}, {"channel": "qr", "views": 1, "scans": 1}]);
    assert_eq!(report["groups"]["channel"], expected);
}

/// So a person cannot be followed from page to page, and is one visitor of each.
#[test]
fn visitor_of_two_pages_has_two_numbers() {
    let site = Site::shared();
    let slug = unique("bob");
    let bob_path = format!("/{slug}");
    let body = json!({"title": "Bob", "slug": slug, "status": "published"});
    let bob = create(&site.edge, &site.key, &body).json()["id"].as_str().unwrap().to_owned();
    let visit = |path: &str| site.send(&person(path).header("CF-Connecting-IP", "192.0.2.7")).status;
    until(|| site.visit(&format!("{bob_path}/card.vcf")) == 200);
    assert_eq!([&site.path, &site.path, &bob_path, &bob_path].map(|path| visit(path)), [200; 4]);
    let numbers = [site.id(), &bob].map(|page| {
        let events = site.events_of(page, 2);
        assert_eq!(events[0].visitor, events[1].visitor);
        events[0].visitor
    });
    assert!(numbers[0] != numbers[1] && !numbers.contains(&0));
    assert_eq!(site.totals()["visitors"], 2);
}
