//! The warnings of `--check`: settings that are valid and likely to cause trouble.

use std::{collections::BTreeMap, fmt, net::IpAddr, time::Duration};

use shared::{time::UnixMillis, tool::Tool};

use crate::{
    config::{AdminState, Callers, Config, PoolConfig, ServerConfig, show_duration as show},
    direct,
    upgrade::UpgradeListener,
};

/// A setting that is valid and probably wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key's path, such as `pools.qr.try_timeout`, or `pools.*.…` if it holds for every pool.
    pub key: String,
    /// The value, its consequence, and the remedy.
    pub detail: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warning: {}: {}", self.key, self.detail)
    }
}

/// Remaining validity of a certificate below which there is a warning. Equal to the alert
/// CertificateEnds.
const EXPIRES_SOON: Duration = Duration::from_secs(14 * 86_400);

/// Returns all warnings. Tests files and directories on this machine, with the rights of this
/// process.
#[must_use]
pub fn warnings(config: &Config, now: UnixMillis) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |key: &str, detail: String| found.push(Warning { key: key.to_owned(), detail });
    let server = &config.server;
    if let Some(detail) =
        server.tls.as_ref().and_then(|tls| certificate(tls.starts_at(), tls.expires_at(), now))
    {
        warn("server.tls.certificate", detail);
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
    if let Some(error) = upgrade_socket(server) {
        warn("server.upgrade_socket", error);
    }
    if let Callers::Clients(keys) = &config.callers
        && let Err(fault) = direct::check_state(&keys.state)
    {
        warn("keys.state", fault.to_string());
    }
    found.extend(pools(config));
    found
}

const LOCAL: &str = "listen on a private address such as 127.0.0.1";

/// Returns a warning if a certificate is not valid, or expires soon. Times are in seconds since 1970.
fn certificate(starts_at: i64, expires_at: i64, now: UnixMillis) -> Option<String> {
    let (seconds, moment) = (now.0 / 1_000, |at: u64| UnixMillis(at.saturating_mul(1_000)).to_rfc3339());
    let (starts, expires) = (positive(starts_at), positive(expires_at));
    if expires <= seconds {
        return Some(format!("the certificate expired at {}; clients refuse it", moment(expires)));
    }
    if starts > seconds {
        return Some(format!("the certificate is not valid before {}; clients refuse it", moment(starts)));
    }
    let left = expires - seconds;
    (left < EXPIRES_SOON.as_secs()).then(|| {
        format!("the certificate expires at {}, in {} days; renew it", moment(expires), left / 86_400)
    })
}

fn positive(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(0)
}

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

fn upgrade_socket(server: &ServerConfig) -> Option<String> {
    let path = server.upgrade_socket.as_deref()?;
    // Opened as with `--upgrade`, so that a proxy that listens there causes no warning.
    UpgradeListener::bind(path, true).err().map(|error| error.to_string())
}

/// Returns the warnings of pools. One that several pools share is reported once.
fn pools(config: &Config) -> Vec<Warning> {
    let mut found: BTreeMap<(&str, String), Vec<Tool>> = BTreeMap::new();
    for (tool, pool) in config.pools.iter() {
        for (key, detail) in pool_warnings(pool) {
            found.entry((key, detail)).or_default().push(tool);
        }
    }
    let warning = |((key, detail), tools): ((&str, String), Vec<Tool>)| {
        let key = match tools.as_slice() {
            all if all.len() == Tool::ALL.len() => format!("pools.*.{key}"),
            [tool] => format!("pools.{tool}.{key}"),
            some => {
                let names: Vec<_> = some.iter().map(|tool| tool.as_str()).collect();
                format!("pools.{{{}}}.{key}", names.join(","))
            }
        };
        Warning { key, detail }
    };
    found.into_iter().map(warning).collect()
}

fn pool_warnings(pool: &PoolConfig) -> Vec<(&'static str, String)> {
    let settings = &pool.settings;
    let mut found = Vec::new();
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
    fn certificate_outside_or_near_the_end_of_its_validity_is_a_warning() {
        const DAY: i64 = 86_400;
        let at = |day: u64| certificate(100 * DAY, 200 * DAY, UnixMillis(day * 86_400_000));
        assert!(at(99).unwrap().contains("not valid before 1970-04-11"));
        assert_eq!(at(100), None);
        assert_eq!(at(186), None);
        assert!(at(187).unwrap().contains("expires at 1970-07-20T00:00:00Z, in 13 days"), "{:?}", at(187));
        assert!(at(200).unwrap().contains("expired at 1970-07-20"));
    }

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
