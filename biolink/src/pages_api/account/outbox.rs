//! What an account has to tell to others, until they know it.

use serde::{Deserialize, Serialize};
use shared::{key::KeyId, time::UnixMillis};

use crate::{
    domains::HostName,
    page::{DomainId, ImageId, PageId, Slug, SourceId},
    pages_api::slug::{Owner, SlugMessage},
    webhooks::Publication,
};

/// The longest wait between two tries, in milliseconds.
const MAX_WAIT_MS: u64 = 60_000;
/// Publications that wait for webhooks that take none.
const MAX_PUBLICATIONS: usize = 500;
/// The wait after the first failure, in milliseconds. The store takes one write a second for each
/// name.
const FIRST_WAIT_MS: u64 = 1_000;

/// A write to another store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Store what visitors of a slug see now.
    Snapshot {
        /// The account.
        account: KeyId,
        /// The slug.
        slug: Slug,
    },
    /// Store which account has a page, so that the operator finds it by its id.
    Index {
        /// The account.
        account: KeyId,
        /// The page.
        page: PageId,
    },
    /// Have the events of a deleted page dropped.
    PurgeEvents(PageId),
    /// Tell the store of a page which events the account's webhooks want.
    Subscribe {
        /// The account.
        account: KeyId,
        /// The page.
        page: PageId,
    },
    /// Tell the account's webhooks that a page was published.
    Published {
        /// The account.
        account: KeyId,
        /// The page.
        page: PageId,
        /// The page's version, by which the webhooks know a repeated message.
        version: u64,
        /// What was published.
        publication: Box<Publication>,
    },
    /// Have the webhooks drop the events of a deleted page.
    PurgeWebhooks {
        /// The account.
        account: KeyId,
        /// The page.
        page: PageId,
    },
    /// Have the webhooks of an erased account dropped.
    EraseWebhooks(KeyId),
    /// Have the object of a product source take its settings, or end if it has none any more.
    ConfigureSource {
        /// The account.
        account: KeyId,
        /// The source.
        source: SourceId,
    },
    /// Delete the file of an image, unless the account has it.
    DropImage(ImageId),
    /// Show the file of an image to visitors, or hide it if the account is suspended.
    MarkImage(ImageId),
    /// Check the proof of a domain.
    CheckDomain(DomainId),
    /// Store which page visitors of a domain see.
    ServeDomain {
        /// The account.
        account: KeyId,
        /// The host.
        host: HostName,
    },
    /// Have a domain shown no more. Its host is given back when that is done, and not in the same task: a task
    /// that is repeated would remove what the next account shows there.
    EndDomain {
        /// The account.
        account: KeyId,
        /// The host.
        host: HostName,
        /// The claim by which the account had it.
        claim: u64,
    },
    /// Take the claim of a host back, unless a domain has it by then.
    Host {
        /// The account.
        account: KeyId,
        /// The host.
        host: HostName,
        /// The claim.
        claim: u64,
    },
    /// Send a message to a slug.
    Slug(Slug, SlugMessage),
}

/// Tasks, each kept until it is done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Outbox(Vec<Pending>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    task: Task,
    due: UnixMillis,
    #[serde(default)]
    failures: u32,
    /// Counts how often it was wanted: one that was wanted again while it was under way is not
    /// done.
    #[serde(default)]
    wanted: u32,
    #[serde(default)]
    taken: u32,
}

impl Outbox {
    /// Has the snapshot of a slug stored.
    pub(super) fn publish(&mut self, account: KeyId, slug: &Slug, now: UnixMillis) {
        self.add(Task::Snapshot { account, slug: slug.clone() }, now);
    }

    /// Has the account of a page stored, or removed if the page is no longer there.
    pub(super) fn index(&mut self, account: KeyId, page: PageId, now: UnixMillis) {
        self.add(Task::Index { account, page }, now);
    }

    /// Has the store of a page know which events the webhooks want.
    pub(super) fn subscribe(&mut self, account: KeyId, page: PageId, now: UnixMillis) {
        self.add(Task::Subscribe { account, page }, now);
    }

    /// Has the webhooks know of a publication. The oldest ones give way to it if too many wait.
    pub(super) fn published(
        &mut self,
        account: KeyId,
        (page, version): (PageId, u64),
        publication: Publication,
        now: UnixMillis,
    ) {
        let waiting = |pending: &&Pending| matches!(pending.task, Task::Published { .. });
        if self.0.iter().filter(waiting).count() >= MAX_PUBLICATIONS
            && let Some(oldest) = self.0.iter().position(|pending| waiting(&pending))
        {
            self.0.remove(oldest);
        }
        let publication = Box::new(publication);
        self.add(Task::Published { account, page, version, publication }, now);
    }

