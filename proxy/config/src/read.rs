//! Reads the text of a file into a [`Config`], and collects all errors on the way.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ipnet::IpNet;
use shared::request::{BODY_IDLE_TIMEOUT_MS, MAX_BODY_BYTES, MIN_BODY_RATE};
use shared::secret::AdminSecret;
use shared::tool::Tool;
use toml::de::DeTable;

use super::pool::PoolSettings;
use super::reader::choice::choice;
use super::reader::effective::Size;
use super::reader::entry::Reading;
use super::reader::env::Lookup;
use super::reader::fault::{FaultSink, Faults, Places};
use super::reader::{Entry, Section, ValueError, count, duration_in, section, values};
use super::{Callers, ClientConfig, Config, Known, PoolConfig, ServerConfig, callers, log, tls, tracing};
use crate::per_tool::PerTool;
use transport::downstream::Transport;
use transport::hooks::ClientOptions;

/// Parses the text of a file. Errors name it `file`.
pub(super) fn config(file: &str, text: &str, env: Lookup<'_>, known: Known<'_>) -> Result<Config, Faults> {
    let faults = FaultSink::new(text);
    let (document, syntax) = DeTable::parse_recoverable(text);
    syntax.iter().for_each(|error| faults.syntax(error));
    let parts = parts(&mut Section::root(Reading { faults: &faults, env, known }, &document));
    let (last_good, failed_parts) = (Arc::new(faults.last_good.take()), faults.failed_parts());
    let (files, secret_files, places) =
        (faults.files.borrow().clone(), faults.secret_files.take(), faults.places());
    let values = Arc::new(faults.effective.values());
    match faults.into_result(file, parts)? {
        Some(config) => Ok(Config { files, secret_files, last_good, failed_parts, places, values, ..config }),
        None => Err(Faults { file: file.to_owned(), list: Vec::new(), files }),
    }
}

/// Returns the effective configuration as a TOML file.
pub(super) fn dump(file: &str, text: &str, env: Lookup<'_>) -> Result<String, Faults> {
    let known = Known::NOTHING;
    config(file, text, env, known)?;
    let faults = FaultSink::new(text);
    let (document, _syntax) = DeTable::parse_recoverable(text);
    let _config = parts(&mut Section::root(Reading { faults: &faults, env, known }, &document));
    Ok(faults.effective.into_text())
}

/// Reads all sections. Returns `None` if a part without a default is invalid.
fn parts(root: &mut Section<'_>) -> Option<Config> {
    let server = section(root, "server", server);
    let callers = callers(root);
    let mut clients = section(root, "clients", clients);
    let (log, log_file) = section(root, "log", log::read);
    let tracing = section(root, "tracing", tracing::read);
    let idle_upstream_connections = root.read("idle_upstream_connections", 4_096, count(0..=1_000_000));
    let resolve_interval = root.read(
        "resolve_interval",
        Duration::from_secs(5),
        duration_in(Duration::from_millis(100)..=Duration::from_secs(3_600)),
    );
    let dns_servers = root.read("dns_servers", Vec::new(), sockets);
    let transport = server.transport;
    let defaults =
        section(root, "defaults", |section| PoolSettings::read(section, &PoolSettings::default(), transport));
    // A request that names no tool is held to the limit of `[defaults]`.
    clients.connection.max_body = defaults.max_body;
    let pools = section(root, "pools", |section| pools(section, &defaults, transport));
    root.finish();
    Some(Config {
        server,
        callers: callers?,
        clients,
        log,
        log_file,
        tracing,
        idle_upstream_connections,
        resolve_interval,
        dns_servers,
        pools: pools?,
        files: Vec::new(),
        secret_files: Vec::new(),
        last_good: Arc::default(),
        failed_parts: Vec::new(),
        places: Places::default(),
        values: Arc::default(),
    })
}

fn callers(root: &mut Section<'_>) -> Option<Callers> {
    let (mut grants, mut keys) = (root.section("grants"), root.section("keys"));
    let (mut limits, mut valkey) = (root.section("limits"), root.section("valkey"));
    let callers = callers::read(&mut grants, &mut keys, (&mut limits, &mut valkey));
    [grants, keys, limits, valkey].iter().for_each(Section::finish);
    callers
}

/// Returns every key in its general form, such as `pools.{tool}.upstreams`: the keys that the
/// reader reads if each section is present.
pub(super) fn keys() -> BTreeSet<String> {
    let text = Tool::ALL.map(|tool| format!("[pools.{tool}]\nupstreams = [{{}}]\n")).concat();
    let faults = FaultSink::new(&text);
    let (document, _syntax) = DeTable::parse_recoverable(&text);
    let reading = Reading { faults: &faults, env: &|_name| None, known: Known::NOTHING };
    let _unread = parts(&mut Section::root(reading, &document));
    faults.keys.known.into_inner()
}

