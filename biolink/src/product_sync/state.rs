//! The state of a source's object: when it runs, what came of it, and what the page is to show.
//!
//! `ok` is a source whose last run succeeded. After a failure it is `stale`, and after three in a
//! row `failing`; the page keeps the products of the last success. After seven days without one it
//! is `paused`: it runs again when its owner asks for it.
//!
//! Why: docs/decisions/products.md, "The last good products stay when a feed is wrong".

mod fetch;
mod status;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{key::KeyId, time::UnixMillis};

pub use self::{
    fetch::{FetchError, Fetched},
    status::SyncStatus,
};
use super::{
    Catalog, Run, RunOutcome, RunTrigger, Source, SourceSettings,
    catalog::digest,
    pushed_since::PushedSince,
    run::{Applied, MAX_FAULTS},
    schedule::{PAUSE_AFTER_MS, SETTLE_MS, after_failure, next},
};
use crate::{
    page::{PageId, SourceId},
    product_feed::{Feed, FeedProduct, NumberFormat, PriceRules, ProductError},
};

/// Failures in a row from which a source is failing.
const FAILING_FROM: u32 = 3;
/// Runs that are kept.
const MAX_RUNS: usize = 50;
/// The time between two refreshes, in milliseconds.
const REFRESH_MS: u64 = 15 * 60_000;
/// The same for a source with push, and the time between two fetches that a shop asks for.
const PUSHED_REFRESH_MS: u64 = 60_000;
/// The time between two edits of the page, in milliseconds: the store of published pages takes one
/// write a second.
const EDIT_MS: u64 = 2_000;
/// The time after which an edit is made again of which nothing is known, in milliseconds.
const EDIT_REPEAT_MS: u64 = 15_000;
/// The first wait after an edit that the account did not take, in milliseconds.
const EDIT_RETRY_MS: u64 = 5_000;

/// The state of a source's object, stored as one JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SyncState {
    account: Option<KeyId>,
    source: Option<Source>,
    status: SyncStatus,
    failures: u32,
    failing_since: Option<UnixMillis>,
    etag: Option<String>,
    last_modified: Option<String>,
    /// The digest of the products that the account has.
    digest: Option<String>,
    held: bool,
    held_at: Option<UnixMillis>,
    next_run: Option<Planned>,
    last_run_at: Option<UnixMillis>,
    last_success_at: Option<UnixMillis>,
    refreshed_at: Option<UnixMillis>,
    edited_at: Option<UnixMillis>,
    pending: Option<PendingEdit>,
    /// The number of the last edit.
    edits: u64,
    /// Pushes since the fetch began that has not ended.
    pushed_since: Option<PushedSince>,
    shown: usize,
    /// The number format that the prices of the last feed showed, for pushes.
    numbers: NumberFormat,
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Planned {
    at: UnixMillis,
    trigger: RunTrigger,
}

/// Products that the account is to get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PendingEdit {
    at: UnixMillis,
    run: Run,
    #[serde(default)]
    failures: u32,
    /// Whether the account gets them even if it has them already.
    #[serde(default)]
    forced: bool,
    /// The number of the edit with which they were sent; 0 before that.
    #[serde(default)]
    sent: u64,
}

/// An edit of the page that the account is to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductEdit {
    /// The account.
    pub account: KeyId,
    /// The page.
    pub page: PageId,
    /// The source.
    pub source: SourceId,
    /// The source's products.
    pub products: Vec<FeedProduct>,
    /// Its number. The account takes none that is older than the one it has.
    pub number: u64,
}

/// A run that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncAttempt {
    /// The settings.
    pub settings: SourceSettings,
    /// `If-None-Match` and `If-Modified-Since`.
    pub validators: Vec<(&'static str, String)>,
    version: u64,
    planned: Planned,
    started: UnixMillis,
}

/// The outcome of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    /// The account has the products.
    Applied(Applied),
    /// The account did not take them.
    Failed(String),
    /// The account has no such source any more.
    SourceGone,
}

impl SyncState {
    /// Returns the account and the source, once it has settings.
    pub fn source(&self) -> Option<(KeyId, &Source)> {
        Some((self.account?, self.source.as_ref()?))
    }