    /// Has a slug claimed that is never freed.
    pub(super) fn claim(&mut self, slug: &Slug, owner: Owner, now: UnixMillis) {
        self.add(Task::Slug(slug.clone(), SlugMessage::Claim { owner, claim: 0, at: None }), now);
    }

    /// Frees a slug, which only its account may claim until then.
    pub(super) fn release(
        &mut self,
        slug: &Slug,
        owner: Owner,
        claim: u64,
        until: UnixMillis,
        now: UnixMillis,
    ) {
        self.add(Task::Slug(slug.clone(), SlugMessage::Release { owner, claim, until }), now);
    }

    /// Has a claim taken back at a later moment, unless it is [kept](Self::keep).
    pub(super) fn take_back(&mut self, slug: Slug, owner: Owner, claim: u64, at: UnixMillis) {
        self.add(Task::Slug(slug, SlugMessage::Cancel { owner, claim }), at);
    }

    /// Has a claim taken back now, if it is still to be.
    pub(super) fn take_back_now(&mut self, number: u64, now: UnixMillis) {
        self.0.iter_mut().filter(|pending| pending.takes_back(number)).for_each(|pending| pending.due = now);
    }

    /// Returns true if a claim was made and is not about to be taken back.
    pub(super) fn holds(&self, number: u64, now: UnixMillis) -> bool {
        // After a failed attempt nobody knows whether the claim was taken back.
        self.0.iter().any(|pending| pending.takes_back(number) && pending.failures == 0 && now < pending.due)
    }

    /// Keeps a claim: its page has the slug now.
    pub(super) fn keep(&mut self, number: u64) {
        self.0.retain(|pending| !pending.takes_back(number));
    }

    /// Returns true if a file is to be deleted now, and may be at any moment.
    pub(super) fn is_dropping(&self, id: ImageId, now: UnixMillis) -> bool {
        self.0.iter().any(|pending| pending.task == Task::DropImage(id) && pending.taken_at(now))
    }

    /// Keeps a file that was to be deleted.
    pub(super) fn keep_image(&mut self, id: ImageId) {
        self.0.retain(|pending| pending.task != Task::DropImage(id));
    }

    pub(super) fn due(&mut self, now: UnixMillis) -> Vec<Task> {
        let due = self.0.iter_mut().filter(|pending| pending.due <= now);
        due.map(|pending| {
            // Remembered, so that a task which is wanted again while it is under way runs once
            // more.
            pending.taken = pending.wanted;
            pending.task.clone()
        })
        .collect()
    }

    pub(super) fn settle(&mut self, task: &Task, done: bool, now: UnixMillis) {
        if done {
            self.0.retain(|pending| pending.task != *task || pending.taken != pending.wanted);
            return;
        }
        for pending in self.0.iter_mut().filter(|pending| pending.task == *task) {
            let wait = FIRST_WAIT_MS.saturating_mul(1 << pending.failures.min(6)).min(MAX_WAIT_MS);
            pending.failures = pending.failures.saturating_add(1);
            pending.due = now.plus(wait);
        }
    }

    pub(super) fn next_due(&self) -> Option<UnixMillis> {
        self.0.iter().map(|pending| pending.due).min()
    }

    pub(super) fn add(&mut self, task: Task, due: UnixMillis) {
        match self.0.iter_mut().find(|pending| pending.task == task) {
            Some(pending) => {
                // Once for all who want it: ten edits of a page are one snapshot.
                pending.due = pending.due.min(due);
                pending.wanted = pending.wanted.wrapping_add(1);
            }
            None => self.0.push(Pending { task, due, failures: 0, wanted: 0, taken: 0 }),
        }
    }
}

impl Pending {
    /// Returns true if it is due, or failed before and may still be done.
    fn taken_at(&self, now: UnixMillis) -> bool {
        self.due <= now || self.failures > 0
    }

    fn takes_back(&self, number: u64) -> bool {
        match &self.task {
            Task::Slug(_, SlugMessage::Cancel { claim, .. }) | Task::Host { claim, .. } => *claim == number,
            _ => false,
        }
    }
}
