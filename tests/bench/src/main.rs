//! `make bench-proxy`: the cost of a call through our proxy, compared with a bare Pingora proxy,
//! nginx, HAProxy, Caddy and Envoy.
//!
//! All peers run on the same machine against the same upstream. Every round gives each peer a slice
//! of each workload, so that other load on the machine affects all of them. The tables show the
//! median of all rounds, and the median of each round's ratio to the bare proxy with its interval of
//! 95 %. A workload is measured until the intervals of its costs are narrow, or says that they are not.

mod counter;
mod events;
mod http2;
mod load;
mod machine;
mod measure;
mod message;
mod overhead;
mod peers;
mod process;
mod ratio;
mod secure;
mod summary;
mod table;
mod upstream;
mod version;
mod workload;

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use clap::Parser;
use tokio::runtime;

use crate::counter::Counted;
use crate::events::EventTable;
use crate::machine::Machine;
use crate::measure::{FullLoad, Slice, WorkloadTables};
use crate::peers::{Peer, PeerSetup, Variant};
use crate::secure::Certificate;
use crate::table::{Measurement, Table};
use crate::workload::{WORKLOADS, Workload};

/// Compare the proxy with a bare Pingora proxy, nginx, HAProxy, Caddy and Envoy. `make bench-proxy` builds what
/// it needs.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Directory with the binaries `proxy` and `bare`.
    #[arg(long, default_value = "target/release")]
    programs: PathBuf,
    /// Least number of rounds. Each round gives every peer a slice of every workload that is not certain yet.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u16).range(1..=200))]
    rounds: u16,
    /// Most rounds for a workload whose ratios of CPU time stay uncertain by more than 5 %. Not below --rounds.
    #[arg(long, default_value_t = 27, value_parser = clap::value_parser!(u16).range(1..=200))]
    most_rounds: u16,
    /// Minutes after which no workload gets more rounds than --rounds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=600))]
    most_minutes: u64,
    /// Count instructions in user space by valgrind in place of CPU time. What else runs does not change it.
    #[arg(long, conflicts_with = "system_calls")]
    instructions: bool,
    /// Count system calls by strace in place of CPU time.
    #[arg(long)]
    system_calls: bool,
    /// Keep the folder with what the peers wrote: configurations, logs, dumps of callgrind and traces.
    #[arg(long)]
    keep: bool,
    /// Length of a slice in milliseconds.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(50..=10_000))]
    slice: u64,
    /// Number of the CPU for the peers. Load generator and upstream run on the CPU of this process.
    #[arg(long, default_value_t = 0)]
    processor: usize,
    /// Peers to run: bare, "bare tuned", utg, "utg traced", "utg pingora", "utg direct", "utg valkey", nginx,
    /// "nginx tuned", haproxy, "haproxy tuned", caddy, "caddy tuned", envoy, "envoy tuned". With TLS: "utg tls",
    /// "nginx tls", "haproxy tls", "caddy tls", "envoy tls". With two threads: "bare 2", "utg 2", "nginx 2", "haproxy 2",
    /// "caddy 2", "envoy 2". All by default.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Workloads to run: proxied, upload, upload-large, download, connect, unknown, spent, rate,
    /// half, tls, tls-upload, tls-download, tls-connect, http2, http2-upload, http2-download, cores, events. All by
    /// default.
    ///
    /// unknown, spent and half also run proxied, because they are compared with it.
    #[arg(long, value_delimiter = ',')]
    works: Vec<String>,
    /// Number of calls at a time, in place of what each workload has. Behind an edge they are few.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    connections: Option<u16>,
    /// Number of keys that call our proxy in direct mode.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Calls per second of the workload `rate`.
    #[arg(long, default_value_t = 5_000)]
    rate: u32,
}

impl Arguments {
    /// What is counted in place of CPU time.
    const fn counted(&self) -> Option<Counted> {
        match (self.instructions, self.system_calls) {
            (true, _) => Some(Counted::Instructions),
            (false, true) => Some(Counted::SystemCalls),
            (false, false) => None,
        }
    }

    fn has_events(&self) -> bool {
        self.works.is_empty() || self.works.iter().any(|work| work == events::NAME)
    }
}

/// Number of idle connections held open while memory is measured.
const IDLE_CONNECTIONS: usize = 1_000;
/// Size of the body that is streamed through while memory is measured.
const STREAMED_BYTES: u64 = 1 << 30;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.and_then(|runtime| runtime.block_on(run(&arguments)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let written = writeln!(io::stderr(), "bench-proxy: {error}");
            if written.is_ok() { ExitCode::FAILURE } else { ExitCode::from(2) }
        }
    }
}

