//! The rows of a page's store: each has events of one UTC day in columns.

use biolink::analytics::{EventCounts, PageCounter, PageQuery, PageReport, SegmentColumns};
use biolink::events::{Columns, Dimension, Received, Segment};
use biolink::stats::{KNOWN_DAYS, MAX_ROWS, Row};
use shared::json;
use shared::time::{UnixMillis, UtcDay};
use worker::{Result, SqlStorage, SqlStorageValue};

use crate::runtime::message::parse;
use crate::runtime::sql::{integer, number, rows};

/// The last row of a day.
const LAST: &str =
    "SELECT id, rows, received, coalesced, dropped FROM segment WHERE day = ? ORDER BY id DESC LIMIT 1";
const ROWS_OF_DAY: &str = "SELECT id, rows FROM segment WHERE day = ? ORDER BY id";
const RECEIVED: &str = "SELECT day, received FROM segment WHERE day >= ? ORDER BY day";
const EXISTS_BEFORE: &str = "SELECT id FROM segment WHERE day < ? LIMIT 1";
const ROWS_OF_DAYS: &str = "SELECT day, SUM(rows) FROM segment GROUP BY day ORDER BY day";
const DELIVERED: &str =
    "SELECT COALESCE(SUM(dropped), 0), COALESCE(MAX(coalesced), 0) FROM segment WHERE day >= ? AND day <= ?";
const COUNTS_BEFORE: &str = "SELECT COALESCE(SUM(views), 0), COALESCE(SUM(clicks), 0), COALESCE(SUM(scans), 0) FROM segment WHERE day < ?";
const EXPIRE: &str = "DELETE FROM segment WHERE day < ?";
const FIRST: &str = "SELECT id FROM segment LIMIT 1";
const ERASE: &str = "DELETE FROM segment";
const NEXT: &str = "SELECT id, day, rows FROM segment WHERE id > ? ORDER BY id LIMIT 1";
/// Columns of a row beside those of [`Columns`].
const PLAIN: &str = "id, day, rows, first_at, last_at, views, clicks, scans, coalesced, dropped, received";
/// Dimensions that tables of older programs do not have. An absent one is a column without values.
const ADDED: [Dimension; 2] = [Dimension::Via, Dimension::Variant];
/// After every day.
const LAST_DAY: u64 = u32::MAX as u64;

/// The table of rows.
pub(super) struct SegmentTable(pub(super) SqlStorage);

