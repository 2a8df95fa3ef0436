//! The state of an account: its pages without their content, its calls, and its outbox.
//!
//! A call is a pure step: the shell loads what [`Account::needs`] names, calls [`Account::step`],
//! stores what it returns and the account itself, and only then sends the reply. All of that
//! happens without waiting, so that calls are handled one after another. A call that needs a slug
//! is stepped twice, with [`Step::Claim`] between; the second time sees what has changed since, and
//! decides anew.
//!
//! A claim is written down before it is made, as a [`Task`] that takes it back. The task is dropped
//! in the step in which the page gets the slug. So a claim that led to nothing is taken back
//! whatever fails.

mod administration;
mod analytics;
mod domain_input;
mod domains;
mod export;
mod images;
mod message;
mod outbox;
mod pages;
mod source_call;
mod sources;
mod step;
mod stored_image;
mod webhooks;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use domain_input::DomainInput;
pub use domains::host_owner;
pub(super) use images::for_each_url;
pub use message::{AccountMessage, Call, Claim, ClaimOutcome, Once, Operation, check_no_query};
use outbox::Outbox;
pub use outbox::Task;
pub use source_call::SourceCall;
use step::Unfinished;
pub use step::{Loaded, Needs, Step, StoredReply, Write};
pub use stored_image::ImageFate;
use stored_image::StoredImage;

use crate::codes;
use shared::{
    idempotency::{BUSY_MS, KEEP_MS},
    key::{BiolinkPlan, KeyId},
    problem::Problem,
    request_id::RequestId,
    response::Response,
    time::UnixMillis,
};

use super::{
    admission::Admission,
    calls::HourlyCalls,
    denied_hosts::DeniedHosts,
    describe,
    edit::revision_unknown,
    page::{Content, FormerSlug, PageMeta},
    precondition::{check_match, etag},
    problems::{domain_unknown, idempotency_key_reused, page_unknown},
    reply::Reply,
    slug::{Owner, SlugMessage},
    snapshot::{FOREVER, Snapshot, SnapshotState},
    suspension::Suspension,
};
use crate::{
    domains::Domain,
    page::{PageId, Slug},
    policy,
    product_sync::Source,
    webhooks::Subscriptions,
};

/// The state of one account, stored as one JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// In the order of the ids: the oldest first.
    #[serde(default)]
    pages: Vec<PageMeta>,
    /// Product sources of the pages.
    #[serde(default)]
    sources: Vec<Source>,
    /// Uploaded images, the oldest first.
    #[serde(default)]
    images: Vec<StoredImage>,
    /// The account's own host names, the oldest first.
    #[serde(default)]
    domains: Vec<Domain>,
    /// Slugs of deleted pages, while they are reserved.
    #[serde(default)]
    freed: Vec<FormerSlug>,
    /// The slugs that it held when it was erased, which are reserved for it.
    #[serde(default)]
    reserved: Vec<FormerSlug>,
    /// The operator's order to show none of the pages.
    suspended: Option<Suspension>,
    #[serde(default)]
    calls: HourlyCalls,
    /// What the account's webhooks want to know; `None` if it never had any.
    subscriptions: Option<Subscriptions>,
    #[serde(default)]
    outbox: Outbox,
    /// Calls under an `Idempotency-Key` that wait for a slug: they are lost with the object, and so
    /// is the wait.
    #[serde(skip)]
    busy: Vec<Busy>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Busy {
    name: String,
    seed: [u8; 16],
    until: UnixMillis,
}

impl Account {
    /// Returns what the call needs from the store.
    pub fn needs(&self, call: &Call) -> Needs {
        let (page, other) = call.operation.reads();
        let meta = page.and_then(|id| self.find(&id));
        let changed = meta.filter(|_| matches!(call.operation, Operation::Edit(..)));
        // A source changes what is live, which may be older than the content.
        let is_sync = matches!(call.operation, Operation::Sources(..));
        let synced = meta.filter(|meta| is_sync && meta.has_unpublished_changes());
        Needs {
            live: changed
                .and_then(|meta| Some((meta.id, self.compared(meta)?)))
                .or_else(|| synced.and_then(|meta| Some((meta.id, meta.live_revision()?)))),
            content: meta.map(|meta| (meta.id, meta.revision)),
            other: meta.zip(other).map(|(meta, number)| (meta.id, number)),
            reply: call.once.as_ref().map(|once| once.name.clone()),
        }
    }

