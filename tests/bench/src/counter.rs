//! What a call costs, counted: instructions in user space by valgrind's callgrind, or system calls by strace.
//!
//! Their number does not depend on what else runs on the machine, so a difference of a hundredth shows in three
//! repetitions. What the kernel does is not in the instructions, so system calls are counted beside them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;

use clap::ValueEnum;

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

/// What is counted in place of CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Counted {
    /// Instructions in user space, by valgrind.
    Instructions,
    /// System calls, by strace. A peer that is traced is slow, so it waits for events less often.
    SystemCalls,
}

/// The counter of one process, which valgrind or strace runs.
pub(crate) struct Counter {
    counted: Counted,
    /// Where callgrind writes a dump, with its number appended, or strace a line for each call.
    out: PathBuf,
    /// The number of dumps that were read, or of bytes.
    read: Cell<u64>,
}

/// What was counted between two readings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) total: u64,
    /// The system calls by their names.
    names: BTreeMap<String, u64>,
}

impl Counted {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::SystemCalls => "system calls",
        }
    }
}

impl Counter {
    /// Returns a counter that writes to `out`.
    ///
    /// # Errors
    /// Returns an error if valgrind or strace is not installed.
    pub(crate) fn new(counted: Counted, out: PathBuf) -> io::Result<Self> {
        let (programs, name): (&[_], _) = match counted {
            Counted::Instructions => (&[("valgrind", "--version"), ("vgdb", "--help")], "valgrind"),
            Counted::SystemCalls => (&[("strace", "--version")], "strace"),
        };
        if !programs.iter().all(|(program, option)| is_installed(program, option)) {
            let what = counted.name();
            return Err(io::Error::other(format!("counting {what} needs {name}, which is not installed")));
        }
        Ok(Self { counted, out, read: Cell::new(0) })
    }

    /// Returns the program that runs another one, with its arguments.
    pub(crate) fn command(&self) -> Vec<OsString> {
        match self.counted {
            Counted::Instructions => {
                let mut out = OsString::from("--callgrind-out-file=");
                out.push(&self.out);
                // Two threads would take turns of seconds otherwise.
                vec!["valgrind".into(), "--tool=callgrind".into(), "--fair-sched=try".into(), out]
            }
            Counted::SystemCalls => {
                let mut command: Vec<_> =
                    ["strace", "-f", "-qq", "-e", "signal=none", "-o"].map(OsString::from).into();
                command.push(self.out.clone().into());
                command
            }
        }
    }

    /// Returns what was counted since the last call of this function.
    ///
    /// # Errors
    /// Returns an error if valgrind does not respond or writes no total, or if the file cannot be read.
    pub(crate) fn read(&self, pid: u32) -> io::Result<Count> {
        match self.counted {
            Counted::Instructions => {
                let total = self.read_dump(pid)?;
                Ok(Count { total, names: BTreeMap::new() })
            }
            Counted::SystemCalls => self.read_trace(),
        }
    }

    fn read_dump(&self, pid: u32) -> io::Result<u64> {
        let mut vgdb = Command::new("vgdb");
        vgdb.arg(format!("--pid={pid}")).arg("dump");
        let status = vgdb.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("vgdb dump: {status}")));
        }
        self.read.set(self.read.get() + 1);
        let mut file = self.out.clone().into_os_string();
        file.push(format!(".{}", self.read.get()));
        let text = fs::read_to_string(Path::new(&file))?;
        total(&text).ok_or_else(|| io::Error::other(format!("no total in {}", file.display())))
    }

    fn read_trace(&self) -> io::Result<Count> {
        let mut file = fs::File::open(&self.out)?;
        file.seek(SeekFrom::Start(self.read.get()))?;
        let mut text = Vec::new();
        self.read.set(self.read.get() + file.read_to_end(&mut text)? as u64);
        Ok(Count::of_trace(&String::from_utf8_lossy(&text)))
    }
}

impl Count {
    /// Returns the system calls of a trace. A line with the rest of a call that another thread interrupted is no
    /// other call.
    fn of_trace(trace: &str) -> Self {
        let mut count = Self::default();
        for line in trace.lines() {
            let name = line.split_once(' ').and_then(|(_thread, call)| call.trim_start().split_once('('));
            if let Some((name, _arguments)) = name.filter(|(name, _)| !name.starts_with(['<', '+', '-'])) {
                count.total += 1;
                *count.names.entry(name.to_owned()).or_default() += 1;
            }
        }
        count
    }

    fn of_calls(&self, calls: usize) -> PerCall<'_> {
        PerCall(self, calls)
    }
}

/// The system calls of so many calls, by their names and without the rare ones.
struct PerCall<'a>(&'a Count, usize);

impl fmt::Display for PerCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_call = |count: u64| count as f64 / self.1.max(1) as f64;
        let names = self.0.names.iter().map(|(name, count)| (name, per_call(*count)));
        for (index, (name, count)) in names.filter(|(_, count)| *count >= 0.01).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {count:.2}")?;
        }
        Ok(())
    }
}

/// Returns the instructions that a dump has in all.
fn total(dump: &str) -> Option<u64> {
    let line = dump.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Counts what a call of each workload that is not paced costs each peer. Prints the names of system calls.
///
/// # Errors
/// Returns an error if a call fails or gets an unexpected status, or if nothing can be counted.
pub(crate) async fn count(
    counted: Counted,
    workloads: &[&Workload],
    peers: &[Peer],
    certificate: &Rc<Certificate>,
) -> io::Result<Vec<WorkloadTables>> {
    let mut all = Vec::new();
    for workload in workloads.iter().filter(|workload| workload.pacing == Pacing::ClosedLoop) {
        let mut tables = WorkloadTables::of_counts(workload, counted);
        for repetition in 0..REPETITIONS {
            for peer in peers.iter().filter(|peer| workload.variants.contains(&peer.variant)) {
                let Some(load) = workload.load(peer, certificate) else {
                    tables.cost.add_peer(peer.name);
                    continue;
                };
                let calls = if workload.is_handshake() { HANDSHAKES } else { CALLS };
                let each = calls.div_ceil(load.connections);
                let mut count = Count::default();
                load.run_calls(WARM_UP.min(calls).div_ceil(load.connections), each, || {
                    count = peer.process.count()?;
                    Ok(())
                })
                .await
                .map_err(|error| {
                    io::Error::new(error.kind(), format!("{}, {}: {error}", peer.name, workload.name))
                })?;
                let calls = each * load.connections;
                tables.add_count(peer.name, counted, count.total, calls);
                if repetition == 0 && counted == Counted::SystemCalls {
                    writeln!(io::stdout(), "{}, {}: {}", workload.name, peer.name, count.of_calls(calls))?;
                }
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

    #[test]
    fn interrupted_call_of_a_trace_counts_once() {
        let trace = "7  epoll_wait(3, [], 1024, 0) = 0\n8     futex(0x7f, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>\n\
                     7  epoll_wait(3,  <unfinished ...>\n8  <... futex resumed>) = 0\n7  +++ exited with 0 +++\n";
        let count = Count::of_trace(trace);
        assert_eq!(count.total, 3);
        assert_eq!(count.of_calls(2).to_string(), "epoll_wait 1.00, futex 0.50");
    }
}