impl SegmentTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(&create_statement(), None)?;
        for dimension in ADDED {
            let name = dimension.as_str();
            // A column that the table of an older program does not have.
            if self.0.exec(&format!("SELECT {name} FROM segment LIMIT 0"), None).is_err() {
                let add = format!("ALTER TABLE segment ADD COLUMN {name} BLOB NOT NULL DEFAULT X'00'");
                self.0.exec(&add, None)?;
            }
        }
        Ok(())
    }

    /// Stores a row, in place of the one with this id if there is one.
    pub(super) fn store(&self, id: u64, row: &Row) -> Result<()> {
        let Columns { time, kind, visitor, dimensions } = row.segment.encode();
        let (first, last) = row.segment.span().unwrap_or_default();
        let EventCounts { views, clicks, scans } = row.counts();
        let rows = row.segment.rows() as u64;
        let plain = [
            id,
            row.segment.day().0,
            rows,
            first.0,
            last.0,
            views,
            clicks,
            scans,
            row.coalesced.into(),
            row.dropped,
        ];
        let mut values = plain.into_iter().map(integer).collect::<Result<Vec<_>>>()?;
        values.push(json::to_string(&row.received)?.into());
        values.extend([time, kind, visitor].into_iter().chain(dimensions).map(SqlStorageValue::Blob));
        self.0.exec(&store_statement(), values).map(drop)
    }

    /// Returns the last row of a day, and its id, if it takes more.
    pub(super) fn last(&self, day: UtcDay) -> Result<Option<(u64, Row)>> {
        let found = rows(&self.0, LAST, vec![integer(day.0)?], |row| match row {
            [id, rows, SqlStorageValue::String(received), coalesced, dropped] => {
                Some((number(id)?, number(rows)?, received.clone(), number(coalesced)?, number(dropped)?))
            }
            _ => None,
        })?;
        let Some((id, rows, received, coalesced, dropped)) = found.into_iter().next() else {
            return Ok(None);
        };
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        // Before its columns are read: a full row takes nothing more.
        if rows >= MAX_ROWS {
            return Ok(None);
        }
        let segment = self.segment(id, day, rows)?;
        let received = parse(&received)?;
        Ok(Some((id, Row { segment, received, coalesced: coalesced != 0, dropped })))
    }

    /// Returns the events of a row.
    pub(super) fn segment(&self, id: u64, day: UtcDay, count: usize) -> Result<Segment> {
        let query = format!("SELECT {} FROM segment WHERE id = ?", column_names().join(", "));
        let found = rows(&self.0, &query, vec![integer(id)?], |row| {
            let mut blobs = row.iter().map(|value| match value {
                SqlStorageValue::Blob(blob) => Some(blob.clone()),
                _ => None,
            });
            let (time, kind, visitor) = (blobs.next()??, blobs.next()??, blobs.next()??);
            let mut dimensions: [Vec<u8>; Dimension::COUNT] = Default::default();
            for place in &mut dimensions {
                *place = blobs.next()??;
            }
            Some(Columns { time, kind, visitor, dimensions })
        })?;
        let columns = found.first().ok_or("the row is gone")?;
        Segment::decode(day, count, columns).map_err(|error| error.to_string().into())
    }

    /// Calls `step` with the events of each row of a day.
    pub(super) fn each_segment(&self, day: UtcDay, mut step: impl FnMut(Segment)) -> Result<()> {
        let found = rows(&self.0, ROWS_OF_DAY, vec![integer(day.0)?], |row| match row {
            [id, rows] => Some((number(id)?, number(rows)?)),
            _ => None,
        })?;
        for (id, count) in found {
            step(self.segment(id, day, usize::try_from(count).unwrap_or(usize::MAX))?);
        }
        Ok(())
    }

    /// Returns the id of a new row.
    pub(super) fn next_id(&self) -> Result<u64> {
        let last = rows(&self.0, "SELECT COALESCE(MAX(id), 0) FROM segment", Vec::new(), |row| {
            row.first().and_then(number)
        })?;
        Ok(last.first().copied().unwrap_or(0) + 1)
    }

    /// Returns the number of events of each day.
    pub(super) fn rows_of_days(&self) -> Result<Vec<(UtcDay, u64)>> {
        rows(&self.0, ROWS_OF_DAYS, Vec::new(), |row| match row {
            [day, rows] => Some((UtcDay(number(day)?), number(rows)?)),
            _ => None,
        })
    }

    /// Returns the number of events of these days that isolates have dropped, and whether an isolate
    /// has coalesced any.
    pub(super) fn delivered(&self, (first, last): (UtcDay, UtcDay)) -> Result<(u64, bool)> {
        let found = rows(&self.0, DELIVERED, vec![integer(first.0)?, integer(last.0)?], |row| match row {
            [dropped, coalesced] => Some((number(dropped)?, number(coalesced)? != 0)),
            _ => None,
        })?;
        Ok(found.first().copied().unwrap_or_default())
    }

    /// Counts events row by row, so that no more than one row is in memory.
    pub(super) fn count(&self, query: &PageQuery) -> Result<PageReport> {
        let (first, last) = query.days();
        let (from, to) = query.days_without_time();
        let mut counter = PageCounter::new(query.clone());
        for (first, end, with_time) in
            // Only the days at the edges need the moment of each event. Of whole days, the largest
            // column stays unread.
            [(first.0, from.0, true), (from.0, to.0, false), (to.0, last.0.saturating_add(1), true)]
        {
            self.count_days(query, (first, end), with_time, &mut counter)?;
        }
        Ok(counter.finish())
    }

    /// Counts the events of days, with the columns that the query needs.
    fn count_days(
        &self,
        query: &PageQuery,
        (first, end): (u64, u64),
        with_time: bool,
        counter: &mut PageCounter,
    ) -> Result<()> {
        if first >= end {
            return Ok(());
        }
        let needed = query.columns();
        let names = ["kind"]
            .into_iter()
            .chain(with_time.then_some("time"))
            .chain(needed.visitor.then_some("visitor"));
        let names: Vec<_> =
            names.chain(needed.dimensions.iter().map(|dimension| dimension.as_str())).collect();
        let select = format!(
            "SELECT day, rows, {} FROM segment WHERE day >= ? AND day < ? ORDER BY day",
            names.join(", ")
        );
        // Row by row: collected, the rows of a busy page would exceed the memory of the object.
        for row in self.0.exec(&select, vec![integer(first)?, integer(end)?])?.raw() {
            let row = row?;
            let [day, count, blobs @ ..] = row.as_slice() else { return Err("a stored row is empty".into()) };
            let mut blobs = blobs.iter().map(|value| match value {
                SqlStorageValue::Blob(blob) => Some(blob.as_slice()),
                _ => None,
            });
            let mut next = || blobs.next().flatten();
            let (Some(day), Some(count), Some(kind)) = (number(day), number(count), next()) else {
                return Err("a stored row has an unexpected format".into());
            };
            let time = if with_time { next() } else { None };
            let visitor = if needed.visitor { next() } else { None };
            let mut dimensions = [None; Dimension::COUNT];
            for dimension in &needed.dimensions {
                if let Some(place) = dimensions.get_mut(dimension.index()) {
                    *place = next();
                }
            }
            let rows = usize::try_from(count).unwrap_or(usize::MAX);
            let segment = SegmentColumns { day: UtcDay(day), rows, time, kind, visitor, dimensions };
            counter.add(&segment).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Returns the counted events of the days before a day, or of all.
    pub(super) fn counts_before(&self, day: Option<UtcDay>) -> Result<EventCounts> {
        let day = integer(day.map_or(LAST_DAY, |day| day.0))?;
        let counts = rows(&self.0, COUNTS_BEFORE, vec![day], |row| match row {
            [views, clicks, scans] => {
                Some(EventCounts { views: number(views)?, clicks: number(clicks)?, scans: number(scans)? })
            }
            _ => None,
        })?;
        Ok(counts.first().copied().unwrap_or_default())
    }

    /// Returns the row after this one: its id, its day, and the number of its events.
    pub(super) fn next(&self, after: u64) -> Result<Option<(u64, UtcDay, usize)>> {
        let found = rows(&self.0, NEXT, vec![integer(after)?], |row| match row {
            [id, day, rows] => Some((number(id)?, UtcDay(number(day)?), number(rows)?)),
            _ => None,
        })?;
        let row = found.first().copied();
        Ok(row.map(|(id, day, rows)| (id, day, usize::try_from(rows).unwrap_or(usize::MAX))))
    }

    /// Deletes the rows of the days before a day. Returns true if none is left.
    pub(super) fn expire(&self, before: UtcDay) -> Result<bool> {
        self.0.exec(EXPIRE, vec![integer(before.0)?])?;
        Ok(rows(&self.0, FIRST, Vec::new(), |row| row.first().and_then(number))?.is_empty())
    }

    /// Deletes every row.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE, None).map(drop)
    }

    /// Returns the batches that could come again, which the last days have.
    pub(super) fn received(&self, now: UnixMillis) -> Result<Received> {
        let from = now.day().0.saturating_sub(KNOWN_DAYS);
        let read = |row: &[SqlStorageValue]| match row {
            [day, SqlStorageValue::String(received)] => Some((number(day)?, received.clone())),
            _ => None,
        };
        let is_older =
            !rows(&self.0, EXISTS_BEFORE, vec![integer(from)?], |row| row.first().and_then(number))?
                .is_empty();
        let mut known = Received::default();
        let mut first_day = is_older;
        let mut last = None;
        for (day, received) in rows(&self.0, RECEIVED, vec![integer(from)?], read)? {
            if first_day && last.is_some_and(|last| last != day) {
                // What came before is too old to be known.
                known.close();
                first_day = false;
            }
            last = Some(day);
            known.extend(&parse(&received)?);
        }
        Ok(known)
    }
}

