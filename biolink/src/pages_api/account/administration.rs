//! Administration of an account, and its erasure.

use crate::codes;
use serde_json::json;
use shared::{problem::Problem, response::Response, time::UnixMillis};

use super::{Account, Call, Operation, Task, Write};
use crate::{
    page::PageId,
    pages_api::{
        describe,
        page::PageMeta,
        problems::page_unknown,
        suspension::{SuspendedPages, Suspension},
    },
};

impl Account {
    /// Returns which pages are suspended.
    pub fn suspended_pages(&self) -> SuspendedPages {
        let pages = self.pages.iter().filter(|page| page.suspended.is_some()).map(|page| page.id);
        SuspendedPages::of(self.suspended.is_some(), pages)
    }

    /// Performs an operation of the operator, or the export or erasure of the account.
    // 5 KB: kept out of `run`.
    #[inline(never)]
    pub(super) fn administer(
        &mut self,
        call: &Call,
        now: UnixMillis,
    ) -> Result<(Response, Vec<Write>), Problem> {
        let response = match &call.operation {
            Operation::Erase(confirmation) => return self.erase(call, confirmation.as_deref(), now),
            Operation::Suspend(page, reason) => self.suspend(call, *page, reason.as_ref(), now),
            Operation::Resume(page) => self.resume(call, *page, now),
            Operation::Inspect(page) => self.inspect(call, *page),
            _ => Ok(self.begin_export(call, now)),
        };
        Ok((response?, Vec::new()))
    }

    /// Returns a page, or the account with its pages, as the operator sees them.
    fn inspect(&self, call: &Call, page: Option<PageId>) -> Result<Response, Problem> {
        let shown = |meta: &PageMeta| {
            let mut members = describe::summary(meta, self.is_suspended(meta), &call.base);
            members.insert("account".to_owned(), json!(call.account));
            members.insert("suspension".to_owned(), Suspension::describe(meta.suspended.as_ref()));
            members
        };
        let body = match page {
            Some(id) => json!(shown(self.find(&id).ok_or_else(|| page_unknown(&id))?)),
            None => json!({
                "object": "account",
                "id": call.account,
                "suspended": self.suspended.is_some(),
                "suspension": Suspension::describe(self.suspended.as_ref()),
                "pages": self.pages.iter().map(shown).collect::<Vec<_>>(),
            }),
        };
        Ok(Response::json(body.to_string()))
    }

    /// Has nothing shown of a page, or of the account.
    fn suspend(
        &mut self,
        call: &Call,
        page: Option<PageId>,
        reason: Option<&String>,
        now: UnixMillis,
    ) -> Result<Response, Problem> {
        self.order(call, page, now, |order| Suspension::renew(order, reason, now))
    }

    /// Has a page, or the account, shown as before. A page of a suspended account is not.
    fn resume(&mut self, call: &Call, page: Option<PageId>, now: UnixMillis) -> Result<Response, Problem> {
        self.order(call, page, now, |order| *order = None)
    }

    fn order(
        &mut self,
        call: &Call,
        page: Option<PageId>,
        now: UnixMillis,
        change: impl FnOnce(&mut Option<Suspension>),
    ) -> Result<Response, Problem> {
        match page {
            Some(id) => {
                let meta = self.pages.iter_mut().find(|meta| meta.id == id);
                change(&mut meta.ok_or_else(|| page_unknown(&id))?.suspended);
            }
            None => {
                change(&mut self.suspended);
                self.mark_images(now);
            }
        }
        for meta in self.pages.iter().filter(|meta| page.is_none_or(|id| id == meta.id)) {
            // Former slugs and the code too, which would lead to a page that is gone.
            for slug in meta.slugs() {
                self.outbox.publish(call.account, slug, now);
            }
        }
        self.inspect(call, page)
    }

    /// Removes everything that the owner has stored. What remains is the count of calls, the
    /// operator's order, and the tasks that remove the rest elsewhere. An account with a suspended
    /// page is suspended then, because its owner could otherwise begin again.
    fn erase(
        &mut self,
        call: &Call,
        confirmation: Option<&str>,
        now: UnixMillis,
    ) -> Result<(Response, Vec<Write>), Problem> {
        let expected = call.account.to_string();
        if confirmation != Some(&expected) {
            let detail =
                format!("this erases all pages of the account for good; confirm it with ?confirm={expected}");
            return Err(Problem::new(codes::FIELDS_INVALID, detail));
        }
        if call.dry_run {
            return Ok((Response::no_content(), Vec::new()));
        }
        for freed in &self.freed {
            self.outbox.publish(call.account, &freed.slug, now);
        }
        for meta in std::mem::take(&mut self.pages) {
            if self.suspended.is_none() {
                self.suspended.clone_from(&meta.suspended);
            }
            self.remove(call, meta, now);
        }
        self.drop_images(now);
        self.drop_domains(call.account, now);
        // Nothing is known of these slugs any more, so their snapshots are removed.
        let freed = std::mem::take(&mut self.freed);
        self.reserved.extend(freed.into_iter().filter(|freed| !freed.is_code));
        if self.subscriptions.take().is_some() {
            self.outbox.add(Task::EraseWebhooks(call.account), now);
        }
        Ok((Response::no_content(), vec![Write::Erase]))
    }
}
