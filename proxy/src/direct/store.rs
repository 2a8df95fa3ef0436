//! What outlives the process: the counters of today in one file, the records of keys in another beside it.

use std::{
    collections::HashMap,
    fmt, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};
use shared::key::{Cursor, IssueOnce, KeyRecord};

use super::{
    envelope::{self, FileFault, Kind, Payload},
    ledger::Ledger,
};

/// The two files.
pub(super) struct Store {
    counters: PathBuf,
    records: PathBuf,
    /// Times that a file could not be written.
    failed: AtomicU64,
    /// Whether the last try to write failed.
    failing: AtomicBool,
    /// Files that were damaged when the process began.
    damaged: AtomicU64,
}

/// Why what is kept of keys cannot be relied upon.
#[derive(Debug)]
pub struct StateFault {
    path: PathBuf,
    detail: String,
}

/// Where the records came from, the first line of their file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The edge whose feed they are of; `None` for the proxy's own.
    #[serde(default)]
    pub(super) edge: Option<String>,
    /// How far its feed was read.
    #[serde(default)]
    pub(super) cursor: Option<Cursor>,
    /// Requests to issue a key under an `Idempotency-Key`, of the last day, by the name of that.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub(super) issues: HashMap<String, IssueOnce>,
}

impl fmt::Display for StateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.detail)
    }
}

impl std::error::Error for StateFault {}

impl Store {
    /// The files at `path`, which must be to be written.
    ///
    /// # Errors
    /// When they are not.
    pub(super) fn open(path: &Path) -> Result<Self, StateFault> {
        envelope::try_out(path).map_err(|error| fault(path, format!("cannot be written: {error}")))?;
        Ok(Self {
            counters: path.to_owned(),
            records: envelope::with_ending(path, "records"),
            failed: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            damaged: AtomicU64::new(0),
        })
    }

    /// Takes over the counters of the process before. A file that is damaged is set aside and said so: calls that it
    /// counted are lost, and the keys' days begin anew.
    ///
    /// # Errors
    /// When the file is there and cannot be read, or cannot be set aside.
    pub(super) fn load_counters(&self, ledger: &Ledger) -> Result<(), StateFault> {
        match envelope::read(&self.counters, Kind::Counters) {
            Ok(None) => Ok(()),
            Ok(Some(bytes)) => match ledger.restore(&bytes) {
                Some(count) => {
                    log::info!("{}: the counters of {count} keys were read", self.counters.display());
                    Ok(())
                }
                None => self.set_aside(&self.counters, "what was counted of today is lost"),
            },
            Err(FileFault::Damaged) => self.set_aside(&self.counters, "what was counted of today is lost"),
            Err(FileFault::Io(error)) => Err(fault(&self.counters, format!("cannot be read: {error}"))),
        }
    }

    /// Takes over the records of the process before, and says where they came from. Without a file, or with one that is
    /// damaged, there are none; `lost` says what that means, or that it must not be.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged and must not be.
    pub(super) fn load_records(
        &self,
        ledger: &Ledger,
        lost: Option<&str>,
    ) -> Result<Option<Origin>, StateFault> {
        let read = match envelope::read(&self.records, Kind::Records) {
            Ok(None) => return Ok(None),
            Ok(Some(bytes)) => parse(&bytes),
            Err(FileFault::Damaged) => None,
            Err(FileFault::Io(error)) => {
                return Err(fault(&self.records, format!("cannot be read: {error}")));
            }
        };
        match (read, lost) {
            (Some((origin, records)), _) => {
                log::info!("{}: {} records were read", self.records.display(), records.len());
                records.into_iter().for_each(|record| ledger.learn(record));
                Ok(Some(origin))
            }
            (None, Some(lost)) => self.set_aside(&self.records, lost).map(|()| None),
            (None, None) => {
                let detail = "is damaged; it says which keys are revoked: restore it from a copy, or move it away to begin without";
                Err(fault(&self.records, detail.to_owned()))
            }
        }
    }

    /// Writes counters down, as [`Ledger::write`] does.
    pub(super) fn save_counters(&self, write: impl FnOnce(&mut Payload) -> io::Result<()>) -> bool {
        self.note(&self.counters, envelope::write(&self.counters, Kind::Counters, write))
    }

    /// Writes the records down.
    pub(super) fn save_records(&self, ledger: &Ledger, origin: &Origin) -> bool {
        let written = envelope::write(&self.records, Kind::Records, |out| {
            serde_json::to_writer(&mut *out, origin)?;
            ledger.records().iter().try_for_each(|record| write!(out, "\n{}", record.to_json()))
        });
        self.note(&self.records, written)
    }

    /// Times that a file could not be written, and files that were damaged.
    pub(super) fn faults(&self) -> (u64, u64) {
        (self.failed.load(Ordering::Relaxed), self.damaged.load(Ordering::Relaxed))
    }

    /// Whether it was written, which is said when it changes.
    fn note(&self, path: &Path, written: io::Result<()>) -> bool {
        let failed = written.is_err();
        if failed {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        let failed_before = self.failing.swap(failed, Ordering::Relaxed);
        match written {
            Ok(()) if failed_before => log::warn!("{} can be written again", path.display()),
            Err(error) if !failed_before => {
                log::error!(
                    "{} cannot be written: {error}; a crash would lose what was counted since",
                    path.display()
                );
            }
            Ok(()) | Err(_) => {}
        }
        !failed
    }

    fn set_aside(&self, path: &Path, lost: &str) -> Result<(), StateFault> {
        let aside = envelope::with_ending(path, "damaged");
        fs::rename(path, &aside)
            .map_err(|error| fault(path, format!("is damaged and cannot be set aside: {error}")))?;
        log::error!("{} is damaged; {lost}. It was set aside as {}", path.display(), aside.display());
        self.damaged.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn fault(path: &Path, detail: String) -> StateFault {
    StateFault { path: path.to_owned(), detail }
}

fn parse(bytes: &[u8]) -> Option<(Origin, Vec<KeyRecord>)> {
    let mut lines = std::str::from_utf8(bytes).ok()?.lines();
    let origin = serde_json::from_str(lines.next()?).ok()?;
    let records = lines.map(|line| KeyRecord::from_json(line).ok()).collect::<Option<_>>()?;
    Some((origin, records))
}