    /// Returns the log, the oldest run first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Takes in settings, unless they are older than those it has. Others than before make the source run
    /// immediately.
    pub fn configure(&mut self, account: KeyId, source: Source, now: UnixMillis) {
        if self.source.as_ref().is_some_and(|known| source.version < known.version) {
            return;
        }
        // Whether it takes pushes changes nothing of the feed, which need not be fetched for it.
        let feed = |source: &Source| SourceSettings { push: false, ..source.settings.clone() };
        let is_new = self.source.as_ref().is_none_or(|known| feed(known) != feed(&source));
        self.account = Some(account);
        self.source = Some(source);
        if is_new {
            // They are of another feed. With them, the new one could look unchanged.
            (self.etag, self.last_modified, self.digest, self.held) = (None, None, None, false);
            (self.failures, self.failing_since) = (0, None);
            self.next_run = Some(Planned { at: now, trigger: RunTrigger::Settings });
        }
    }

    /// Has the feed fetched now. Returns the seconds to wait if the last fetch was too recent.
    ///
    /// # Errors
    /// Returns the seconds after which the next refresh can begin.
    pub fn refresh(&mut self, now: UnixMillis) -> Result<(), u64> {
        let has_push = self.source.as_ref().is_some_and(|source| source.settings.push);
        let between = if has_push { PUSHED_REFRESH_MS } else { REFRESH_MS };
        if let Some(again) = self.refreshed_at.map(|at| at.plus(between)).filter(|again| now < *again) {
            return Err(now.seconds_until(again).max(1));
        }
        self.refreshed_at = Some(now);
        self.next_run = Some(Planned { at: now, trigger: RunTrigger::Refresh });
        Ok(())
    }

    /// Has the feed fetched because the shop asks for it: once a minute at most.
    pub fn ping(&mut self, now: UnixMillis) {
        let at = self.last_run_at.map_or(now, |last| last.plus(PUSHED_REFRESH_MS)).max(now);
        // Never later than planned: a shop that pings without end would put its own fetch off for
        // ever.
        if self.next_run.is_none_or(|planned| at < planned.at) {
            self.next_run = Some(Planned { at, trigger: RunTrigger::Push });
        }
    }

    /// Returns how the prices of a push are read: as the settings say, and where they leave it open, as the
    /// last feed showed.
    pub fn price_rules<'a>(&'a self, catalog: &'a Catalog) -> PriceRules<'a> {
        let rules = self.source.as_ref().map(|source| source.settings.price_rules()).unwrap_or_default();
        let numbers = if rules.numbers == NumberFormat::Auto { self.numbers } else { rules.numbers };
        PriceRules { currency: rules.currency.or_else(|| catalog.currency()), numbers }
    }

    /// Takes in changes that the shop pushed. Returns how many products they are about.
    pub fn push(
        &mut self,
        catalog: &mut Catalog,
        upserts: Vec<FeedProduct>,
        deletes: &[String],
        errors: &[ProductError],
        now: UnixMillis,
    ) -> usize {
        let Some(source) = &self.source else { return 0 };
        let changed = upserts.len().saturating_add(deletes.len());
        if let Some(since) = &mut self.pushed_since {
            // The feed on its way may be older than the push, and would undo it.
            since.add(&upserts, deletes);
        }
        catalog.push(upserts, deletes, &source.settings.selection, now);
        let faulty = errors.iter().filter(|error| error.leaves_out()).count();
        let faults = errors.iter().take(MAX_FAULTS).map(|error| (0, None, error.to_string()));
        let run = Run {
            at: now,
            trigger: RunTrigger::Push,
            items: changed.saturating_add(faulty),
            faulty,
            faults: faults.collect(),
            ..Run::default()
        };
        self.plan_edit(run, false, now);
        changed
    }

    /// Returns the run that is due.
    pub fn begin(&mut self, now: UnixMillis) -> Option<SyncAttempt> {
        let planned = self.next_run.filter(|planned| planned.at <= now)?;
        let source = self.source.as_ref()?;
        let mut validators = Vec::new();
        // An owner who asks for it doubts what is known, validators included.
        if planned.trigger != RunTrigger::Refresh {
            validators.extend(self.etag.clone().map(|etag| ("if-none-match", etag)));
            validators.extend(self.last_modified.clone().map(|moment| ("if-modified-since", moment)));
        }
        self.last_run_at = Some(now);
        self.pushed_since = Some(PushedSince::default());
        let (settings, version) = (source.settings.clone(), source.version);
        Some(SyncAttempt { settings, validators, version, planned, started: now })
    }

