//! `make bench-proxy`: what our proxy costs, next to a bare Pingora proxy, nginx and HAProxy doing the same work over
//! the same server, on the same machine, in the same minutes.
//!
//! Every round gives each peer a slice of each kind of work, so that whatever else the machine does falls on all of them.
//! What is told is the median over the rounds, and the median of each round's ratio to the bare proxy.

mod caller;
mod message;
mod peers;
mod process;
mod share;
mod table;
mod upstream;
mod work;

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::runtime;

use crate::peers::{Peer, Place};
use crate::share::Share;
use crate::table::{Cell, Table};
use crate::work::{FULL, Pace, WORKS, Work};

/// Compare the proxy with a bare Pingora proxy, nginx and HAProxy. `make bench-proxy` builds what it needs.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
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
    /// Only these works: proxied, upload, download, connect, unknown, spent, rate, half (and proxied, of which it is half).
    #[arg(long, value_delimiter = ',')]
    works: Vec<String>,
    /// Keys that call our proxy in direct mode.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Calls a second of the work `rate`.
    #[arg(long, default_value_t = 5_000)]
    rate: u32,
}

/// Connections held open while memory is read.
const IDLE_CONNECTIONS: usize = 1_000;
/// One body, streamed through while memory is read.
const STREAMED: u64 = 1 << 30;
/// What the gateway itself is to take at most, in microseconds.
const OWN_SHARE: f64 = 200.0;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.and_then(|runtime| runtime.block_on(run(arguments)));
    done.unwrap_or_else(|fault| {
        let told = writeln!(io::stderr(), "bench-proxy: {fault}");
        if told.is_ok() { ExitCode::FAILURE } else { ExitCode::from(2) }
    })
}

/// Runs the bench and prints its tables.
///
/// # Errors
/// When a peer cannot be started, or answers other than it must: then nothing was measured.
async fn run(arguments: Arguments) -> io::Result<ExitCode> {
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
    let works: Vec<&Work> = WORKS.iter().filter(|work| work.is_among(&arguments.works)).collect();
    let mut out = io::stdout();
    writeln!(out, "{}", memory(peers).await?)?;
    let mut tables: Vec<Tables> = works.iter().map(|work| Tables::of(work, arguments.rate)).collect();
    let mut full = HashMap::new();
    for round in 0..usize::from(arguments.rounds) {
        for (work, tables) in works.iter().zip(&mut tables) {
            for turn in 0..peers.len() {
                let Some(peer) = peers.get((turn + round) % peers.len()) else { continue };
                slice(arguments, work, peer, &mut full, tables).await.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}, {}: {error}", peer.name, work.name))
                })?;
            }
        }
    }
    for Tables { cost, pace } in tables {
        writeln!(out, "{cost}\n{pace}")?;
    }
    Ok(())
}

/// What is told of a work.
struct Tables {
    cost: Table,
    pace: Table,
}

impl Tables {
    fn of(work: &Work, rate: u32) -> Self {
        let Work { name, what, .. } = work;
        let pace = match work.pace {
            Pace::Answers => format!("{name}: calls a second on one processor"),
            Pace::Rate => format!("{name}: {rate}/s, µs until the answer"),
            Pace::Half => {
                format!("{name}: what the gateway itself took of the time, by its own histogram, µs")
            }
        };
        let cost = format!("{name} ({what}): processor time per call, µs");
        Self { cost: Table::new(cost), pace: Table::new(pace) }
    }
}

/// What was seen of a peer at one moment. Looking costs the peer some time, which is not counted: what it had used is
/// asked before and after.
struct Look {
    used_before: Duration,
    share: Option<Share>,
    used_after: Duration,
}

impl Look {
    async fn at(peer: &Peer, pace: Pace) -> io::Result<Self> {
        let used_before = peer.process.processor_time()?;
        if pace != Pace::Half {
            return Ok(Self { used_before, share: None, used_after: used_before });
        }
        let share = peer.share().await?;
        Ok(Self { used_before, share, used_after: peer.process.processor_time()? })
    }
}

/// `full`: the calls that each peer answered in a second of its processor's time.
async fn slice(
    arguments: &Arguments,
    work: &Work,
    peer: &Peer,
    full: &mut HashMap<&'static str, f64>,
    Tables { cost, pace }: &mut Tables,
) -> io::Result<()> {
    let Some(calls) = work.calls(peer) else {
        cost.name(peer.name);
        pace.name(peer.name);
        // A peer that refuses nothing is told with what it does instead.
        if let Some(full) = full.get(peer.name).filter(|_| work.is_refusal() && !peer.refuses()) {
            cost.add(peer.name, "cpu", Cell::Micros(1e6 / full));
        }
        return Ok(());
    };
    let gap = match work.pace {
        Pace::Answers => None,
        Pace::Rate => Some(Duration::from_secs(1) / arguments.rate),
        Pace::Half => {
            let full = full.get(peer.name).ok_or_else(|| io::Error::other("its whole load is not known"))?;
            Some(Duration::from_secs_f64(2.0 / full))
        }
    };
    let mut looks = Vec::with_capacity(2);
    let time = Duration::from_millis(arguments.slice);
    let slice = calls
        .run(time, gap, async || {
            looks.push(Look::at(peer, work.pace).await?);
            Ok(())
        })
        .await?;
    let [before, after] = looks.as_slice() else { return Err(io::Error::other("was not looked at twice")) };
    let used = after.used_before.saturating_sub(before.used_after);
    let answered = slice.answered.max(1) as f64;
    cost.add(peer.name, "cpu", Cell::Micros(used.as_secs_f64() * 1e6 / answered));
    match work.pace {
        Pace::Answers => {
            // A second of the peer's processor, not of the clock: its neighbours may have taken some of it.
            let rate = answered / used.as_secs_f64().max(1e-9);
            if work.name == FULL {
                full.insert(peer.name, rate);
            }
            pace.add(peer.name, "calls/s", Cell::Count(rate));
            let busy = used.as_secs_f64() / slice.time.as_secs_f64() * 100.0;
            pace.add(peer.name, "busy %", Cell::Count(busy));
        }
        Pace::Rate => {
            for (name, part) in [("p50", 50), ("p99", 99)] {
                let place = slice.latencies.len() * part / 100;
                let micros = slice.latencies.get(place).copied().unwrap_or_default();
                pace.add(peer.name, name, Cell::Micros(f64::from(micros)));
            }
        }
        Pace::Half => {
            let Some((before, after)) = before.share.as_ref().zip(after.share.as_ref()) else {
                return Ok(());
            };
            let share = after.since(before);
            pace.add(peer.name, "calls/s", Cell::Count(answered / slice.time.as_secs_f64()));
            pace.add(peer.name, "p50", Cell::AtMost(share.within_which(50)));
            pace.add(peer.name, "p99", Cell::AtMost(share.within_which(99)));
            pace.add(peer.name, "within 200 µs", Cell::Percent(share.percent_within(OWN_SHARE)));
        }
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
