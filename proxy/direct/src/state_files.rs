//! The state files: the counters of the day in one file, the records of keys in another beside it, and
//! the units of keys with limits in units in a third.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use shared::idempotency::IssueOnce;
use shared::key::KeyRecord;
use shared::keys_api::Cursor;
use shared::time::UnixMillis;

use super::checked_file::{self, FileError, Kind, Payload};
use super::key_table::{KeyTable, KeyUnits, Restored};

/// The state files.
pub(super) struct StateFiles {
    counters: PathBuf,
    records: PathBuf,
    units: PathBuf,
    /// Number of failed writes.
    failed: AtomicU64,
    /// Whether the last write failed.
    failing: AtomicBool,
    /// Number of files that were damaged at start.
    damaged: AtomicU64,
}

/// An error of a state file, with its path.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file or its folder is not writable.
    #[error("{}: cannot be written: {error}", path.display())]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file exists and is not readable.
    #[error("{}: cannot be read: {error}", path.display())]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The file is damaged, and could not be renamed.
    #[error("{}: is damaged and cannot be renamed: {error}", path.display())]
    NotRenamable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The records are damaged, and no other authority knows which keys are revoked.
    #[error(
        "{}: is damaged, and it lists the revoked keys: restore it from a backup, or move it away to start without",
        path.display()
    )]
    RecordsDamaged {
        /// The file.
        path: PathBuf,
    },
}

/// The source of the records: the first line of their file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordSource {
    /// The edge whose feed delivered them. `None` if this proxy is the authority.
    pub(super) edge: Option<String>,
    /// The position in the feed.
    pub(super) cursor: Option<Cursor>,
    /// Requests of the last day to issue a key, by the name of their `Idempotency-Key`.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub(super) issues: HashMap<String, IssueOnce>,
}

/// The consequence of losing the counters.
const COUNTERS_ARE_LOST: &str = "the counts of the day are lost";
/// The consequence of losing the units.
const UNITS_ARE_LOST: &str = "the units of the month are lost";

impl StateFiles {
    /// Opens the state files at `path`.
    ///
    /// # Errors
    /// If they are not writable.
    pub(super) fn open(path: &Path) -> Result<Self, StateError> {
        checked_file::check_writable(path)
            .map_err(|error| StateError::NotWritable { path: path.to_owned(), error })?;
        Ok(Self {
            counters: path.to_owned(),
            records: checked_file::with_suffix(path, "records"),
            units: checked_file::with_suffix(path, "units"),
            failed: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            damaged: AtomicU64::new(0),
        })
    }

    /// Checks that the files can be loaded. A damaged one is an obstacle only if it has the records and they
    /// are nowhere else. Changes nothing.
    ///
    /// # Errors
    /// Returns the error of the file that would prevent the start.
    pub(super) fn check(&self, needs_records: bool) -> Result<(), StateError> {
        let files =
            [(&self.units, Kind::Units), (&self.counters, Kind::Counters), (&self.records, Kind::Records)];
        for (path, kind) in files {
            let is_damaged = match checked_file::read(path, kind) {
                Ok(bytes) => kind == Kind::Records && bytes.is_some_and(|bytes| parse(&bytes).is_none()),
                Err(FileError::Damaged) => kind == Kind::Records,
                Err(FileError::Io(error)) => {
                    return Err(StateError::NotReadable { path: path.clone(), error });
                }
            };
            if is_damaged && needs_records {
                return Err(StateError::RecordsDamaged { path: path.clone() });
            }
        }
        Ok(())
    }

    /// Loads the counters and units of the previous process, without what lies in the future of `now`.
    /// A damaged file is renamed and logged: the calls that it counted are lost, and the quotas of the
    /// day restart.
    ///
    /// # Errors
    /// If a file exists and cannot be read, or is damaged and cannot be renamed.
    pub(super) fn load_counters(&self, keys: &KeyTable, now: UnixMillis) -> Result<(), StateError> {
        self.load_units(keys, now)?;
        match checked_file::read(&self.counters, Kind::Counters) {
            Ok(None) => Ok(()),
            Ok(Some(bytes)) => match keys.restore(&bytes, now) {
                Some(Restored { keys, from_future }) => {
                    log::info!("counters loaded: file={} keys={keys}", self.counters.display());
                    log_future(&self.counters, "keys", from_future);
                    Ok(())
                }
                None => self.set_aside(&self.counters, COUNTERS_ARE_LOST),
            },
            Err(FileError::Damaged) => self.set_aside(&self.counters, COUNTERS_ARE_LOST),
            Err(FileError::Io(error)) => Err(StateError::NotReadable { path: self.counters.clone(), error }),
        }
    }

