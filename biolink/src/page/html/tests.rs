mod colors;
mod hostile_texts;
mod metadata;

use std::{collections::BTreeMap, io::Write as _};

use base64::{Engine, engine::general_purpose::STANDARD};
use html5gum::{DefaultEmitter, Token, Tokenizer};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::secret::sha256;

use super::*;
use crate::page::{
    IdSource, PartId, Reader, ReportReason,
    document::{Buttons, Color, Colors, Font, Gate, Look, Palette, Preset, Shape, Theme},
};

const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

fn document(body: Value) -> PageDocument {
    Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap()).unwrap().document
}

fn shown_at(document: &PageDocument, now: UnixMillis) -> Response {
    let slug = Slug::parse("ada").unwrap();
    render(&PageView {
        document,
        slug: &slug,
        base: "https://p.example",
        path: "/ada",
        now,
        published_at: NOW,
        image: None,
    })
}

fn shown(document: &PageDocument) -> Response {
    shown_at(document, NOW)
}

/// Returns a page with texts that differ, as people's do.
fn many(links: usize, products: usize) -> Value {
    const WORDS: [&str; 12] = [
        "Newsletter",
        "Podcast",
        "Lovelace",
        "Notes",
        "engine",
        "music",
        "Sunday",
        "archive",
        "Berlin",
        "tour",
        "tickets",
        "letters",
    ];
    let words = |n: usize, count: usize| {
        let word = |at: usize| WORDS[(n * 7 + at * (n % 5 + 3)) % WORDS.len()];
        (0..count).map(word).collect::<Vec<_>>().join(" ")
    };
    let link = |n: usize| {
        json!({"title": format!("{} {n}", words(n, 3)), "url": format!("https://example.com/some/path/{n}"),
            "description": n.is_multiple_of(4).then(|| words(n + 1, 6))})
    };
    let product = |n: usize| {
        json!({"title": format!("{} {n}", words(n, 2)), "url": format!("https://shop.example.com/p/{}-{n}", WORDS[n % 12]),
            "price": {"amount": format!("{}.{:02}", n * 13 % 90 + 5, n * 37 % 100), "currency": "EUR"},
            "image": {"url": format!("https://img.example.com/{n}/{}.jpg", n * 7_919), "alt": ""}})
    };
    json!({"title": "Ada Example", "bio": "Mathematician and writer.\nFirst programmer.",
        "avatar": {"url": "https://img.example.com/ada.jpg", "alt": "Portrait of Ada"},
        "socials": [{"platform": "github", "url": "https://github.com/ada"},
            {"platform": "mastodon", "url": "https://mastodon.example/@ada"},
            {"platform": "youtube", "url": "https://www.youtube.com/@ada"}],
        "links": (0..links).map(link).collect::<Vec<_>>(),
        "products": {"title": "Shop", "items": (0..products).map(product).collect::<Vec<_>>()}})
}

/// An element, as a parser of the HTML standard reads it.
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    /// The text directly in it.
    text: String,
    /// The names of the elements around it.
    around: Vec<String>,
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }
}

/// Parses a page. There must be no fault that a parser would have to repair.
fn parsed(html: &str) -> Vec<Element> {
    const VOID: [&str; 6] = ["meta", "link", "img", "hr", "input", "br"];
    let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let (mut elements, mut open) = (Vec::<Element>::new(), Vec::<usize>::new());
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Token::StartTag(tag) => {
                let name = string(&tag.name);
                let around = open.iter().map(|&at| elements[at].name.clone()).collect();
                let attributes =
                    tag.attributes.iter().map(|(name, value)| (string(name), string(value))).collect();
                if !VOID.contains(&name.as_str()) {
                    open.push(elements.len());
                }
                elements.push(Element { name, attributes, text: String::new(), around });
            }
            Token::EndTag(tag) => {
                let at = open.pop().expect("an open element");
                assert_eq!(elements[at].name, string(&tag.name), "{html}");
            }
            Token::String(text) => {
                if let Some(&at) = open.last() {
                    elements[at].text.push_str(&string(&text));
                }
            }
            Token::Doctype(doctype) => assert_eq!(**doctype.name, *b"html"),
            Token::Comment(_) => panic!("a comment: {html}"),
            Token::Error(error) => panic!("{}: {html}", error.value),
        }
    }
    assert!(open.is_empty(), "{html}");
    elements
}

