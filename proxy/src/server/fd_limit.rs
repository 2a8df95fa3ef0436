//! The limit of open files: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use transport::connect::ConnectionLimits;

use config::Config;

/// The file descriptors of the process, as they are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileBudget {
    /// Maximum number of open files.
    pub(crate) files: usize,
    /// Maximum number of connections from clients.
    pub(crate) clients: usize,
    /// Maximum number of connections to upstreams, idle ones included.
    pub(crate) upstreams: usize,
    /// Maximum number of idle ones.
    pub(crate) idle: usize,
    /// Maximum number of pipes, through which bodies are spliced.
    pub(crate) pipes: usize,
}

/// File descriptors that neither clients nor calls can use up: listeners, the admin port, state files
/// and what the runtime needs. Each upstream has one more, for its probe.
const RESERVE: usize = 64;
/// Pipes for each 1,024 open files: two files each, so one file in 32. A process with fewer files copies.
const PIPES: usize = 16;
/// Maximum number of pipes. The system allows a user as many of their usual size.
const MAX_PIPES: usize = 1_024;

impl FileBudget {
    /// Shares out the open files that the system allows at most.
    pub(crate) fn allowed(config: &Config) -> Self {
        Self::new(count(getrlimit(Resource::Nofile).maximum), config)
    }

    /// Shares out this number of files. A client that is served needs a second file for its upstream.
    fn new(files: usize, config: &Config) -> Self {
        let servers: usize = config.pools.iter().map(|(_, pool)| pool.upstreams.len()).sum();
        // Beyond that, Linux gives a user's new pipes a page or two (`pipe-user-pages-soft`), and a
        // splice moves as little.
        let pipes = (files / 1_024 * PIPES).min(MAX_PIPES);
        let free = files - (RESERVE + servers).min(files / 4) - 2 * pipes;
        let (clients, upstreams) = (free / 2, free - free / 2);
        Self { files, clients, upstreams, idle: config.idle_upstream_connections.min(upstreams), pipes }
    }

    /// Returns the limits of connections to upstreams.
    pub(super) const fn upstream_limits(&self) -> ConnectionLimits {
        ConnectionLimits { idle: self.idle, open: self.upstreams, pipes: self.pipes }
    }
}

/// Raises the limit of open files to its maximum, and shares it out. Many systems start processes with
/// a low limit, because of programs that use `select`.
pub(super) fn raise(config: &Config) -> FileBudget {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    // If that is not allowed, the limit stays as it is.
    let current = if setrlimit(Resource::Nofile, raised).is_ok() { raised.current } else { limit.current };
    FileBudget::new(count(current), config)
}

/// Returns a limit. A process cannot have more than 2³¹ files.
fn count(limit: Option<u64>) -> usize {
    usize::try_from(limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX).min(1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(files: usize) -> FileBudget {
        let tools =
            shared::tool::Tool::ALL.map(|tool| format!("pools.{tool}.upstreams = [\"127.0.0.1:1\"]\n"));
        let text = format!("grants.secret = \"0123456789abcdef0123456789abcdef\"\n{}", tools.concat());
        let config = Config::parse("proxy.toml", &text, &|_name| None);
        FileBudget::new(files, &config.unwrap_or_else(|faults| panic!("{faults}")))
    }

    #[test]
    fn files_are_shared_out_with_a_reserve() {
        for files in [0, 1, 16, 128, 300, 1_024, 20_000, 1 << 20] {
            let FileBudget { clients, upstreams, idle, pipes, .. } = budget(files);
            assert!(clients + upstreams + 2 * pipes + (RESERVE + 17).min(files / 4) <= files);
            assert!(idle <= upstreams && clients <= upstreams);
        }
        let (clients, upstreams, idle) = (159, 160, 160);
        assert_eq!(budget(400), FileBudget { files: 400, clients, upstreams, idle, pipes: 0 });
        assert_eq!([1_024, 20_000, 1 << 20].map(|files| budget(files).pipes), [16, 304, MAX_PIPES]);
    }
}