    fn load_units(&self, keys: &KeyTable, now: UnixMillis) -> Result<(), StateError> {
        let read = match checked_file::read(&self.units, Kind::Units) {
            Ok(None) => return Ok(()),
            Ok(Some(bytes)) => serde_json::from_slice::<KeyUnits>(&bytes).ok(),
            Err(FileError::Damaged) => None,
            Err(FileError::Io(error)) => {
                return Err(StateError::NotReadable { path: self.units.clone(), error });
            }
        };
        let Some(units) = read else { return self.set_aside(&self.units, UNITS_ARE_LOST) };
        log::info!("units loaded: file={} keys={}", self.units.display(), units.len());
        log_future(&self.units, "keys", keys.restore_units(units, now));
        Ok(())
    }

    /// Loads the records of the previous process and returns their source, without requests to issue
    /// a key that lie in the future of `now`. Returns `None` without a
    /// file, and for a damaged one if `lost` is the consequence of losing it.
    ///
    /// # Errors
    /// If the file cannot be read, or is damaged and `lost` is `None`.
    pub(super) fn load_records(
        &self,
        keys: &KeyTable,
        lost: Option<&str>,
        now: UnixMillis,
    ) -> Result<Option<RecordSource>, StateError> {
        let read = match checked_file::read(&self.records, Kind::Records) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => parse(&bytes),
            Err(FileError::Damaged) => None,
            Err(FileError::Io(error)) => {
                return Err(StateError::NotReadable { path: self.records.clone(), error });
            }
        };
        match (read, lost) {
            (Some((mut source, records)), _) => {
                let stored = source.issues.len();
                source.issues.retain(|_, once| !once.is_from_future(now));
                log_future(&self.records, "requests", stored - source.issues.len());
                log::info!("records loaded: file={} records={}", self.records.display(), records.len());
                records.into_iter().for_each(|record| keys.merge_record(record));
                Ok(Some(source))
            }
            (None, Some(lost)) => self.set_aside(&self.records, lost).map(|()| None),
            (None, None) => Err(StateError::RecordsDamaged { path: self.records.clone() }),
        }
    }

    /// Replaces the counter file, and the file of the units that `write` returns. Returns false on
    /// failure.
    pub(super) fn save_counters(&self, write: impl FnOnce(&mut Payload) -> io::Result<KeyUnits>) -> bool {
        let mut units = KeyUnits::new();
        let written = checked_file::write(&self.counters, Kind::Counters, |out| {
            units = write(out)?;
            Ok(())
        });
        self.record_write(&self.counters, written) && self.save_units(&units)
    }

    /// Replaces the file of the units. There is none until a key has spent some.
    fn save_units(&self, units: &KeyUnits) -> bool {
        // A file that exists is replaced even by nothing. Otherwise its units would come back with
        // a restart.
        if units.is_empty() && !self.units.exists() {
            return true;
        }
        let written =
            checked_file::write(&self.units, Kind::Units, |out| Ok(serde_json::to_writer(&mut *out, units)?));
        self.record_write(&self.units, written)
    }

    /// Replaces the record file. Returns false on failure.
    pub(super) fn save_records(&self, keys: &KeyTable, source: &RecordSource) -> bool {
        let written = checked_file::write(&self.records, Kind::Records, |out| {
            serde_json::to_writer(&mut *out, source)?;
            keys.records().iter().try_for_each(|record| write!(out, "\n{}", record.to_json()))
        });
        self.record_write(&self.records, written)
    }

    /// Returns the number of failed writes and of damaged files.
    pub(super) fn failures(&self) -> (u64, u64) {
        (self.failed.load(Ordering::Relaxed), self.damaged.load(Ordering::Relaxed))
    }

    /// Counts a failed write and logs each change between success and failure. Returns true if the
    /// write succeeded.
    fn record_write(&self, path: &Path, written: io::Result<()>) -> bool {
        let failed = written.is_err();
        if failed {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        let failed_before = self.failing.swap(failed, Ordering::Relaxed);
        match written {
            Ok(()) if failed_before => log::warn!("state file write recovered: file={}", path.display()),
            Err(error) if !failed_before => {
                log::error!("state file write failed: file={} error=\"{error}\"", path.display());
            }
            Ok(()) | Err(_) => {}
        }
        !failed
    }

    fn set_aside(&self, path: &Path, lost: &str) -> Result<(), StateError> {
        let aside = checked_file::with_suffix(path, "damaged");
        // Not deleted: the next save would replace the only evidence of what went wrong.
        fs::rename(path, &aside)
            .map_err(|error| StateError::NotRenamable { path: path.to_owned(), error })?;
        log::error!(
            "state file damaged: file={} renamed_to={} consequence=\"{lost}\"",
            path.display(),
            aside.display()
        );
        self.damaged.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Logs that a clock that was ahead has stored something, if it was dropped.
fn log_future(file: &Path, what: &str, dropped: usize) {
    if dropped > 0 {
        log::warn!("state from the future dropped: file={} {what}={dropped}", file.display());
    }
}

fn parse(bytes: &[u8]) -> Option<(RecordSource, Vec<KeyRecord>)> {
    let mut lines = std::str::from_utf8(bytes).ok()?.lines();
    let source = serde_json::from_str(lines.next()?).ok()?;
    let records = lines.map(|line| KeyRecord::from_json(line).ok()).collect::<Option<_>>()?;
    Some((source, records))
}
