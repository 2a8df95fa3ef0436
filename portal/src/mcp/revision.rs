//! The revisions of the protocol that are served, side by side.

/// The revision without a handshake: each request says its own revision.
pub(super) const MODERN: &str = "2026-07-28";
/// The newest revision that begins with `initialize`.
pub(super) const NEWEST_LEGACY: &str = "2025-11-25";
/// Every revision that is served, the newest first. The ones before these have batches.
pub(super) const SUPPORTED: [&str; 3] = [MODERN, NEWEST_LEGACY, "2025-06-18"];

/// The form of requests and results, in the words of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Revisions that begin with `initialize`.
    Legacy,
    /// Revisions whose requests each say revision and capabilities in `_meta`.
    Modern,
}

/// Returns true for a revision of [`Era::Legacy`] that is served.
pub(super) fn is_legacy(revision: &str) -> bool {
    revision != MODERN && SUPPORTED.contains(&revision)
}
