//! The one way to change a page.

use crate::codes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use shared::{
    fields::{Fields, merge},
    problem::{FieldError, Problem},
};

use super::{
    describe,
    page::{Content, PageMeta},
};
use crate::page::{IdSource, Link, LinkId, PageInput, Reader, StatusChange, check_size};

/// A change of a page. Bodies are JSON objects as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageEdit {
    /// `PUT /pages/{id}`: what is left out gets its default, except for the slug and the language.
    Replace(String),
    /// `PATCH /pages/{id}`: a merge patch (RFC 7396).
    Patch(String),
    /// `POST /pages/{id}/links`: a link at the end.
    AddLink(String),
    /// `PATCH /pages/{id}/links/{link_id}`: a merge patch of one link.
    PatchLink(LinkId, String),
    /// `DELETE /pages/{id}/links/{link_id}`
    DeleteLink(LinkId),
    /// `PUT /pages/{id}/links/order`: every link once, in the new order.
    OrderLinks(String),
    /// `POST /pages/{id}/publish`
    Publish,
    /// `POST /pages/{id}/unpublish`
    Unpublish,
    /// `POST /pages/{id}/revisions/{n}/restore`
    Restore(u64),
}

impl PageEdit {
    /// Returns what the page is to become. `restored` is the content of the revision that is
    /// restored. `check` looks at what is sent. What is stored already is not checked, because visitors
    /// are not led there anyway.
    ///
    /// # Errors
    /// Returns `body-malformed`, `fields-invalid` with every fault, `body-too-large`,
    /// `link-unknown` or `revision-unknown`.
    pub(super) fn apply(
        &self,
        meta: &PageMeta,
        content: &Content,
        restored: Option<&Content>,
        ids: IdSource,
        check: &dyn Fn(&mut Map<String, Value>) -> Vec<FieldError>,
    ) -> Result<PageInput, Problem> {
        let reader = Reader::new(Some(&content.document), ids);
        match self {
            Self::Replace(body) => {
                let mut members = members(body)?;
                reader.with_faults(check(&mut members)).page(members)
            }
            Self::Patch(body) => {
                let mut merged = describe::writable(meta, content);
                let mut members = members(body)?;
                let reader = reader.with_faults(check(&mut members));
                // After the check, which is about what is sent and not about what is stored.
                merge(&mut merged, members);
                reader.page(merged)
            }
            Self::AddLink(body) => {
                let mut members = members(body)?;
                let link = reader.with_faults(check(&mut members)).link(members, None)?;
                with_links(meta, content, |links| {
                    links.push(link);
                    Ok(())
                })
            }
            Self::PatchLink(id, body) => {
                let known = content.document.link(id).ok_or_else(|| link_unknown(*id))?;
                let mut merged = describe::to_members(known);
                let mut members = members(body)?;
                let reader = reader.with_faults(check(&mut members));
                merge(&mut merged, members);
                let link = reader.link(merged, Some(*id))?;
                with_links(meta, content, |links| {
                    links.iter_mut().filter(|other| other.id == *id).for_each(|other| *other = link.clone());
                    Ok(())
                })
            }
            Self::DeleteLink(id) => with_links(meta, content, |links| {
                let before = links.len();
                links.retain(|link| link.id != *id);
                if links.len() < before { Ok(()) } else { Err(link_unknown(*id)) }
            }),
            Self::OrderLinks(body) => {
                let order = read_order(body, content)?;
                with_links(meta, content, |links| {
                    let place = |id: &LinkId| links.iter().position(|link| link.id == *id);
                    *links = order.iter().filter_map(place).filter_map(|at| links.get(at).cloned()).collect();
                    Ok(())
                })
            }
            Self::Publish => {
                Ok(PageInput { status: Some(StatusChange::Publish), ..unchanged(meta, content) })
            }
            Self::Unpublish => {
                Ok(PageInput { status: Some(StatusChange::Unpublish), ..unchanged(meta, content) })
            }
            Self::Restore(number) => match restored {
                Some(content) => Ok(unchanged(meta, content)),
                None => Err(revision_unknown(*number)),
            },
        }
    }

    /// Returns the revision whose content the edit needs beside the current one.
    pub(super) const fn restores(&self) -> Option<u64> {
        match self {
            Self::Restore(number) => Some(*number),
            _ => None,
        }
    }
}

/// Returns the members of a body.
///
/// # Errors
/// Returns `body-malformed`.
pub(super) fn members(body: &str) -> Result<Map<String, Value>, Problem> {
    Fields::read(body.as_bytes()).map(Fields::into_members)
}

pub(super) fn revision_unknown(number: u64) -> Problem {
    Problem::new(
        codes::REVISION_UNKNOWN,
        format!("revision {number} of the page is not kept; the last 10 are"),
    )
}

fn unchanged(meta: &PageMeta, content: &Content) -> PageInput {
    PageInput {
        slug: None,
        external_id: meta.external_id.clone(),
        status: None,
        document: content.document.clone(),
        tags: meta.tags.clone(),
        metadata: content.metadata.clone(),
    }
}

fn with_links(
    meta: &PageMeta,
    content: &Content,
    change: impl FnOnce(&mut Vec<Link>) -> Result<(), Problem>,
) -> Result<PageInput, Problem> {
    let mut input = unchanged(meta, content);
    change(&mut input.document.links)?;
    if input.document.links.len() > crate::page::MAX_LINKS {
        let detail = format!("the page has {} links, which is the limit", crate::page::MAX_LINKS);
        return Err(Problem::invalid_fields(&[FieldError { pointer: "#".to_owned(), detail }]));
    }
    // Each link is within its limits, but together they may be too large for the store at the edge.
    check_size(&input.document)?;
    Ok(input)
}

/// Reads `{"order": [ids]}`: each link of the page once.
fn read_order(body: &str, content: &Content) -> Result<Vec<LinkId>, Problem> {
    let mut fields = Fields::read(body.as_bytes())?;
    let links = &content.document.links;
    let order = fields.required("order", |value| {
        let expected = || "must be an array with the id of each link of the page once".to_owned();
        let ids = value.as_array().ok_or_else(expected)?.iter();
        let ids: Vec<_> =
            ids.map(|id| id.as_str().and_then(LinkId::parse)).collect::<Option<_>>().ok_or_else(expected)?;
        // As many, and each among them: then none is named twice.
        let complete = ids.len() == links.len() && links.iter().all(|link| ids.contains(&link.id));
        if complete { Ok(ids) } else { Err(expected()) }
    });
    fields.finish()?;
    Ok(order.unwrap_or_default())
}

fn link_unknown(id: LinkId) -> Problem {
    Problem::new(codes::LINK_UNKNOWN, format!("the page has no link {id}"))
}
