//! Zero-downtime upgrade: a new process takes over the listening sockets of the running one, and no
//! call is lost. The old process accepts connections until the new one is ready. Pingora has its
//! own upgrade, but every user of the machine can reach its socket, it waits a fixed time
//! for the new process, and it passes nothing but sockets.
//!
//! The protocol of the upgrade socket. *New* is the process that was started with `--upgrade`:
//!
//! | sender | message | meaning |
//! |---|---|---|
//! | old | a [`Handoff`](handoff::Handoff): a line of JSON, with the sockets and a file of the last good state | |
//! | new | `ready` and a line feed | Every upstream was probed. The old process stops accepting connections. |
//! | old | its state as [`SyncRecord`](direct::sync_record::SyncRecord)s, then [`END`](direct::sync_record::END) | The new process accepts connections. |
//! | both | every later change as a `SyncRecord`, until the old process has exited | |
//!
//! Behind an edge, a record is a request that was seen
//! ([`ReplayEntry`](direct::replay::ReplayEntry)). In direct mode it is a call that was admitted or
//! has ended ([`CounterEvent`](direct::CounterEvent)). What was counted before is in the
//! state files, which the old process writes before it sends `END`.

mod error;
mod fds;
mod handoff;
mod listener;
mod new;
mod old;
mod stored;

pub(crate) use error::{SocketError, SocketKind};
pub(crate) use listener::PrivateListener;
pub(crate) use new::OldProcess;
pub(crate) use old::UpgradeService;
