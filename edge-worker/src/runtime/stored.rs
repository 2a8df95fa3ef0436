//! The state of an object: rows of its store, and a copy in memory.

use std::cell::RefCell;

use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::json;
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::sql::{has_table, rows, text};

/// A state that is stored as JSON texts, each in a row `(k, j)` of one table.
pub(crate) trait Store: Sized {
    /// The table.
    const TABLE: &'static str;
    /// Whether the tables are created before the first write only: what is only read creates none.
    const IS_LAZY: bool = false;

    /// Creates the tables of the object.
    fn create(sql: &SqlStorage) -> Result<()>;

    /// Makes the state of the rows.
    fn load(rows: &Rows<'_>) -> Result<Self>;

    /// Returns the texts of the rows, with their keys.
    fn texts(&self) -> Result<Vec<(&'static str, String)>>;
}

/// The rows of a state.
pub(crate) struct Rows<'a> {
    /// `None` if there is no table.
    sql: Option<&'a SqlStorage>,
    table: &'static str,
}

/// A state with its copy in memory.
pub(crate) struct Stored<T> {
    sql: SqlStorage,
    /// `None` until the first use and after a failure: the rows are then read again.
    held: RefCell<Option<Held<T>>>,
}

struct Held<T> {
    state: T,
    texts: Vec<(&'static str, String)>,
}

impl Rows<'_> {
    /// Returns the value in a row, or the default. An unreadable one is an error, because a new one would
    /// lose what is stored.
    ///
    /// # Errors
    /// If the row cannot be read.
    pub(crate) fn value<V: DeserializeOwned + Default>(&self, key: &str) -> Result<V> {
        let Some(sql) = self.sql else { return Ok(V::default()) };
        let query = format!("SELECT j FROM {} WHERE k = ?", self.table);
        let found = rows(sql, &query, vec![key.into()], text)?;
        found.first().map(|stored| parse(stored)).transpose().map(Option::unwrap_or_default)
    }
}

/// Returns the text of a row.
///
/// # Errors
/// If the value cannot be written as JSON.
pub(crate) fn row(key: &'static str, value: &impl Serialize) -> Result<(&'static str, String)> {
    Ok((key, json::to_string(value)?))
}

impl<T: Store> Stored<T> {
    /// Returns the state of a store, which is not read yet.
    pub(crate) const fn new(sql: SqlStorage) -> Self {
        Self { sql, held: RefCell::new(None) }
    }

    /// Reads the state without a change.
    ///
    /// # Errors
    /// If the rows cannot be read, and the error of `read`.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> Result<R>) -> Result<R> {
        let mut place = self.held.borrow_mut();
        let held = match place.take() {
            Some(held) => held,
            None => self.load()?,
        };
        read(&place.insert(held).state)
    }

    /// Changes the state, and writes the rows whose texts differ then. An error leaves it as it was stored.
    ///
    /// # Errors
    /// If the rows cannot be read or written, and the error of `change`.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let mut place = self.held.borrow_mut();
        let mut held = match place.take() {
            Some(held) => held,
            None => self.load()?,
        };
        let outcome = change(&mut held.state)?;
        let texts = held.state.texts()?;
        for (row, _) in texts.iter().zip(&held.texts).filter(|(row, before)| row != before) {
            self.write(row)?;
        }
        *place = Some(Held { texts, ..held });
        Ok(outcome)
    }

    /// Forgets the copy: the rows are read again.
    pub(crate) fn forget(&self) {
        self.held.replace(None);
    }

    fn load(&self) -> Result<Held<T>> {
        let has_table = if T::IS_LAZY { has_table(&self.sql, T::TABLE)? } else { true };
        if !T::IS_LAZY {
            T::create(&self.sql)?;
        }
        let state = T::load(&Rows { sql: has_table.then_some(&self.sql), table: T::TABLE })?;
        let texts = state.texts()?;
        Ok(Held { state, texts })
    }

    fn write(&self, (key, text): &(&'static str, String)) -> Result<()> {
        if T::IS_LAZY {
            T::create(&self.sql)?;
        }
        let table = T::TABLE;
        let query =
            format!("INSERT INTO {table} (k, j) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j");
        self.sql.exec(&query, vec![(*key).into(), text.as_str().into()]).map(drop)
    }
}
