//! Creating, changing and deleting a page.

use serde_json::{Map, Value};
use shared::{
    key::SecretId,
    problem::{FieldError, Problem},
    response::Response,
    time::UnixMillis,
};

use super::{Account, Call, ClaimOutcome, DeniedHosts, Loaded, Task, Unfinished, Write};
use crate::{
    page::{IdSource, PageId, PageInput, Reader, Slug, SlugError, StatusChange, document::Locale},
    pages_api::{
        edit::{PageEdit, members},
        page::{Content, FormerSlug, PageMeta, PageStatus, REDIRECT_MS},
        problems::{account_unavailable, page_limit_reached, page_unknown, slug_taken},
        slug::Owner,
        suspension::page_suspended,
    },
    policy,
    webhooks::Trigger,
};

/// Time for which the slug of a deleted page is reserved for its account, in milliseconds: 30 days.
const RESERVED_MS: u64 = 30 * 86_400_000;

/// Slugs that an account may hold: those of its pages, former ones, and those of deleted pages.
const MAX_HELD: usize = 50;
/// Slugs of deleted pages that the account remembers.
const MAX_FREED: usize = 100;
/// Letters of a page's code: enough that no two pages get the same.
const CODE_LENGTH: usize = 10;

type Outcome = Result<(Response, Vec<Write>), Unfinished>;

impl Account {
    // 2.9 KB: kept out of `run`.
    #[inline(never)]
    pub(super) fn create(
        &mut self,
        call: &Call,
        body: &str,
        denied: &DeniedHosts,
        now: UnixMillis,
    ) -> Outcome {
        let mut ids = IdSource::new(call.seed);
        let id = PageId::at(call.at, ids.draw());
        let (drawn_slug, code) = (random_slug(&ids.draw(), 7), random_slug(&ids.draw(), CODE_LENGTH));
        let mut members = members(body)?;
        let faults = self.check_addresses(&mut members, call, denied);
        let usual = self.usual_locale().cloned().or_else(|| call.locale.clone());
        let is_known = usual.is_some() || members.get("locale").is_some_and(|locale| !locale.is_null());
        let input = Reader::new(None, ids).with_faults(faults).with_locale(usual).page(members)?;
        if self.suspended.is_some() && input.status == Some(StatusChange::Publish) {
            return Err(page_suspended().into());
        }
        self.check_external_id(&input, None)?;
        let used = u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
        if used >= policy::PAGES {
            return Err(page_limit_reached().into());
        }
        let slug = input.slug.clone().unwrap_or(drawn_slug);
        self.check_held(&slug)?;
        // The last check, because it may ask another object: nothing is claimed for a page that is
        // refused.
        self.check_claim(call, &slug, id, now)?;
        let meta = PageMeta {
            id,
            slug,
            claim: call.claim_number(),
            former_slugs: Vec::new(),
            code: Some(code.clone()),
            external_id: None,
            tags: Vec::new(),
            title: String::new(),
            locale: is_known.then(|| input.document.locale.clone()),
            status: PageStatus::Draft,
            version: 0,
            revision: 0,
            published_revision: None,
            revisions: Vec::new(),
            authors: Vec::new(),
            publications: Vec::new(),
            publishers: Vec::new(),
            synced: Vec::new(),
            created_at: now,
            updated_at: now,
            published_at: None,
            suspended: None,
        };
        let (meta, content, writes) = changed(&meta, None, input, call.secret, now);
        if !call.dry_run {
            let response = self.shown(201, &meta, &content, &call.base);
            let response = response.with_headers([("location", format!("/pages/{id}"))]);
            // Before it is published, so that no older page redirects from it.
            self.forget_former(&meta.slug);
            // The claim is used. Without this, the outbox would take it back.
            self.outbox.keep(call.claim_number());
            self.outbox.publish(call.account, &meta.slug, now);
            self.outbox.index(call.account, id, now);
            self.outbox.claim(&code, Owner { account: call.account, page: id }, now);
            self.outbox.publish(call.account, &code, now);
            if self.subscriptions.is_some() {
                self.outbox.subscribe(call.account, id, now);
            }
            self.announce(call, None, (&meta, &content), Trigger::Api, now);
            // By id and not at the end: the clocks of two machines may give ids in another order.
            let place = self.pages.partition_point(|page| page.id < meta.id);
            self.pages.insert(place, meta);
            return Ok((response, writes));
        }
        Ok((self.tried(&meta, &content, &call.base), Vec::new()))
    }

