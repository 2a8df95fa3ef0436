//! What a visitor gets.
//!
//! Why: docs/decisions/pages.md, "A page is made for each visit and never cached".

use shared::{key::KeyId, problem::Problem, response::Response, secret::MacKeys, time::UnixMillis};

use super::{
    problems::{page_gone, page_not_found},
    snapshot::Served,
};
use crate::{
    events::{EventKind, Occurrence, SeenToken, Seer, is_own_visit},
    page::{
        ImageId, LinkId, LogoName, PageDocument, PageId, PageView, PartId, ProductId, QrOptions, Slug, Via,
        card, confirm,
        document::{Follower, Gate, UtmValues},
        passed_on, qr_pdf, qr_png, qr_svg, reached_by, render, report_form, report_received,
    },
    product_feed::{products_json, products_xml},
    route::VisitPart,
};

/// The page that a visitor opens, and its address.
#[derive(Clone, Copy, Debug)]
pub struct Opened<'a> {
    /// The slug.
    pub slug: &'a Slug,
    /// The part of it.
    pub part: VisitPart,
    /// The query.
    pub query: Option<&'a str>,
    /// The address below which pages are shown.
    pub base: &'a str,
    /// Whether the host shows this page alone: its address has no slug.
    pub is_own_host: bool,
    /// Whether the browser only thinks that the visitor might open it.
    pub speculative: bool,
    /// The visitor, to whom the single-use image of a page is bound.
    pub seer: Seer<'a>,
    /// What the request says of the visitor, by which the target of a link is chosen.
    pub follower: Follower<'a>,
    /// A random number, for the same image.
    pub drawn: [u8; 8],
    /// The file that [`logo_of`] names, if there is one.
    pub logo: Option<&'a [u8]>,
    /// The moment.
    pub now: UnixMillis,
}

/// Returns the image that is to be in a QR code. Its file says whether it is one of the page's account.
pub fn logo_of(part: VisitPart, query: Option<&str>) -> Option<ImageId> {
    let is_code = matches!(part, VisitPart::QrSvg | VisitPart::QrPng | VisitPart::QrPdf);
    match QrOptions::parse(query.filter(|_| is_code)).ok()?.logo? {
        LogoName::Image(id) => Some(id),
        LogoName::Site(_) => None,
    }
}

