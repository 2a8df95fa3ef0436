//! What `--check` warns of: settings that are valid and will most likely hurt.

use std::{collections::BTreeMap, fmt, net::IpAddr, time::Duration};

use shared::{time::UnixMillis, tool::Tool};

use crate::{
    config::{AdminState, Callers, Config, PoolConfig, ServerConfig, show_duration as show},
    direct,
    upgrade::UpgradeListener,
};

/// Something that is valid and most likely wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The key's path, such as `pools.qr.try_timeout`; `pools.*.…` if it is the same in every pool.
    pub key: String,
    /// What it leads to, and what to write instead.
    pub detail: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "warning: {}: {}", self.key, self.detail)
    }
}

/// A certificate that ends sooner is warned of: as long as the alert CertificateEnds.
const ENDS_SOON: Duration = Duration::from_secs(14 * 86_400);

/// Returns everything that is to be warned of, as things are on this machine. Files and folders are tried with the rights
/// of this process.
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

/// Returns what is wrong with the validity of a certificate, in seconds since 1970.
fn certificate(starts_at: i64, ends_at: i64, now: UnixMillis) -> Option<String> {
    let (seconds, moment) = (now.0 / 1_000, |at: u64| UnixMillis(at.saturating_mul(1_000)).to_rfc3339());
    let (starts, ends) = (positive(starts_at), positive(ends_at));
    if ends <= seconds {
        return Some(format!("the certificate ended at {}; clients refuse it", moment(ends)));
    }
    if starts > seconds {
        return Some(format!("the certificate is good only from {} on; clients refuse it", moment(starts)));
    }
    let left = ends - seconds;
    (left < ENDS_SOON.as_secs())
        .then(|| format!("the certificate ends at {}, in {} days; renew it", moment(ends), left / 86_400))
}

fn positive(seconds: i64) -> u64 {
    u64::try_from(seconds).unwrap_or(0)
}

/// Returns what the address is if strangers may reach it.
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
        "{} is shorter than the answer_timeout of {tool}, {}: a graceful shutdown cuts slow calls off",
        show(grace),
        show(longest)
    ))
}

fn upgrade_socket(server: &ServerConfig) -> Option<String> {
    let place = server.upgrade_socket.as_deref()?;
    // As at a start with --upgrade, so that a process that listens there is no reason to warn.
    UpgradeListener::bind(place, true).err().map(|error| error.to_string())
}

/// The warnings of pools. Those that many pools share are one.
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
        let (one, all) = (show(settings.try_timeout), show(settings.answer_timeout));
        let detail = format!("{one} is longer than answer_timeout, {all}: no slow call is tried elsewhere");
        found.push(("try_timeout", detail));
    }
    let probe = &settings.probe;
    if probe.timeout > probe.interval {
        let (one, all) = (show(probe.timeout), show(probe.interval));
        let detail = format!("{one} is longer than interval, {all}: probes that time out come late");
        found.push(("probe.timeout", detail));
    }
    if pool.upstreams.iter().all(|upstream| upstream.admin_state != AdminState::Active) {
        let detail = "every server is off or drains, so that each call gets 503; write disabled_until to switch the tool off";
        found.push(("upstreams", detail.to_owned()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_is_warned_of_outside_its_validity_and_two_weeks_before_its_end() {
        const DAY: i64 = 86_400;
        let at = |day: u64| certificate(100 * DAY, 200 * DAY, UnixMillis(day * 86_400_000));
        assert!(at(99).unwrap().contains("good only from 1970-04-11"));
        assert_eq!(at(100), None);
        assert_eq!(at(186), None);
        assert!(at(187).unwrap().contains("ends at 1970-07-20T00:00:00Z, in 13 days"), "{:?}", at(187));
        assert!(at(200).unwrap().contains("ended at 1970-07-20"));
    }

    #[test]
    fn exposed_addresses_are_told_from_private_ones() {
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