    /// Takes in how a run ended. A run whose settings have changed since counts for nothing.
    pub fn finish(
        &mut self,
        attempt: &SyncAttempt,
        outcome: Result<Fetched, FetchError>,
        catalog: &mut Catalog,
        now: UnixMillis,
    ) {
        let Some(source) = self.source.as_ref().filter(|source| source.version == attempt.version) else {
            return;
        };
        let (id, trigger) = (source.id, attempt.planned.trigger);
        let since = self.pushed_since.take().unwrap_or_default();
        let run = Run {
            at: attempt.started,
            trigger,
            duration_ms: now.since(attempt.started),
            products: Applied { shown: self.shown, ..Applied::default() },
            ..Run::default()
        };
        match outcome {
            Err(error) => self.fail(attempt, run, &error, now),
            Ok(fetched) => {
                self.succeed(attempt, next(&id, now), now);
                match fetched {
                    Fetched::NotModified => {
                        // The validators are those of the last feed that was not held.
                        self.held = false;
                        let status = Some(304);
                        self.log(Run { outcome: RunOutcome::NotModified, http_status: status, ..run });
                    }
                    Fetched::Feed { feed, status, etag, last_modified } => {
                        let run = Run { http_status: Some(status), ..of_feed(&feed, run) };
                        let is_asked = trigger == RunTrigger::Refresh;
                        // A run that a shop asks for a moment later does not end the hold.
                        let held_ms = self.held_at.map_or(u64::MAX, |at| now.since(at));
                        let is_second = self.held && held_ms >= SETTLE_MS;
                        if !is_second && !is_asked && catalog.would_lose_most(&feed) {
                            self.hold(run, now);
                            return;
                        }
                        self.held = false;
                        (self.etag, self.last_modified) = (etag, last_modified);
                        self.numbers = feed.numbers();
                        *catalog = Catalog::of(&feed, &attempt.settings.selection, now);
                        if !since.apply(catalog, &attempt.settings.selection, now) {
                            self.ping(now);
                        }
                        self.plan_edit(run, is_asked, now);
                    }
                }
            }
        }
    }

    /// Returns the edit that the account is to make now.
    pub fn edit(&mut self, catalog: &Catalog, now: UnixMillis) -> Option<ProductEdit> {
        let pending = self.pending.clone().filter(|pending| pending.at <= now)?;
        let (account, source) = self.source()?;
        let (page, source, products) =
            (source.page, source.id, catalog.shown(&source.settings.selection, now));
        if self.digest.as_ref() == Some(&digest(&products)) && !pending.forced {
            self.pending = None;
            let products = Applied { shown: self.shown, ..Applied::default() };
            self.log(Run { outcome: RunOutcome::Unchanged, products, ..pending.run });
            return None;
        }
        self.edits = self.edits.saturating_add(1);
        // Until the account responds, nobody knows what it has.
        self.digest = None;
        self.pending = Some(PendingEdit { at: now.plus(EDIT_REPEAT_MS), sent: self.edits, ..pending });
        Some(ProductEdit { account, page, source, products, number: self.edits })
    }

    /// Takes in how an edit ended. What was pushed meanwhile is still to be given.
    pub fn settle(&mut self, edit: &ProductEdit, outcome: EditOutcome, now: UnixMillis) {
        // What was planned since has number 0, and stays.
        let pending = self.pending.take_if(|pending| pending.sent == edit.number);
        match outcome {
            EditOutcome::Applied(applied) => {
                self.edited_at = Some(now);
                if edit.number == self.edits {
                    // Only of the newest edit. A later one may have overtaken this reply.
                    (self.digest, self.shown) = (Some(digest(&edit.products)), applied.shown);
                }
                let Some(pending) = pending else { return };
                let is_unchanged = applied == Applied { shown: applied.shown, ..Applied::default() };
                let outcome = if is_unchanged { RunOutcome::Unchanged } else { RunOutcome::Updated };
                self.log(Run { outcome, products: applied, ..pending.run });
            }
            EditOutcome::Failed(error) => {
                let Some(pending) = pending else { return };
                let wait = EDIT_RETRY_MS.saturating_mul(1 << pending.failures.min(7));
                let failures = pending.failures.saturating_add(1);
                let run = Run { error: Some(error), ..pending.run };
                self.pending = Some(PendingEdit { at: now.plus(wait), run, failures, ..pending });
            }
            EditOutcome::SourceGone => {}
        }
    }