/// Returns the response to a visit, and what it counts as.
///
/// # Errors
/// Returns `route-unknown` if there is nothing, `page-gone` if there is nothing any more, and
/// `fields-invalid` for a query that a QR code does not take.
pub fn respond(
    served: Served,
    opened: &Opened<'_>,
    keys: &MacKeys,
) -> Result<(Response<Vec<u8>>, Option<Occurrence>), Problem> {
    let Opened { slug, part, query, base, now, .. } = *opened;
    let (account, page, document, published_at, code) = match served {
        Served::Unknown => return Err(page_not_found()),
        Served::Gone => return Err(page_gone()),
        // A printed code cannot be printed again, so it leads on directly, and its scan counts all
        // the same.
        Served::Moved { to, owner: (account, page) } if is_code(part) => {
            let scan = scan(account, page, slug, part);
            let redirect = opened.scanned(&to);
            let redirect = if scan.is_some() { opened.unless_speculative(redirect) } else { redirect };
            return Ok((redirect, scan));
        }
        Served::Moved { to, .. } => {
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            // Permanent, so that search engines move what they know to the new address.
            return Ok((Response::redirect(301, opened.path_at(&to, part) + &query).into_bytes(), None));
        }
        Served::Page { account, page, document, published_at, code, .. } => {
            (account, page, document, published_at, code)
        }
    };
    // Before the question of the page: the link has its own, or asks that of the page.
    if let Some(link) = opened.named_link(&document) {
        let query = query.unwrap_or_default();
        return Ok((away(format!("{}?{query}", opened.path_at(slug, VisitPart::Link(link)))), None));
    }
    // What a visitor confirms is in the address, so that nothing is stored with the visitor.
    let is_confirmed = query.is_some_and(|query| query.split('&').any(|pair| pair == "confirmed=yes"));
    if let Some(gate) = gate(&document, part).filter(|_| !is_confirmed) {
        return Ok((confirm(&document, gate, &opened.path_at(slug, part), query).into_bytes(), None));
    }
    let home = opened.home(slug);
    let path = home.as_str();
    let occurred = |kind| Occurrence::new(account, page, kind);
    let followed = |target: String| Occurrence { target: Some(target), ..occurred(EventKind::Click) };
    let view = |image| PageView { document: &document, slug, base, path, now, published_at, image };
    let (response, occurrence) = match part {
        VisitPart::Page => {
            // A view that does not count is not confirmed either.
            let image = (!is_own_visit(query))
                .then(|| SeenToken::issue(keys, &page, opened.seer, opened.drawn, now).to_string());
            (render(&view(image.as_deref())).into_bytes(), Some(occurred(EventKind::View)))
        }
        VisitPart::Card => (card(&view(None)).into_bytes(), None),
        VisitPart::Link(id) => {
            let (response, variant) = follow(&document, id, opened)?;
            (response, Some(Occurrence { variant, ..followed(id.to_string()) }))
        }
        VisitPart::Product(id) => (follow_product(&document, id, opened)?, Some(followed(id.to_string()))),
        VisitPart::Ping(id) => {
            // Anybody can send a ping. It counts only for a link that visitors see and that leads
            // there itself.
            let is_there = document.link(&id).is_some_and(|link| link.is_visible(now) && link.leads_itself());
            (Response::no_content().into_bytes(), is_there.then(|| followed(id.to_string())))
        }
        VisitPart::Seen(token) => {
            let number = token.verify(keys, &page, opened.seer, now);
            let seen = number.map(|number| Occurrence { number, ..occurred(EventKind::Confirm) });
            // The same pixel for a token that is forged or used up: the response tells nothing
            // about it.
            (Response::pixel(), seen)
        }
        VisitPart::QrSvg | VisitPart::QrPng | VisitPart::QrPdf => {
            (code_image(opened, account, code.as_ref().unwrap_or(slug))?, None)
        }
        VisitPart::ProductsXml | VisitPart::ProductsJson => {
            (products(&document, opened, published_at).into_bytes(), None)
        }
        VisitPart::Code | VisitPart::NamedCode(_) | VisitPart::ShortLink(_) => {
            (opened.scanned(slug), scan(account, page, slug, part))
        }
        VisitPart::ReportForm => (report_form(path).into_bytes(), None),
        VisitPart::Report => (report_received().into_bytes(), None),
    };
    Ok((if occurrence.is_some() { opened.unless_speculative(response) } else { response }, occurrence))
}

impl Opened<'_> {
    /// Returns the link that the visitor has a short link or QR code of, if the page has it.
    fn named_link(&self, document: &PageDocument) -> Option<LinkId> {
        let via = Via::of_query(self.query.filter(|_| self.part == VisitPart::Page))?;
        let link = document.codes.iter().find(|code| code.via == via)?.link?;
        // A code whose link is hidden or over opens the page, and not an error.
        document.link(&link).filter(|link| link.choose(&self.follower, self.now).is_some())?;
        Some(link)
    }

    /// Returns an address with the campaign parameters of a link or product.
    fn with_utm(&self, document: &PageDocument, url: &str, link: &str, title: &str) -> String {
        let Some(utm) = document.utm_of(None) else { return url.to_owned() };
        let via = Via::of_query(self.query);
        let via = via.as_ref().map(Via::as_str).unwrap_or_default();
        utm.add_to(url, &UtmValues { slug: self.slug.as_str(), link, title, via })
    }

    /// Returns the path of a page, below which its parts are: none on its own host.
    fn home(&self, slug: &Slug) -> String {
        if self.is_own_host { String::new() } else { format!("/{slug}") }
    }

    /// Returns the path of a part of a page.
    fn path_at(&self, slug: &Slug, part: VisitPart) -> String {
        let home = self.home(slug);
        match part {
            VisitPart::Page if self.is_own_host => "/".to_owned(),
            VisitPart::Page => home,
            VisitPart::Link(id) => format!("{home}/l/{}", id.in_path()),
            VisitPart::Product(id) => format!("{home}/p/{}", id.in_path()),
            VisitPart::Ping(id) => format!("{home}/ping/{}", id.in_path()),
            VisitPart::Seen(token) => format!("{home}/seen/{token}"),
            VisitPart::Card => format!("{home}/card.vcf"),
            VisitPart::QrSvg => format!("{home}/qr.svg"),
            VisitPart::QrPng => format!("{home}/qr.png"),
            VisitPart::QrPdf => format!("{home}/qr.pdf"),
            VisitPart::ProductsXml => format!("{home}/products.xml"),
            VisitPart::ProductsJson => format!("{home}/products.json"),
            VisitPart::Code => format!("/q{home}"),
            VisitPart::NamedCode(via) => format!("/q{home}/{via}"),
            VisitPart::ShortLink(via) => format!("/s{home}/{via}"),
            VisitPart::ReportForm | VisitPart::Report => format!("{home}/report"),
        }
    }

    /// Returns the redirect of a QR code or short link. The page's address says how it was reached, and has
    /// what the visitor's address had; its canonical address has neither.
    fn scanned(&self, slug: &Slug) -> Response<Vec<u8>> {
        let page = self.path_at(slug, VisitPart::Page);
        let reached = |via: &[&str]| reached_by(via, self.query);
        let query = match self.part {
            VisitPart::NamedCode(via) => reached(&["qr", via.as_str()]),
            VisitPart::ShortLink(via) => reached(&[via.as_str()]),
            _ => reached(&["qr"]),
        };
        away(format!("{page}?{query}"))
    }

    /// Returns the response, or 503 if the request is speculative: the browser then asks again when
    /// the visitor does, which counts (Fetch Metadata: how a server opts out of prefetching).
    fn unless_speculative(&self, response: Response<Vec<u8>>) -> Response<Vec<u8>> {
        if self.speculative { Response::not_prefetched().into_bytes() } else { response }
    }
}

