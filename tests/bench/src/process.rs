//! A peer's process: starts it on a given CPU and reads its CPU time and memory from `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::counter::{Count, Counter};
use crate::message::status;

/// A running peer and its child processes. Dropping it kills them.
pub(crate) struct PeerProcess {
    child: Child,
    log: PathBuf,
    counter: Option<Counter>,
}

/// A program whose instructions are counted starts 50 times as slowly.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl PeerProcess {
    /// Starts a program on these CPUs, as `taskset` lists them, and writes its output to `log`. A
    /// counter runs the program.
    pub(crate) fn start(
        cpus: &str,
        program: impl AsRef<OsStr>,
        arguments: &[&OsStr],
        environment: &[(&str, &str)],
        log: &Path,
        counter: Option<Counter>,
    ) -> io::Result<Self> {
        let out = fs::File::create(log)?;
        let mut command = Command::new("taskset");
        command
            .arg("-c")
            .arg(cpus)
            .args(counter.iter().flat_map(Counter::command))
            .arg(program)
            .args(arguments);
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        // A process group of its own, so that its workers are killed with it.
        command.process_group(0);
        Ok(Self { child: command.spawn()?, log: log.to_owned(), counter })
    }

    /// Waits until the process accepts connections on `address`.
    ///
    /// # Errors
    /// Returns an error with the process output if it exits, or if it does not listen within a minute.
    pub(crate) async fn wait_until_listening(&mut self, address: SocketAddr) -> io::Result<()> {
        let start = Instant::now();
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                let output = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(io::Error::other(format!("process exited early: {status}: {output}")));
            }
            if start.elapsed() > START_TIMEOUT {
                return Err(io::Error::other(format!(
                    "process does not listen on {address} after {START_TIMEOUT:?}"
                )));
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Waits until a GET of `path` returns 200.
    ///
    /// # Errors
    /// Returns an error if that takes longer than a minute.
    pub(crate) async fn wait_until_ready(&mut self, address: SocketAddr, path: &str) -> io::Result<()> {
        self.wait_until_listening(address).await?;
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if status(&get(address, path).await?) == 200 {
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
        Err(io::Error::other(format!("GET {path} did not return 200 within {START_TIMEOUT:?}")))
    }

    /// Returns what was counted since the last call of this function: nothing without a counter.
    ///
    /// # Errors
    /// Returns an error if the counter does not respond.
    pub(crate) fn count(&self) -> io::Result<Count> {
        self.counter.as_ref().map_or_else(|| Ok(Count::default()), |counter| counter.read(self.child.id()))
    }

    /// Returns the CPU time of all threads, in user and kernel mode.
    pub(crate) fn cpu_time(&self) -> io::Result<Duration> {
        let mut nanos = 0;
        for pid in self.pids()? {
            for task in fs::read_dir(format!("/proc/{pid}/task"))? {
                let path = task?.path().join("schedstat");
                let text = fs::read_to_string(path)?;
                nanos += text.split(' ').next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            }
        }
        Ok(Duration::from_nanos(nanos))
    }

    /// Returns a memory figure of `/proc/*/status` in KiB, for example `VmRSS` (now) or `VmHWM`
    /// (peak).
    pub(crate) fn memory(&self, field: &str) -> io::Result<u64> {
        let mut kib = 0;
        for pid in self.pids()? {
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let line = status.lines().find(|line| line.starts_with(field));
            kib += line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(kib)
    }

    /// Returns the ids of all processes in the process group.
    fn pids(&self) -> io::Result<Vec<u32>> {
        let group = self.child.id();
        let is_in_group = |pid: &u32| {
            // The name in parentheses may contain spaces. State, parent and group follow it.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let rest = stat.rsplit(')').next().unwrap_or_default();
            rest.split_whitespace().nth(2).and_then(|word| word.parse().ok()) == Some(group)
        };
        let all = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Ok(all.filter(is_in_group).collect())
    }
}

/// Returns true if a program runs and prints what this option asks for.
pub(crate) fn is_installed(program: impl AsRef<OsStr>, option: &str) -> bool {
    let command = &mut Command::new(program);
    let status =
        command.arg(option).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Sends a GET and returns the whole response, head included.
pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await?;
    Ok(response)
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        let pids = self.pids().unwrap_or_default().into_iter().map(|pid| pid.to_string());
        // Processes that have exited already are not an error.
        let _killed = Command::new("kill").arg("-KILL").args(pids).stderr(Stdio::null()).status();
        let _reaped = self.child.wait();
    }
}
