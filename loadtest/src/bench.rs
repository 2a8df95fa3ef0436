//! `loadtest bench-proxy`: what our proxy costs, next to a bare Pingora proxy, nginx and HAProxy doing the same work over
//! the same server, on the same machine, in the same minutes.
//!
//! Every round gives each peer a slice of each kind of work, so that whatever else the machine does falls on all of them.
//! What is told is the median over the rounds, and the median of each round's ratio to the bare proxy.

mod caller;
mod message;
mod peers;
mod process;
mod table;
mod upstream;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use self::caller::Calls;
use self::message::{Credential, Shape};
use self::peers::{Peer, Place};
use self::table::{Cell, Table};

/// The options of `loadtest bench-proxy`.
#[derive(Args, Debug)]
pub struct Arguments {
    /// Folder with the programs: `proxy` and `examples/bare`.
    #[arg(long, default_value = "target/release")]
    programs: PathBuf,
    /// Rounds: each gives every peer a slice of every work.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=200))]
    rounds: u16,
    /// Length of a slice in milliseconds.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    slice: u64,
    /// Processor for the peers; calls and server run wherever this program was put.
    #[arg(long, default_value_t = 0)]
    processor: usize,
    /// Only these peers: bare, "bare tuned", utg, "utg direct", nginx, haproxy.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Only these works: proxied, upload, download, connect, unknown, spent, rate.
    #[arg(long, value_delimiter = ',')]
    works: Vec<String>,
    /// Keys that call our proxy in direct mode.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Calls a second of the work `rate`.
    #[arg(long, default_value_t = 5_000)]
    rate: u32,
}

/// What is asked of a peer in a slice.
#[derive(Clone, Copy, Debug)]
struct Work {
    name: &'static str,
    what: &'static str,
    shape: Shape,
    expected: u16,
    connections: usize,
    at_rate: bool,
}

const SMALL: Shape = Shape { action: "generate", body: 0, close: false };

const WORKS: [Work; 7] = [
    Work {
        name: "proxied",
        what: "GET, 97 bytes back, kept connections",
        shape: SMALL,
        expected: 200,
        connections: 64,
        at_rate: false,
    },
    Work {
        name: "upload",
        what: "POST of 64 KiB",
        shape: Shape { body: 64 << 10, ..SMALL },
        expected: 200,
        connections: 64,
        at_rate: false,
    },
    Work {
        name: "download",
        what: "GET, 1 MiB back",
        shape: Shape { action: upstream::BIG_ACTION, ..SMALL },
        expected: 200,
        connections: 16,
        at_rate: false,
    },
    Work {
        name: "connect",
        what: "GET, a connection for each call",
        shape: Shape { close: true, ..SMALL },
        expected: 200,
        connections: 32,
        at_rate: false,
    },
    Work { name: "unknown", what: "401", shape: SMALL, expected: 401, connections: 64, at_rate: false },
    Work { name: "spent", what: "429", shape: SMALL, expected: 429, connections: 64, at_rate: false },
    Work {
        name: "rate",
        what: "GET at a fixed rate",
        shape: SMALL,
        expected: 200,
        connections: 64,
        at_rate: true,
    },
];

/// Connections held open while memory is read.
const IDLE_CONNECTIONS: usize = 1_000;
/// One body, streamed through while memory is read.
const STREAMED: u64 = 1 << 30;

impl Work {
    /// The calls it makes to a peer; `None` when the peer has no such work.
    fn calls(&self, peer: &Peer) -> Option<Calls> {
        let credential: &Credential = match self.expected {
            401 => peer.unknown.as_ref()?,
            429 => peer.spent.as_ref()?,
            _ => &peer.good,
        };
        let Self { shape, expected, connections, .. } = *self;
        Some(Calls { address: peer.address, credential: credential.clone(), shape, expected, connections })
    }
}