/// Returns what a visitor has to confirm first.
fn gate(document: &PageDocument, part: VisitPart) -> Option<Gate> {
    match part {
        VisitPart::Page
        | VisitPart::Card
        | VisitPart::Product(_)
        | VisitPart::ProductsXml
        | VisitPart::ProductsJson => document.gate,
        VisitPart::Link(id) => document.link(&id).and_then(|link| link.gate).or(document.gate),
        // These show nothing of the page. Whoever sees the question only may report the page too.
        VisitPart::Ping(_)
        | VisitPart::Seen(_)
        | VisitPart::QrSvg
        | VisitPart::QrPng
        | VisitPart::QrPdf
        | VisitPart::Code
        | VisitPart::NamedCode(_)
        | VisitPart::ShortLink(_)
        | VisitPart::ReportForm
        | VisitPart::Report => None,
    }
}

/// Returns true for what leads to a page by its code.
const fn is_code(part: VisitPart) -> bool {
    matches!(part, VisitPart::Code | VisitPart::NamedCode(_) | VisitPart::ShortLink(_))
}

/// Returns the scan of a QR code. A short link does not count as one: the view that follows counts.
fn scan(account: KeyId, page: PageId, code: &Slug, part: VisitPart) -> Option<Occurrence> {
    let via = match part {
        VisitPart::ShortLink(_) => return None,
        VisitPart::NamedCode(via) => Some(via),
        _ => None,
    };
    let scan = Occurrence::new(account, page, EventKind::Scan);
    Some(Occurrence { qr_code: Some(code.to_string()), via, ..scan })
}

/// Returns the image of a QR code.
// As `products`: few visits run it, and inlined they make `respond` 13 KB, which V8 optimizes first in a new isolate.
#[inline(never)]
fn code_image(opened: &Opened<'_>, account: KeyId, code: &Slug) -> Result<Response<Vec<u8>>, Problem> {
    let options = QrOptions::parse(opened.query)?;
    // An id is made of the account and the file, so no page shows the image of another account.
    let is_own = |file: &&[u8]| options.logo == Some(LogoName::Image(ImageId::of(&account, file)));
    let image = opened.logo.filter(is_own);
    let part = options.via.map_or(VisitPart::Code, VisitPart::NamedCode);
    let address = format!("{}{}", opened.base, opened.path_at(code, part));
    match opened.part {
        VisitPart::QrPng => qr_png(&address, &options, image),
        VisitPart::QrPdf => qr_pdf(&address, &options, image),
        _ => Ok(qr_svg(&address, &options, image)?.into_bytes()),
    }
}

/// Returns the products as a feed. It is good for a minute, and says when the page was published.
#[inline(never)]
fn products(document: &PageDocument, opened: &Opened<'_>, published_at: UnixMillis) -> Response {
    let (slug, base) = (opened.slug, opened.base);
    let response = match opened.part {
        VisitPart::ProductsXml => Response::feed(
            "application/rss+xml; charset=utf-8",
            products_xml(document, &opened.home(slug), base),
        ),
        _ => Response::feed("application/json", products_json(document, &opened.home(slug), base)),
    };
    response.with_headers([("last-modified", published_at.to_http_date())])
}

