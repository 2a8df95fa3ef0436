//! Instructions in user space, counted by valgrind's callgrind.
//!
//! Their number does not depend on what else runs on the machine, so a difference of a hundredth shows in three
//! repetitions. What the kernel does is not in it.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use crate::measure::WorkloadTables;
use crate::peers::Peer;
use crate::process::is_installed;
use crate::secure::Certificate;
use crate::workload::{Pacing, Workload};

/// Each peer counts so many times.
const REPETITIONS: usize = 3;
/// Calls of a workload before counting, and while it counts.
const WARM_UP: usize = 500;
const CALLS: usize = 2_000;
/// The same for full TLS handshakes, each of which takes millions of instructions.
const HANDSHAKES: usize = 200;

/// The instructions of one process, which valgrind runs.
pub(crate) struct Counter {
    /// Where a dump is written, with its number appended.
    out: PathBuf,
    dumps: Cell<u32>,
}

impl Counter {
    /// Returns a counter that writes to `out`.
    ///
    /// # Errors
    /// Returns an error if valgrind is not installed.
    pub(crate) fn new(out: PathBuf) -> io::Result<Self> {
        if !is_installed("valgrind", "--version") || !is_installed("vgdb", "--help") {
            return Err(io::Error::other("counting instructions needs valgrind, which is not installed"));
        }
        Ok(Self { out, dumps: Cell::new(0) })
    }

    /// Returns the program that runs another one, with its arguments.
    pub(crate) fn command(&self) -> [OsString; 4] {
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(&self.out);
        // Two threads would take turns of seconds otherwise.
        ["valgrind".into(), "--tool=callgrind".into(), "--fair-sched=try".into(), out]
    }

    /// Returns what was counted since the last call of this function.
    ///
    /// # Errors
    /// Returns an error if valgrind does not respond or writes no total.
    pub(crate) fn read(&self, pid: u32) -> io::Result<u64> {
        let mut vgdb = Command::new("vgdb");
        vgdb.arg(format!("--pid={pid}")).arg("dump");
        let status = vgdb.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("vgdb dump: {status}")));
        }
        self.dumps.set(self.dumps.get() + 1);
        let mut file = self.out.clone().into_os_string();
        file.push(format!(".{}", self.dumps.get()));
        let text = fs::read_to_string(Path::new(&file))?;
        total(&text).ok_or_else(|| io::Error::other(format!("no total in {}", file.display())))
    }
}

/// Returns the instructions that a dump has in all.
fn total(dump: &str) -> Option<u64> {
    let line = dump.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Counts the instructions of each peer for a call of each workload that is not paced.
///
/// # Errors
/// Returns an error if a call fails or gets an unexpected status, or if valgrind does not respond.
pub(crate) async fn count(
    workloads: &[&Workload],
    peers: &[Peer],
    certificate: &Rc<Certificate>,
) -> io::Result<Vec<WorkloadTables>> {
    let mut all = Vec::new();
    for workload in workloads.iter().filter(|workload| workload.pacing == Pacing::ClosedLoop) {
        let mut tables = WorkloadTables::of_instructions(workload);
        for _ in 0..REPETITIONS {
            for peer in peers.iter().filter(|peer| workload.variants.contains(&peer.variant)) {
                let Some(load) = workload.load(peer, certificate) else {
                    tables.cost.add_peer(peer.name);
                    continue;
                };
                let calls = if workload.is_handshake() { HANDSHAKES } else { CALLS };
                let each = calls.div_ceil(load.connections);
                let mut counted = 0;
                load.run_calls(WARM_UP.min(calls).div_ceil(load.connections), each, || {
                    counted = peer.process.instructions()?;
                    Ok(())
                })
                .await
                .map_err(|error| {
                    io::Error::new(error.kind(), format!("{}, {}: {error}", peer.name, workload.name))
                })?;
                tables.add_instructions(peer.name, counted, each * load.connections);
            }
        }
        all.push(tables);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_of_a_dump_is_its_last_line() {
        let dump = "version: 1\nevents: Ir\nsummary: 614061\n\nfn=(0)\n16 3\n\ntotals: 614630\n";
        assert_eq!(total(dump), Some(614_630));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }
}