fn named<'a>(elements: &'a [Element], name: &str) -> Vec<&'a Element> {
    elements.iter().filter(|element| element.name == name).collect()
}

/// Asserts what holds for every page, whatever is in it.
fn check(page: &Response) -> Vec<Element> {
    let elements = parsed(&page.body);
    for name in ["html", "head", "body", "title", "style", "main", "h1"] {
        assert_eq!(named(&elements, name).len(), 1, "{name}: {}", page.body);
    }
    for element in &elements {
        let name = element.name.as_str();
        assert!(!["iframe", "object", "embed", "base", "math", "template"].contains(&name), "{name}");
        for (attribute, value) in &element.attributes {
            assert!(!attribute.starts_with("on") && attribute != "style", "{attribute}={value}");
            if ["href", "src", "action"].contains(&attribute.as_str()) {
                let allowed = ["https://", "http://", "/", "mailto:", "tel:", "sms:", "data:image/svg+xml,"];
                assert!(allowed.iter().any(|start| value.starts_with(start)), "{attribute}={value}");
            }
        }
        match name {
            "script" => {
                assert_eq!(element.attribute("type"), Some("application/ld+json"));
                serde_json::from_str::<Value>(&element.text).unwrap();
            }
            "img" => assert!(["alt", "width", "height"].iter().all(|name| element.attribute(name).is_some())),
            "svg" => assert_eq!(element.attribute("aria-hidden"), Some("true")),
            "nav" => assert!(element.attribute("aria-label").is_some_and(|label| !label.is_empty())),
            "a" | "button" => assert!(!element.around.iter().any(|name| name == "a"), "{}", page.body),
            _ => {}
        }
    }
    let digest = STANDARD.encode(sha256(&[named(&elements, "style")[0].text.as_bytes()]));
    let policy = page.header("content-security-policy").unwrap();
    assert!(
        policy.starts_with(&format!("default-src 'none'; style-src 'sha256-{digest}'; img-src ")),
        "{policy}"
    );
    assert_eq!(policy.matches(';').count(), 6, "{policy}");
    elements
}

fn gzipped(page: &Response) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(page.body.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}

#[test]
fn page_is_small() {
    for (links, products, limit) in
        [(10, 0, 3_072), (30, 0, 3_584), (100, 0, 5_120), (12, 6, 4_096), (30, 40, 6_400), (100, 50, 8_192)]
    {
        let size = gzipped(&shown(&document(many(links, products))));
        println!("{links} links and {products} products: {size} B gzipped");
        assert!(size <= limit, "{links} links and {products} products: {size} bytes");
    }
}

#[test]
fn style_has_the_rules_of_the_parts_that_the_page_has() {
    let style = |page: &Response| named(&parsed(&page.body), "style")[0].text.clone();
    let (bare, full) = (
        style(&shown(&document(json!({"title": "Ada \"<form class=\"products list\""})))),
        style(&shown(&document(many(1, 1)))),
    );
    for rules in [".avatar{", ".socials{", "svg{", "h2{", ".products{"] {
        assert!(full.contains(rules) && !bare.contains(rules), "{rules} {bare}");
    }
    assert!(
        bare.contains(".link{")
            && !bare.contains("*/")
            && !full.contains(".list{")
            && !full.contains("button{"),
        "{full}"
    );
    let gate = confirm(&document(json!({"title": "Ada"})), Gate::Sensitive, "/ada", None);
    assert!(style(&gate).contains("button{"));
}

#[test]
fn operators_pages_have_the_colors_and_sizes_of_the_tokens_alone() {
    let style = named(&parsed(&report_form("/ada").body), "style")[0].text.clone();
    let (tokens, rules) = style.split_once("*{").unwrap();
    for name in rules.split("var(--").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(tokens.contains(&format!("--{name}:")), "--{name} is no token");
    }
    assert!(tokens.contains("prefers-color-scheme:dark") && !tokens.contains("--chart-1"), "{tokens}");
    let is_hex = |text: &str| text.chars().take_while(char::is_ascii_hexdigit).count() >= 3;
    assert!(!rules.split('#').skip(1).any(is_hex) && !rules.contains("rgb("), "a color that is no token");
    for page in [not_found(), gone(), report_received()] {
        assert!(page.body.contains(&style), "one style for all of them");
    }
}