/// Returns the redirect of a link, and the name of the destination if the link has several. It is checked
/// again, because the rules may have changed since it was written.
fn follow(
    document: &PageDocument,
    id: LinkId,
    opened: &Opened<'_>,
) -> Result<(Response<Vec<u8>>, Option<String>), Problem> {
    let link = document.link(&id).ok_or_else(page_not_found)?;
    let chosen = link.choose(&opened.follower, opened.now).ok_or_else(page_not_found)?;
    let via = Via::of_query(opened.query);
    let via = via.as_ref().map(Via::as_str).unwrap_or_default();
    let url = document.outgoing(link, chosen.url, opened.slug, via, passed_on(opened.query));
    Ok((away(url), chosen.variant))
}

/// Returns the redirect of a product.
fn follow_product(
    document: &PageDocument,
    id: ProductId,
    opened: &Opened<'_>,
) -> Result<Response<Vec<u8>>, Problem> {
    // Addresses of products are known to feeds after the section is switched off.
    let products = Some(&document.products).filter(|products| products.enabled);
    let product = products.and_then(|products| products.items.iter().find(|item| item.id == id));
    // An address may be blocked after it was stored.
    let product = product.filter(|item| item.url.is_allowed()).ok_or_else(page_not_found)?;
    Ok(away(opened.with_utm(document, product.url.as_str(), &id.to_string(), &product.title)))
}