    /// Returns the moment at which something is due.
    pub fn next_due(&self) -> Option<UnixMillis> {
        let (run, edit) =
            (self.next_run.map(|planned| planned.at), self.pending.as_ref().map(|edit| edit.at));
        run.into_iter().chain(edit).min()
    }

    /// Returns the member `sync` of the source.
    pub fn describe(&self) -> Value {
        let moment = |at: Option<UnixMillis>| at.map(UnixMillis::to_rfc3339);
        let last = self.runs.last();
        let error =
            last.filter(|_| self.status != SyncStatus::Ok || self.held).and_then(|run| run.error.as_ref());
        json!({
            "status": self.status.as_str(),
            "held": self.held,
            "products": self.shown,
            "error": error,
            "last_run_at": moment(self.last_run_at),
            "last_success_at": moment(self.last_success_at),
            "next_run_at": moment(self.next_run.map(|planned| planned.at)),
        })
    }

    fn succeed(&mut self, attempt: &SyncAttempt, next: UnixMillis, now: UnixMillis) {
        self.status = SyncStatus::Ok;
        (self.failures, self.failing_since, self.last_success_at) = (0, None, Some(now));
        self.plan_run(attempt, Some(next));
    }

    fn fail(&mut self, attempt: &SyncAttempt, run: Run, error: &FetchError, now: UnixMillis) {
        self.failures = self.failures.saturating_add(1);
        let since = *self.failing_since.get_or_insert(now);
        let is_paused = now.since(since) >= PAUSE_AFTER_MS;
        self.status = match self.failures {
            _ if is_paused => SyncStatus::Paused,
            FAILING_FROM.. => SyncStatus::Failing,
            _ => SyncStatus::Stale,
        };
        let next = (!is_paused).then(|| after_failure(self.failures, error.retry_after_ms(), now));
        self.plan_run(attempt, next);
        let (http_status, error) = (error.status(), Some(error.to_string()));
        self.log(Run { outcome: RunOutcome::Failed, http_status, error, ..run });
    }

    fn hold(&mut self, run: Run, now: UnixMillis) {
        // The first moment: runs in between must not put its end off.
        if !self.held {
            (self.held, self.held_at) = (true, Some(now));
        }
        let error = "the feed lacks more than 80 % of the products before it; they stay until the next run, which applies it if it still does".to_owned();
        self.log(Run { outcome: RunOutcome::Held, error: Some(error), ..run });
    }

    /// Plans the next run, unless another one was asked for meanwhile.
    fn plan_run(&mut self, attempt: &SyncAttempt, at: Option<UnixMillis>) {
        if self.next_run == Some(attempt.planned) {
            self.next_run = at.map(|at| Planned { at, trigger: RunTrigger::Schedule });
        }
    }

    /// Has the account given the products, immediately or soon after the last edit.
    fn plan_edit(&mut self, run: Run, forced: bool, now: UnixMillis) {
        let at = self.edited_at.map_or(now, |last| last.plus(EDIT_MS)).max(now);
        let forced = forced || self.pending.as_ref().is_some_and(|pending| pending.forced);
        self.pending = Some(PendingEdit { at, run, failures: 0, forced, sent: 0 });
    }

    fn log(&mut self, run: Run) {
        self.runs.push(run);
        let surplus = self.runs.len().saturating_sub(MAX_RUNS);
        self.runs.drain(..surplus);
    }
}

fn of_feed(feed: &Feed, run: Run) -> Run {
    let faults = feed.main_faults(MAX_FAULTS).into_iter();
    Run {
        format: Some(feed.format),
        items: feed.items,
        faulty: feed.faulty,
        faults: faults.map(|fault| (fault.item, fault.id.clone(), fault.error.to_string())).collect(),
        ..run
    }
}

#[cfg(test)]
mod tests;
