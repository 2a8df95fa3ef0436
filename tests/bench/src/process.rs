//! A peer as a process: started on a processor of its own, asked what it used, and ended.

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

use crate::message::status;

/// A running peer, with the processes it has started itself. It ends when this is dropped.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Process {
    /// Starts a program on a processor. Its output goes to a file.
    pub(crate) fn start(
        processor: usize,
        program: impl AsRef<OsStr>,
        arguments: &[&OsStr],
        environment: &[(&str, &str)],
        log: &Path,
    ) -> io::Result<Self> {
        let out = fs::File::create(log)?;
        let mut command = Command::new("taskset");
        command.arg("-c").arg(processor.to_string()).arg(program).args(arguments);
        command.envs(environment.iter().copied());
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        // A group of its own, so that its workers end with it.
        command.process_group(0);
        Ok(Self { child: command.spawn()?, log: log.to_owned() })
    }

    /// Waits until something listens at an address.
    pub(crate) async fn listens(&mut self, address: SocketAddr) -> io::Result<()> {
        let begun = Instant::now();
        while TcpStream::connect(address).await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                let said = fs::read_to_string(&self.log).unwrap_or_default();
                return Err(io::Error::other(format!("ended with {status}: {said}")));
            }
            if begun.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("does not listen on {address}")));
            }
            sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Waits until a path at an address is answered with 200.
    pub(crate) async fn answers(&mut self, address: SocketAddr, path: &str) -> io::Result<()> {
        self.listens(address).await?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if status(&get(address, path).await?) == 200 {
                return Ok(());
            }
            sleep(LOOK_EVERY).await;
        }
        Err(io::Error::other(format!("{path} is not answered with 200")))
    }

    /// The time its threads have spent on a processor, in user and kernel mode.
    pub(crate) fn processor_time(&self) -> io::Result<Duration> {
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

    /// The memory its processes have in use, in KiB, now (`VmRSS`) or at most until now (`VmHWM`).
    pub(crate) fn memory(&self, which: &str) -> io::Result<u64> {
        let mut kib = 0;
        for pid in self.pids()? {
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let line = status.lines().find(|line| line.starts_with(which));
            kib += line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(kib)
    }

    /// The processes of its group.
    fn pids(&self) -> io::Result<Vec<u32>> {
        let group = self.child.id();
        let of_group = |pid: &u32| {
            // The name in brackets may hold spaces; after it come the state, the parent and the group.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let rest = stat.rsplit(')').next().unwrap_or_default();
            rest.split_whitespace().nth(2).and_then(|word| word.parse().ok()) == Some(group)
        };
        let all = fs::read_dir("/proc")?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        Ok(all.filter(of_group).collect())
    }
}

/// What a path at an address is answered with, head and all.
pub(crate) async fn get(address: SocketAddr, path: &str) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

impl Drop for Process {
    fn drop(&mut self) {
        let pids = self.pids().unwrap_or_default().into_iter().map(|pid| pid.to_string());
        // Whatever of it is gone already is not to be ended.
        let _ended = Command::new("kill").arg("-KILL").args(pids).stderr(Stdio::null()).status();
        let _reaped = self.child.wait();
    }
}
