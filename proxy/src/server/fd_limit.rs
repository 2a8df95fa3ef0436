//! How many files the process may open: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as may be open at once, after asking for as many as there can be. Many systems give a process few at first,
/// for the sake of programs that cannot deal with large numbers of files.
#[must_use]
pub(super) fn most_open() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit { current: limit.maximum, ..limit };
    // Where that is not allowed, the limit stays as it is.
    let now = if setrlimit(Resource::Nofile, all).is_ok() { all.current } else { limit.current };
    now.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}