fn server(section: &mut Section<'_>) -> ServerConfig {
    let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let listen = section.read("listen", loopback(8080), socket);
    let admin = section.read("admin", loopback(9090), socket);
    if listen == admin && listen.port() != 0 {
        section.fault_at("admin", format!("{admin} is also the address of `listen`: expected another port"));
    }
    let takes_changes =
        ["admin_socket", "admin_token", "admin_token_file"].iter().any(|key| !section.lacks(key));
    ServerConfig {
        listen,
        admin,
        tls: tls::server(&mut section.section("tls")),
        data_center: section.read("data_center", "default".to_owned(), data_center),
        threads: section.read("threads", cores, count(1..=512)),
        transport: section.read("transport", Transport::Relay, choice),
        drain_delay: section.read(
            "drain_delay",
            Duration::ZERO,
            duration_in(Duration::ZERO..=Duration::from_secs(600)),
        ),
        grace: section.read(
            "grace",
            Duration::from_secs(40),
            duration_in(Duration::ZERO..=Duration::from_secs(3600)),
        ),
        upgrade_grace: section.read("upgrade_grace", None, |entry| {
            duration_in(Duration::ZERO..=Duration::from_secs(86_400))(entry).map(Some)
        }),
        upgrade_socket: section.read("upgrade_socket", None, |entry| entry.absolute_path().map(Some)),
        admin_socket: section.read("admin_socket", None, |entry| entry.absolute_path().map(Some)),
        admin_token: section.secret(
            ["admin_token", "admin_token_file"],
            |text| AdminSecret::new(text).map_err(ValueError::refused),
            None,
        ),
        takes_changes,
        admin_changes: section.read("admin_changes", None, |entry| entry.absolute_path().map(Some)),
    }
}

fn clients(section: &mut Section<'_>) -> ClientConfig {
    let timeout = || duration_in(Duration::from_millis(100)..=Duration::from_secs(3600));
    ClientConfig {
        connection: ClientOptions {
            header_timeout: section.read("header_timeout", Duration::from_secs(20), timeout()),
            idle_timeout: section.read(
                "idle_timeout",
                Duration::from_millis(BODY_IDLE_TIMEOUT_MS),
                duration_in(Duration::from_secs(1)..=Duration::from_secs(3600)),
            ),
            min_upload_rate: section.read("min_upload_rate", Size(MIN_BODY_RATE), rate).0,
            min_download_rate: section.read("min_download_rate", Size(MIN_BODY_RATE), rate).0,
            requests_per_connection: section.read(
                "requests_per_connection",
                10_000,
                count(1..=u64::from(u32::MAX)),
            ),
            streams_per_connection: section.read("streams_per_connection", 128, count(1..=10_000)),
            h2c: section.read("h2c", false, Entry::boolean),
            max_body: MAX_BODY_BYTES,
        },
        connections: section.read("connections", 20_000, count(1..=10_000_000)),
        connections_per_address: section.read("connections_per_address", 1_000, count(1..=10_000_000)),
        calls_in_flight_per_key: section.read("calls_in_flight_per_key", 128, count(1..=1_000_000)),
        refusals_per_second: section.read("refusals_per_second", 100, count(1..=1_000_000)),
        proxy_protocol: section.read("proxy_protocol", Vec::new(), networks),
    }
}

fn pools(
    section: &mut Section<'_>,
    defaults: &PoolSettings,
    transport: Transport,
) -> Option<PerTool<PoolConfig>> {
    let pools = PerTool::from_fn(|tool| match section.entry(tool.as_str()) {
        Some(entry) => Some(PoolConfig::read(tool, entry, defaults, transport)),
        None => {
            section.fault(tool.as_str(), "is missing; every tool needs a pool");
            None
        }
    });
    pools.all()
}

/// Parses a rate in bytes per second, up to 1 MiB: distant clients could not keep a higher minimum.
fn rate(entry: &Entry<'_>) -> Result<Size, ValueError> {
    let text = entry.with_unit("512B or 1KiB")?;
    match values::size(&text)? {
        rate if rate <= 1 << 20 => Ok(Size(rate)),
        _ => Err(ValueError::OutOfRange {
            value: text,
            least: "0B".to_owned(),
            most: "1MiB per second".to_owned(),
        }),
    }
}

fn socket(entry: &Entry<'_>) -> Result<SocketAddr, ValueError> {
    let text = entry.text()?;
    let (host, port) = values::address(&text)?;
    let host = if host == "localhost" { "127.0.0.1" } else { &host };
    let expected = "an IP address and a port, for example 127.0.0.1:8080";
    let ip = host.parse().map_err(|_| ValueError::invalid("address", &text, expected))?;
    Ok(SocketAddr::new(ip, port))
}

fn sockets(entry: &Entry<'_>) -> Result<Vec<SocketAddr>, ValueError> {
    Ok(entry.elements()?.iter().filter_map(|element| element.read(socket)).collect())
}

fn networks(entry: &Entry<'_>) -> Result<Vec<IpNet>, ValueError> {
    let expected = "an address or a network, for example 10.0.0.4 or 10.0.0.0/8";
    let network = |element: &Entry<'_>| {
        let text = element.text()?;
        let parsed = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        parsed.map_err(|_| ValueError::invalid("network", text, expected))
    };
    Ok(entry.elements()?.iter().filter_map(|element| element.read(network)).collect())
}

fn data_center(entry: &Entry<'_>) -> Result<String, ValueError> {
    let name = entry.text()?;
    let well_formed = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if well_formed && (1..=64).contains(&name.len()) {
        return Ok(name);
    }
    Err(ValueError::invalid("data center name", name, "1 to 64 letters, digits or -_."))
}
