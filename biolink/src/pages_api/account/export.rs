//! `GET /account/export`: everything that an account has stored, one JSON object on each line
//! (NDJSON).

use serde_json::{Value, json};
use shared::{response::Response, time::UnixMillis};

use super::{Account, Call};
use crate::{
    page::PageId,
    pages_api::{describe, page::Content},
};

impl Account {
    /// Returns the first lines, which are about the account, its domains and its images.
    pub(super) fn begin_export(&self, call: &Call, now: UnixMillis) -> Response {
        let freed = self.freed.iter().chain(&self.reserved).filter(|freed| !freed.is_code);
        let freed = freed.map(|freed| json!({ "slug": freed.slug, "until": freed.until.to_rfc3339() }));
        let line = json!({
            "object": "account",
            "id": call.account,
            "exported_at": now.to_rfc3339(),
            "suspended": self.suspended.is_some(),
            "pages": self.pages.len(),
            "reserved_slugs": freed.collect::<Value>(),
        });
        let lines = format!("{line}\n{}{}", self.export_domains(), self.export_images(&call.base));
        Response::new(200, "application/x-ndjson", "no-store", lines)
    }

    /// Returns the lines of the page after `after`, or of the first one, and its id; `None` if there
    /// is none. Pages come in the order of their ids, so that none is left out while others come and
    /// go. `content` reads a revision.
    ///
    /// # Errors
    /// As `content`.
    pub fn export<E>(
        &self,
        after: Option<PageId>,
        base: &str,
        content: impl Fn(PageId, u64) -> Result<Option<Content>, E>,
    ) -> Result<Option<(PageId, String)>, E> {
        let later = self.pages.iter().filter(|page| after.is_none_or(|after| after < page.id));
        let Some(meta) = later.min_by_key(|page| page.id) else { return Ok(None) };
        let mut lines = String::new();
        let mut add = |line: Value| {
            lines.push_str(&line.to_string());
            lines.push('\n');
        };
        if let Some(content) = content(meta.id, meta.revision)? {
            add(describe::page(meta, self.is_suspended(meta), &content, base));
        }
        for (number, at) in &meta.revisions {
            if let Some(content) = content(meta.id, *number)? {
                let mut line = describe::revision(meta, *number, &content, base);
                if let Some(members) = line.as_object_mut() {
                    members.insert("created_at".to_owned(), at.to_rfc3339().into());
                    members.insert("live".to_owned(), (meta.live_revision() == Some(*number)).into());
                }
                add(line);
            }
        }
        self.sources_of(meta.id).for_each(|source| add(source.describe(None)));
        Ok(Some((meta.id, lines)))
    }
}
