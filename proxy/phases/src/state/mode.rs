//! The mode of the process: calls are authenticated by grants or by keys.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use shared::time::UnixMillis;
use tokio::sync::mpsc;

use crate::observe::refused_grants::RefusedGrants;
use config::{Callers, GrantConfig};
use direct::replay::{ReplayCache, ReplayEntry, UsedGrants};
use direct::sync_record::SyncRecord;
use direct::{Direct, StateError};
use transport::clock;

/// The mode of the process. Only a restart changes it.
pub enum Mode {
    /// Behind an edge: each call carries a grant.
    Edge(EdgeMode),
    /// Direct mode: each call carries a key, which this proxy judges itself.
    Direct(Arc<Direct>),
}

/// The state of a proxy behind an edge.
pub struct EdgeMode {
    /// The settings of grants.
    pub config: ArcSwap<GrantConfig>,
    /// The requests whose grants have been used.
    pub replay: ReplayCache,
    /// The used grants that the proxies of this data center share.
    pub used_grants: Option<Arc<UsedGrants>>,
    /// The refused grants that the log has.
    pub(crate) refused: Box<RefusedGrants>,
}

impl Mode {
    /// Returns the configured mode. Direct mode loads its state files.
    ///
    /// # Errors
    /// Returns an error if the state files of direct mode are unusable.
    pub fn new(callers: &Callers) -> Result<Self, StateError> {
        match callers {
            Callers::Edge(config) => Ok(Self::Edge(EdgeMode {
                config: ArcSwap::from_pointee(GrantConfig::clone(config)),
                replay: ReplayCache::new(config.replay_capacity, clock::now()),
                used_grants: config.store.as_deref().cloned().map(UsedGrants::new).map(Arc::new),
                refused: Box::default(),
            })),
            Callers::Clients(config) => Direct::open(config).map(|direct| Self::Direct(Arc::new(direct))),
        }
    }

    /// Applies a reloaded configuration.
    pub fn configure(&self, callers: &Callers) {
        match (self, callers) {
            (Self::Edge(edge), Callers::Edge(config)) => {
                edge.config.store(Arc::new(GrantConfig::clone(config)));
            }
            (Self::Direct(direct), Callers::Clients(config)) => direct.configure(config),
            // A reload keeps the mode (`Config::keep_fixed`).
            (Self::Edge(_), Callers::Clients(_)) | (Self::Direct(_), Callers::Edge(_)) => {}
        }
    }

    /// Returns the state of direct mode.
    pub const fn direct(&self) -> Option<&Arc<Direct>> {
        match self {
            Self::Edge(_) => None,
            Self::Direct(direct) => Some(direct),
        }
    }

    /// Returns true in direct mode.
    pub const fn is_direct(&self) -> bool {
        self.direct().is_some()
    }

    /// Returns true in direct mode if a load balancer terminates TLS in front of this proxy.
    pub fn is_behind_tls(&self) -> bool {
        self.direct().is_some_and(|direct| direct.config().behind_tls)
    }

    /// Returns true unless the revoked keys are unknown in direct mode.
    pub fn is_ready(&self) -> bool {
        self.direct().is_none_or(|direct| direct.freshness.is_known())
    }

    /// Sends each later change to another process, or stops with `None`.
    pub fn mirror_to(&self, other: Option<mpsc::Sender<SyncRecord>>) {
        match self {
            Self::Edge(edge) => edge.replay.mirror_to(other),
            Self::Direct(direct) => direct.mirror_to(other),
        }
    }

    /// Exports the whole state to a new process: as the returned records, or in state files. Each
    /// later change is sent to `other`.
    ///
    /// # Errors
    /// Returns an error if the state files cannot be written.
    pub fn export(
        &self,
        other: mpsc::Sender<SyncRecord>,
    ) -> io::Result<impl Iterator<Item = Vec<SyncRecord>> + use<'_>> {
        let replay = match self {
            Self::Edge(edge) => {
                // Before the entries are read: a grant that is used in between is sent twice rather
                // than never.
                edge.replay.mirror_to(Some(other));
                Some(&edge.replay)
            }
            Self::Direct(direct) => {
                direct.hand_over(&other)?;
                None
            }
        };
        let parts = replay.into_iter().flat_map(ReplayCache::entries);
        Ok(parts.map(|part| part.into_iter().map(ReplayEntry::to_bytes).collect()))
    }

    /// Returns the time of issue from which on every used grant is known. `None` in direct mode.
    pub fn grants_known_since(&self) -> Option<UnixMillis> {
        match self {
            Self::Edge(edge) => Some(edge.replay.known_since()),
            Self::Direct(_) => None,
        }
    }

    /// Takes over from the old process, all of whose records were applied: loads the state files that
    /// it has written, or knows the used grants since `grants_known_since`.
    pub fn import(&self, grants_known_since: Option<UnixMillis>) {
        match self {
            Self::Edge(edge) => grants_known_since.into_iter().for_each(|since| edge.replay.take_over(since)),
            Self::Direct(direct) => direct.take_over(),
        }
    }

    /// Applies a change of another process.
    pub fn apply(&self, record: SyncRecord) {
        match self {
            Self::Edge(edge) => edge.replay.insert(ReplayEntry::from_bytes(record)),
            Self::Direct(direct) => direct.apply_event(record),
        }
    }
}