/// Returns the names of the columns of events, in the order of [`Columns`].
fn column_names() -> Vec<&'static str> {
    ["time", "kind", "visitor"].into_iter().chain(Dimension::ALL.map(Dimension::as_str)).collect()
}

/// Returns the statement that makes the table. A value is found by walking over all that are before it
/// in its row. So what each query reads comes first, and what is long and rarely read comes last.
fn create_statement() -> String {
    let dimensions = Dimension::ALL.into_iter().filter(|dimension| *dimension != Dimension::Ignored);
    let blobs = ["kind", "ignored"].into_iter().chain(dimensions.map(Dimension::as_str)).chain(["time"]);
    let blobs: String = blobs.map(|name| format!("{name} BLOB NOT NULL, ")).collect();
    format!(
        "CREATE TABLE IF NOT EXISTS segment (id INTEGER PRIMARY KEY, day INTEGER NOT NULL,
        rows INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, views INTEGER NOT NULL,
        clicks INTEGER NOT NULL, scans INTEGER NOT NULL, coalesced INTEGER NOT NULL, dropped INTEGER NOT NULL,
        {blobs}received TEXT NOT NULL, visitor BLOB NOT NULL)"
    )
}

/// Returns the statement that stores a row. An update in place is one written row, as a new one is.
fn store_statement() -> String {
    let names: Vec<&str> = PLAIN.split(", ").chain(column_names()).collect();
    let places = vec!["?"; names.len()].join(", ");
    let update: Vec<String> = names.iter().map(|name| format!("{name} = excluded.{name}")).collect();
    let (names, update) = (names.join(", "), update.join(", "));
    format!("INSERT INTO segment ({names}) VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {update}")
}