    /// Handles a call. No page may be made to lead to `denied` hosts.
    pub fn step(&mut self, call: &Call, loaded: Loaded, denied: &DeniedHosts, now: UnixMillis) -> Step {
        // First: what is over by now must decide nothing in this step.
        self.expire(now);
        // Before the operation: a repeated call must change nothing.
        let outcome = self.admit(call, loaded.reply.as_ref(), now);
        let outcome = match outcome {
            Ok(Some(replay)) => return self.finish(call, Ok((replay, Vec::new())), now),
            Ok(None) => self.run(call, loaded, denied, now),
            Err(problem) => Err(problem.into()),
        };
        match outcome {
            Ok(done) => self.finish(call, Ok(done), now),
            Err(Unfinished::Refused(problem)) => self.finish(call, Err(problem), now),
            Err(Unfinished::Admitted(pages)) => {
                Step::Admit(Admission { pages, hour: self.calls.status(now) })
            }
            Err(Unfinished::Check(id)) => {
                match self.check_domain(call.account, &id, call.claim_number(), now) {
                    Some(check) => Step::Check(check),
                    None => self.finish(call, Err(domain_unknown(&id)), now),
                }
            }
            Err(Unfinished::Claim(slug, page)) => {
                let (owner, claim) = (Owner { account: call.account, page }, call.claim_number());
                if !call.dry_run {
                    // Before the claim leaves: if the object is lost meanwhile, the task still
                    // takes it back.
                    self.outbox.take_back(slug.clone(), owner, claim, now.plus(BUSY_MS));
                }
                if let Some(once) = &call.once {
                    self.busy.retain(|busy| busy.name != once.name);
                    let until = now.plus(BUSY_MS);
                    self.busy.push(Busy { name: once.name.clone(), seed: call.seed, until });
                }
                let message = match call.dry_run {
                    true => SlugMessage::Peek { account: call.account },
                    false => SlugMessage::Claim { owner, claim, at: Some(now) },
                };
                Step::Claim { slug, message }
            }
        }
    }

    /// Returns the published state of a slug that this account has, or had; `None` if it has
    /// nothing there. `content` reads a revision.
    ///
    /// # Errors
    /// As `content`.
    pub fn snapshot<E>(
        &self,
        account: KeyId,
        slug: &Slug,
        content: impl FnOnce(PageId, u64) -> Result<Option<Content>, E>,
    ) -> Result<Option<Snapshot>, E> {
        let state = match self.pages.iter().find(|page| page.slug == *slug) {
            Some(page) => match (page.live_revision(), page.published_at) {
                (Some(revision), Some(published_at)) if !self.is_suspended(page) => {
                    content(page.id, revision)?.map(|content| {
                        let (document, code) = (content.document, page.code.clone());
                        SnapshotState::Live { page: page.id, revision, published_at, code, document }
                    })
                }
                _ => page.published_revision.map(|_| SnapshotState::Gone),
            },
            None => {
                let moved = |page: &PageMeta| {
                    let former = page.former_slugs.iter().find(|former| former.slug == *slug);
                    let is_code = page.code.as_ref() == Some(slug);
                    // A printed code must lead to its page for as long as there is one.
                    let until = if is_code { FOREVER } else { former?.until };
                    let to_page = SnapshotState::Moved { to: page.slug.clone(), until, page: page.id };
                    Some(if self.is_suspended(page) { SnapshotState::Gone } else { to_page })
                };
                let freed = || self.has_freed(slug).then_some(SnapshotState::Gone);
                self.pages.iter().find_map(moved).or_else(freed)
            }
        };
        Ok(state.map(|state| Snapshot { account, state }))
    }

    /// Returns true if a page has the slug, or it is its code, or the page still redirects from it, or
    /// had it until it was deleted.
    pub fn knows(&self, slug: &Slug) -> bool {
        self.has_freed(slug) || self.pages.iter().any(|page| page.slugs().any(|other| other == slug))
    }

    /// Returns true if the account has the page.
    pub fn has(&self, page: &PageId) -> bool {
        self.find(page).is_some()
    }

    /// Returns the tasks that are due.
    #[must_use]
    pub fn due(&mut self, now: UnixMillis) -> Vec<Task> {
        let checks = self.domains.iter().filter(|domain| domain.next_check.is_some_and(|at| at <= now));
        let mut due: Vec<_> = checks.map(|domain| Task::CheckDomain(domain.id)).collect();
        due.extend(self.outbox.due(now));
        due
    }

    /// Takes in how a task ended. One that failed is due again later.
    pub fn settle(&mut self, task: &Task, done: bool, now: UnixMillis) {
        self.outbox.settle(task, done, now);
        // Only now: whoever gets the host next must not have its snapshot removed.
        if let (Task::EndDomain { account, host, claim }, true) = (task, done) {
            self.outbox.add(Task::Host { account: *account, host: host.clone(), claim: *claim }, now);
        }
    }

