//! Campaigns: which of them clicks come from, links with several destinations, and named codes.

use serde_json::{Value, json};
use tests::http::{Request, Response};

use super::{
    pages::{request, until},
    site::{Site, person},
};

/// Returns a request of the visitor with this number.
fn visitor(path: &str, number: u8) -> Request {
    person(path).header("CF-Connecting-IP", &format!("192.0.2.{number}"))
}

/// Returns the row of a group that has a value.
fn row<'a>(report: &'a Value, group: &str, value: &Value) -> &'a Value {
    let rows = report["groups"][group].as_array().unwrap();
    rows.iter().find(|row| row[group] == *value).unwrap_or_else(|| panic!("no {value}: {rows:?}"))
}

fn location(response: &Response) -> String {
    response.header("location").unwrap_or_else(|| panic!("{}", response.status)).to_owned()
}

#[test]
fn clicks_are_counted_in_the_campaign_of_their_visitors() {
    let site = Site::shared();
    let campaigns = ["spring", "spring", "spring", "autumn", "autumn", ""];
    for (campaign, number) in campaigns.into_iter().zip(1..) {
        let query = format!("?utm_source=letter&utm_medium=email&utm_campaign={campaign}");
        let path = if campaign.is_empty() { site.path.clone() } else { site.at(&query) };
        let view = visitor(&path, number).header("Referer", "https://news.example.org/");
        assert_eq!(site.send(&view).status, 200);
        assert_eq!(
            [site.link(0), site.product()].map(|path| site.send(&visitor(&path, number)).status),
            [302; 2]
        );
    }
    // Without a view, and without a number.
    assert_eq!(site.send(&visitor(&site.link(0), 77)).status, 302);
    let objecting = |path: &str| site.send(&visitor(path, 78).header("Sec-GPC", "1")).status;
    assert_eq!([&site.at("?utm_campaign=autumn"), &site.link(0)].map(|path| objecting(path)), [200, 302]);
    site.events(6 * 3 + 1 + 2);
    let report = site.report(
        "group_by=utm_campaign,utm_source,utm_medium,channel,referrer&metrics=views,clicks,visitors,unique_clicks,ctr",
    );
    let counts = |views: u64, clicks: u64, visitors: u64, unique: u64, ctr: Value| json!({"views": views, "clicks": clicks, "visitors": visitors, "unique_clicks": unique, "ctr": ctr});
    for (group, value, mut expected) in [
        ("utm_campaign", json!("spring"), counts(3, 6, 3, 3, json!(2))),
        ("utm_campaign", json!("autumn"), counts(3, 4, 2, 2, json!(1.3333))),
        ("utm_campaign", Value::Null, counts(1, 4, 2, 2, json!(4))),
        ("utm_source", json!("letter"), counts(5, 10, 5, 5, json!(2))),
        ("utm_medium", json!("email"), counts(5, 10, 5, 5, json!(2))),
        ("channel", json!("email"), counts(5, 10, 5, 5, json!(2))),
        ("channel", Value::Null, counts(0, 2, 1, 1, Value::Null)),
        ("referrer", json!("news.example.org"), counts(6, 12, 6, 6, json!(2))),
    ] {
        expected[group] = value.clone();
        assert_eq!(row(&report, group, &value), &expected, "{group}");
    }
    let filtered = site.report("utm_campaign=spring&metrics=clicks,unique_clicks&group_by=link");
    assert_eq!(filtered["totals"], json!({"clicks": 6, "unique_clicks": 3}));
    assert_eq!(filtered["groups"]["link"][0]["clicks"], 3);
}

/// The store had the views before it was restarted, in a table of the program before.
#[test]
fn click_after_a_restart_has_its_campaign() {
    let site = Site::start_stored();
    assert_eq!(site.send(&visitor(&site.at("?utm_campaign=spring"), 1)).status, 200);
    site.events(1);
    for name in ["via", "variant"] {
        site.stats().sql(&format!("ALTER TABLE segment DROP COLUMN {name}"));
    }
    let site = site.restart();
    assert_eq!(site.send(&visitor(&site.link(0), 1)).status, 302);
    site.events(2);
    let report = site.report("group_by=utm_campaign,via");
    assert_eq!(row(&report, "utm_campaign", &json!("spring"))["clicks"], 1);
    assert_eq!(row(&report, "via", &Value::Null)["views"], 1);
}

