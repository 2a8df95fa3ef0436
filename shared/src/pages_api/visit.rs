//! What a visitor gets.

use super::{
    problems::{page_gone, page_not_found},
    snapshot::Served,
};
use crate::{
    page::{
        LinkId, PageDocument, PageView, QrOptions, Slug, card, confirm, qr_png, qr_svg, render, report_form,
        report_received,
    },
    problem::Problem,
    response::Response,
    route::VisitPart,
    time::UnixMillis,
};

/// Returns the response to a visit of a slug. `base` is the address below which pages are shown.
///
/// # Errors
/// Returns `route-unknown` if there is nothing, `page-gone` if there is nothing any more, and
/// `fields-invalid` for a query that a QR code does not take.
pub fn respond(
    served: Served,
    slug: &Slug,
    part: VisitPart,
    query: Option<&str>,
    base: &str,
    now: UnixMillis,
) -> Result<Response<Vec<u8>>, Problem> {
    let (document, published_at, code) = match served {
        Served::Unknown => return Err(page_not_found()),
        Served::Gone => return Err(page_gone()),
        Served::Moved(to) if part == VisitPart::Code => return Ok(scanned(&to)),
        Served::Moved(to) => {
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            return Ok(Response::redirect(301, path(&to, part) + &query).into_bytes());
        }
        Served::Page { document, published_at, code, .. } => (document, published_at, code),
    };
    let gate = match part {
        VisitPart::Page | VisitPart::Card => document.gate,
        VisitPart::Link(id) => document.link(&id).and_then(|link| link.gate).or(document.gate),
        // These show nothing of the page. Whoever sees the question only may report the page too.
        VisitPart::QrSvg | VisitPart::QrPng | VisitPart::Code | VisitPart::ReportForm | VisitPart::Report => {
            None
        }
    };
    // What a visitor confirms is in the address, so that nothing is stored with the visitor.
    let is_confirmed = query.is_some_and(|query| query.split('&').any(|pair| pair == "confirmed=yes"));
    if let Some(gate) = gate.filter(|_| !is_confirmed) {
        return Ok(confirm(&document, gate, &path(slug, part)).into_bytes());
    }
    let view = PageView { document: &document, slug, base, now, published_at };
    let response = match part {
        VisitPart::Page => render(&view),
        VisitPart::Card => card(&view),
        VisitPart::Link(id) => return follow(&document, id, now),
        VisitPart::QrSvg | VisitPart::QrPng => {
            let options = QrOptions::parse(query)?;
            let address = format!("{base}/q/{}", code.as_ref().unwrap_or(slug));
            match part {
                VisitPart::QrPng => return qr_png(&address, &options),
                _ => qr_svg(&address, &options)?,
            }
        }
        VisitPart::Code => return Ok(scanned(slug)),
        VisitPart::ReportForm => report_form(slug),
        VisitPart::Report => report_received(),
    };
    Ok(response.into_bytes())
}

/// Returns the redirect of a QR code. The page's address says that it was scanned; its canonical
/// address does not.
fn scanned(slug: &Slug) -> Response<Vec<u8>> {
    away(format!("/{slug}?via=qr"))
}

/// Returns the redirect of a link. The destination is checked again, because the rules may have
/// changed since it was written.
fn follow(document: &PageDocument, id: LinkId, now: UnixMillis) -> Result<Response<Vec<u8>>, Problem> {
    let link = document.link(&id).filter(|link| link.is_visible(now));
    let destination = link.and_then(|link| link.destination()).ok_or_else(page_not_found)?;
    Ok(away(destination.to_owned()))
}

/// Returns a redirect that crawlers do not list.
fn away(to: String) -> Response<Vec<u8>> {
    Response::redirect(302, to).with_headers([("x-robots-tag", "noindex")]).into_bytes()
}

fn path(slug: &Slug, part: VisitPart) -> String {
    match part {
        VisitPart::Page => format!("/{slug}"),
        VisitPart::Link(id) => format!("/{slug}/l/{id}"),
        VisitPart::Card => format!("/{slug}/card.vcf"),
        VisitPart::QrSvg => format!("/{slug}/qr.svg"),
        VisitPart::QrPng => format!("/{slug}/qr.png"),
        VisitPart::Code => format!("/q/{slug}"),
        VisitPart::ReportForm | VisitPart::Report => format!("/{slug}/report"),
    }
}
