//! Events that arrive: they are logged, and become deliveries.

use biolink::page::{IdSource, PageId};
use biolink::pages_api::AccountMessage;
use biolink::stats::OutboxRow;
use biolink::webhooks::{Card, EventHead, EventId, Excess, Publication, Visit, WebhookKind};
use biolink::webhooks_api::{DeliveryNumbers, DeliveryState, LoggedEvent, PageProgress, fan_out};
use shared::json;
use shared::key::KeyId;
use shared::time::UnixMillis;
use worker::Result;

use super::events::StoredEvent;
use super::{DONE, State, Webhooks};
use crate::bindings;
use crate::runtime::{clock, durable_rpc, entropy, log};

/// Timeout of the question what a page is called, in milliseconds.
const CARD_TIMEOUT_MS: u64 = 3_000;

/// The log of events, open for those of one page.
struct PageLog<'a> {
    webhooks: &'a Webhooks,
    state: &'a mut State,
    ids: &'a mut IdSource,
    page: PageId,
    progress: PageProgress,
    now: UnixMillis,
    logged: Vec<LoggedEvent>,
}

impl Webhooks {
    /// Takes the events of a page's store that have not arrived yet.
    pub(super) async fn append(
        &self,
        account: KeyId,
        page: PageId,
        rows: &[OutboxRow],
        dropped: u64,
    ) -> Result<String> {
        if !self.progress(&page)?.has_new(rows) {
            // The alarm may not have been set when they were taken.
            self.wake(clock::now()).await?;
            return Ok(DONE.to_owned());
        }
        // Before the commit, which may not wait. An error makes the store of the page send the rows
        // again.
        let Some(card) = self.card(account, page).await? else {
            // The page was deleted, and its events with it.
            return Ok(DONE.to_owned());
        };
        let mut ids = IdSource::new(entropy::random()?);
        self.change(|state| {
            let mut events = self.open_log(state, &mut ids, page)?;
            // Asked again here: during the wait for the card, the same rows may have come a second
            // time.
            for new in events.progress.take_new(rows) {
                match new.segment() {
                    Ok(segment) => {
                        for visit in segment.events().filter_map(|event| Visit::of(&event)) {
                            events.add(visit.kind, visit.at, |head| head.render_visit(&visit, &card))?;
                        }
                    }
                    Err(error) => {
                        // They count as taken. Otherwise the outbox of the page would stand still
                        // at this row for ever.
                        log::error(
                            log::Event("event rows are unreadable"),
                            None,
                            &[("page", &page), ("error", &error)],
                        );
                    }
                }
            }
            events.state.endpoints.note_lost(dropped);
            events.finish()
        })?;
        self.wake(clock::now()).await?;
        Ok(DONE.to_owned())
    }

    /// Takes a publication that has not arrived yet.
    pub(super) async fn publish(
        &self,
        account: KeyId,
        page: PageId,
        version: u64,
        publication: &Publication,
    ) -> Result<String> {
        // Fresh, because the publication may have given the page the name that the event is to
        // show.
        let Some(card) = self.fresh_card(account, page).await? else { return Ok(DONE.to_owned()) };
        let mut ids = IdSource::new(entropy::random()?);
        self.change(|state| {
            let mut events = self.open_log(state, &mut ids, page)?;
            if !events.progress.publish(version) {
                return Ok(());
            }
            let render = |head: &EventHead| head.render_publication(publication, &card);
            events.add(WebhookKind::PagePublished, publication.at, render)?;
            events.finish()
        })?;
        self.wake(clock::now()).await?;
        Ok(DONE.to_owned())
    }