#[test]
fn every_page_is_sound_html() {
    let page = document(many(12, 6));
    let gate = confirm(&page, Gate::Age { min: 18 }, "/ada", None);
    for page in [shown(&page), gate, not_found(), gone(), report_form("/ada"), report_received()] {
        check(&page);
        assert_eq!(page.header("cache-control"), Some("public, max-age=0, must-revalidate"));
        assert!(page.header("etag").is_some());
    }
    check(&shown(&PageDocument { title: "Ada".to_owned(), ..Default::default() }));
}

#[test]
fn page_has_landmarks_lists_and_its_own_links() {
    let body = json!({"title": "Ada", "bio": "Hello", "socials": [{"platform": "github", "url": "https://github.com/ada"}],
    "links": [
        {"title": "One", "url": "https://example.com/1", "highlight": true},
        {"title": "Two", "url": "https://example.com/2"},
        {"type": "heading", "title": "More"},
        {"type": "divider"},
        {"type": "text", "title": "a\nb"},
        {"type": "vcard", "title": "Contact"},
    ]});
    let page = document(body);
    let elements = check(&shown(&page));
    let labels: Vec<_> =
        named(&elements, "nav").iter().map(|nav| nav.attribute("aria-label").unwrap().to_owned()).collect();
    assert_eq!(labels, ["Profiles", "Links"]);
    let count = |name| named(&elements, name).len();
    assert_eq!((count("ul"), count("li"), count("h2"), count("hr"), count("footer")), (2, 3, 1, 1, 1));
    let links: Vec<_> =
        named(&elements, "a").iter().map(|a| a.attribute("href").unwrap().to_owned()).collect();
    let [one, two] = [0, 1].map(|at: usize| format!("/ada/l/{}", page.links[at].id.abbreviated().in_path()));
    assert_eq!(links, ["https://github.com/ada", &one, &two, "/ada/card.vcf", "/ada/report"]);
    assert_eq!(named(&elements, "a")[0].attribute("rel"), Some("me"));
    assert_eq!(named(&elements, "a")[1].attribute("class"), Some("link top"));
    assert!(named(&elements, "a").iter().all(|a| !a.text.is_empty() || a.attribute("aria-label").is_some()));
}

#[test]
fn icons_and_pictures_are_those_that_the_page_uses() {
    let page = document(json!({"title": "Ada", "cover": {"url": "https://cover.example.com/c.jpg"},
    "theme": {"background": "image", "image": {"url": "https://back.example.com/b.jpg"}},
    "socials": [{"platform": "github", "url": "https://github.com/ada"},
                {"platform": "linkedin", "url": "https://linkedin.com/in/ada", "label": "My work"}],
    "links": [{"title": "Listen", "url": "https://example.com/1", "icon": "spotify"},
              {"title": "Film", "url": "https://example.com/2", "image": {"url": "https://thumb.example.com/t.jpg"}},
              {"title": "Plain", "url": "https://example.com/3"}]}));
    let response = shown(&page);
    let elements = check(&response);
    assert_eq!(named(&elements, "svg").len(), 2, "of GitHub and Spotify");
    assert!(named(&elements, "svg").iter().all(|svg| svg.attribute("aria-hidden") == Some("true")));
    let profiles: Vec<_> =
        named(&elements, "a")[..2].iter().map(|a| a.attribute("aria-label").unwrap()).collect();
    assert_eq!(profiles, ["GitHub", "My work"]);
    assert_eq!(named(&elements, "b")[0].attribute("data-in"), Some("in"), "no icon may be used");
    let classes: Vec<_> = named(&elements, "a")[2..5].iter().map(|a| a.attribute("class").unwrap()).collect();
    assert_eq!(classes, ["link pic", "link pic", "link"]);
    let policy = response.header("content-security-policy").unwrap();
    for host in ["cover", "back", "thumb"] {
        assert!(policy.contains(&format!(" https://{host}.example.com")), "{policy}");
    }
}

