//! The findings of `--check` in a valid file: settings that are likely to cause trouble, and what keeps
//! the proxy from starting on this machine.

mod names;
mod settings;
mod valkey;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::{fmt, fs};

use shared::time::UnixMillis;
use shared::tool::Tool;

use self::names::Unresolved;
use crate::certificate::Validity;
use crate::server::fd_limit::FileBudget;
use crate::upgrade::{PrivateListener, SocketError, SocketKind};
use config::changes::Changes;
use config::{AdminState, Callers, Config, DisabledUntil, PoolConfig, ServerConfig, show_duration as show};
use phases::observe::access_log::LogFile;

/// Whether the proxy starts in spite of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The setting is valid and probably wrong.
    Warning,
    /// The proxy does not start on this machine, or servers that it needs do not serve it.
    Error,
}

/// A setting that is valid and causes trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the proxy starts in spite of it.
    pub severity: Severity,
    /// The line and column of the value, or of its section, both from 1. `None` if the file has
    /// neither.
    pub place: Option<(usize, usize)>,
    /// The key's path, such as `pools.qr.try_timeout`, or `pools.*.…` if it holds for every pool.
    pub key: String,
    /// The value, its consequence, and the remedy.
    pub detail: String,
}

impl Finding {
    fn new(config: &Config, severity: Severity, key: &str, detail: String) -> Self {
        Self { severity, place: config.places.of(key), key: key.to_owned(), detail }
    }
}

impl fmt::Display for Finding {
    /// Begins with the place, to follow the name of the file and a colon.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}:")?;
        }
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, " {severity}: {}: {}", self.key, self.detail)
    }
}

/// Returns all findings in the configuration of `file`. Tests addresses, files and directories on this machine, with the rights of
/// this process, and resolves the names of servers.
pub fn findings(config: &Config, file: &Path, now: UnixMillis) -> Vec<Finding> {
    // First, because an error makes the warnings after it less urgent.
    let mut found = obstacles(config, file);
    let mut warn =
        |key: &str, detail: String| found.push(Finding::new(config, Severity::Warning, key, detail));
    let server = &config.server;
    if let Some(tls) = &server.tls {
        match Validity::at(tls.starts_at(), tls.expires_at(), now) {
            Validity::Valid => {}
            validity => warn("server.tls.certificate", validity.to_string()),
        }
    }
    if let Some(whose) = exposed(server.admin.ip()) {
        let detail = format!("{} is {whose}; the admin port has no access control: {LOCAL}", server.admin);
        warn("server.admin", detail);
    }
    if let Some(whose) = exposed(server.listen.ip()).filter(|_| is_plain(config)) {
        let detail =
            format!("{} is {whose} and speaks plain HTTP; add [server.tls], or {LOCAL}", server.listen);
        warn("server.listen", detail);
    }
    if let Some(detail) = grace(config) {
        warn("server.grace", detail);
    }
    if let Some(detail) = open_files(config, &FileBudget::allowed(config)) {
        warn("clients.connections", detail);
    }
    if let Some(error) = upgrade_socket(server).filter(SocketError::is_missing_directory) {
        warn("server.upgrade_socket", format!("{error}: the proxy starts, and cannot be upgraded"));
    }
    if let Some(error) = admin_socket(server).filter(SocketError::is_missing_directory) {
        warn("server.admin_socket", format!("{error}: the proxy starts, and `proxy ctl` cannot reach it"));
    }
    for file in &config.secret_files {
        if let Some(detail) = readable_by_all(&file.path) {
            warn(&file.key, detail);
        }
    }
    for (key, detail) in settings::of_process(config) {
        warn(&key, detail);
    }
    let unresolved = Unresolved::of(config);
    if let Some(detail) = names::edge_name(config).and_then(|name| unresolved.warning(name)) {
        warn("keys.changes", detail);
    }
    found.extend(pools(config, &unresolved, now));
    found
}

/// Returns what is wrong with the servers that the proxy needs besides the tools: those of `[valkey]`.
/// Connects to them.
///
/// # Errors
/// If this process cannot wait for sockets.
pub fn server_findings(config: &Config) -> std::io::Result<Vec<Finding>> {
    valkey::findings(config)
}

