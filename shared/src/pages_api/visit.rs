//! What a visitor gets.

use super::{
    problems::{page_gone, page_not_found},
    snapshot::Served,
};
use crate::{
    page::{LinkId, PageDocument, PageView, Slug, confirm, render, report_form, report_received},
    problem::Problem,
    response::Response,
    route::VisitPart,
    time::UnixMillis,
};

/// Returns the response to a visit of a slug. `base` is the address below which pages are shown.
///
/// # Errors
/// Returns `route-unknown` if there is nothing, and `page-gone` if there is nothing any more.
pub fn respond(
    served: Served,
    slug: &Slug,
    part: VisitPart,
    query: Option<&str>,
    base: &str,
    now: UnixMillis,
) -> Result<Response, Problem> {
    // What a visitor confirms is in the address, so that nothing is stored with the visitor.
    let is_confirmed = query.is_some_and(|query| query.split('&').any(|pair| pair == "confirmed=yes"));
    match served {
        Served::Unknown => Err(page_not_found()),
        Served::Gone => Err(page_gone()),
        Served::Moved(to) => Ok(Response::redirect(301, path(&to, part))),
        Served::Page { document, published_at, .. } => {
            let gate = match part {
                VisitPart::Page => document.gate,
                VisitPart::Link(id) => document.link(&id).and_then(|link| link.gate).or(document.gate),
                // Whoever sees the question only may report the page too.
                VisitPart::ReportForm | VisitPart::Report => None,
            };
            match (gate.filter(|_| !is_confirmed), part) {
                (Some(gate), _) => Ok(confirm(&document, gate, &path(slug, part))),
                (None, VisitPart::Page) => {
                    Ok(render(&PageView { document: &document, slug, base, now, published_at }))
                }
                (None, VisitPart::Link(id)) => follow(&document, id, now),
                (None, VisitPart::ReportForm) => Ok(report_form(slug)),
                (None, VisitPart::Report) => Ok(report_received()),
            }
        }
    }
}

/// Returns the redirect of a link. The destination is checked again, because the rules may have
/// changed since it was written.
fn follow(document: &PageDocument, id: LinkId, now: UnixMillis) -> Result<Response, Problem> {
    let link = document.link(&id).filter(|link| link.is_visible(now));
    let destination = link.and_then(|link| link.destination()).ok_or_else(page_not_found)?;
    let robots = ("x-robots-tag", "noindex");
    Ok(Response::redirect(302, destination.to_owned()).with_headers([robots]))
}

fn path(slug: &Slug, part: VisitPart) -> String {
    match part {
        VisitPart::Page => format!("/{slug}"),
        VisitPart::Link(id) => format!("/{slug}/l/{id}"),
        VisitPart::ReportForm | VisitPart::Report => format!("/{slug}/report"),
    }
}