#[test]
fn presets_differ_in_more_than_color() {
    let looks: Vec<_> = Preset::ALL.map(|preset| Theme { preset, ..Theme::default() }.look()).to_vec();
    for (at, look) in looks.iter().enumerate() {
        assert!(!looks[..at].contains(look), "{look:?}");
    }
    let own =
        document(json!({"title": "Ada", "theme": {"preset": "paper", "font": "mono", "buttons": "filled",
        "shape": "pill", "background": "gradient"}}));
    let look = own.theme.look();
    let expected = Look {
        shape: Shape::Pill,
        font: Font::Mono,
        buttons: Buttons::Filled,
        background: Background::Gradient,
    };
    assert_eq!(look, expected);
}

#[test]
fn links_lead_through_the_page_unless_they_are_direct() {
    let page = document(json!({"title": "Ada", "links": [
        {"title": "Now", "url": "https://example.com/now"},
        {"title": "Off", "url": "https://example.com/off", "enabled": false},
        {"title": "Mail", "type": "email", "url": "ada@example.com?body=\"><b>&subject=1"},
        {"title": "Direct", "url": "https://example.com/direct", "direct": true, "rel": ["sponsored", "nofollow"]},
        {"title": "Asked", "type": "phone", "url": "+49 30 1234567", "gate": {"kind": "age", "min": 18}},
    ]}));
    let elements = check(&shown(&page));
    let through = |at: usize| format!("/ada/l/{}", page.links[at].id.abbreviated().in_path());
    let links: Vec<_> =
        named(&elements, "a").iter().map(|a| a.attribute("href").unwrap().to_owned()).collect();
    assert_eq!(
        links,
        [
            &through(0),
            "mailto:ada@example.com?subject=1&body=%22%3E%3Cb%3E",
            "https://example.com/direct",
            &through(4),
            "/ada/report"
        ]
    );
    assert_eq!(named(&elements, "a")[2].attribute("rel"), Some("sponsored nofollow"));
}

#[test]
fn destination_that_is_not_allowed_any_more_is_left_out() {
    let mut page = document(json!({"title": "Ada", "links": [
        {"title": "Gone", "url": "https://example.com", "direct": true}, {"title": "Stays", "url": "https://example.com"}]}));
    page.links[0].url = Some("javascript:alert(1)".to_owned());
    let html = shown(&page).body;
    assert!(!html.contains("Gone") && html.contains("Stays"), "{html}");
}

#[test]
fn schedule_is_exact_to_the_millisecond() {
    let page = document(json!({"title": "Ada", "links": [{"title": "Sale", "url": "https://example.com",
        "visible_from": "2027-01-01T00:00:00Z", "visible_until": "2027-01-02T00:00:00Z"}]}));
    let (from, until) = (page.links[0].visible_from.unwrap(), page.links[0].visible_until.unwrap());
    let seen = [from.minus(1), from, until.minus(1), until].map(|now| shown_at(&page, now));
    assert_eq!(seen.each_ref().map(|page| page.body.contains("Sale")), [false, true, true, false]);
    assert_ne!(seen[0].header("etag"), seen[1].header("etag"), "a visitor who has the page gets the link");
    assert_eq!(named(&parsed(&seen[0].body), "nav").len(), 0, "no empty list");
}

#[test]
fn page_is_laid_out_in_its_own_direction_and_mode() {
    let html = shown(&document(json!({"title": "عادة", "locale": "ar"}))).body;
    assert!(html.contains("<html lang=\"ar\" dir=\"rtl\">") && html.contains("الإبلاغ"), "{html}");
    assert!(html.contains("prefers-color-scheme:dark"));
    let dark = shown(&document(json!({"title": "x", "theme": {"mode": "dark"}}))).body;
    assert!(!dark.contains("prefers-color-scheme") && dark.contains("content=\"dark\""));
}

