//! One slice: calls one peer for a while and adds the results to the workload's tables.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use std::{fmt, io};

use crate::counter::Counted;
use crate::load::SliceResult;
use crate::overhead::OverheadHistogram;
use crate::peers::Peer;
use crate::process::PeerProcess;
use crate::secure::Certificate;
use crate::table::{Measurement, Table};
use crate::workload::{FULL_LOAD, Pacing, Workload};

/// The target for the gateway's own overhead per call, in microseconds.
const OVERHEAD_TARGET: f64 = 200.0;

/// The peers that a user would have instead, and the proxy that counts calls itself.
const REFERENCES: [&str; 5] = ["nginx tuned", "haproxy tuned", "nginx tls", "haproxy tls", "utg direct"];

/// The width of an interval up to which a ratio counts as certain, as a share of the ratio.
const CERTAIN: f64 = 0.05;

/// Responses per second of CPU time at full load, by peer.
pub(crate) type FullLoad = HashMap<&'static str, f64>;

/// The tables of a workload.
pub(crate) struct WorkloadTables {
    /// CPU time per call.
    pub(crate) cost: Table,
    /// Throughput, latency or overhead, depending on the workload's pacing.
    pub(crate) pace: Table,
}

/// The length of a slice, and the rate of workloads with a fixed one.
pub(crate) struct Slice {
    pub(crate) duration: Duration,
    /// Calls per second.
    pub(crate) rate: u32,
    pub(crate) certificate: Rc<Certificate>,
}

/// The counters of a peer at one moment. Reading them costs the peer CPU time, so that is read
/// before and after.
struct Snapshot {
    cpu_before: Duration,
    overhead: Option<OverheadHistogram>,
    cpu_after: Duration,
    /// The CPU time of the server that keeps the meters of keys.
    authority: Option<Duration>,
}

impl WorkloadTables {
    pub(crate) fn new(workload: &Workload, rate: u32) -> Self {
        let Workload { name, description, .. } = workload;
        let pace = match workload.pacing {
            Pacing::ClosedLoop => format!("{name}: calls per second on one CPU"),
            Pacing::FixedRate => format!("{name}: {rate}/s, latency in µs"),
            Pacing::HalfLoad => format!("{name}: the gateway's own overhead by its histogram, µs"),
        };
        let cost = format!("{name} ({description}): CPU time per call, µs");
        Self { cost: Table::new(cost).compared_with(&REFERENCES), pace: Table::new(pace) }
    }

    /// The table of what is counted of a call, and no pace.
    pub(crate) fn of_counts(workload: &Workload, counted: Counted) -> Self {
        let Workload { name, description, .. } = workload;
        let cost = format!("{name} ({description}): {} per call", counted.name());
        Self { cost: Table::new(cost).compared_with(&REFERENCES), pace: Table::new(String::new()) }
    }

    /// Adds what was counted of so many calls.
    pub(crate) fn add_count(&mut self, peer: &'static str, counted: Counted, count: u64, calls: usize) {
        let per_call = count as f64 / calls.max(1) as f64;
        let measurement = match counted {
            Counted::Instructions => Measurement::Count(per_call),
            Counted::SystemCalls => Measurement::Micros(per_call),
        };
        self.cost.add(peer, counted.name(), measurement);
    }

    /// Whether more rounds would say nothing new of what a call costs.
    pub(crate) fn is_certain(&self) -> bool {
        self.cost.widest().is_some_and(|width| width <= CERTAIN)
    }
}

impl fmt::Display for WorkloadTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cost, pace } = self;
        write!(f, "{cost}")?;
        match cost.widest() {
            Some(width) if width > CERTAIN => {
                writeln!(f, "not certain: an interval is {:.0} % wide, expected at most 5 %", width * 100.0)?;
            }
            _ => {}
        }
        write!(f, "\n{pace}")
    }
}

impl Snapshot {
    async fn read(peer: &Peer, pacing: Pacing) -> io::Result<Self> {
        let authority = peer.authority.as_ref().map(PeerProcess::cpu_time).transpose()?;
        let cpu_before = peer.process.cpu_time()?;
        if pacing != Pacing::HalfLoad {
            return Ok(Self { cpu_before, overhead: None, cpu_after: cpu_before, authority });
        }
        let overhead = peer.overhead().await?;
        Ok(Self { cpu_before, overhead, cpu_after: peer.process.cpu_time()?, authority })
    }
}