    /// Returns the moment at which the next task is due.
    pub fn next_due(&self) -> Option<UnixMillis> {
        let checks = self.domains.iter().filter_map(|domain| domain.next_check);
        checks.chain(self.outbox.next_due()).min()
    }

    /// Counts the call, unless it was counted, and finds the reply to an earlier one with the same
    /// `Idempotency-Key`.
    fn admit(
        &mut self,
        call: &Call,
        stored: Option<&StoredReply>,
        now: UnixMillis,
    ) -> Result<Option<Response>, Problem> {
        // A second step is of the same call, which was counted in the first.
        if call.claim.is_none() && call.proof.is_none() && call.operation.is_charged() {
            self.calls.admit(now)?;
        }
        let Some(once) = &call.once else { return Ok(None) };
        if let Some(stored) = stored.filter(|stored| now.since(stored.at) < KEEP_MS) {
            if stored.fingerprint != once.fingerprint {
                return Err(idempotency_key_reused());
            }
            let replay = stored.reply.clone().into_response();
            return Ok(Some(replay.with_headers([("idempotency-replayed", "true")])));
        }
        // While the first waits for its slug, a retry would make a second page.
        if self.busy.iter().any(|busy| busy.name == once.name && busy.seed != call.seed) {
            let detail = "another request with this Idempotency-Key is in flight; try again";
            return Err(Problem::new(codes::IDEMPOTENCY_CONFLICT, detail).retry_after(1));
        }
        Ok(None)
    }

    /// Ends a call: stores the reply for retries, and takes a claim back that led to nothing.
    fn finish(
        &mut self,
        call: &Call,
        outcome: Result<(Response, Vec<Write>), Problem>,
        now: UnixMillis,
    ) -> Step {
        self.busy.retain(|busy| busy.seed != call.seed);
        // If the operation has kept the claim, there is nothing to take back.
        self.outbox.take_back_now(call.claim_number(), now);
        // After each call, because many of them change which page a domain shows, or its slug.
        self.serve_domains(call.account, now);
        let (outcome, mut writes) = match outcome {
            Ok((response, writes)) => (Ok(response), writes),
            Err(problem) => (Err(problem), Vec::new()),
        };
        let changed = outcome.is_ok();
        let reply = Reply::new(outcome, &RequestId(call.request_id));
        if let (Some(once), true) = (&call.once, changed && !call.dry_run && !reply.is_replay()) {
            let (name, fingerprint) = (once.name.clone(), once.fingerprint.clone());
            let stored = StoredReply { fingerprint, at: now, reply: reply.clone() };
            writes.push(Write::PutReply { name, stored, drop_before: now.minus(KEEP_MS) });
        }
        let reply = if call.operation.is_charged() {
            reply.with_headers(self.calls.status(now).headers())
        } else {
            reply
        };
        Step::Reply(reply, writes)
    }

    /// Performs a call's operation.
    // As what it calls with this attribute: inlined into one another, they have 37 KB, and V8 optimizes them first in a new isolate.
    #[inline(never)]
    fn run(
        &mut self,
        call: &Call,
        loaded: Loaded,
        denied: &DeniedHosts,
        now: UnixMillis,
    ) -> Result<(Response, Vec<Write>), Unfinished> {
        let read = |response| Ok((response, Vec::new()));
        match &call.operation {
            Operation::List(query) => {
                let found = query.answer(&self.pages, self.suspended.is_some(), &call.base);
                read(Response::json(found.to_string()))
            }
            Operation::ReadAccount { plan, analytics_days } => {
                let body = self.describe(call.account, *plan, *analytics_days, now);
                read(Response::json(body.to_string()))
            }
            Operation::Read(id) => {
                let (meta, content) = self.page(id, loaded.content)?;
                read(self.shown(200, meta, &content, &call.base))
            }
            Operation::Revisions(id) => {
                let meta = self.find(id).ok_or_else(|| page_unknown(id))?;
                let revision = |(number, at): &(u64, UnixMillis)| {
                    let live = meta.live_revision() == Some(*number);
                    json!({
                        "revision": number, "created_at": at.to_rfc3339(), "live": live,
                        "secret_id": meta.author(*number),
                        "published_at": meta.publication(*number).map(UnixMillis::to_rfc3339),
                        "published_secret_id": meta.publisher(*number),
                    })
                };
                let data: Vec<_> = meta.revisions.iter().rev().map(revision).collect();
                read(Response::json(json!({ "object": "list", "data": data }).to_string()))
            }
            Operation::ReadRevision(id, number) => {
                let meta = self.find(id).ok_or_else(|| page_unknown(id))?;
                let content = loaded.other.ok_or_else(|| revision_unknown(*number))?;
                read(Response::json(describe::revision(meta, *number, &content, &call.base).to_string()))
            }
            Operation::Analytics(pages) => Err(Unfinished::Admitted(self.reported(pages)?)),
            Operation::ResetAnalytics(id) => {
                self.find(id).ok_or_else(|| page_unknown(id))?;
                if call.dry_run { read(Response::no_content()) } else { Err(Unfinished::Admitted(vec![*id])) }
            }
            Operation::Webhooks => Err(Unfinished::Admitted(self.reported(&[])?)),
            Operation::Create(body) => self.create(call, body, denied, now),
            Operation::Edit(id, edit) => self.edit(call, id, edit, loaded, denied, now),
            Operation::Delete(id) => Ok(self.delete(call, id, now)?),
            Operation::Sources(page, called) => self.call_sources(call, (page, called), loaded, denied, now),
            Operation::ListImages
            | Operation::AddImage(_)
            | Operation::ReadImage(_)
            | Operation::DeleteImage(_) => read(self.call_images(call, now)?),
            Operation::ListDomains
            | Operation::AddDomain(_)
            | Operation::ReadDomain(_)
            | Operation::PatchDomain(..)
            | Operation::DeleteDomain(_)
            | Operation::VerifyDomain(_) => read(self.call_domains(call, now)?),
            Operation::Export
            | Operation::Erase(_)
            | Operation::Inspect(_)
            | Operation::Suspend(..)
            | Operation::Resume(_) => Ok(self.administer(call, now)?),
        }
    }