    /// Returns the language that most pages of the account have, and of those that as many have the one of the newest.
    fn usual_locale(&self) -> Option<&Locale> {
        let locales = || self.pages.iter().filter_map(|page| page.locale.as_ref());
        // Pages are in the order in which they were made.
        locales().max_by_key(|locale| locales().filter(|other| other == locale).count())
    }

    // 8.4 KB: kept out of `run`.
    #[inline(never)]
    pub(super) fn edit(
        &mut self,
        call: &Call,
        id: &PageId,
        edit: &PageEdit,
        loaded: Loaded,
        denied: &DeniedHosts,
        now: UnixMillis,
    ) -> Outcome {
        let (meta, content) = self.page(id, loaded.content)?;
        self.check(call, meta)?;
        let check = |members: &mut Map<String, Value>| self.check_addresses(members, call, denied);
        let input = edit.apply(meta, &content, loaded.other.as_ref(), IdSource::new(call.seed), &check)?;
        self.check_external_id(&input, Some(*id))?;
        let slug = input.slug.clone().filter(|slug| *slug != meta.slug);
        if self.is_suspended(meta) && (slug.is_some() || input.status == Some(StatusChange::Publish)) {
            return Err(page_suspended().into());
        }
        let mut meta = meta.clone();
        let (former, former_claim) = (meta.slug.clone(), meta.claim);
        if let Some(slug) = slug.clone() {
            self.check_held(&slug)?;
            self.check_claim(call, &slug, *id, now)?;
            // A page that takes a former slug back must not redirect to itself.
            meta.former_slugs.retain(|former| former.slug != slug);
            meta.former_slugs.push(FormerSlug {
                is_code: false,
                slug: meta.slug,
                until: now.plus(REDIRECT_MS),
            });
            meta.version = meta.version.saturating_add(1);
            meta.updated_at = now;
            meta.slug = slug;
            meta.claim = call.claim_number();
        }
        let (meta, next, writes) = changed(&meta, Some(&content), input, call.secret, now);
        if call.dry_run {
            return Ok((self.tried(&meta, &next, &call.base), Vec::new()));
        }
        let response = self.shown(200, &meta, &next, &call.base);
        let owner = Owner { account: call.account, page: *id };
        if slug.is_some() {
            self.forget_former(&meta.slug);
            self.outbox.keep(call.claim_number());
            self.outbox.release(&former, owner, former_claim, now.plus(REDIRECT_MS), now);
            // All of them name the slug to which they lead, which is another one now.
            let others = meta.former_slugs.iter().map(|former| &former.slug).chain(&meta.code);
            others.for_each(|slug| self.outbox.publish(call.account, slug, now));
        }
        if slug.is_some() {
            self.outbox.publish(call.account, &meta.slug, now);
        }
        if let Some(before) = self.find(id).cloned() {
            let live = if before.live_revision() == Some(before.revision) {
                Some(&content)
            } else {
                loaded.live.as_ref()
            };
            self.announce(call, Some((&before, live)), (&meta, &next), Trigger::Api, now);
        }
        self.replace_page(call, meta, now);
        Ok((response, writes))
    }

