//! The table of pages: which of their events have arrived, and what they are called.

use std::cell::RefCell;

use biolink::page::PageId;
use biolink::webhooks::Card;
use biolink::webhooks_api::PageProgress;
use shared::json;
use shared::sorted_map::SortedMap;
use shared::time::UnixMillis;
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::sql::{rows, text};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS page (id TEXT PRIMARY KEY, j TEXT NOT NULL) WITHOUT ROWID";
const FIND: &str = "SELECT j FROM page WHERE id = ?";
const STORE: &str = "INSERT INTO page (id, j) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET j = excluded.j";
const PURGE: &str = "DELETE FROM page WHERE id = ?";
const ERASE: &str = "DELETE FROM page";
/// Time for which a card is used, in milliseconds.
const CARD_MS: u64 = 60_000;

/// The table of pages.
pub(super) struct PageTable {
    sql: SqlStorage,
    /// Cards, and the moments at which they were read.
    cards: RefCell<SortedMap<PageId, (UnixMillis, Card)>>,
}

impl PageTable {
    pub(super) fn new(sql: SqlStorage) -> Self {
        Self { sql, cards: RefCell::default() }
    }

    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.sql.exec(CREATE, None).map(drop)
    }

    /// Returns what arrived of a page.
    pub(super) fn find(&self, page: &PageId) -> Result<PageProgress> {
        let found = rows(&self.sql, FIND, vec![page.to_string().into()], text)?;
        found.first().map(|stored| parse(stored)).transpose().map(Option::unwrap_or_default)
    }

    /// Stores what arrived of a page.
    pub(super) fn store(&self, page: &PageId, row: &PageProgress) -> Result<()> {
        let values = vec![page.to_string().into(), json::to_string(row)?.into()];
        self.sql.exec(STORE, values).map(drop)
    }

    /// Returns the card of a page, if it was read within the last minute.
    pub(super) fn card(&self, page: &PageId, now: UnixMillis) -> Option<Card> {
        let cards = self.cards.borrow();
        cards.get(page).filter(|(at, _)| now.since(*at) < CARD_MS).map(|(_, card)| card.clone())
    }

    /// Keeps the card of a page.
    pub(super) fn keep_card(&self, page: PageId, card: Card, now: UnixMillis) {
        self.cards.borrow_mut().insert(page, (now, card));
    }

    /// Removes a page.
    pub(super) fn purge(&self, page: &PageId) -> Result<()> {
        self.cards.borrow_mut().remove(page);
        self.sql.exec(PURGE, vec![page.to_string().into()]).map(drop)
    }

    /// Removes all.
    pub(super) fn erase(&self) -> Result<()> {
        self.cards.borrow_mut().clear();
        self.sql.exec(ERASE, None).map(drop)
    }
}
