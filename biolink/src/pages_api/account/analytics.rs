//! What a report about an account's pages needs to know of them.

use shared::problem::Problem;

use super::Account;
use crate::{
    analytics::{Labels, LinkLabel, PageLabel},
    page::PageId,
    pages_api::{page::Content, problems::page_unknown},
};

impl Account {
    /// Returns the ids of the pages that a report is about: these, or all.
    ///
    /// # Errors
    /// Returns `page-unknown` for one that the account does not have.
    pub(super) fn reported(&self, pages: &[PageId]) -> Result<Vec<PageId>, Problem> {
        if let Some(unknown) = pages.iter().find(|page| !self.has(page)) {
            return Err(page_unknown(unknown));
        }
        Ok(match pages {
            [] => self.pages.iter().map(|page| page.id).collect(),
            pages => pages.to_vec(),
        })
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