    /// Stores a page after a change. Has it published if another revision is live now.
    pub(super) fn replace_page(&mut self, call: &Call, meta: PageMeta, now: UnixMillis) {
        let before = self.find(&meta.id).and_then(|page| page.live_revision());
        if before != meta.live_revision() {
            self.outbox.publish(call.account, &meta.slug, now);
        }
        self.pages.iter_mut().filter(|page| page.id == meta.id).for_each(|page| *page = meta.clone());
    }

    pub(super) fn delete(
        &mut self,
        call: &Call,
        id: &PageId,
        now: UnixMillis,
    ) -> Result<(Response, Vec<Write>), Problem> {
        let meta = self.find(id).ok_or_else(|| page_unknown(id))?;
        self.check(call, meta)?;
        if self.is_suspended(meta) {
            return Err(page_suspended());
        }
        let response = Response::no_content();
        if call.dry_run {
            return Ok((response, Vec::new()));
        }
        let meta = meta.clone();
        self.remove(call, meta, now);
        Ok((response, vec![Write::KeepRevisions(*id, Vec::new())]))
    }

    /// Takes a page out of the account, and queues what follows from it elsewhere.
    pub(super) fn remove(&mut self, call: &Call, meta: PageMeta, now: UnixMillis) {
        let account = call.account;
        self.drop_sources(call, |source| source.page == meta.id, now);
        let (owner, until) = (Owner { account, page: meta.id }, now.plus(RESERVED_MS));
        self.pages.retain(|page| page.id != meta.id);
        self.outbox.index(account, meta.id, now);
        // Queued and not sent: an object that is down must not keep an owner from deleting a page.
        self.outbox.add(Task::PurgeEvents(meta.id), now);
        if self.subscriptions.is_some() {
            self.outbox.add(Task::PurgeWebhooks { account, page: meta.id }, now);
        }
        self.outbox.release(&meta.slug, owner, meta.claim, until, now);
        for slug in meta.slugs() {
            self.outbox.publish(account, slug, now);
            let is_code = meta.code.as_ref() == Some(slug);
            self.freed.push(FormerSlug { is_code, slug: slug.clone(), until });
        }
        let surplus = self.freed.len().saturating_sub(MAX_FREED);
        self.freed.drain(..surplus);
    }

    /// Returns an error for each address in a body that no page may have.
    fn check_addresses(
        &self,
        members: &mut Map<String, Value>,
        call: &Call,
        denied: &DeniedHosts,
    ) -> Vec<FieldError> {
        let mut faults = self.check_images(members, &call.base);
        faults.extend(denied.faults(members));
        faults
    }

    /// Checks that the page may have the slug by this call's claim.
    fn check_claim(&self, call: &Call, slug: &Slug, page: PageId, now: UnixMillis) -> Result<(), Unfinished> {
        match &call.claim {
            Some(claim) if claim.slug == *slug => match &claim.outcome {
                ClaimOutcome::Granted if call.dry_run || self.outbox.holds(call.claim_number(), now) => {
                    Ok(())
                }
                // It took so long that the claim is taken back.
                ClaimOutcome::Granted | ClaimOutcome::Unknown => Err(account_unavailable().into()),
                ClaimOutcome::Taken(free) => Err(slug_taken(slug, free).into()),
            },
            // The claim is of another slug: the page was renamed while it was made.
            Some(_) => Err(account_unavailable().into()),
            None => Err(Unfinished::Claim(slug.clone(), page)),
        }
    }

