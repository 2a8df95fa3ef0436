//! `GET /pages?limit=&cursor=&status=&slug=&external_id=&tag=&q=`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{
    problem::Problem,
    query::{invalid, not_a_cursor, parameters, unknown_parameter},
};

use super::{
    describe,
    page::{PageMeta, PageStatus},
};
use crate::page::PageId;

const MAX_LIMIT: usize = 100;

/// A request for a part of the list of pages: the newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListQuery {
    limit: usize,
    after: Option<PageId>,
    status: Option<PageStatus>,
    slug: Option<String>,
    external_id: Option<String>,
    tag: Option<String>,
    q: Option<String>,
}

impl ListQuery {
    /// Reads the query of the request.
    ///
    /// # Errors
    /// Returns `fields-invalid` for an unknown parameter or one that comes twice, and for a value out of
    /// bounds.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut list =
            Self { limit: 25, after: None, status: None, slug: None, external_id: None, tag: None, q: None };
        for (name, value) in parameters(query)? {
            let text = || Some(value.clone().into_owned());
            match name {
                "limit" => list.limit = read_limit(&value)?,
                // An empty one is the first page: clients send it back as they got it.
                "cursor" if value.is_empty() => {}
                "cursor" => {
                    let after = PageId::parse(&value);
                    list.after = Some(after.ok_or_else(not_a_cursor)?);
                }
                "status" => list.status = Some(read_status(&value)?),
                "slug" => list.slug = text(),
                "external_id" => list.external_id = text(),
                "tag" => list.tag = text(),
                "q" => list.q = Some(value.to_lowercase()),
                _ => {
                    return Err(unknown_parameter(
                        name,
                        "limit, cursor, status, slug, external_id, tag and q",
                    ));
                }
            }
        }
        Ok(list)
    }

    /// Returns the pages that are asked for, in JSON. `pages` is in the order of the ids.
    /// `is_suspended` is true if the account is.
    pub(super) fn answer(&self, pages: &[PageMeta], is_suspended: bool, base: &str) -> Value {
        let mut found: Vec<_> = pages.iter().rev().filter(|page| self.matches(page)).collect();
        let total = found.len();
        // After the count, which is of all pages that match and not of those that follow.
        found.retain(|page| self.after.is_none_or(|after| page.id < after));
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        let next = found.last().filter(|_| more).map(|page| page.id);
        let shown = |page: &PageMeta| describe::summary(page, is_suspended || page.suspended.is_some(), base);
        let data: Vec<_> = found.into_iter().map(shown).collect();
        json!({ "object": "list", "data": data, "has_more": more, "next_cursor": next, "total": total })
    }

    fn matches(&self, page: &PageMeta) -> bool {
        let contains = |text: &str, part: &String| text.to_lowercase().contains(part.as_str());
        self.status.is_none_or(|status| status == page.status)
            && self.slug.as_deref().is_none_or(|slug| slug == page.slug.as_str())
            && self.external_id.as_deref().is_none_or(|id| Some(id) == page.external_id.as_deref())
            && self.tag.as_ref().is_none_or(|tag| page.tags.contains(tag))
            && self.q.as_ref().is_none_or(|q| contains(&page.title, q) || contains(page.slug.as_str(), q))
    }
}

pub(super) fn read_limit(text: &str) -> Result<usize, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 100"))
}

fn read_status(text: &str) -> Result<PageStatus, Problem> {
    text.parse().map_err(|_| invalid("status must be one of draft, published, unpublished"))
}