/// Runs the benchmark and prints its tables.
///
/// # Errors
/// Returns an error if a peer does not start or a call gets an unexpected status.
async fn run(arguments: &Arguments) -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("utg-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let upstream = upstream::start().await?;
    let certificate = Rc::new(Certificate::create(&folder)?);
    let mut all = WORKLOADS;
    if let Some(connections) = arguments.connections {
        all.iter_mut().for_each(|workload| workload.connections = connections.into());
    }
    let workloads: Vec<&Workload> =
        all.iter().filter(|workload| workload.is_selected(&arguments.works)).collect();
    let mut variants: Vec<Variant> =
        workloads.iter().flat_map(|workload| workload.variants).copied().collect();
    variants.extend(arguments.has_events().then_some(Variant::Plain));
    let setup = PeerSetup {
        programs: &arguments.programs,
        folder: &folder,
        upstream,
        cpu: arguments.processor,
        certificate: &certificate,
        keys: arguments.keys,
        counted: arguments.counted(),
    };
    let result = match setup.start(&arguments.peers, &variants).await {
        Ok(peers) => {
            writeln!(io::stdout(), "{}\n", version::versions(&arguments.programs))?;
            let before = Machine::read()?;
            if let Some(counted) = arguments.counted() {
                let tables = counter::count(counted, &workloads, &peers, &certificate).await?;
                print(&tables, counted.name())?;
            } else {
                print(&run_rounds(arguments, &workloads, &peers, &certificate).await?, "cpu")?;
                run_events(arguments, upstream, &peers, &certificate).await?;
            }
            writeln!(io::stdout(), "{}", Machine::read()?.since(&before)?)
        }
        Err(error) => Err(error),
    };
    if arguments.keep {
        writeln!(io::stdout(), "kept: {}", folder.display())?;
    } else {
        std::fs::remove_dir_all(&folder)?;
    }
    result
}

async fn run_rounds(
    arguments: &Arguments,
    workloads: &[&Workload],
    peers: &[Peer],
    certificate: &Rc<Certificate>,
) -> io::Result<Vec<WorkloadTables>> {
    writeln!(io::stdout(), "{}", measure_memory(peers, certificate).await?)?;
    let slice = Slice {
        duration: Duration::from_millis(arguments.slice),
        rate: arguments.rate,
        certificate: Rc::clone(certificate),
    };
    let mut tables: Vec<WorkloadTables> =
        workloads.iter().map(|workload| WorkloadTables::new(workload, arguments.rate)).collect();
    let mut full_load: FullLoad = HashMap::new();
    let least = usize::from(arguments.rounds);
    let (start, most) = (Instant::now(), Duration::from_secs(60 * arguments.most_minutes));
    for round in 0..least.max(arguments.most_rounds.into()) {
        if round >= least && start.elapsed() > most {
            break;
        }
        for (workload, tables) in workloads.iter().zip(&mut tables) {
            if round >= least && tables.is_certain() {
                continue;
            }
            let peers: Vec<&Peer> =
                peers.iter().filter(|peer| workload.variants.contains(&peer.variant)).collect();
            for turn in 0..peers.len() {
                let Some(peer) = peers.get((turn + round) % peers.len()) else { continue };
                slice.measure(workload, peer, &mut full_load, tables).await.map_err(|error| {
                    io::Error::new(error.kind(), format!("{}, {}: {error}", peer.name, workload.name))
                })?;
            }
        }
    }
    Ok(tables)
}

/// Prints the tables of the workloads, and one of this column for all of them.
fn print(tables: &[WorkloadTables], column: &str) -> io::Result<()> {
    let mut out = io::stdout();
    for tables in tables {
        writeln!(out, "{tables}")?;
    }
    writeln!(out, "{}", summary::markdown(tables, column))
}

/// Runs the rounds of server-sent events.
async fn run_events(
    arguments: &Arguments,
    upstream: SocketAddr,
    peers: &[Peer],
    certificate: &Rc<Certificate>,
) -> io::Result<()> {
    if !arguments.has_events() {
        return Ok(());
    }
    let plain = peers.iter().filter(|peer| peer.variant == Variant::Plain);
    let load = |peer: &Peer| Some((peer.name, WORKLOADS.first()?.load(peer, certificate)?));
    let loads: Vec<_> = plain.filter_map(load).collect();
    let mut table = EventTable::new();
    for _ in 0..arguments.rounds {
        table.measure(upstream, &loads).await?;
    }
    writeln!(io::stdout(), "{}", table.into_table())
}

/// Measures memory at rest, with idle connections, with slow streams, and while one large body is
/// streamed through.
async fn measure_memory(peers: &[Peer], certificate: &Rc<Certificate>) -> io::Result<Table> {
    let mut table = Table::new("memory".to_owned());
    for peer in peers.iter().filter(|peer| peer.variant == Variant::Plain) {
        let Some(mut load) = WORKLOADS.first().and_then(|workload| workload.load(peer, certificate)) else {
            continue;
        };
        let at_rest = peer.process.memory("VmRSS")?;
        table.add(peer.name, "idle MiB", Measurement::Count(at_rest as f64 / 1024.0));
        // Calls allocate memory that is not per connection, so make some before the baseline.
        load::call_in_sequence(&load, IDLE_CONNECTIONS).await?;
        let before = peer.process.memory("VmRSS")?;
        let connections = load::open_idle(&load, IDLE_CONNECTIONS).await?;
        let with_idle = peer.process.memory("VmRSS")?;
        let per_connection = with_idle.saturating_sub(before) as f64 / IDLE_CONNECTIONS as f64;
        table.add(peer.name, "KiB per idle connection", Measurement::Micros(per_connection));
        drop(connections);
        if let Some(per_stream) = events::memory_per_stream(peer, &load, before).await? {
            table.add(peer.name, "KiB per slow stream", Measurement::Micros(per_stream));
        }
        load.shape.close = true;
        let before = peer.process.memory("VmHWM")?;
        load::stream_body(&load, STREAMED_BYTES)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", peer.name)))?;
        let growth = peer.process.memory("VmHWM")?.saturating_sub(before);
        table.add(peer.name, "KiB more for 1 GiB streamed", Measurement::Count(growth as f64));
    }
    Ok(table)
}