#[test]
fn link_with_several_destinations_is_counted_as_one() {
    let site = Site::shared();
    let path = format!("/pages/{}", site.id());
    let body = json!({"status": "published", "utm": {"source": "{slug}"}, "links": [
        {"title": "Shop", "url": "https://example.com/shop", "utm": {"campaign": "{via}"}, "targets": [
            {"name": "Germany", "countries": ["de"], "url": "https://example.com/de"},
            {"devices": ["ios"], "url": "https://example.com/app"}]},
        {"title": "Over", "url": "https://example.com/offer", "visible_until": "2026-01-01T00:00:00Z",
         "fallback": {"url": "https://example.com/over?utm_source=own"}}]});
    let tried = site.send(&request("PATCH", &format!("{path}?dry_run=true"), &body).key(&site.key));
    assert_eq!(tried.status, 200, "{}", tried.text());
    let tried = tried.json();
    let slug = site.path.trim_start_matches('/');
    let previews: Vec<_> =
        tried["previews"].as_array().unwrap().iter().map(|it| (&it["variant"], &it["url"])).collect();
    let shown = |rest: &str| json!(format!("https://example.com/{rest}"));
    let own = format!("utm_source={slug}");
    assert_eq!(
        previews,
        [
            (&json!("Germany"), &shown(&format!("de?{own}"))),
            (&json!("ios"), &shown(&format!("app?{own}"))),
            (&json!("default"), &shown(&format!("shop?{own}"))),
            (&json!("default"), &shown(&format!("offer?{own}"))),
            (&json!("fallback"), &shown("over?utm_source=own")),
        ]
    );
    let stored = site.send(&request("PATCH", &path, &body).key(&site.key)).json();
    assert_eq!(stored["previews"], Value::Null, "of a dry run only");
    let link = |nth: usize| site.at(&format!("/l/{}", stored["links"][nth]["id"].as_str().unwrap()));
    until(|| site.send(&visitor(&link(0), 9).header("User-Agent", "curl/8")).status == 302);
    let follow = |path: &str, country: &str| {
        let blob = json!({"country": country}).to_string();
        location(&site.send(&visitor(path, 1).header("MF-CF-Blob", &blob)))
    };
    assert_eq!(follow(&link(0), "DE"), format!("https://example.com/de?{own}"));
    assert_eq!(
        follow(&format!("{}?via=flyer", link(0)), "US"),
        format!("https://example.com/shop?{own}&utm_campaign=flyer")
    );
    assert_eq!(follow(&link(1), "DE"), "https://example.com/over?utm_source=own");
    assert!(!site.send(&visitor(&site.path, 2)).text().contains("Over"), "the page does not show it");
    // Three clicks, a view, and what a program did until the page was there.
    let events = until_events(&site, 4);
    assert!(events.iter().all(|(variant, _)| !variant.is_empty()), "{events:?}");
    let report = site.report("group_by=link,variant,via&metrics=clicks,unique_clicks");
    assert_eq!(report["totals"]["clicks"], 3);
    assert_eq!(report["groups"]["link"][0]["clicks"], 2);
    for (variant, clicks) in [("Germany", 1), ("default", 1), ("fallback", 1)] {
        assert_eq!(row(&report, "variant", &json!(variant))["clicks"], clicks, "{variant}");
    }
    assert_eq!(row(&report, "via", &json!("flyer"))["clicks"], 1);
}

/// Waits for so many events that count. Returns the variant and the link of each click.
fn until_events(site: &Site, count: u64) -> Vec<(String, String)> {
    until(|| {
        let totals = site.totals();
        totals["views"].as_u64().unwrap() + totals["clicks"].as_u64().unwrap() == count
    });
    let report = site.report("group_by=variant&metrics=clicks");
    let rows = report["groups"]["variant"].as_array().unwrap().clone();
    rows.iter()
        .map(|row| (row["variant"].as_str().unwrap_or_default().to_owned(), row["clicks"].to_string()))
        .collect()
}

