//! Health checks: probes every upstream periodically.

mod describe;
mod http2;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::uri::Scheme;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::description_store::DescriptionStore;
use crate::{Evidence, Health, Pool, Pools, Upstream};
use config::{AdminState, ProbeConfig, ProbeKind, show_duration};
use transport::clock::Monotonic;
use transport::hooks::is_out_of_files;
use transport::tls;

/// The reason why a probe failed.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    /// The name of the upstream has never been resolved.
    #[error("the name has no known address")]
    Unresolved,
    /// The probe did not finish within its timeout.
    #[error("the probe timed out after {}", show_duration(*limit))]
    TimedOut { limit: Duration },
    /// The status is not one of a healthy upstream.
    #[error("the probe got status {status}")]
    Status { status: u16 },
    /// The response has no valid HTTP/1 status line.
    #[error("the response to the probe is not HTTP/1")]
    NotHttp,
    /// The connection failed.
    #[error("the probe failed: {0}")]
    Io(#[from] io::Error),
}

// Before the new ones begin: two tasks for one server would probe it twice as
// often.
/// Probes all upstreams periodically until the tasks are aborted, each in its own task, so that a slow one
/// delays no other.
pub fn probe_all(pools: &Pools, descriptions: &Arc<DescriptionStore>) -> JoinSet<()> {
    let mut probes = JoinSet::new();
    for (pool, index) in probed(pools) {
        probes.spawn(probe_periodically(Arc::clone(pool), index, Arc::clone(descriptions)));
    }
    probes
}

/// Probes every upstream of unknown health once, all at the same time.
pub async fn probe_new(pools: &Pools) {
    let mut first = JoinSet::new();
    for (pool, index) in probed(pools) {
        if pool.upstreams.get(index).is_some_and(|upstream| upstream.health() == Health::Unknown) {
            first.spawn(probe_once(Arc::clone(pool), index));
        }
    }
    // They are known now, to be without an address. Otherwise the process would never be ready.
    mark_unresolved(pools);
    first.join_all().await;
}

/// Records a failed probe for every upstream whose name has no known address.
pub fn mark_unresolved(pools: &Pools) {
    for pool in pools.iter() {
        for upstream in &pool.upstreams {
            if upstream.config.admin_state != AdminState::Off && upstream.address.is_none() {
                record(pool, upstream, Err(ProbeError::Unresolved));
            }
        }
    }
}

/// Probes one upstream once.
pub async fn probe_once(pool: Arc<Pool>, index: usize) {
    if let Some(upstream) = pool.upstreams.get(index) {
        let outcome = probe(upstream, &pool.config.settings.probe).await;
        record(&pool, upstream, outcome);
    }
}

/// Returns the upstreams to probe, by pool and index: those that have an address and are not off.
fn probed(pools: &Pools) -> impl Iterator<Item = (&Arc<Pool>, usize)> {
    pools.iter().flat_map(|pool| {
        let upstreams = pool.upstreams.iter().enumerate();
        let probed = upstreams.filter(|(_, upstream)| {
            upstream.config.admin_state != AdminState::Off && upstream.address.is_some()
        });
        probed.map(move |(index, _)| (pool, index))
    })
}

async fn probe_periodically(pool: Arc<Pool>, index: usize, descriptions: Arc<DescriptionStore>) {
    let Some(upstream) = pool.upstreams.get(index) else { return };
    // A reload does not change the time of the next probe.
    sleep(Duration::from_millis(upstream.next_probe().since(Monotonic::now()))).await;
    loop {
        let started = Instant::now();
        let outcome = probe(upstream, &pool.config.settings.probe).await;
        let has_passed = outcome.is_ok();
        record(&pool, upstream, outcome);
        if has_passed && pool.claim_description(Monotonic::now()) {
            // Not awaited: a slow description must not delay the next probe.
            tokio::spawn(describe::refresh(Arc::clone(&pool), index, Arc::clone(&descriptions)));
        }
        // Here, because this task runs for each server in any case.
        upstream.sweep_idle(Monotonic::now());
        // The interval is from start to start, so that a probe that times out does not delay the
        // next.
        let pause = interval(&pool.config.settings.probe).saturating_sub(started.elapsed());
        upstream.schedule_probe(Monotonic::now().plus(pause));
        sleep(pause).await;
    }
}

