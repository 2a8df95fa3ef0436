//! Settings that are valid, and have no effect or another one than they seem to have.

use std::path::Path;
use std::time::Duration;

use ipnet::IpNet;
use shared::origin::RESPONSE_TIMEOUT_MS;
use shared::tool::Tool;

use config::{
    AccessTarget, Authority, Callers, Config, EjectConfig, MeterAuthority, PoolConfig, show_duration as show,
};

/// A key and what is wrong with its value.
type Found = (String, String);

/// Returns what is wrong with settings of the process.
pub(super) fn of_process(config: &Config) -> Vec<Found> {
    let mut found = tracing(config);
    let mut add = |key: &str, detail: String| found.push((key.to_owned(), detail));
    if let Some(key) = config.places.first_of("valkey").filter(|_| !uses_valkey(config)) {
        let detail = "has no effect: neither grants.replay_store nor limits.authority is \"valkey\"";
        add(&key, detail.to_owned());
    }
    if let (AccessTarget::Off, Some(file)) = (config.log.access, &config.log_file) {
        add("log.file", format!("{} gets no lines, because access is \"off\"", file.display()));
    }
    if let Some(detail) = config.server.admin_changes.as_deref().and_then(|file| changes(config, file)) {
        add("server.admin_changes", detail);
    }
    for detail in config.clients.proxy_protocol.iter().filter_map(network) {
        add("clients.proxy_protocol", detail);
    }
    if let Callers::Clients(keys) = &config.callers
        && matches!(keys.authority, Authority::Here { .. })
        && config.places.has("keys.changes_every")
    {
        add("keys.changes_every", "has no effect without `changes`".to_owned());
    }
    let is_plain = config.pools.iter().all(|(_, pool)| !pool.settings.tls.on);
    for key in ["defaults.tls_name", "defaults.tls_ca"].into_iter().filter(|key| config.places.has(key)) {
        if is_plain {
            add(key, "has no effect: no pool has tls = true".to_owned());
        }
    }
    found
}

fn tracing(config: &Config) -> Vec<Found> {
    let keys = ["ratio", "trust_caller", "slow", "service", "authorization", "authorization_file"];
    let set = keys.map(|key| format!("tracing.{key}")).into_iter().filter(|key| config.places.has(key));
    match &config.tracing {
        None => {
            set.map(|key| (key, "has no effect without `endpoint`: no call is traced".to_owned())).collect()
        }
        Some(tracing)
            if tracing.endpoint.scheme_str() == Some("http") && tracing.endpoint.port().is_none() =>
        {
            let detail = "has no port, so it is 80; collectors receive OTLP over HTTP at 4318";
            vec![("tracing.endpoint".to_owned(), detail.to_owned())]
        }
        Some(_) => Vec::new(),
    }
}

fn uses_valkey(config: &Config) -> bool {
    match &config.callers {
        Callers::Edge(grants) => grants.store.is_some(),
        Callers::Clients(keys) => matches!(keys.meters, Some(MeterAuthority::Valkey(_))),
    }
}

fn changes(config: &Config, file: &Path) -> Option<String> {
    if !config.server.takes_changes {
        return Some("has no effect without `admin_socket` or `admin_token`".to_owned());
    }
    let folder = file.parent().filter(|folder| !folder.is_dir())?;
    Some(format!("{} is no folder: a change with --persist is refused", folder.display()))
}

fn network(network: &IpNet) -> Option<String> {
    if network.prefix_len() == 0 {
        return Some(format!(
            "{network} is everyone: any client announces any address; name the load balancers only"
        ));
    }
    let whole = network.trunc();
    (whole != *network)
        .then(|| format!("{network} is the network {whole}; for one address write {}", network.addr()))
}

/// Returns what is wrong with the settings of a pool.
pub(super) fn of_pool(config: &Config, tool: Tool, pool: &PoolConfig) -> Vec<(&'static str, String)> {
    let settings = &pool.settings;
    let is_set = |key: &str| config.places.has(&format!("pools.{tool}.{key}"));
    let mut found = ejection(&settings.eject, pool, &is_set);
    let mut add = |key, detail: String| found.push((key, detail));
    let edge = Duration::from_millis(RESPONSE_TIMEOUT_MS);
    if matches!(config.callers, Callers::Edge(_)) {
        let queues = settings.queue > 0;
        for (key, time, counts) in [
            ("answer_timeout", settings.answer_timeout, true),
            ("queue_timeout", settings.queue_timeout, queues),
        ] {
            if counts && time > edge {
                let (time, edge) = (show(time), show(edge));
                add(
                    key,
                    format!("{time} is longer than the edge waits, {edge}: its client has got 503 by then"),
                );
            }
        }
    }
    if is_set("queue_timeout") && settings.queue == 0 {
        add("queue_timeout", "has no effect without `queue`".to_owned());
    }
    for key in ["tls_name", "tls_ca"].into_iter().filter(|key| is_set(key) && !settings.tls.on) {
        add(key, "has no effect without tls = true: the connections are plain".to_owned());
    }
    match &pool.mirror {
        None if is_set("mirror_percent") => {
            add("mirror_percent", "has no effect without `mirror`".to_owned())
        }
        Some(mirror) if pool.upstreams.iter().any(|server| server.to_string() == mirror.address) => {
            let detail = format!("{} is a server of the pool: it executes calls twice", mirror.address);
            add("mirror", detail);
        }
        None | Some(_) => {}
    }
    found
}

fn ejection(
    rules: &EjectConfig,
    pool: &PoolConfig,
    is_set: &impl Fn(&str) -> bool,
) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    if rules.max_time < rules.base_time {
        let (longest, first) = (show(rules.max_time), show(rules.base_time));
        let detail = format!("{longest} is shorter than eject_time, {first}: every ejection lasts {longest}");
        found.push(("eject_longest", detail));
    }
    if rules.slow_factor == 1 {
        let detail = "1 makes a failure of every response that is slower than the median: write 3 or more";
        found.push(("eject_slow_factor", detail.to_owned()));
    }
    let is_single = pool.upstreams.len() == 1 && pool.upstreams.iter().all(|server| server.ip().is_some());
    if is_single && rules.slow_factor > 0 && is_set("eject_slow_factor") {
        let detail = "has no effect with one server: there is no other to compare it with";
        found.push(("eject_slow_factor", detail.to_owned()));
    }
    if rules.slow_factor == 0 && is_set("eject_slow_min") {
        found.push(("eject_slow_min", "has no effect without `eject_slow_factor`".to_owned()));
    }
    let of_callers: Vec<_> = rules.statuses.iter().filter(|status| is_of_caller(**status)).collect();
    if !of_callers.is_empty() {
        let list: Vec<_> = of_callers.into_iter().map(u16::to_string).collect();
        let detail = format!(
            "{} are the fault of a caller, who could have every server ejected: write statuses of a broken server",
            list.join(", ")
        );
        found.push(("eject_statuses", detail));
    }
    found
}

/// Returns true for a status that depends on the request. Those that a server with wrong credentials or
/// of a wrong name sends to everyone are not among them.
const fn is_of_caller(status: u16) -> bool {
    matches!(status, 400..=499) && !matches!(status, 401 | 403 | 407 | 408 | 421)
}