#[test]
fn named_codes_and_short_links_are_counted_apart() {
    let site = Site::shared();
    let path = format!("/pages/{}", site.id());
    let codes = json!([{"via": "flyer", "title": "Flyers"}, {"via": "poster"},
        {"via": "shop", "link": site.page["links"][0]["id"]}]);
    let stored =
        site.send(&request("PATCH", &path, &json!({"status": "published", "codes": codes})).key(&site.key));
    assert_eq!(stored.status, 200, "{}", stored.text());
    let urls = stored.json()["urls"]["codes"].clone();
    let path_of = |name: &str, kind: &str| {
        let url = urls[name][kind].as_str().unwrap();
        let (_, rest) = url.split_once("://").unwrap();
        rest.split_once('/').map(|(_, path)| format!("/{path}")).unwrap()
    };
    // The link is known as soon as the page is.
    until(|| site.send(&Request::get(&site.at("?via=shop")).header("User-Agent", "curl/8")).status == 302);
    let follow = |path: &str, number: u8| {
        let mut response = site.send(&visitor(path, number));
        let mut hops = Vec::new();
        while let Some(to) = response.header("location").map(str::to_owned).filter(|to| to.starts_with('/')) {
            response = site.send(&visitor(&to, number));
            hops.push(to);
        }
        (response, hops)
    };
    let (page, hops) = follow(&path_of("flyer", "qr"), 1);
    assert_eq!((page.status, hops), (200, vec![site.at("?via=qr&via=flyer")]));
    assert_eq!(follow(&path_of("flyer", "qr"), 2).0.status, 200);
    assert_eq!(follow(&path_of("poster", "short"), 3).0.status, 200);
    assert_eq!(site.send(&visitor(&site.link(0), 3)).status, 302, "a click of the visitor of the poster");
    let (away, _) = follow(&path_of("shop", "short"), 4);
    assert_eq!(location(&away), "https://example.com/news");
    let slash = site.send(&visitor(&format!("{}/?a=b", path_of("flyer", "short")), 5));
    assert_eq!((slash.status, location(&slash)), (301, format!("{}?a=b", path_of("flyer", "short"))));
    until(|| site.totals()["clicks"] == 2 && site.totals()["views"] == 3 && site.totals()["scans"] == 2);
    let report = site.report("group_by=via,channel&metrics=views,clicks,scans,visitors");
    for (via, views, clicks, scans, visitors) in
        [("flyer", 2, 0, 2, 2), ("poster", 1, 1, 0, 1), ("shop", 0, 1, 0, 1)]
    {
        let expected =
            json!({"via": via, "views": views, "clicks": clicks, "scans": scans, "visitors": visitors});
        assert_eq!(row(&report, "via", &json!(via)), &expected);
    }
    assert_eq!(row(&report, "channel", &json!("qr"))["views"], 2);
    // What the address has comes along: own visits do not count, and campaigns do.
    for kind in ["short", "qr"] {
        assert_eq!(follow(&format!("{}?notrack", path_of("flyer", kind)), 6).0.status, 200);
    }
    let campaign = format!("{}?utm_source=letter&utm_campaign=spring", path_of("flyer", "short"));
    assert_eq!(follow(&campaign, 7).0.status, 200);
    let (away, _) = follow(&format!("{}?utm_campaign=spring&notrack", path_of("shop", "short")), 8);
    assert_eq!(location(&away), "https://example.com/news?utm_campaign=spring");
    // A scan and its view, the view of the short link, and the click.
    until(|| site.totals()["views"] == 4 && site.report("")["ignored"]["own"] == 4);
    let report = site.report("group_by=utm_campaign&metrics=views,clicks");
    assert_eq!(row(&report, "utm_campaign", &json!("spring"))["views"], 1);
    for (query, media) in [
        ("svg?via=flyer", "image/svg+xml"),
        ("pdf?via=flyer", "application/pdf"),
        ("png?via=poster", "image/png"),
    ] {
        let image = site.send(&Request::get(&site.at(&format!("/qr.{query}"))));
        assert_eq!((image.status, image.header("content-type")), (200, Some(media)), "{query}");
    }
}