/// Returns a redirect that crawlers do not list.
fn away(to: String) -> Response<Vec<u8>> {
    // Not permanent: a browser that remembers the destination would skip the count, and each change
    // of it.
    Response::redirect(302, to).with_headers([("x-robots-tag", "noindex")]).into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::{IdSource, Reader};

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    fn served() -> Served {
        let body = json!({ "title": "Ada", "slug": "ada", "links": [
            { "title": "Through", "url": "https://example.com" },
            { "title": "Direct", "url": "https://example.com", "direct": true },
            { "title": "Mail", "type": "email", "url": "ada@example.com" },
            { "title": "Asked", "type": "email", "url": "ada@example.com", "gate": { "kind": "sensitive" } } ] });
        let page =
            Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap()).unwrap();
        Served::Page {
            account: KeyId::new([1; 12]),
            page: PageId::new([2; 12]),
            revision: 1,
            published_at: NOW,
            code: None,
            document: page.document,
        }
    }

    /// Opens the page. Returns its HTML, and what the visit counts as.
    fn open(query: Option<&str>) -> (String, Option<EventKind>) {
        open_part(VisitPart::Page, query)
    }

    /// Returns a visit of a part of the page without anything special.
    fn opened<'a>(slug: &'a Slug, part: VisitPart, query: Option<&'a str>) -> Opened<'a> {
        Opened {
            slug,
            part,
            query,
            base: "https://p.example",
            is_own_host: false,
            speculative: false,
            seer: Seer { address: None, user_agent: None },
            follower: Follower::default(),
            drawn: [3; 8],
            logo: None,
            now: NOW,
        }
    }

    fn keys() -> MacKeys {
        MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap()
    }

    fn open_part(part: VisitPart, query: Option<&str>) -> (String, Option<EventKind>) {
        let slug = Slug::parse("ada").unwrap();
        let (response, occurrence) = respond(served(), &opened(&slug, part, query), &keys()).unwrap();
        (String::from_utf8(response.body).unwrap(), occurrence.map(|occurrence| occurrence.kind))
    }

    #[test]
    fn view_has_its_image_and_own_visit_has_none() {
        let has_image = |query| open(query).0.contains("/ada/seen/");
        assert!(has_image(None) && has_image(Some("utm_source=a")));
        assert!(!has_image(Some("notrack")));
        assert_eq!(open(Some("notrack")).1, Some(EventKind::View), "which is recorded as ignored");
    }

    #[test]
    fn ping_counts_for_links_that_do_not_lead_through_the_page() {
        let Served::Page { document, .. } = served() else { panic!() };
        let counted = document.links.iter().map(|link| open_part(VisitPart::Ping(link.id), None).1.is_some());
        assert_eq!(counted.collect::<Vec<_>>(), [false, true, true, false]);
    }

    /// Returns the status of a visit, where it leads, and what it counts as.
    fn visit(served: Served, part: VisitPart, speculative: bool) -> (u16, Option<String>, Option<EventKind>) {
        let slug = Slug::parse("ada").unwrap();
        // What a QR code takes is no query of a visitor.
        let takes_query = !matches!(part, VisitPart::QrSvg | VisitPart::QrPng | VisitPart::QrPdf);
        let query = takes_query.then_some("utm_source=a");
        match respond(served, &Opened { speculative, ..opened(&slug, part, query) }, &keys()) {
            Ok((response, occurrence)) => {
                let to = response.header("location").map(str::to_owned);
                (response.status, to, occurrence.map(|occurrence| occurrence.kind))
            }
            Err(problem) => (problem.code().status(), None, None),
        }
    }

    fn via() -> Via {
        Via::parse("flyer").unwrap()
    }

    /// Opens a part of a page with this document. Returns where it leads, and what it counts as.
    fn lead(
        document: &serde_json::Value,
        part: impl Fn(&PageDocument) -> VisitPart,
        query: &str,
    ) -> (String, Option<Occurrence>) {
        let page =
            Reader::new(None, IdSource::new([7; 16])).page(document.as_object().cloned().unwrap()).unwrap();
        let mut document = page.document;
        document.codes.iter_mut().for_each(|code| code.link = document.links.first().map(|link| link.id));
        let part = part(&document);
        let Served::Page { account, page, revision, published_at, code, .. } = served() else { panic!() };
        let served = Served::Page { account, page, revision, published_at, code, document };
        let slug = Slug::parse("ada").unwrap();
        let follower = Follower { country: Some("DE"), ..Follower::default() };
        let opened = Opened { follower, ..opened(&slug, part, Some(query)) };
        let (response, occurrence) = respond(served, &opened, &keys()).unwrap();
        (response.header("location").unwrap_or_default().to_owned(), occurrence)
    }

    #[test]
    fn link_leads_to_its_target_with_campaign_parameters() {
        let page = json!({ "title": "Ada", "slug": "ada",
            "utm": { "source": "{slug}", "medium": "bio", "content": "{via}" },
            "links": [{ "title": "Shop", "url": "https://shop.example/", "utm": { "campaign": "{title}" },
                "targets": [{ "countries": ["de"], "url": "https://shop.example/de?utm_medium=own" }] }] });
        let link = |document: &PageDocument| VisitPart::Link(document.links[0].id);
        for (query, added) in [
            ("via=flyer", "utm_source=ada&utm_campaign=Shop&utm_content=flyer"),
            (
                "via=flyer&notrack&confirmed=yes&utm_medium=bought&utm_m%65dium=bought&utm_source=letter&gclid=7",
                "utm_source=letter&gclid=7&utm_campaign=Shop&utm_content=flyer",
            ),
            ("via=flyer&utm_source&&a=1&a=2", "utm_source&a=1&a=2&utm_campaign=Shop&utm_content=flyer"),
        ] {
            let (to, click) = lead(&page, link, query);
            let expected = format!("https://shop.example/de?utm_medium=own&{added}");
            assert_eq!((to, click.unwrap().variant.as_deref()), (expected, Some("DE")), "{query}");
        }
    }

    #[test]
    fn named_code_leads_to_its_link_and_counts_there() {
        let page = json!({ "title": "Ada", "slug": "ada", "codes": [{ "via": "flyer" }],
            "links": [{ "title": "Shop", "url": "https://shop.example/" }] });
        let page_part = |_: &PageDocument| VisitPart::Page;
        let (to, counted) = lead(&page, page_part, "via=qr&via=flyer");
        let Served::Page { document, .. } = served() else { panic!() };
        assert!(
            to.starts_with("/ada/l/lnk_") && to.ends_with("?via=qr&via=flyer") && counted.is_none(),
            "{to}"
        );
        assert_eq!(document.codes, [], "a page without codes");
        assert_eq!(lead(&page, page_part, "via=poster").1.unwrap().kind, EventKind::View, "another name");
        let (to, scan) = lead(&page, |_| VisitPart::NamedCode(via()), "");
        assert_eq!((to.as_str(), scan.unwrap().via), ("/ada?via=qr&via=flyer", Some(via())));
        let (to, counted) = lead(&page, |_| VisitPart::ShortLink(via()), "");
        assert_eq!((to.as_str(), counted), ("/ada?via=flyer", None), "the view counts");
        let query = "utm_campaign=spring&via=poster&notrack";
        let (to, _) = lead(&page, |_| VisitPart::ShortLink(via()), query);
        assert_eq!(to, "/ada?via=flyer&utm_campaign=spring&notrack");
        let (to, _) = lead(&page, |_| VisitPart::Code, query);
        assert_eq!(to, "/ada?via=qr&utm_campaign=spring&notrack", "no name that the code does not have");
    }

    #[test]
    fn each_part_of_a_page_has_its_response_and_event() {
        let Served::Page { document, .. } = served() else { panic!() };
        let link = document.links[0].id;
        let other = LinkId::new([9; 12]);
        for (part, status, event) in [
            (VisitPart::Page, 200, Some(EventKind::View)),
            (VisitPart::Card, 200, None),
            (VisitPart::Link(link), 302, Some(EventKind::Click)),
            (VisitPart::Link(other), 404, None),
            (VisitPart::Product(ProductId::new([9; 12])), 404, None),
            (VisitPart::Ping(other), 204, None),
            (VisitPart::QrSvg, 200, None),
            (VisitPart::QrPng, 200, None),
            (VisitPart::QrPdf, 200, None),
            (VisitPart::ProductsXml, 200, None),
            (VisitPart::ProductsJson, 200, None),
            (VisitPart::Code, 302, Some(EventKind::Scan)),
            (VisitPart::NamedCode(via()), 302, Some(EventKind::Scan)),
            (VisitPart::ShortLink(via()), 302, None),
            (VisitPart::ReportForm, 200, None),
            (VisitPart::Report, 200, None),
        ] {
            let (got, _, counted) = visit(served(), part, false);
            assert_eq!((got, counted), (status, event), "{part:?}");
            assert_eq!(visit(Served::Unknown, part, false).0, 404, "{part:?}");
            assert_eq!(visit(Served::Gone, part, false).0, 410, "{part:?}");
            let speculative = if event.is_some() { 503 } else { status };
            assert_eq!(visit(served(), part, true).0, speculative, "{part:?}");
        }
    }

    #[test]
    fn page_on_a_host_of_its_own_has_no_slug_in_its_addresses() {
        let slug = Slug::parse("ada").unwrap();
        let open = |part, query| {
            let base = "https://own.example";
            let opened = Opened { base, is_own_host: true, ..opened(&slug, part, query) };
            let (response, _) = respond(served(), &opened, &keys()).unwrap();
            let to = response.header("location").unwrap_or_default().to_owned();
            (to, String::from_utf8(response.body).unwrap())
        };
        let (_, page) = open(VisitPart::Page, None);
        for text in [
            "href=\"/l/",
            "ping=\"/ping/",
            "src=\"/qr.svg\"",
            "src=\"/seen/",
            "href=\"/report\"",
            "href=\"https://own.example\"",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        assert!(!page.contains("/ada"), "{page}");
        assert!(open(VisitPart::ReportForm, None).1.contains("action=\"/report\""));
        assert_eq!(open(VisitPart::Code, None).0, "/?via=qr");
        assert_eq!(open(VisitPart::NamedCode(via()), None).0, "/?via=qr&via=flyer");
        assert_eq!(open(VisitPart::ShortLink(via()), None).0, "/?via=flyer");
        assert!(open(VisitPart::ProductsJson, None).1.contains("\"url\":\"https://own.example\""));
    }

    #[test]
    fn moved_page_redirects_to_the_same_part_of_its_new_slug() {
        let id = LinkId::new([9; 12]);
        for (part, path) in [
            (VisitPart::Page, "/new?utm_source=a".to_owned()),
            (VisitPart::Link(id), format!("/new/l/{id}?utm_source=a")),
            (VisitPart::Ping(id), format!("/new/ping/{id}?utm_source=a")),
            (VisitPart::Card, "/new/card.vcf?utm_source=a".to_owned()),
            (VisitPart::QrSvg, "/new/qr.svg".to_owned()),
            (VisitPart::QrPng, "/new/qr.png".to_owned()),
            (VisitPart::QrPdf, "/new/qr.pdf".to_owned()),
            (VisitPart::ProductsXml, "/new/products.xml?utm_source=a".to_owned()),
            (VisitPart::ProductsJson, "/new/products.json?utm_source=a".to_owned()),
            (VisitPart::Report, "/new/report?utm_source=a".to_owned()),
        ] {
            let owner = (KeyId::new([1; 12]), PageId::new([2; 12]));
            let moved = Served::Moved { to: Slug::parse("new").unwrap(), owner };
            assert_eq!(visit(moved, part, false), (301, Some(path), None));
        }
        let moved = Served::Moved {
            to: Slug::parse("new").unwrap(),
            owner: (KeyId::new([1; 12]), PageId::new([2; 12])),
        };
        let to = Some("/new?via=qr&utm_source=a".to_owned());
        assert_eq!(visit(moved, VisitPart::Code, false), (302, to, Some(EventKind::Scan)));
    }
}