fn record(pool: &Pool, upstream: &Upstream, outcome: Result<(), ProbeError>) {
    let now = Monotonic::now();
    match outcome {
        // No evidence about the upstream.
        Err(ProbeError::Io(error)) if is_out_of_files(&error) => {
            let (tool, name) = (pool.config.tool, &upstream.name);
            log::warn!("probe not made: tool={tool} upstream={name} error=\"{error}\"");
        }
        Ok(()) => pool.record_evidence(upstream, Evidence::ProbePassed, "the probe passed", now),
        Err(error) => {
            let has_timed_out = matches!(error, ProbeError::TimedOut { .. });
            pool.record_evidence(upstream, Evidence::ProbeFailed, error, now);
            if has_timed_out {
                close_connections(pool, upstream);
            }
        }
    }
}

/// Closes the connections of an unhealthy upstream whose probe timed out. One that responds with
/// another status or refuses connections may be finishing its calls before it exits.
fn close_connections(pool: &Pool, upstream: &Upstream) {
    // Not after one failed probe, which a busy server may miss while its calls continue.
    if upstream.health() != Health::Unhealthy || !pool.config.settings.probe.close_connections {
        return;
    }
    let (tool, name, calls) = (pool.config.tool, &upstream.name, upstream.in_flight());
    if calls > 0 {
        log::warn!("upstream connections closed: tool={tool} upstream={name} calls_in_flight={calls}");
    }
    upstream.close_connections();
}

/// Returns the interval with random jitter, so that the probes of several proxies do not coincide.
fn interval(config: &ProbeConfig) -> Duration {
    let percent = 100 - config.jitter_percent + fastrand::u64(0..=2 * config.jitter_percent);
    config.interval.saturating_mul(u32::try_from(percent).unwrap_or(100)) / 100
}

/// Probes an upstream. Returns within the timeout, whatever the upstream does.
async fn probe(upstream: &Upstream, config: &ProbeConfig) -> Result<(), ProbeError> {
    let limit = config.timeout;
    match timeout(limit, connect_and_request(upstream, config)).await {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(status))) if config.statuses.contains(&status) => Ok(()),
        Ok(Ok(Some(status))) => Err(ProbeError::Status { status }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(ProbeError::TimedOut { limit }),
    }
}

/// Connects and requests the path of the probe. Returns the status, or `None` for a TCP probe.
async fn connect_and_request(upstream: &Upstream, config: &ProbeConfig) -> Result<Option<u16>, ProbeError> {
    let mut address = upstream.address.ok_or(ProbeError::Unresolved)?;
    if let Some(port) = config.port {
        address.set_port(port);
    }
    let stream = TcpStream::connect(address).await?;
    match upstream.connector() {
        None => {
            let http2 = upstream.uses_http2().then_some(Scheme::HTTP);
            request(stream, http2, upstream, config).await
        }
        Some(connector) => {
            let stream = connector.secure(stream).await?;
            let http2 = tls::speaks_http2(stream.get_ref().1).then_some(Scheme::HTTPS);
            request(stream, http2, upstream, config).await
        }
    }
}

/// The `User-Agent` of probes.
const AGENT: &str = "unified-tool-gateway-probe";

/// Requests the path of the probe over HTTP/2 if `http2` is set, else over HTTP/1.1. Reads the
/// status only, so that a slow body cannot delay the probe.
async fn request(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    http2: Option<Scheme>,
    upstream: &Upstream,
    config: &ProbeConfig,
) -> Result<Option<u16>, ProbeError> {
    match config.kind {
        ProbeKind::Tcp => return Ok(None),
        ProbeKind::Http => {}
    }
    if let Some(scheme) = http2 {
        let status = http2::ask(stream, scheme, &upstream.authority, &config.path, AGENT).await?;
        return Ok(Some(status));
    }
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        config.path, upstream.authority
    );
    stream.write_all(request.as_bytes()).await?;
    let mut line = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut line).await?;
    status(&line).map(Some).ok_or(ProbeError::NotHttp)
}

/// Parses the status from the start of a status line.
fn status(line: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(line).ok()?;
    let digits = text.strip_prefix("HTTP/1.1 ").or_else(|| text.strip_prefix("HTTP/1.0 "))?;
    digits.parse().ok().filter(|status| (100..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_line_start_yields_the_status() {
        assert_eq!(status(b"HTTP/1.1 204"), Some(204));
        assert_eq!(status(b"HTTP/1.0 200"), Some(200));
        for line in [b"HTTP/2.0 200", b"HTTP/1.1 20x", b"SSH-2.0-Open", b"HTTP/1.1 999"] {
            assert_eq!(status(line), None);
        }
    }

    #[test]
    fn interval_stays_within_the_jitter() {
        let config = ProbeConfig::default();
        for _ in 0..1_000 {
            let interval = interval(&config);
            assert!(
                Duration::from_millis(1_600) <= interval && interval <= Duration::from_millis(2_400),
                "{interval:?}"
            );
        }
    }
}
