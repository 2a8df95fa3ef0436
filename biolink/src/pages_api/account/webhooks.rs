//! The account's part in its webhooks: it says which page was published and what its parts are called,
//! and has the stores of events know what is wanted.

use shared::{key::KeyId, time::UnixMillis};

use super::{Account, Call};
use crate::{
    page::PageId,
    pages_api::page::{Content, PageMeta},
    webhooks::{Card, KindSet, Publication, Subscriptions, Trigger, WebhookKind},
};

impl Account {
    /// Takes in what the webhooks want, and has the stores of all pages know it.
    pub fn subscribe(&mut self, account: KeyId, subscriptions: Subscriptions, now: UnixMillis) {
        self.subscriptions = Some(subscriptions);
        for page in &self.pages {
            self.outbox.subscribe(account, page.id, now);
        }
    }

    /// Returns the kinds of events that the webhooks want of a page.
    pub fn wanted(&self, page: &PageId) -> KindSet {
        self.subscriptions.as_ref().map_or(KindSet::EMPTY, |wanted| wanted.kinds_for(page))
    }

    /// Returns the card of a page: of its live revision, or of the last one. `content` reads a
    /// revision.
    ///
    /// # Errors
    /// As `content`.
    pub fn card<E>(
        &self,
        page: &PageId,
        base: &str,
        content: impl FnOnce(PageId, u64) -> Result<Option<Content>, E>,
    ) -> Result<Option<Card>, E> {
        let Some(meta) = self.find(page) else { return Ok(None) };
        // The live one: receivers get the names that visitors saw, and not those of a draft.
        let revision = meta.live_revision().unwrap_or(meta.revision);
        let Some(content) = content(*page, revision)? else { return Ok(Some(Card::unknown(*page))) };
        let external_id = meta.external_id.as_deref();
        Ok(Some(Card::new(*page, &meta.slug, base, external_id, revision, &content.document)))
    }

    /// Returns the revision that is live, if a publication is to be compared with it.
    pub(super) fn compared(&self, meta: &PageMeta) -> Option<u64> {
        let is_wanted = self.wanted(&meta.id).has(WebhookKind::PagePublished);
        // Only if somebody wants it, because it costs a read of a whole page.
        meta.live_revision().filter(|live| is_wanted && *live != meta.revision)
    }

    /// Has the webhooks know of a page that went live with another revision, if they want to.
    pub(super) fn announce(
        &mut self,
        call: &Call,
        before: Option<(&PageMeta, Option<&Content>)>,
        (meta, content): (&PageMeta, &Content),
        trigger: Trigger,
        now: UnixMillis,
    ) {
        let live_before = before.and_then(|(before, _)| before.live_revision());
        let Some(live) = meta.live_revision().filter(|live| live_before != Some(*live)) else { return };
        if !self.wanted(&meta.id).has(WebhookKind::PagePublished) {
            return;
        }
        let content_before = before.and_then(|(_, content)| content);
        let previous = live_before.zip(content_before.map(|content| &content.document));
        let publication = Publication::new(trigger, now, (live, &content.document), previous);
        self.outbox.published(call.account, (meta.id, meta.version), publication, now);
    }
}
