//! The servers of a pool: those of its `upstreams`, or those of its `upstreams_file`. While the file is
//! faulty, the pool keeps those that it had.

use super::servers_file::parse;
use super::upstream::{self, UpstreamConfig};
use crate::last_good::Kept;
use crate::reader::{Entry, ValueError};
use crate::tls::{UpstreamTls, is_name};

/// Reads the servers of an array. Reports an error if it has none.
pub(super) fn of_array(entry: &Entry<'_>, tls: &UpstreamTls) -> Vec<UpstreamConfig> {
    let upstreams = upstream::all(entry);
    for fault in upstreams.iter().filter_map(|upstream| misnamed(upstream, tls)) {
        entry.fault(fault);
    }
    // Kept in case that the next configuration names a file, and that is faulty.
    entry.keep(&kept_key(entry), show(&upstreams), Kept::InMemory);
    upstreams
}

/// Reads the servers of the file that an entry names, and records the file among those of the
/// configuration. While the file is faulty, they are those that the pool had, or none, and the fault is
/// returned too.
pub(super) fn of_file(entry: &Entry<'_>, tls: &UpstreamTls) -> (Vec<UpstreamConfig>, Option<String>) {
    let Some(path) = entry.read(Entry::path) else { return (Vec::new(), None) };
    let key = kept_key(entry);
    let kept = || {
        let upstreams = upstream::of_entries(entry.last_good(&key)?.lines()).ok()?;
        upstreams.iter().all(|upstream| misnamed(upstream, tls).is_none()).then_some(upstreams)
    };
    let keep = |upstreams: Vec<_>| {
        entry.keep(&key, show(&upstreams), Kept::OnDisk);
        upstreams
    };
    if entry.is_changing(&path)
        && let Some(upstreams) = kept()
    {
        return (keep(upstreams), None);
    }
    let read = entry.content(&path).map_err(|error: ValueError| error.to_string());
    let read = read.and_then(|bytes| parse(&path, &bytes));
    let read = read.and_then(|upstreams| match upstreams.iter().find_map(|one| misnamed(one, tls)) {
        Some(fault) => Err(format!("{}: {fault}", path.display())),
        None => Ok(upstreams),
    });
    match (read, kept()) {
        (Ok(upstreams), _) => (keep(upstreams), None),
        (Err(error), kept) => {
            entry.fail(&error, kept.is_some());
            (kept.map(keep).unwrap_or_default(), Some(error))
        }
    }
}

/// Returns what is wrong with the host of a server whose certificate must be valid for it.
fn misnamed(upstream: &UpstreamConfig, tls: &UpstreamTls) -> Option<String> {
    let host = &upstream.host;
    (tls.on && tls.name.is_none() && !is_name(host))
        .then(|| format!("invalid certificate name `{host}`: set `tls_name` to that of the certificate"))
}

/// Returns the key under which the servers of a pool are kept, wherever they come from.
fn kept_key(entry: &Entry<'_>) -> String {
    entry.path.trim_end_matches("_file").to_owned()
}

fn show(upstreams: &[UpstreamConfig]) -> String {
    upstreams.iter().map(UpstreamConfig::to_entry).collect::<Vec<_>>().join("\n")
}