/// Runs the bench and prints its tables.
///
/// # Errors
/// When a peer cannot be started, or answers other than it must: then nothing was measured.
pub async fn run(arguments: Arguments) -> io::Result<ExitCode> {
    let folder = std::env::temp_dir().join(format!("utg-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let upstream = upstream::start().await?;
    let place = Place {
        programs: &arguments.programs,
        folder: &folder,
        upstream,
        processor: arguments.processor,
        keys: arguments.keys,
    };
    let measured = match place.start(&arguments.peers).await {
        Ok(peers) => measure(&arguments, &peers).await,
        Err(error) => Err(error),
    };
    std::fs::remove_dir_all(&folder)?;
    measured.map(|()| ExitCode::SUCCESS)
}

async fn measure(arguments: &Arguments, peers: &[Peer]) -> io::Result<()> {
    let works: Vec<&Work> = WORKS
        .iter()
        .filter(|work| arguments.works.is_empty() || arguments.works.iter().any(|name| name == work.name))
        .collect();
    let mut out = io::stdout();
    writeln!(out, "{}", memory(peers).await?)?;
    let mut tables: Vec<(Table, Table)> =
        works.iter().map(|work| work_tables(work, arguments.rate)).collect();
    for round in 0..usize::from(arguments.rounds) {
        for (work, (cost, pace)) in works.iter().zip(&mut tables) {
            for turn in 0..peers.len() {
                let Some(peer) = peers.get((turn + round) % peers.len()) else { continue };
                slice(arguments, work, peer, cost, pace).await.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}, {}: {error}", peer.name, work.name))
                })?;
            }
        }
    }
    for (cost, pace) in tables {
        writeln!(out, "{cost}\n{pace}")?;
    }
    Ok(())
}

fn work_tables(work: &Work, rate: u32) -> (Table, Table) {
    let cost = format!("{} ({}): processor time per call, µs", work.name, work.what);
    let pace = if work.at_rate {
        format!("{}: {rate}/s, µs until the answer", work.name)
    } else {
        format!("{}: calls a second on one processor", work.name)
    };
    (Table::new(cost), Table::new(pace))
}

async fn slice(
    arguments: &Arguments,
    work: &Work,
    peer: &Peer,
    cost: &mut Table,
    pace: &mut Table,
) -> io::Result<()> {
    let Some(calls) = work.calls(peer) else { return Ok(()) };
    let mut marks = Vec::with_capacity(2);
    let rate = work.at_rate.then_some(arguments.rate);
    let time = Duration::from_millis(arguments.slice);
    let slice = calls
        .run(time, rate, || {
            marks.push(peer.process.processor_time()?);
            Ok(())
        })
        .await?;
    let used = match marks.as_slice() {
        [before, after] => after.saturating_sub(*before),
        _ => Duration::ZERO,
    };
    let answered = slice.answered.max(1) as f64;
    cost.add(peer.name, "cpu", Cell::Micros(used.as_secs_f64() * 1e6 / answered));
    if work.at_rate {
        for (name, part) in [("p50", 50), ("p99", 99)] {
            let place = slice.latencies.len() * part / 100;
            let micros = slice.latencies.get(place).copied().unwrap_or_default();
            pace.add(peer.name, name, Cell::Micros(f64::from(micros)));
        }
    } else {
        // A second of the peer's processor, not of the clock: its neighbours may have taken some of it.
        pace.add(peer.name, "calls/s", Cell::Count(answered / used.as_secs_f64().max(1e-9)));
        pace.add(peer.name, "busy %", Cell::Count(used.as_secs_f64() / slice.time.as_secs_f64() * 100.0));
    }
    Ok(())
}

/// Memory at rest, with idle connections, and while one long body goes through.
async fn memory(peers: &[Peer]) -> io::Result<Table> {
    let mut table = Table::new("memory".to_owned());
    for peer in peers {
        let Some(mut calls) = WORKS.first().and_then(|work| work.calls(peer)) else { continue };
        let at_rest = peer.process.memory("VmRSS")?;
        table.add(peer.name, "idle MiB", Cell::Count(at_rest as f64 / 1024.0));
        // The calls' own memory is not per connection: it is there once some calls were made.
        caller::one_by_one(&calls, IDLE_CONNECTIONS).await?;
        let before = peer.process.memory("VmRSS")?;
        let held = caller::idle(&calls, IDLE_CONNECTIONS).await?;
        let with_idle = peer.process.memory("VmRSS")?;
        let each = with_idle.saturating_sub(before) as f64 / IDLE_CONNECTIONS as f64;
        table.add(peer.name, "KiB per idle connection", Cell::Micros(each));
        drop(held);
        calls.shape.close = true;
        let before = peer.process.memory("VmHWM")?;
        caller::stream(&calls, STREAMED)
            .await
            .map_err(|error| io::Error::other(format!("{}: {error}", peer.name)))?;
        let grown = peer.process.memory("VmHWM")?.saturating_sub(before);
        table.add(peer.name, "KiB more for 1 GiB streamed", Cell::Count(grown as f64));
    }
    Ok(table)
}
