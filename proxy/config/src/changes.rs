//! The changes that an operator has made without a file: those that are in effect, and the last ones that were
//! made. `control` takes them.
//!
//! Why: docs/decisions/proxy.md, "An operator's changes are a layer over the configuration".

mod action;
mod overrides;

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use shared::time::UnixMillis;
use shared::tool::Tool;

use crate::per_tool::PerTool;
use crate::{Config, PoolConfig, file};
pub use action::tool;
pub use action::{Action, ChangeError, ControlRequest, ControlResponse, Target};
use overrides::{Overrides, Servers};

/// The changes of operators. Those of the file outlive the process, all others end when the
/// configuration file is read again.
#[derive(Debug)]
pub struct Changes {
    file: Option<PathBuf>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The values of the configuration file, for what is not changed any more.
    pools: PerTool<PoolConfig>,
    level: log::LevelFilter,
    stored: Overrides,
    /// Includes the stored ones that were made in this process.
    session: Overrides,
    recent: VecDeque<AuditEntry>,
}

/// A change that was made.
#[derive(Clone, Debug, Serialize)]
pub struct AuditEntry {
    /// RFC 3339.
    pub at: String,
    /// The user and the process that asked for it, or the address.
    pub by: String,
    #[serde(flatten)]
    pub request: ControlRequest,
}

/// Number of changes that are remembered.
const MAX_RECENT: usize = 64;

impl Changes {
    /// Returns the changes of a process that starts with `config`, which was read from `file`. Applies
    /// those that were stored.
    ///
    /// # Errors
    /// Returns an error if the file of changes cannot be read or is invalid.
    pub fn begin(config: &mut Config, file: &Path) -> Result<Self, ChangeError> {
        let file = stored_at(config, file);
        let stored = file.as_deref().map(read).transpose()?.unwrap_or_default();
        let inner = Inner::of(config, stored, VecDeque::new())?;
        Ok(Self { file, inner: Mutex::new(inner) })
    }

    /// Applies the stored changes to a configuration that was read again. Applies or drops all others,
    /// and returns those that were dropped, as JSON. While the file of changes is faulty, those that were stored
    /// before stay in effect, and the file is one of the failed parts of `config`.
    ///
    /// # Errors
    /// Returns an error if a change is invalid. Nothing is dropped then.
    pub fn reload(&self, config: &mut Config, keep: bool) -> Result<Option<String>, ChangeError> {
        let read = self.file.as_deref().map(read).transpose().map(Option::unwrap_or_default);
        // Tried on a copy, because a change of them that is invalid is found after others were applied.
        let read = read.and_then(|stored| stored.apply(&mut config.clone()).map(|_unknown| stored));
        let mut inner = self.inner.lock();
        let stored = read.unwrap_or_else(|error| {
            config.fail_part("server.admin_changes", &error);
            inner.stored.clone()
        });
        let mut next = Inner::of(config, stored, inner.recent.clone())?;
        if keep {
            next.session = inner.session.clone();
            report_unknown(&next.session.apply(config)?);
        }
        let has_dropped = !keep && inner.session != Overrides::default();
        let dropped = has_dropped.then(|| json!(inner.session).to_string());
        *inner = next;
        Ok(dropped)
    }

    /// Records a change. Returns the configuration with it, or `None` if it replaces no value of it.
    ///
    /// # Errors
    /// Returns an error if the change is invalid, or cannot be stored. Nothing has changed then.
    pub fn change(
        &self,
        request: &ControlRequest,
        (config, identities): (&Config, &dyn Fn(Tool) -> Vec<String>),
        now: UnixMillis,
    ) -> Result<Option<Config>, ChangeError> {
        let mut inner = self.inner.lock();
        let (mut session, mut stored) = (inner.session.clone(), inner.stored.clone());
        let reason = request.reason.as_deref();
        let known = Servers { pools: &inner.pools, identities };
        // On copies: whatever fails below must leave both as they were.
        if !session.record(&request.action, reason, known, now)? {
            return Ok(None);
        }
        if request.persist {
            if self.file.is_none() {
                return Err(ChangeError::NotPersistent(
                    "a change before the restart that `admin_token` needs",
                ));
            }
            stored.record(&request.action, reason, known, now)?;
        }
        // From the values of the file: a change that is taken back must leave no trace of itself.
        let mut config = Config { pools: inner.pools.clone(), ..config.clone() };
        config.log.level = inner.level;
        // In this order: what was changed since the last reload overrides what is stored.
        stored.apply(&mut config)?;
        session.apply(&mut config)?;
        if let Some(file) = self.file.as_deref().filter(|_| request.persist) {
            // The last step that can fail, and before the change is in effect: one that is not
            // stored must not look so.
            write(file, &stored).map_err(|error| ChangeError::File { file: file.to_owned(), error })?;
        }
        (inner.session, inner.stored) = (session, stored);
        Ok(Some(config))
    }

    /// Remembers a change that was made.
    pub fn remember(&self, entry: AuditEntry) {
        let recent = &mut self.inner.lock().recent;
        recent.truncate(MAX_RECENT - 1);
        recent.push_front(entry);
    }

    /// Returns the changes for operators.
    pub fn to_json(&self) -> Value {
        let inner = self.inner.lock();
        json!({ "until_reload": inner.session, "stored": inner.stored, "recent": inner.recent })
    }
}

impl Inner {
    fn of(config: &mut Config, stored: Overrides, recent: VecDeque<AuditEntry>) -> Result<Self, ChangeError> {
        let (pools, level) = (config.pools.clone(), config.log.level);
        report_unknown(&stored.apply(config)?);
        Ok(Self { pools, level, stored, session: Overrides::default(), recent })
    }
}

fn report_unknown(servers: &[String]) {
    for server in servers {
        log::warn!("change has no effect, the pool has no such server: server=\"{server}\"");
    }
}

/// Returns the file of changes: `server.admin_changes`, or one beside the configuration file. `None`
/// if operators cannot make any.
pub(crate) fn stored_at(config: &Config, file: &Path) -> Option<PathBuf> {
    let server = &config.server;
    // Not by the token, whose file may be faulty: then what was stored is in effect all the same.
    if !server.takes_changes {
        return None;
    }
    Some(server.admin_changes.clone().unwrap_or_else(|| {
        let mut name = file.as_os_str().to_owned();
        name.push(".changes.json");
        PathBuf::from(name)
    }))
}

/// Reads a file of changes. Without one there are none.
fn read(file: &Path) -> Result<Overrides, ChangeError> {
    let bytes = match file::read(file) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Overrides::default()),
        Err(error) => Err(error),
    };
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).map_err(io::Error::from));
    read.map_err(|error| ChangeError::File { file: file.to_owned(), error })
}

/// Replaces the file atomically.
fn write(file: &Path, overrides: &Overrides) -> io::Result<()> {
    let mut temporary = file.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    let mut out = fs::File::create(&temporary)?;
    serde_json::to_writer_pretty(&mut out, overrides)?;
    out.write_all(b"\n")?;
    // Without it, a power failure after the rename could leave an empty file.
    out.sync_all()?;
    fs::rename(&temporary, file)
}
