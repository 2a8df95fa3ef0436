//! What a report about an account's pages needs to know of them.

use shared::{problem::Problem, response::Response};

use super::Account;
use crate::{
    analytics::{Labels, LinkLabel, PageLabel},
    page::PageId,
    pages_api::{page::Content, problems::page_unknown},
};

impl Account {
    /// Returns the ids of the pages that a report is about, as JSON: these, or all.
    ///
    /// # Errors
    /// Returns `page-unknown` for one that the account does not have.
    pub(super) fn reported(&self, pages: &[PageId]) -> Result<Response, Problem> {
        if let Some(unknown) = pages.iter().find(|page| !self.has(page)) {
            return Err(page_unknown(unknown));
        }
        let ids: Vec<PageId> = match pages {
            [] => self.pages.iter().map(|page| page.id).collect(),
            pages => pages.to_vec(),
        };
        // Ids are plain strings, which always serialise.
        Ok(Response::json(serde_json::to_string(&ids).unwrap_or_default()))
    }

    /// Returns what the pages, their links and their products are called. `content` reads a revision.
    ///
    /// # Errors
    /// As `content`.
    pub fn labels<E>(
        &self,
        content: impl Fn(PageId, u64) -> Result<Option<Content>, E>,
    ) -> Result<Labels, E> {
        let mut labels = Labels::default();
        for page in &self.pages {
            labels.pages.push(PageLabel {
                id: page.id,
                title: page.title.clone(),
                slug: page.slug.to_string(),
            });
            let Some(Content { document, .. }) = content(page.id, page.revision)? else { continue };
            labels.links.extend(document.links.iter().map(|link| LinkLabel {
                id: link.id.to_string(),
                title: link.title.clone(),
                url: link.destination().map(str::to_owned),
                deleted: false,
            }));
            labels.links.extend(document.products.items.iter().map(|item| LinkLabel {
                id: item.id.to_string(),
                title: item.title.clone(),
                url: Some(item.url.to_string()),
                deleted: false,
            }));
        }
        Ok(labels)
    }
}
