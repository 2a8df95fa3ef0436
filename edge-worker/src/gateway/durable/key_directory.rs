//! The directory of keys: a row with each key's record, by which administrators find and sort keys.
//!
//! Meters enter each change, and so does whoever issues a key. KV remains the store of records: the
//! directory is copied from it when it is read first, and again when it is read a day later or more, so
//! that nothing is missing for good.
//!
//! Why: docs/decisions/keys.md, "Keys are found and sorted in a directory"

use shared::key::{KeyId, KeyRecord};
use shared::keys_api::{KeyFilter, KeyPage, ListRequest, Position, Sort, SortField};
use shared::time::UnixMillis;
use worker::{Result, SqlStorage, SqlStorageValue};

use crate::gateway::key_store;
use crate::runtime::clock;
use crate::runtime::kv::KvStore;
use crate::runtime::sql::{integer, number, rows};

/// Names, e-mail addresses and moments are as `SortField::text` has them. `copy` has KV's cursor of a copy
/// that continues, and the end of the last one.
pub(super) const CREATE: &str = "CREATE TABLE IF NOT EXISTS keys
        (id TEXT PRIMARY KEY, version INTEGER NOT NULL, issued_at TEXT NOT NULL, name TEXT NOT NULL,
        email TEXT NOT NULL, tier TEXT NOT NULL, status TEXT NOT NULL, j TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS keys_by_issued_at ON keys (issued_at, id);
    CREATE INDEX IF NOT EXISTS keys_by_name ON keys (name, id);
    CREATE INDEX IF NOT EXISTS keys_by_email ON keys (email, id);
    CREATE TABLE IF NOT EXISTS copy (k INTEGER PRIMARY KEY CHECK (k = 1), cursor TEXT NOT NULL, ended INTEGER);
    INSERT INTO copy (k, cursor) VALUES (1, '') ON CONFLICT (k) DO NOTHING";
const ENTER: &str = "INSERT INTO keys (id, version, issued_at, name, email, tier, status, j)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, issued_at = excluded.issued_at,
        name = excluded.name, email = excluded.email, tier = excluded.tier, status = excluded.status,
        j = excluded.j
    WHERE excluded.version > keys.version";
const COPIED: &str = "SELECT cursor, ended FROM copy";
/// Changes nothing if another copy has gone on meanwhile.
const CONTINUE_COPY: &str = "UPDATE copy SET cursor = ? WHERE cursor = ?";
const END_COPY: &str = "UPDATE copy SET cursor = '', ended = ?";

/// Maximum number of batches that are copied in one step, while a reader may wait. Each takes two of the 50
/// subrequests that the platform allows.
const MAX_BATCHES: usize = 5;
/// Maximum number of keys that one request looks through. Each is two rows read: one to find where the
/// request ends, and one to look at it.
const MAX_SCANNED: u32 = 50_000;

/// Enters a record, unless the known one is at least as new.
///
/// # Errors
/// If the database fails.
pub(super) fn enter(sql: &SqlStorage, record: &KeyRecord) -> Result<()> {
    let [issued_at, name, email] =
        [SortField::IssuedAt, SortField::Name, SortField::Email].map(|field| field.text(record).into());
    let row = vec![
        record.id.to_string().into(),
        integer(record.version)?,
        issued_at,
        name,
        email,
        record.tier.as_str().into(),
        record.status.as_str().into(),
        record.to_json().into(),
    ];
    sql.exec(ENTER, row).map(drop)
}

/// Returns the end of the last copy of KV's records; `None` before the first has ended.
///
/// # Errors
/// If the database fails.
pub(super) fn copied_at(sql: &SqlStorage) -> Result<Option<UnixMillis>> {
    Ok(copied(sql)?.1)
}

/// Copies KV's records, from where the copy before stopped. Returns true at the end.
///
/// # Errors
/// If KV fails, or the database.
pub(super) async fn copy(sql: &SqlStorage, store: &KvStore) -> Result<bool> {
    let (from, _) = copied(sql)?;
    let mut cursor = from.clone();
    for _ in 0..MAX_BATCHES {
        let (records, next) = key_store::batch(store, &cursor).await?;
        // An old record of KV does no harm: a newer one that a meter has entered stays.
        records.iter().try_for_each(|record| enter(sql, record))?;
        let Some(next) = next else {
            sql.exec(END_COPY, vec![integer(clock::now().0)?])?;
            return Ok(true);
        };
        cursor = next;
    }
    sql.exec(CONTINUE_COPY, vec![cursor.into(), from.into()])?;
    Ok(false)
}

fn copied(sql: &SqlStorage) -> Result<(String, Option<UnixMillis>)> {
    let copied = rows(sql, COPIED, Vec::new(), |row| match row {
        [SqlStorageValue::String(cursor), ended] => Some((cursor.clone(), number(ended).map(UnixMillis))),
        _ => None,
    })?;
    Ok(copied.into_iter().next().unwrap_or_default())
}

/// Returns a page. One with a filter may end before it is full, after [`MAX_SCANNED`] keys.
///
/// # Errors
/// If the database fails.
pub(super) fn page(sql: &SqlStorage, request: &ListRequest) -> Result<KeyPage> {
    let sort = request.sort;
    let mut conditions = Conditions::default();
    if let Some(from) = &request.from {
        conditions.add_bound(sort, if sort.is_descending { "<" } else { ">" }, from);
    }
    // Without a filter the limit bounds what is read. With one, a rare match would read every key.
    let end = if request.filter.is_empty() { None } else { scan_end(sql, sort, &conditions)? };
    if let Some(end) = &end {
        conditions.add_bound(sort, if sort.is_descending { ">=" } else { "<=" }, end);
    }
    conditions.add_filter(&request.filter);
    // One more than the page holds shows whether there is another page.
    let limit = request.limit.saturating_add(1);
    let mut keys =
        rows(sql, &conditions.query("j", sort, &limit.to_string()), conditions.values, |row| match row {
            [SqlStorageValue::String(text)] => KeyRecord::from_json(text).ok(),
            _ => None,
        })?;
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    if keys.len() <= limit {
        return Ok(KeyPage { keys, next: end });
    }
    keys.truncate(limit);
    let next = keys.last().map(|record| sort.position(record));
    Ok(KeyPage { keys, next })
}

/// Returns the position of the last key that a request looks at; `None` if it looks at all that follow.
fn scan_end(sql: &SqlStorage, sort: Sort, conditions: &Conditions) -> Result<Option<Position>> {
    let columns = format!("{}, id", sort.by.as_str());
    let query = conditions.query(&columns, sort, &format!("1 OFFSET {}", MAX_SCANNED - 1));
    let ends = rows(sql, &query, conditions.values.clone(), |row| match row {
        [SqlStorageValue::String(text), SqlStorageValue::String(id)] => {
            Some(Position { text: text.clone(), id: KeyId::parse(id)? })
        }
        _ => None,
    })?;
    Ok(ends.into_iter().next())
}

/// The conditions of a query of the directory, with their values.
#[derive(Default)]
struct Conditions {
    text: String,
    values: Vec<SqlStorageValue>,
}

impl Conditions {
    fn add(&mut self, condition: &str, values: impl IntoIterator<Item = String>) {
        self.text += if self.text.is_empty() { " WHERE " } else { " AND " };
        self.text += condition;
        self.values.extend(values.into_iter().map(SqlStorageValue::from));
    }

    /// Keeps the keys on one side of a position.
    fn add_bound(&mut self, sort: Sort, comparison: &str, bound: &Position) {
        // With the id, because names are not unique: keys of one name would be left out between two
        // pages.
        let condition = format!("({}, id) {comparison} (?, ?)", sort.by.as_str());
        self.add(&condition, [bound.text.clone(), bound.id.to_string()]);
    }

    /// Keeps what the filter shows: `KeyFilter::matches` in SQL.
    fn add_filter(&mut self, filter: &KeyFilter) {
        if let Some(search) = &filter.search {
            // `instr` has no wildcards. No id has a space in it.
            let id = search.id.clone().unwrap_or_else(|| " ".to_owned());
            let part = &search.part;
            self.add(
                "(instr(name, ?) OR instr(email, ?) OR instr(id, ?) = 1)",
                [part.clone(), part.clone(), id],
            );
        }
        let others = [
            ("email = ?", filter.email.clone()),
            ("tier = ?", filter.tier.map(|tier| tier.as_str().to_owned())),
            ("status = ?", filter.status.clone()),
        ];
        for (condition, value) in others {
            if let Some(value) = value {
                self.add(condition, [value]);
            }
        }
    }

    fn query(&self, columns: &str, sort: Sort, limit: &str) -> String {
        let (column, direction) = (sort.by.as_str(), if sort.is_descending { " DESC" } else { "" });
        let conditions = &self.text;
        format!(
            "SELECT {columns} FROM keys{conditions} ORDER BY {column}{direction}, id{direction} LIMIT {limit}"
        )
    }
}