    /// Describes the account itself.
    fn describe(&mut self, id: KeyId, plan: BiolinkPlan, analytics_days: u32, now: UnixMillis) -> Value {
        json!({
            "object": "account",
            "id": id,
            "plan": plan,
            "suspended": self.suspended.is_some(),
            "pages": { "used": self.pages.len(), "limit": policy::PAGES },
            "images": self.describe_image_usage(),
            "domains": { "used": self.domains.len(), "limit": policy::DOMAINS },
            "calls": {
                "limit": policy::CALLS_PER_HOUR,
                "window_seconds": 3600,
                "remaining": self.calls.remaining(now),
                "reset_seconds": self.calls.reset_seconds(now),
            },
            "analytics": { "window_days": analytics_days },
        })
    }

    fn find(&self, id: &PageId) -> Option<&PageMeta> {
        self.pages.iter().find(|page| page.id == *id)
    }

    /// Returns a page with its content.
    fn page(&self, id: &PageId, content: Option<Content>) -> Result<(&PageMeta, Content), Problem> {
        let meta = self.find(id).ok_or_else(|| page_unknown(id))?;
        let lost = || Problem::new(codes::INTERNAL, "the content of the page is not where it belongs");
        Ok((meta, content.ok_or_else(lost)?))
    }

    /// Returns true if the page is suspended, by itself or with the account.
    const fn is_suspended(&self, meta: &PageMeta) -> bool {
        self.suspended.is_some() || meta.suspended.is_some()
    }

    fn has_freed(&self, slug: &Slug) -> bool {
        self.freed.iter().any(|freed| freed.slug == *slug)
    }

    /// Returns a response with a page.
    fn shown(&self, status: u16, meta: &PageMeta, content: &Content, base: &str) -> Response {
        self.described(status, meta, describe::page(meta, self.is_suspended(meta), content, base))
    }

    /// Returns a page that was not stored, with the destinations of its links in each case.
    fn tried(&self, meta: &PageMeta, content: &Content, base: &str) -> Response {
        let mut page = describe::page(meta, self.is_suspended(meta), content, base);
        if let Some(members) = page.as_object_mut() {
            members.insert("previews".to_owned(), describe::previews(meta, content));
        }
        self.described(200, meta, page)
    }

    fn described(&self, status: u16, meta: &PageMeta, page: Value) -> Response {
        Response { status, ..Response::json(page.to_string()) }.with_headers([("etag", self.etag(meta))])
    }

    fn etag(&self, meta: &PageMeta) -> String {
        etag(meta.version, self.is_suspended(meta))
    }

    /// Checks `If-Match`.
    fn check(&self, call: &Call, meta: &PageMeta) -> Result<(), Problem> {
        check_match(call.if_match.as_deref(), self.etag(meta))
    }

    fn expire(&mut self, now: UnixMillis) {
        self.busy.retain(|busy| now < busy.until);
        self.freed.retain(|freed| now < freed.until);
        self.reserved.retain(|reserved| now < reserved.until);
        for page in &mut self.pages {
            page.former_slugs.retain(|former| now < former.until);
        }
    }
}

#[cfg(test)]
mod tests;
