//! SQL helpers of the Durable Objects.

use worker::{Result, SqlStorage, SqlStorageValue};

/// Returns the rows of a query, each as `read` reads it.
///
/// # Errors
/// If the query fails, or `read` returns `None` for a row.
pub(crate) fn rows<T>(
    sql: &SqlStorage,
    query: &str,
    values: Vec<SqlStorageValue>,
    read: impl Fn(&[SqlStorageValue]) -> Option<T>,
) -> Result<Vec<T>> {
    let unreadable = || "a stored row has an unexpected format".into();
    sql.exec(query, values)?.raw().map(|row| read(&row?).ok_or_else(unreadable)).collect()
}

/// Returns true if the storage has a table of this name: what is only read creates none.
///
/// # Errors
/// If the query fails.
pub(crate) fn has_table(sql: &SqlStorage, name: &str) -> Result<bool> {
    Ok(!rows(sql, "SELECT 1 FROM sqlite_master WHERE name = ?", vec![name.into()], |_| Some(()))?.is_empty())
}

/// Returns a number as an SQL integer.
///
/// # Errors
/// If JavaScript cannot represent the number exactly.
pub(crate) fn integer(number: u64) -> Result<SqlStorageValue> {
    SqlStorageValue::try_from_i64(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Returns a non-negative SQL integer.
pub(crate) fn number(value: &SqlStorageValue) -> Option<u64> {
    match value {
        SqlStorageValue::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns the text of a row with one column.
pub(crate) fn text(row: &[SqlStorageValue]) -> Option<String> {
    match row {
        [SqlStorageValue::String(text)] => Some(text.clone()),
        _ => None,
    }
}
