//! Product sources of an account's pages.

use serde_json::json;
use shared::json;
use shared::{problem::Problem, response::Response, time::UnixMillis};

use super::{Account, Call, DeniedHosts, Loaded, SourceCall, Task, Unfinished, Write, pages::changed};
use crate::{
    page::{IdSource, PageDocument, PageId, PageInput, SourceId, StatusChange},
    pages_api::{
        page::{Content, PageMeta},
        problems::{page_unknown, source_limit_reached, source_unknown},
        source_products::{SourceChange, merged},
    },
    product_sync::{Applied, MAX_SOURCES, Source, SourceWrite},
    webhooks::Trigger,
};

/// A page after a change of a source.
struct Synced {
    meta: PageMeta,
    applied: Applied,
    /// What visitors saw before, and what they see now.
    live: Option<(Content, Content)>,
    writes: Vec<Write>,
}

type Outcome = Result<(Response, Vec<Write>), Unfinished>;

impl Account {
    /// Returns a source, for its object.
    pub fn source(&self, id: &SourceId) -> Option<&Source> {
        self.sources.iter().find(|source| source.id == *id)
    }

    pub(super) fn sources_of(&self, page: PageId) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(move |source| source.page == page)
    }

    // 5.9 KB: kept out of `run`.
    #[inline(never)]
    pub(super) fn call_sources(
        &mut self,
        call: &Call,
        (page, called): (&PageId, &SourceCall),
        loaded: Loaded,
        denied: &DeniedHosts,
        now: UnixMillis,
    ) -> Outcome {
        let read = |response| Ok((response, Vec::new()));
        self.find(page).ok_or_else(|| page_unknown(page))?;
        match called {
            SourceCall::List => {
                let data: Vec<_> = self.sources_of(*page).map(|source| source.describe(None)).collect();
                read(Response::json(json!({ "object": "list", "data": data }).to_string()))
            }
            SourceCall::Create(write) => Ok(read(self.create_source(call, *page, write, now)?)?),
            SourceCall::Read(id) => {
                read(Response::json(self.source_of(page, id)?.describe(None).to_string()))
            }
            SourceCall::Patch(id, write) => {
                let before = self.source_of(page, id)?;
                let source = before.patch(write, now)?;
                // Only a new one. Whoever may change a source need not be allowed the secret that
                // it has.
                let shown = source.secret.as_ref().filter(|_| source.secret != before.secret);
                let body = source.describe(shown).to_string();
                if !call.dry_run {
                    self.outbox.add(Task::ConfigureSource { account: call.account, source: *id }, now);
                    self.sources
                        .iter_mut()
                        .filter(|other| other.id == *id)
                        .for_each(|other| *other = source.clone());
                }
                read(Response::json(body))
            }
            SourceCall::Delete { id, keep_products } => {
                self.source_of(page, id)?;
                let change = if *keep_products { SourceChange::Keep } else { SourceChange::Remove };
                let synced = self.with_products(*page, *id, change, loaded, denied, now)?;
                if call.dry_run {
                    return read(Response::no_content());
                }
                let writes = self.store_synced(call, synced, now);
                // After the products: they are found by the source that they come from.
                self.drop_sources(call, |source| source.id == *id, now);
                Ok((Response::no_content(), writes))
            }
            SourceCall::Sync(id, products, number) => {
                // An edit that was overtaken by a newer one changes nothing.
                if *number <= self.source_of(page, id)?.synced {
                    let items =
                        loaded.content.map(|content| content.document.products.items).unwrap_or_default();
                    let shown = items.iter().filter(|item| item.source == Some(*id)).count();
                    let applied = Applied { shown, ..Applied::default() };
                    return read(Response::json(json::to_string(&applied).unwrap_or_default()));
                }
                self.source_of(page, id)?;
                let change = SourceChange::Give(products);
                let synced = self.with_products(*page, *id, change, loaded, denied, now)?;
                self.sources
                    .iter_mut()
                    .filter(|source| source.id == *id)
                    .for_each(|source| source.synced = *number);
                // Numbers always serialize.
                let body = json::to_string(&synced.applied).unwrap_or_default();
                Ok((Response::json(body), self.store_synced(call, synced, now)))
            }
        }
    }

    /// Removes sources, and has their objects told.
    pub(super) fn drop_sources(&mut self, call: &Call, is_gone: impl Fn(&Source) -> bool, now: UnixMillis) {
        for source in self.sources.iter().filter(|source| is_gone(source)) {
            self.outbox.add(Task::ConfigureSource { account: call.account, source: source.id }, now);
        }
        self.sources.retain(|source| !is_gone(source));
    }

    fn create_source(
        &mut self,
        call: &Call,
        page: PageId,
        write: &SourceWrite,
        now: UnixMillis,
    ) -> Result<Response, Problem> {
        let id = SourceId::new(IdSource::new(call.seed).draw());
        let source = Source::create(write, id, page, now)?;
        if self.sources_of(page).count() >= MAX_SOURCES {
            return Err(source_limit_reached());
        }
        let body = source.describe(source.secret.as_ref()).to_string();
        if call.dry_run {
            return Ok(Response::json(body));
        }
        self.outbox.add(Task::ConfigureSource { account: call.account, source: id }, now);
        self.sources.push(source);
        Ok(Response::created(body, format!("/pages/{page}/product-sources/{id}")))
    }

    fn source_of(&self, page: &PageId, id: &SourceId) -> Result<&Source, Problem> {
        self.source(id).filter(|source| source.page == *page).ok_or_else(|| source_unknown(id))
    }

    /// Stores the page, and has it published and announced if it went live again.
    fn store_synced(&mut self, call: &Call, synced: Synced, now: UnixMillis) -> Vec<Write> {
        let Synced { meta, live, writes, .. } = synced;
        if let (Some(before), Some((was, is))) = (self.find(&meta.id).cloned(), live) {
            self.announce(call, Some((&before, Some(&was))), (&meta, &is), Trigger::ProductSync, now);
        }
        self.replace_page(call, meta, now);
        writes
    }

    /// Returns the page with other products of a source. A live page goes live again. A draft that is
    /// not published stays one: the live content and the draft get the products, each in a separate revision.
    fn with_products(
        &self,
        page: PageId,
        source: SourceId,
        change: SourceChange<'_>,
        loaded: Loaded,
        denied: &DeniedHosts,
        now: UnixMillis,
    ) -> Result<Synced, Problem> {
        let (before, draft) = self.page(&page, loaded.content)?;
        let is_live = before.live_revision() == Some(before.revision);
        let older = loaded.live.filter(|_| before.live_revision().is_some() && !is_live);
        let apply = |document: &PageDocument| merged(document, source, change, denied);
        let (next_draft, applied) = apply(&draft.document);
        let mut synced = Synced { meta: before.clone(), applied, live: None, writes: Vec::new() };
        if let Some(older) = older {
            let (document, applied) = apply(&older.document);
            synced.applied = applied;
            if document != older.document {
                let input = input(before, &older, document, Some(StatusChange::Publish));
                synced.change(Some(&older), input, now);
                let last = synced.live.take().map(|(_, is)| is).unwrap_or_default();
                synced.live = Some((older, last));
            }
        }
        let status = is_live.then_some(StatusChange::Publish);
        let input = input(before, &draft, next_draft, status);
        // Behind a new revision of what is live, the draft is the newest again.
        let live = synced.live.take();
        let known = live.is_none().then_some(&draft);
        synced.change(known, input, now);
        synced.live = match (live, synced.live.take()) {
            (Some(live), _) => Some(live),
            (None, Some((_, is))) if is_live => Some((draft, is)),
            (None, _) => None,
        };
        if synced.meta.revision != before.revision {
            // Otherwise ten syncs would push out every revision that the owner has made.
            synced.meta.forget_last_sync(before);
            let kept = synced.meta.revisions.iter().map(|(number, _)| *number).collect();
            synced.writes.push(Write::KeepRevisions(page, kept));
        }
        Ok(synced)
    }
}

impl Synced {
    fn change(&mut self, known: Option<&Content>, input: PageInput, now: UnixMillis) {
        let (meta, content, writes) = changed(&self.meta, known, input, None, now);
        self.meta = meta;
        self.writes.extend(writes);
        self.live = Some((Content::default(), content));
    }
}

fn input(
    meta: &PageMeta,
    content: &Content,
    document: PageDocument,
    status: Option<StatusChange>,
) -> PageInput {
    PageInput {
        slug: None,
        external_id: meta.external_id.clone(),
        status,
        document,
        tags: meta.tags.clone(),
        metadata: content.metadata.clone(),
    }
}
