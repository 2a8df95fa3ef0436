//! A Redis of its own for a test, as a process.

use std::{net::TcpListener, path::Path, process::Command};

use tempfile::TempDir;

use crate::process::Process;

/// A running `redis-server` without persistence. It is killed when it is dropped.
pub struct Redis {
    process: Process,
    port: u16,
    folder: TempDir,
}

impl Redis {
    /// Starts an empty server on a port that was free.
    ///
    /// # Panics
    /// If `redis-server` is not installed: `scripts/system-packages.sh redis` does that.
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { process: serve(port, folder.path()), port, folder }
    }

    /// Kills the server at once, with all that it had in memory.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts an empty server at the address of the one that was killed.
    pub fn restart(&mut self) {
        self.process = serve(self.port, self.folder.path());
    }

    /// Stops the server amid whatever it does (`STOP`), or continues it (`CONT`).
    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Returns the section of a configuration that names this server.
    pub fn section(&self) -> String {
        format!("servers = [\"127.0.0.1:{}\"]\n", self.port)
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process.kill();
    }
}

fn serve(port: u16, folder: &Path) -> Process {
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"]).arg(port.to_string());
    command.arg("--dir").arg(folder);
    Process::start(&mut command, |line| line.contains("Ready to accept connections").then_some(())).0
}