#[test]
fn words_in_another_language_than_the_page_say_so() {
    for (locale, label, lang) in [
        ("en", "Report this page", None),
        ("de-AT", "Diese Seite melden", None),
        ("ja", "このページを報告", None),
        ("zh-TW", "檢舉此頁面", None),
        ("eo", "Report this page", Some("en")),
    ] {
        let elements = check(&shown(&document(json!({"title": "Ada", "locale": locale}))));
        let report = named(&elements, "a")[0];
        assert_eq!((report.text.as_str(), report.attribute("lang")), (label, lang), "{locale}");
    }
    for locale in
        ["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "sv", "tr", "zh", "zh-TW"]
    {
        let page = document(json!({"title": "Ada", "locale": locale}));
        let html = confirm(&page, Gate::Age { min: 21 }, "/ada", None).body;
        assert!(html.matches("21").count() >= 2 && !html.contains("{}"), "{locale}: {html}");
        assert!(!html.contains("lang=\"en\"") || locale == "en");
    }
}

#[test]
fn products_show_price_sale_and_availability() {
    let page = document(json!({"title": "Ada", "products": {"layout": "list", "items": [
        {"title": "Mug", "url": "https://shop.example.com/mug", "price": {"amount": "15.00", "currency": "EUR"},
         "sale_price": {"amount": "9.00", "currency": "EUR"}, "availability": "out_of_stock"}]}}));
    let elements = check(&shown(&page));
    let section = named(&elements, "section")[0];
    assert_eq!(section.attribute("aria-label"), Some("Products"), "no heading, so a label");
    assert_eq!(named(&elements, "ul")[0].attribute("class"), Some("products list"));
    let spans: Vec<_> = named(&elements, "span").iter().map(|span| span.text.trim().to_owned()).collect();
    assert_eq!(spans, ["", "Sold out"]);
    let amounts: Vec<_> = named(&elements, "bdi").iter().map(|bdi| bdi.text.as_str()).collect();
    assert_eq!(amounts, ["\u{20ac}9.00", "\u{20ac}15.00"]);
    assert_eq!(named(&elements, "bdi")[1].around.last().unwrap(), "s");
    assert_eq!(named(&elements, "i")[0].text.trim(), "Previous price:");
}

#[test]
fn sale_price_counts_within_its_dates_only() {
    let page = document(json!({"title": "Ada", "products": {"items": [
        {"title": "Mug", "url": "https://shop.example.com/mug", "price": {"amount": "15.00", "currency": "EUR"},
         "sale_price": {"amount": "9.00", "currency": "EUR"},
         "sale_from": "2027-01-01T00:00:00Z", "sale_until": "2027-01-08T00:00:00+01:00"}]}}));
    let item = &page.products.items[0];
    let (from, until) = (item.sale_from.unwrap(), item.sale_until.unwrap());
    for (now, amount) in
        [(from.minus(1), "15.00"), (from, "9.00"), (until.minus(1), "9.00"), (until, "15.00")]
    {
        let slug = Slug::parse("ada").unwrap();
        let view = PageView {
            document: &page,
            slug: &slug,
            base: "",
            path: "/ada",
            now,
            published_at: now,
            image: None,
        };
        let html = render(&view).body;
        let elements = parsed(&html);
        assert_eq!(named(&elements, "bdi")[0].text, format!("\u{20ac}{amount}"), "{html}");
        assert_eq!(named(&elements, "s").len(), usize::from(amount == "9.00"));
        let data = &named(&elements, "script")[0].text;
        assert!(data.contains(&format!(r#""price":"{amount}""#)), "{data}");
    }
}

#[test]
fn gate_is_a_form_that_shows_nothing_of_the_page() {
    let page = document(many(3, 1));
    for (gate, button) in [(Gate::Age { min: 18 }, "I am 18 or older"), (Gate::Sensitive, "Show it")] {
        let query = Some("via=flyer&utm_campaign=a%22%3E<b>+c&utm_term=%00&confirmed=no");
        let response = confirm(&page, gate, "/ada/l/x", query);
        let elements = check(&response);
        let form = named(&elements, "form")[0];
        assert_eq!((form.attribute("action"), form.attribute("method")), (Some("/ada/l/x"), None));
        let fields = named(&elements, "input");
        let fields: Vec<_> = fields.iter().map(|it| (it.attribute("name"), it.attribute("value"))).collect();
        let expected = [("via", "flyer"), ("utm_campaign", "a\"><b> c"), ("confirmed", "yes")];
        assert_eq!(fields, expected.map(|(name, value)| (Some(name), Some(value))));
        assert_eq!(named(&elements, "button")[0].text, button);
        for hidden in ["Mathematician", "img.example.com", "ld+json", "canonical", "og:"] {
            assert!(!response.body.contains(hidden), "{hidden}");
        }
        let policy = response.header("content-security-policy").unwrap();
        assert!(
            policy.contains("form-action 'self'") && policy.contains("img-src 'self' data:;"),
            "{policy}"
        );
    }
}

#[test]
fn gone_and_missing_pages_are_neutral_and_unlisted() {
    for (page, status) in [(gone(), 410), (not_found(), 404)] {
        assert_eq!((page.status, page.header("x-robots-tag")), (status, Some("noindex")));
        let text = page.body.to_lowercase();
        assert!(
            ["suspend", "abuse", "violat", "owner", "admin"].iter().all(|word| !text.contains(word)),
            "{text}"
        );
        let again = page.if_none_match([&b"*"[..]].into_iter());
        assert_eq!(again.status, status, "only a page that is there can be unchanged");
    }
}

#[test]
fn report_form_offers_every_reason() {
    let elements = check(&report_form("/ada"));
    let form = named(&elements, "form")[0];
    assert_eq!((form.attribute("method"), form.attribute("action")), (Some("post"), Some("/ada/report")));
    let values: Vec<_> =
        named(&elements, "option").iter().map(|option| option.attribute("value").unwrap()).collect();
    assert_eq!(values[1..], ReportReason::ALL.map(ReportReason::as_str));
    for label in named(&elements, "label") {
        let field = label.attribute("for").unwrap();
        assert_eq!(elements.iter().filter(|element| element.attribute("id") == Some(field)).count(), 1);
    }
}

#[test]
fn lowest_price_of_variants_says_from() {
    for (locale, expected) in [("en", "from \u{20ac}10.00"), ("de", "ab 10,00\u{a0}\u{20ac}")] {
        let page = document(json!({"title": "Ada", "locale": locale, "products": {"items": [
            {"title": "Mug", "url": "https://shop.example.com/mug", "price": {"amount": "10.00", "currency": "EUR"}, "price_varies": true}]}}));
        let response = shown(&page);
        let text: String = response.body.replace("<bdi>", "").replace("</bdi>", "");
        assert!(text.contains(expected), "{text}");
        assert!(
            response.body.contains(r#""@type":"AggregateOffer""#)
                && response.body.contains(r#""lowPrice":"10.00""#)
        );
    }
}

#[test]
fn avatar_is_the_icon_of_its_page() {
    let icons = |page: &PageDocument| {
        let elements = check(&shown(page));
        let icon = |link: &&&Element| link.attribute("rel").is_some_and(|rel| rel.contains("icon"));
        named(&elements, "link")
            .iter()
            .filter(icon)
            .map(|link| link.attribute("href").unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let avatar = json!({"title": "Ada", "avatar": {"url": "https://img.example.com/ada.jpg", "alt": "Ada"}});
    assert_eq!(icons(&document(avatar)), ["https://img.example.com/ada.jpg"; 2]);
    let without = icons(&document(json!({"title": "Ada"})));
    assert!(without.len() == 1 && without[0].starts_with("data:image/svg+xml,"), "{without:?}");
}

#[test]
fn printed_page_has_addresses_and_its_code() {
    let page = document(json!({"title": "Ada", "links": [
        {"title": "Now", "url": "https://example.com/now/"},
        {"title": "Mail", "type": "email", "url": "ada@example.com"},
        {"title": "Asked", "url": "https://example.com/asked", "gate": {"kind": "age", "min": 18}}]}));
    let elements = check(&shown(&page));
    let to: Vec<_> = named(&elements, "a").iter().filter_map(|a| a.attribute("data-to")).collect();
    assert_eq!(to, ["example.com/now", "ada@example.com"], "and none that visitors are to confirm first");
    let code = named(&elements, "img")[0];
    assert_eq!((code.attribute("src"), code.attribute("loading")), (Some("/ada/qr.svg"), Some("lazy")));
}