/// Returns what keeps the proxy from starting on this machine.
fn obstacles(config: &Config, file: &Path) -> Vec<Finding> {
    let server = &config.server;
    let mut found = Vec::new();
    let mut fail = |key: &str, detail: String| found.push(Finding::new(config, Severity::Error, key, detail));
    for (key, address) in [("server.listen", server.listen), ("server.admin", server.admin)] {
        if let Some(error) = unbindable(address) {
            fail(key, format!("cannot listen on {address}: {error}"));
        }
    }
    if let Some(error) = upgrade_socket(server).filter(|error| !error.is_missing_directory()) {
        fail("server.upgrade_socket", error.to_string());
    }
    if let Some(error) = admin_socket(server).filter(|error| !error.is_missing_directory()) {
        fail("server.admin_socket", error.to_string());
    }
    if let Some((log, error)) =
        config.log_file.as_deref().and_then(|log| Some((log, LogFile::check(log).err()?)))
    {
        fail("log.file", format!("cannot open the access log {}: {error}", log.display()));
    }
    // On a copy: the findings are about the file, and not about what operators have changed.
    if let Err(error) = Changes::begin(&mut config.clone(), file) {
        fail("server.admin_changes", error.to_string());
    }
    if let Callers::Clients(keys) = &config.callers
        && let Err(fault) = direct::check_state(keys)
    {
        fail("keys.state", fault.to_string());
    }
    found
}

/// Returns why an address cannot be bound, unless it is in use: that may be by the running proxy.
fn unbindable(address: SocketAddr) -> Option<std::io::Error> {
    TcpListener::bind(address).err().filter(|error| error.kind() != ErrorKind::AddrInUse)
}

const LOCAL: &str = "listen on a private address such as 127.0.0.1";

/// Returns the kind of address if other machines outside the private network may reach it.
const fn exposed(ip: IpAddr) -> Option<&'static str> {
    let private = match ip {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            // 100.64.0.0/10 is shared address space (RFC 6598).
            let shared = first == 100 && second & 0xc0 == 64;
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || shared
        }
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    };
    match (ip.is_unspecified(), private) {
        (true, _) => Some("every address of this machine"),
        (false, false) => Some("a public address"),
        (false, true) => None,
    }
}

fn is_plain(config: &Config) -> bool {
    let behind_tls = matches!(&config.callers, Callers::Clients(keys) if keys.behind_tls);
    config.server.tls.is_none() && !behind_tls
}

fn grace(config: &Config) -> Option<String> {
    let (grace, timeouts) = (config.server.grace, config.pools.iter());
    let longest = timeouts.map(|(tool, pool)| (pool.settings.answer_timeout, tool)).max_by_key(|one| one.0);
    let (longest, tool) = longest.filter(|(longest, _)| *longest > grace)?;
    Some(format!(
        "{} is shorter than the answer_timeout of {tool}, {}: a graceful shutdown cuts off slow calls",
        show(grace),
        show(longest)
    ))
}

/// Returns a warning if the system does not allow the connections of clients and the idle ones to
/// upstreams at the same time, with a reserve.
fn open_files(config: &Config, budget: &FileBudget) -> Option<String> {
    let FileBudget { files, clients, idle, .. } = budget;
    let (connections, configured) = (config.clients.connections, config.idle_upstream_connections);
    (connections > *clients || configured > *idle).then(|| {
        format!(
            "{connections} connections and {configured} idle ones to servers (idle_upstream_connections) need more open files than the {files} that this system allows (LimitNOFILE, ulimit -Hn): the proxy accepts {} and keeps {}; raise the limit, or lower both",
            connections.min(*clients),
            configured.min(*idle)
        )
    })
}

fn upgrade_socket(server: &ServerConfig) -> Option<SocketError> {
    let path = server.upgrade_socket.as_deref()?;
    // Opened as with `--upgrade`, so that a proxy that listens there is no finding.
    PrivateListener::bind(SocketKind::Upgrade, path, true).err()
}

fn admin_socket(server: &ServerConfig) -> Option<SocketError> {
    PrivateListener::bind(SocketKind::Admin, server.admin_socket.as_deref()?, true).err()
}