impl Slice {
    /// Runs a workload against a peer and records the results.
    ///
    /// # Errors
    /// Returns an error if a call fails or gets an unexpected status, or if the peer's counters
    /// cannot be read.
    pub(crate) async fn measure(
        &self,
        workload: &Workload,
        peer: &Peer,
        full_load: &mut FullLoad,
        tables: &mut WorkloadTables,
    ) -> io::Result<()> {
        let Some(load) = workload.load(peer, &self.certificate) else {
            record_unsupported(workload, peer, full_load, tables);
            return Ok(());
        };
        let interval = self.interval(workload, peer, full_load)?;
        let mut snapshots = Vec::with_capacity(2);
        let result = load
            .run(self.duration, interval, async || {
                snapshots.push(Snapshot::read(peer, workload.pacing).await?);
                Ok(())
            })
            .await?;
        let [before, after] = snapshots.as_slice() else {
            return Err(io::Error::other(format!("{} counter readings, expected 2", snapshots.len())));
        };
        let cpu = after.cpu_before.saturating_sub(before.cpu_after).as_secs_f64();
        let responses = result.responses.max(1) as f64;
        tables.cost.add(peer.name, "cpu", Measurement::Micros(cpu * 1e6 / responses));
        if let Some((before, after)) = before.authority.zip(after.authority) {
            let micros = after.saturating_sub(before).as_secs_f64() * 1e6 / responses;
            tables.cost.add(peer.name, "cpu of valkey", Measurement::Micros(micros));
        }
        let pace = &mut tables.pace;
        match workload.pacing {
            Pacing::ClosedLoop => {
                // Per second of the peer's CPU time, not of the clock, because other processes may
                // have used that CPU.
                let rate = responses / cpu.max(1e-9);
                if workload.name == FULL_LOAD {
                    full_load.insert(peer.name, rate);
                }
                pace.add(peer.name, "calls/s", Measurement::Count(rate));
                let busy = cpu / result.elapsed.as_secs_f64() * 100.0;
                pace.add(peer.name, "busy %", Measurement::Count(busy));
            }
            Pacing::FixedRate => record_latencies(&result, peer, pace),
            Pacing::HalfLoad => {
                if let Some((before, after)) = before.overhead.as_ref().zip(after.overhead.as_ref()) {
                    let rate = responses / result.elapsed.as_secs_f64();
                    pace.add(peer.name, "calls/s", Measurement::Count(rate));
                    record_overhead(&after.since(before), peer, pace);
                }
            }
        }
        Ok(())
    }

    /// Returns the time between due calls, or `None` for a closed loop.
    fn interval(
        &self,
        workload: &Workload,
        peer: &Peer,
        full_load: &FullLoad,
    ) -> io::Result<Option<Duration>> {
        match workload.pacing {
            Pacing::ClosedLoop => Ok(None),
            Pacing::FixedRate => Ok(Some(Duration::from_secs(1) / self.rate)),
            Pacing::HalfLoad => {
                let rate = full_load
                    .get(peer.name)
                    .ok_or_else(|| io::Error::other(format!("no full load measured by {FULL_LOAD}")))?;
                Ok(Some(Duration::from_secs_f64(2.0 / rate)))
            }
        }
    }
}

/// Records an empty row. A peer that refuses no calls gets the cost of a proxied call in place of a
/// refusal.
fn record_unsupported(workload: &Workload, peer: &Peer, full_load: &FullLoad, tables: &mut WorkloadTables) {
    tables.cost.add_peer(peer.name);
    tables.pace.add_peer(peer.name);
    if let Some(rate) = full_load.get(peer.name).filter(|_| workload.is_refusal() && !peer.refuses()) {
        tables.cost.add(peer.name, "cpu", Measurement::Micros(1e6 / rate));
    }
}

fn record_latencies(result: &SliceResult, peer: &Peer, pace: &mut Table) {
    for (name, percent) in [("p50", 50), ("p99", 99)] {
        let rank = result.latencies.len() * percent / 100;
        let micros = result.latencies.get(rank).copied().unwrap_or_default();
        pace.add(peer.name, name, Measurement::Micros(f64::from(micros)));
    }
}

fn record_overhead(overhead: &OverheadHistogram, peer: &Peer, pace: &mut Table) {
    pace.add(peer.name, "p50", Measurement::AtMost(overhead.percentile_bound(50)));
    pace.add(peer.name, "p99", Measurement::AtMost(overhead.percentile_bound(99)));
    let within = overhead.percent_within(OVERHEAD_TARGET);
    pace.add(peer.name, "within 200 µs", Measurement::Percent(within));
}
