//! Asks every upstream, again and again, whether it is well.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use http::uri::Scheme;
use pingora_core::{server::ShutdownWatch, services::background::BackgroundService};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    config::{AdminState, ProbeConfig, ProbeKind},
    state::State,
    upstreams::{Evidence, Health, Pool, Pools, Upstream},
};
use transport::{clock::Monotonic, http2::tools, tls};

/// The probes of all upstreams, each in a task of its own so that a slow one delays no other.
pub struct Prober(pub Arc<State>);

#[async_trait]
impl BackgroundService for Prober {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let mut probes = watch_all(&self.0.pools.load());
        loop {
            tokio::select! {
                () = self.0.pools_changed.notified() => {
                    probes.shutdown().await;
                    probes = watch_all(&self.0.pools.load());
                }
                // The probes go on while requests under way are finished; they end with the process.
                changed = shutdown.changed() => if changed.is_err() { return },
            }
        }
    }
}

/// Probes the upstreams once of which nothing is known, all at the same time.
pub async fn probe_new(pools: &Pools) {
    let mut first = JoinSet::new();
    for pool in pools.iter() {
        for (place, upstream) in pool.upstreams.iter().enumerate() {
            if upstream.config.admin_state != AdminState::Off
                && upstream.address.is_some()
                && upstream.health() == Health::Unknown
            {
                first.spawn(probe_once(Arc::clone(pool), place));
            }
        }
    }
    mark_unresolved(pools);
    first.join_all().await;
}

/// Notes that upstreams whose names have no known address cannot be reached.
pub fn mark_unresolved(pools: &Pools) {
    for pool in pools.iter() {
        for upstream in &pool.upstreams {
            if upstream.config.admin_state != AdminState::Off && upstream.address.is_none() {
                note(pool, upstream, Err("its name has no known address".to_owned()));
            }
        }
    }
}

/// Probes one upstream once.
pub(crate) async fn probe_once(pool: Arc<Pool>, place: usize) {
    if let Some(upstream) = pool.upstreams.get(place) {
        let outcome = probe(upstream, &pool.config.settings.probe).await;
        note(&pool, upstream, outcome);
    }
}

fn watch_all(pools: &Pools) -> JoinSet<()> {
    let mut probes = JoinSet::new();
    for pool in pools.iter() {
        for (place, upstream) in pool.upstreams.iter().enumerate() {
            if upstream.config.admin_state != AdminState::Off && upstream.address.is_some() {
                probes.spawn(watch(Arc::clone(pool), place));
            }
        }
    }
    probes
}

async fn watch(pool: Arc<Pool>, place: usize) {
    let Some(upstream) = pool.upstreams.get(place) else { return };
    // What was probed under the configuration before is probed when it would have been.
    sleep(Duration::from_millis(upstream.next_probe().since(Monotonic::now()))).await;
    loop {
        let begun = Instant::now();
        let outcome = probe(upstream, &pool.config.settings.probe).await;
        note(&pool, upstream, outcome);
        upstream.sweep_idle(Monotonic::now());
        // From start to start: a probe that takes its whole timeout must not put off the next.
        let pause = pause(&pool.config.settings.probe).saturating_sub(begun.elapsed());
        upstream.schedule_probe(Monotonic::now().plus(pause));
        sleep(pause).await;
    }
}

fn note(pool: &Pool, upstream: &Upstream, outcome: Result<(), String>) {
    let (evidence, reason) = match outcome {
        Ok(()) => (Evidence::ProbePassed, "it answered its probe".to_owned()),
        Err(reason) => (Evidence::ProbeFailed, reason),
    };
    if let Some(health) = upstream.observe(evidence, &pool.config.settings.probe, Monotonic::now()) {
        log::info!("{} {} is {}: {reason}", pool.config.tool, upstream.name, health.as_str());
    }
}

/// The interval, moved by up to the jitter either way, so that probes of many proxies do not beat in step.
fn pause(config: &ProbeConfig) -> Duration {
    let percent = 100 - config.jitter_percent + fastrand::u64(0..=2 * config.jitter_percent);
    config.interval.saturating_mul(u32::try_from(percent).unwrap_or(100)) / 100
}

/// One probe, over within its timeout whatever the upstream does.
async fn probe(upstream: &Upstream, config: &ProbeConfig) -> Result<(), String> {
    match timeout(config.timeout, ask(upstream, config)).await {
        Ok(Ok(None)) => Ok(()),
        Ok(Ok(Some(status))) if config.statuses.contains(&status) => Ok(()),
        Ok(Ok(Some(status))) => Err(format!("its probe was answered with {status}")),
        Ok(Err(error)) => Err(format!("its probe failed: {error}")),
        Err(_) => Err(format!("its probe was not answered within {:?}", config.timeout)),
    }
}

/// The status of the answer, or none when a connection is all that is asked for. Only the first line is read: what follows cannot hold the probe up.
async fn ask(upstream: &Upstream, config: &ProbeConfig) -> std::io::Result<Option<u16>> {
    let mut address =
        upstream.address.ok_or_else(|| std::io::Error::other("its name has no known address"))?;
    if let Some(port) = config.port {
        address.set_port(port);
    }
    let stream = TcpStream::connect(address).await?;
    match upstream.connector() {
        None => {
            let http2 = upstream.speaks_http2().then_some(Scheme::HTTP);
            inquire(stream, http2, upstream, config).await
        }
        Some(connector) => {
            let stream = connector.secure(stream).await?;
            let http2 = tls::speaks_http2(stream.get_ref().1).then_some(Scheme::HTTPS);
            inquire(stream, http2, upstream, config).await
        }
    }
}

/// What a probe says it is.
const AGENT: &str = "unified-tool-gateway-probe";

async fn inquire(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    http2: Option<Scheme>,
    upstream: &Upstream,
    config: &ProbeConfig,
) -> std::io::Result<Option<u16>> {
    match config.kind {
        ProbeKind::Tcp => return Ok(None),
        ProbeKind::Http => {}
    }
    if let Some(scheme) = http2 {
        return tools::ask(stream, scheme, &upstream.authority, &config.path, AGENT).await.map(Some);
    }
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\nConnection: close\r\n\r\n",
        config.path, upstream.authority
    );
    stream.write_all(request.as_bytes()).await?;
    let mut line = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut line).await?;
    status(&line).map(Some).ok_or_else(|| std::io::Error::other("the answer is not HTTP/1"))
}

fn status(line: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(line).ok()?;
    let digits = text.strip_prefix("HTTP/1.1 ").or_else(|| text.strip_prefix("HTTP/1.0 "))?;
    digits.parse().ok().filter(|status| (100..=599).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_read_from_the_first_bytes() {
        assert_eq!(status(b"HTTP/1.1 204"), Some(204));
        assert_eq!(status(b"HTTP/1.0 200"), Some(200));
        for line in [b"HTTP/2.0 200", b"HTTP/1.1 20x", b"SSH-2.0-Open", b"HTTP/1.1 999"] {
            assert_eq!(status(line), None);
        }
    }

    #[test]
    fn pauses_stay_within_the_jitter() {
        let config = ProbeConfig::default();
        for _ in 0..1_000 {
            let pause = pause(&config);
            assert!(
                Duration::from_millis(1_600) <= pause && pause <= Duration::from_millis(2_400),
                "{pause:?}"
            );
        }
    }
}