/// Returns a warning if every user of this machine can read a file with a secret. A file that belongs
/// to a folder that only its owner can enter is not warned of.
fn readable_by_all(path: &Path) -> Option<String> {
    let mode = |path: &Path| fs::metadata(path).ok().map(|found| found.permissions().mode());
    let is_open = mode(path).is_some_and(|mode| mode & 0o004 != 0);
    // If the folder is unknown, the file is taken for reachable: a warning too many does no harm.
    let is_reachable = path.parent().and_then(mode).is_none_or(|mode| mode & 0o001 != 0);
    (is_open && is_reachable).then(|| {
        let owner = fs::metadata(path).map_or(0, |found| found.uid());
        format!(
            "every user of this machine can read the secret in {}: make it readable by its owner (uid {owner}) or a group only",
            path.display()
        )
    })
}

/// Returns the warnings of pools. One that several pools share is reported once, at the first of
/// them.
fn pools(config: &Config, unresolved: &Unresolved, now: UnixMillis) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, String), Vec<Tool>> = BTreeMap::new();
    for (tool, pool) in config.pools.iter() {
        let odd = settings::of_pool(config, tool, pool);
        for (key, detail) in pool_warnings(pool, unresolved, now).into_iter().chain(odd) {
            found.entry((key, detail)).or_default().push(tool);
        }
    }
    let warning = |((key, detail), tools): ((&str, String), Vec<Tool>)| {
        let place = tools.first().and_then(|tool| config.places.of(&format!("pools.{tool}.{key}")));
        let key = match tools.as_slice() {
            all if all.len() == Tool::ALL.len() => format!("pools.*.{key}"),
            [tool] => format!("pools.{tool}.{key}"),
            some => {
                let names: Vec<_> = some.iter().map(|tool| tool.as_str()).collect();
                format!("pools.{{{}}}.{key}", names.join(","))
            }
        };
        Finding { severity: Severity::Warning, place, key, detail }
    };
    found.into_iter().map(warning).collect()
}

fn pool_warnings(pool: &PoolConfig, unresolved: &Unresolved, now: UnixMillis) -> Vec<(&'static str, String)> {
    let settings = &pool.settings;
    let mut found = Vec::new();
    if settings.max_body == 0 {
        found.push(("max_body", "0B refuses every body: each POST with one gets 413".to_owned()));
    }
    if let Some(DisabledUntil::Moment(until)) = settings.disabled
        && until <= now
    {
        let until = until.to_rfc3339();
        found.push(("disabled_until", format!("{until} is in the past: the tool is on; remove the line")));
    }
    let names = pool.upstreams.iter().filter_map(names::name);
    found.extend(names.filter_map(|name| unresolved.warning(name)).map(|detail| ("upstreams", detail)));
    if settings.try_timeout > settings.answer_timeout {
        let (part, whole) = (show(settings.try_timeout), show(settings.answer_timeout));
        let detail = format!("{part} is longer than answer_timeout, {whole}: a slow GET is never retried");
        found.push(("try_timeout", detail));
    }
    let probe = &settings.probe;
    if probe.timeout > probe.interval {
        let (timeout, interval) = (show(probe.timeout), show(probe.interval));
        let detail =
            format!("{timeout} is longer than interval, {interval}: a probe that times out delays the next");
        found.push(("probe.timeout", detail));
    }
    if pool.upstreams.iter().all(|upstream| upstream.admin_state != AdminState::Active) {
        let detail =
            "every server is off or draining: each call gets 503; set disabled_until to switch the tool off";
        found.push(("upstreams", detail.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_not_exposed() {
        for private in ["127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.1.1", "100.64.0.1"] {
            assert_eq!(exposed(private.parse().unwrap()), None, "{private}");
        }
        for private in ["::1", "fd00::1", "fe80::1"] {
            assert_eq!(exposed(private.parse().unwrap()), None, "{private}");
        }
        for public in ["203.0.113.1", "100.128.0.1", "172.32.0.1", "2001:db8::1"] {
            assert_eq!(exposed(public.parse().unwrap()), Some("a public address"), "{public}");
        }
        for every in ["0.0.0.0", "::"] {
            assert!(exposed(every.parse().unwrap()).is_some(), "{every}");
        }
    }
}