    fn open_log<'a>(
        &'a self,
        state: &'a mut State,
        ids: &'a mut IdSource,
        page: PageId,
    ) -> Result<PageLog<'a>> {
        let (progress, now) = (self.pages.find(&page)?, clock::now());
        Ok(PageLog { webhooks: self, state, ids, page, progress, now, logged: Vec::new() })
    }

    /// Adds an event to the log: its kind, its page, and its number among the events of the page.
    pub(super) fn log(
        &self,
        state: &mut State,
        ids: &mut IdSource,
        (kind, page, page_sequence): (WebhookKind, Option<PageId>, u64),
        at: UnixMillis,
        render: impl FnOnce(&EventHead) -> String,
        now: UnixMillis,
    ) -> Result<LoggedEvent> {
        let counters = &mut state.counters;
        counters.sequence = counters.sequence.saturating_add(1);
        let id = EventId::numbered(counters.sequence, eight(ids));
        let head = EventHead { id, at, is_test: false, sequence: counters.sequence, page_sequence };
        let body = render(&head);
        let bytes = body.len();
        self.events.add(&StoredEvent { id, page, kind, at, body }, now)?;
        Ok(LoggedEvent { id, page, kind, bytes })
    }

    /// Makes deliveries of events that were logged.
    pub(super) fn fan_out(
        &self,
        state: &mut State,
        logged: &[LoggedEvent],
        ids: &mut IdSource,
        now: UnixMillis,
    ) -> Result<()> {
        let mut numbers = DeliveryNumbers { last: &mut state.counters.delivery, draw: || eight(ids) };
        for endpoint in state.endpoints.active_mut() {
            let (visits, publications) = self.deliveries.waiting(&endpoint.id)?;
            let open = self.deliveries.open(&endpoint.id, now)?;
            let deliveries =
                fan_out(endpoint, logged, open, visits.saturating_add(publications), &mut numbers, now);
            if deliveries.is_empty() {
                continue;
            }
            deliveries.iter().try_for_each(|delivery| self.deliveries.store(delivery))?;
            let (visits, publications) = self.deliveries.waiting(&endpoint.id)?;
            for mut delivery in self.deliveries.excess(&endpoint.id, Excess::of(visits, publications))? {
                delivery.state = DeliveryState::Dropped;
                self.deliveries.store(&delivery)?;
                // The owner sees in the statistics what was dropped, and of which kind.
                for kind in self.events.kinds(&delivery.events)? {
                    endpoint.statistics.record_dropped(kind, 1);
                }
            }
        }
        Ok(())
    }

    /// Returns what a page is called, as of a minute ago at most; `None` if it was deleted.
    async fn card(&self, account: KeyId, page: PageId) -> Result<Option<Card>> {
        match self.pages.card(&page, clock::now()) {
            Some(card) => Ok(Some(card)),
            None => self.fresh_card(account, page).await,
        }
    }

    async fn fresh_card(&self, account: KeyId, page: PageId) -> Result<Option<Card>> {
        let base = self.read(|state| Ok(state.counters.base.clone()))?;
        let message = json::to_string(&AccountMessage::Card { page, base })?;
        let accounts = bindings::accounts(&self.env)?;
        let name = account.to_string();
        let reply = durable_rpc::call(&accounts, &name, &message);
        let reply = durable_rpc::timeout(CARD_TIMEOUT_MS, reply).await?;
        let card: Option<Card> = json::from_str(&reply).map_err(|error| error.to_string())?;
        if let Some(card) = &card {
            self.pages.keep_card(page, card.clone(), clock::now());
        }
        Ok(card)
    }

    fn progress(&self, page: &PageId) -> Result<PageProgress> {
        self.read(|_| self.pages.find(page))
    }
}

impl PageLog<'_> {
    /// Adds an event, if an endpoint still wants it.
    fn add(
        &mut self,
        kind: WebhookKind,
        at: UnixMillis,
        render: impl FnOnce(&EventHead) -> String,
    ) -> Result<()> {
        let Self { page, now, .. } = *self;
        // The store of the page may not know yet that nobody wants it any more.
        if !self.state.endpoints.want(kind, Some(&page)) {
            return Ok(());
        }
        self.progress.sequence = self.progress.sequence.saturating_add(1);
        let event = (kind, Some(page), self.progress.sequence);
        self.logged.push(self.webhooks.log(self.state, self.ids, event, at, render, now)?);
        Ok(())
    }

    /// Stores the page's row, and makes deliveries of the events.
    fn finish(self) -> Result<()> {
        self.webhooks.pages.store(&self.page, &self.progress)?;
        self.webhooks.fan_out(self.state, &self.logged, self.ids, self.now)
    }
}

/// Returns the next eight random bytes.
pub(super) fn eight(ids: &mut IdSource) -> [u8; 8] {
    ids.draw().first_chunk().copied().unwrap_or_default()
}