    /// Checks that the account may have another slug: one that it holds already, or one within
    /// [`MAX_HELD`], so that no account keeps slugs from others by renaming or deleting pages.
    fn check_held(&self, slug: &Slug) -> Result<(), Problem> {
        if slug.is_withdrawn() {
            let detail = SlugError::Reserved.to_string();
            return Err(Problem::invalid_fields(&[FieldError { pointer: "#/slug".to_owned(), detail }]));
        }
        let former =
            self.pages.iter().flat_map(|page| &page.former_slugs).chain(&self.freed).chain(&self.reserved);
        // Codes are drawn, and nobody else wants them.
        let former: Vec<_> = former.filter(|former| !former.is_code).collect();
        let held = self.pages.len().saturating_add(former.len());
        let Some(first) = former.iter().map(|former| former.until).min() else { return Ok(()) };
        if held < MAX_HELD || former.iter().any(|former| former.slug == *slug) {
            return Ok(());
        }
        let until = first.to_rfc3339();
        let detail = format!(
            "would be the account's slug number {}; it holds at most {MAX_HELD}, with former ones and those of deleted pages, of which the first ends at {until}",
            held.saturating_add(1)
        );
        Err(Problem::invalid_fields(&[FieldError { pointer: "#/slug".to_owned(), detail }]))
    }

    /// No page redirects from a slug that another has now.
    fn forget_former(&mut self, slug: &Slug) {
        self.freed.retain(|freed| freed.slug != *slug);
        self.reserved.retain(|reserved| reserved.slug != *slug);
        for page in &mut self.pages {
            page.former_slugs.retain(|former| former.slug != *slug);
        }
    }

    fn check_external_id(&self, input: &PageInput, own: Option<PageId>) -> Result<(), Problem> {
        let Some(wanted) = &input.external_id else { return Ok(()) };
        let same = |page: &&PageMeta| page.external_id.as_ref() == Some(wanted) && Some(page.id) != own;
        match self.pages.iter().find(same) {
            None => Ok(()),
            Some(other) => {
                let detail = format!("is the external_id of page {} already", other.id);
                Err(Problem::invalid_fields(&[FieldError { pointer: "#/external_id".to_owned(), detail }]))
            }
        }
    }
}

/// Returns a page after a change with a named secret or without one, its content, and what is to be stored. A change
/// that changes nothing leaves the version as it is.
pub(super) fn changed(
    before: &PageMeta,
    content: Option<&Content>,
    input: PageInput,
    by: Option<SecretId>,
    now: UnixMillis,
) -> (PageMeta, Content, Vec<Write>) {
    let mut meta = before.clone();
    let next = Content { document: input.document, metadata: input.metadata };
    let mut writes = Vec::new();
    meta.external_id = input.external_id;
    meta.tags = input.tags;
    meta.title.clone_from(&next.document.title);
    // Without a change there is no revision, so that repeated syncs do not push the owner's out.
    if content.is_some_and(|content| content.document.locale != next.document.locale) {
        meta.locale = Some(next.document.locale.clone());
    }
    if content != Some(&next) {
        meta.add_revision(by, now);
        writes.push(Write::PutRevision(meta.id, meta.revision, next.clone()));
    }
    match input.status {
        // To publish the same again changes nothing, and makes no event.
        Some(StatusChange::Publish) if meta.live_revision() != Some(meta.revision) => {
            meta.publish(by, now);
        }
        Some(StatusChange::Unpublish) if meta.status == PageStatus::Published => {
            meta.status = PageStatus::Unpublished;
        }
        Some(StatusChange::Publish | StatusChange::Unpublish | StatusChange::Keep) | None => {}
    }
    if meta != *before {
        meta.version = meta.version.saturating_add(1);
        meta.updated_at = now;
        meta.trim_revisions();
        writes
            .push(Write::KeepRevisions(meta.id, meta.revisions.iter().map(|(number, _)| *number).collect()));
    }
    (meta, next, writes)
}

/// Returns letters and digits that are hard to mistake for one another, twelve at most.
fn random_slug(drawn: &[u8; 12], length: usize) -> Slug {
    const LETTERS: &[u8; 30] = b"abcdefghjkmnpqrstuvwxyz2345678";
    let letter = |byte: &u8| LETTERS.get(usize::from(*byte) % LETTERS.len()).copied().map(char::from);
    Slug::drawn(drawn.iter().take(length).filter_map(letter).collect())
}
