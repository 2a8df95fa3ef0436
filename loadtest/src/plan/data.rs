//! Rows of CSV or JSON that calls take values from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use rand::RngExt as _;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::random;
use crate::scenario::{DataSpec, RowOrder};

/// The sets of rows by name.
pub(crate) type DataSets = BTreeMap<String, Arc<DataSet>>;

/// Rows with named columns.
#[derive(Debug)]
pub(crate) struct DataSet {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    order: RowOrder,
}

/// The reason why data cannot be used.
#[derive(Debug, Error)]
#[error("data `{name}`: {file}: {reason}")]
pub(crate) struct DataError {
    name: String,
    file: String,
    reason: String,
}

/// Reads the files of all sets.
///
/// # Errors
/// Returns an error that names the set, its file and what was expected.
pub(crate) fn read_data(specs: &[DataSpec]) -> Result<DataSets, DataError> {
    let read = |spec: &DataSpec| {
        let error = |reason| DataError { name: spec.name.clone(), file: spec.file.clone(), reason };
        let text = fs::read_to_string(&spec.file).map_err(|source| error(source.to_string()))?;
        let is_json = Path::new(&spec.file).extension().is_some_and(|extension| extension == "json");
        let (columns, rows) = if is_json { from_json(&text) } else { from_csv(&text) }.map_err(error)?;
        // A file of only a header would leave each value empty.
        if rows.is_empty() {
            return Err(error("expected at least one row".to_owned()));
        }
        Ok((spec.name.clone(), Arc::new(DataSet { columns, rows, order: spec.order })))
    };
    specs.iter().map(read).collect()
}

type Table = (Vec<String>, Vec<Vec<String>>);

fn from_csv(text: &str) -> Result<Table, String> {
    // Spreadsheets write a mark that would belong to the first column's name.
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let row = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect();
    let columns = reader.headers().map(row).map_err(|error| error.to_string())?;
    let rows = reader.records().map(|record| record.map(|record| row(&record)));
    Ok((columns, rows.collect::<Result<_, _>>().map_err(|error| error.to_string())?))
}

fn from_json(text: &str) -> Result<Table, String> {
    let objects: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| format!("{error}; expected a list of objects"))?;
    let columns: Vec<String> =
        objects.first().map(|first| first.keys().cloned().collect()).unwrap_or_default();
    let row = |(number, object): (usize, &Map<String, Value>)| {
        let cell = |column: &String| match object.get(column) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value) => Ok(value.to_string()),
            // An empty text in its place would change what the calls are about without a word.
            None => Err(format!("object {number} has no `{column}`, which the first one has")),
        };
        columns.iter().map(cell).collect::<Result<Vec<_>, _>>()
    };
    let rows = objects.iter().enumerate().map(row).collect::<Result<_, _>>()?;
    Ok((columns, rows))
}

impl DataSet {
    /// Returns the index of a column.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    /// Returns the value of a column for call number `nth`.
    pub(super) fn value(&self, column: usize, nth: u64) -> &str {
        let rows = self.rows.len().max(1) as u64;
        let row = match self.order {
            RowOrder::Turns => nth % rows,
            RowOrder::Random => random::at(0xda7a, nth).random_range(0..rows),
        };
        let row = usize::try_from(row).ok().and_then(|row| self.rows.get(row));
        row.and_then(|row| row.get(column)).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, text: &str) -> Result<DataSets, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(file);
        fs::write(&file, text).unwrap();
        let spec =
            DataSpec { name: "users".to_owned(), file: file.display().to_string(), order: RowOrder::Turns };
        read_data(&[spec]).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_taken_in_turn_from_csv_and_json() {
        for (file, text) in [
            ("a.csv", "\u{feff}name,n\n\"Ada, \"\"L\"\"\",1\nBob,2\n"),
            ("a.json", r#"[{"name": "Ada, \"L\"", "n": 1}, {"name": "Bob", "n": "2"}]"#),
        ] {
            let sets = read(file, text).unwrap();
            let (name, n) = (sets["users"].column("name").unwrap(), sets["users"].column("n").unwrap());
            let values: Vec<&str> = (0..3).map(|nth| sets["users"].value(name, nth)).collect();
            assert_eq!(values, ["Ada, \"L\"", "Bob", "Ada, \"L\""], "{file}");
            assert_eq!((sets["users"].value(n, 1), sets["users"].column("x")), ("2", None), "{file}");
        }
    }

    #[test]
    fn file_without_rows_is_error_that_names_it() {
        for (file, text, named) in [
            ("a.csv", "name\n", "at least one row"),
            ("a.csv", "a,b\n1\n", "found record with 1 fields"),
            ("a.json", "{}", "a list of objects"),
            ("a.json", r#"[{"a": 1}, {"b": 2}]"#, "object 1 has no `a`"),
        ] {
            let error = read(file, text).unwrap_err();
            assert!(error.contains("data `users`") && error.contains(named), "{error}");
        }
    }
}
